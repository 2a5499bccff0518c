/** Conditional requests: what is held of an earlier reply is asked for by its validators (RFC 9110, 13). */
import type { Held, Validators } from "./client.ts";
import type { Tried } from "./once.ts";
import { isHeaderValue } from "./request.ts";

/** The headers that ask whether a held reply still stands. */
export const conditionsOf = (held: Held | undefined): Readonly<Record<string, string>> => ({
  ...(held?.validators.etag === undefined ? {} : { "If-None-Match": held.validators.etag }),
  ...(held?.validators.lastModified === undefined ? {} : { "If-Modified-Since": held.validators.lastModified }),
});

/** Whether an answer says that what was asked for by its validators still stands. A 304 to anything else is none. */
export const isUnchanged = ({ status, trouble }: Tried, held: Held | undefined): held is Held =>
  status === 304 && trouble === undefined && held !== undefined && Object.keys(held.validators).length > 0;

/** The validators of a reply. */
export const validatorsIn = (headers: Readonly<Record<string, string>>): Validators => {
  const { etag = "", "last-modified": lastModified = "" } = headers;
  return {
    ...(isEntityTag(etag) ? { etag } : {}),
    ...(isHeaderValue(lastModified) ? { lastModified } : {}),
  };
};

const isEntityTag = (text: string): boolean => /^(W\/)?"[^"]*"$/.test(text) && isHeaderValue(text);

/** Requests files at URLs, and follows redirects. */

import { isFailure } from "../../failure.ts";
import { isLoopback } from "../../text/locations.ts";
import type { DownloadOptions, DownloadReply, Downloads } from "../../wire/client/download.ts";
import { type RemoteLocation, remoteFailure, UnusableInput, unsafeRedirect } from "./failures.ts";

export interface RemoteAccess extends DownloadOptions {
  readonly insecureHttp: boolean;
  /** Redacts a secret in later output. */
  readonly hide: (secret: string) => void;
  readonly onFetched: (fetched: { bytes: number; of: number | undefined }) => void;
}

export interface RemoteContext extends Pick<RemoteAccess, "insecureHttp" | "clean"> {
  readonly downloads: Pick<Downloads, "get">;
}

const maxRedirects = 20;

/** @throws UnusableInput; Failure `remote-…`, `connection-failed`; the signal's reason */
export const requestFile = async (location: RemoteLocation, context: RemoteContext) => {
  const reply = await followRedirects(location, context);
  if (reply.status === 200) return reply;
  const found = await readErrorMessage(reply);
  const said = found && (context.clean ?? String)(found);
  if ([404, 410].includes(reply.status)) throw new UnusableInput("remote-not-found", { said, url: location.name });
  throw remoteFailure(location, reply, said);
};

const followRedirects = async (location: RemoteLocation, context: RemoteContext) => {
  const { name, url: firstUrl, headers: credential } = location;
  let url = firstUrl;
  for (let redirects = 0; ; redirects++) {
    const reply = await context.downloads.get(url, url.origin === firstUrl.origin ? credential : []);
    if (![301, 302, 303, 307, 308].includes(reply.status)) return reply;
    const { location: to = "" } = reply.headers;
    reply.cancel();
    if (redirects === maxRedirects || !URL.canParse(to, url.href)) throw remoteFailure(location, reply);
    url = new URL(to, url);
    if (!isSafeTarget(firstUrl, url, context)) throw unsafeRedirect(name, reply.status, url);
  }
};

export const isAllowed = ({ protocol, hostname }: URL, access: Pick<RemoteAccess, "insecureHttp">) =>
  protocol === "https:" || (protocol === "http:" && (access.insecureHttp || isLoopback(hostname)));

/** `--insecure-http` does not allow redirects from https to http. */
export const isSafeTarget = (from: URL, to: URL, context: RemoteContext) =>
  isAllowed(to, context) && (to.protocol === "https:" || from.protocol === "http:");

const maxErrorLength = 2 ** 16;

/** Buckets send the error message as XML. The Hub sends the message in a header or as JSON. */
const readErrorMessage = async (reply: DownloadReply) => {
  let body = "";
  try {
    for await (const chunk of reply.chunks()) {
      body += Buffer.from(chunk).toString("utf8");
      if (body.length > maxErrorLength) break;
    }
  } catch (thrown) {
    if (!isFailure(thrown, "connection-failed")) throw thrown;
  }
  const [, code] = /<Code>([^<]{1,200})<\/Code>/.exec(body) ?? [];
  const [, message] =
    /<Message>([^<]{1,1000})<\/Message>/.exec(body) ?? /"(?:error|message)"\s*:\s*"([^"]{1,1000})"/.exec(body) ?? [];
  return [code, reply.headers["x-error-message"] ?? message].filter(Boolean).join(": ") || undefined;
};

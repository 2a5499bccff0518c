/** What the texts of settings mean: durations, sizes, addresses, names, command lines. */
import { isLoopback } from "../host.ts";
import { splitCommandLine } from "../shell-words.ts";

/** What reading a text gives: its meaning, or what was wanted instead. */
export type Parsed<Value> = { readonly ok: true; readonly value: Value } | Unusable;

/** What was wanted of a text that means nothing here, and what it may have been meant to be. */
export interface Unusable {
  readonly ok: false;
  readonly wanted: string;
  readonly suggestion?: string;
}

const meant = <Value>(value: Value): Parsed<Value> => ({ ok: true, value });

const unusable = (wanted: string, suggestion?: string): Parsed<never> =>
  suggestion === undefined ? { ok: false, wanted } : { ok: false, wanted, suggestion };

const durationUnits = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** Timers count milliseconds in 31 bits: about 24 days and 20 hours. */
const longestMs = 2 ** 31 - 1;

const durationWanted = "a duration such as 500ms, 30s, 2m or 1h";

/** Reads a duration, in milliseconds, whole and at least `leastMs`. */
export const parseDuration = (text: string, leastMs = 0): Parsed<number> => {
  const match = /^(\d+(?:\.\d+)?)([a-z]+)?$/.exec(text);
  const [, digits = "", unit] = match ?? [];
  if (match === null) return unusable(durationWanted, loosely(text, /^(\d+(?:\.\d+)?)\s*(ms|s|m|h)$/));
  if (unit === undefined) return unusable(`${durationWanted}, with its unit`, `${digits}s`);
  const factor = durationUnits.get(unit);
  if (factor === undefined) return unusable(durationWanted, unitMeant(digits, unit));
  const ms = Math.round(Number(digits) * factor);
  if (ms < leastMs) return unusable(`a duration of at least ${leastMs}ms`);
  return ms > longestMs ? unusable("a duration of at most 596h") : meant(ms);
};

/** Other spellings of the units of time, and what they are here. */
const unitMeant = (digits: string, unit: string): string | undefined => {
  if (/^(sec|secs|second|seconds)$/.test(unit)) return `${digits}s`;
  if (/^(min|mins|minute|minutes)$/.test(unit)) return `${digits}m`;
  if (/^(hr|hrs|hour|hours)$/.test(unit)) return `${digits}h`;
  if (/^(msec|millis|milliseconds?)$/.test(unit)) return `${digits}ms`;
  return undefined;
};

/** The same text without the white space and capitals that the pattern does not mind. */
const loosely = (text: string, pattern: RegExp): string | undefined => {
  const [, digits, unit] = pattern.exec(text.trim().toLowerCase()) ?? [];
  return digits === undefined ? undefined : `${digits}${unit ?? ""}`;
};

const sizeUnits = new Map([
  ["", 1],
  ["b", 1],
  ["kb", 1e3],
  ["mb", 1e6],
  ["gb", 1e9],
  ["tb", 1e12],
  ["kib", 2 ** 10],
  ["mib", 2 ** 20],
  ["gib", 2 ** 30],
  ["tib", 2 ** 40],
]);

const sizeWanted = "a size such as 500KB, 8MiB or plain bytes";

/** Reads a size in bytes, at least 1; a fraction of a byte is left away. */
export const parseSize = (text: string): Parsed<number> => {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)([a-z]*)$/i.exec(text) ?? [];
  if (digits === undefined) return unusable(sizeWanted, loosely(text, /^(\d+(?:\.\d+)?)\s*([kmgt]?i?b)$/));
  const factor = sizeUnits.get(unit.toLowerCase());
  if (factor === undefined) {
    return unusable(sizeWanted, /^[kmgt]$/i.test(unit) ? `${digits}${unit.toUpperCase()}iB` : undefined);
  }
  const bytes = Math.floor(Number(digits) * factor);
  if (bytes < 1) return unusable("a size of at least 1 byte");
  return Number.isSafeInteger(bytes) ? meant(bytes) : unusable("a size below 8192TiB");
};

/** Reads a base address: an http or https URL without user, password, query and fragment; without the trailing slash. */
export const parseAddress = (text: string): Parsed<string> => {
  if (/[\s\p{Cc}\\]/u.test(text)) return unusable("an address without white space, control characters and backslashes");
  if (!/^https?:\/\//i.test(text)) return unusable("an address that begins with https:// or http://", withScheme(text));
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return unusable("an address such as https://api.example.com");
  const plain = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  // What stands before an @ may be a password, wherever it ended up.
  const suggestion = plain.includes("@") ? undefined : plain;
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/\/[^/?#]*@/i.test(text)) {
    return unusable("an address without a user or a password in it", suggestion);
  }
  if (/[?#]/.test(text)) return unusable("an address without a query or a fragment", suggestion);
  return meant(plain);
};

/** The address that was meant where its scheme was left out. */
const withScheme = (text: string): string | undefined => {
  if (text.includes("@")) return undefined;
  const rest = text.replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\//i, "");
  const plain = `http://${rest}`;
  const guess = URL.canParse(plain) && isLoopback(new URL(plain).hostname) ? plain : `https://${rest}`;
  const parsed = URL.canParse(guess) ? parseAddress(guess) : undefined;
  return parsed?.ok ? parsed.value : undefined;
};

/** An address without a trailing `/v1`, which is part of the endpoints' paths. */
export const withoutVersion = (address: string): string => address.replace(/\/v1$/, "");

/** What of an address may be shown: nothing before an @, which may be a user and a password, no query and fragment. */
export const shownAddress = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:)?([/\\]*).*@/is, "$1$2…@").replace(/[?#].*$/s, (rest) => `${rest[0]}…`);

/** A text of one line that goes into requests as it is. */
export const parseName = (text: string): Parsed<string> =>
  text === "" || text !== text.trim() || /\p{Cc}/u.test(text)
    ? unusable("a name without control characters and without white space around it")
    : meant(text);

/** A provider's name: one segment of a path. */
export const parseSegment = (text: string): Parsed<string> =>
  text === "." || text === ".." ? unusable("a provider's name") : parseName(text);

export const parseProject = (text: string): Parsed<string> =>
  /^[^/\s\p{Cc}](?:[^/\p{Cc}]*[^/\s\p{Cc}])?\/[^/\s\p{Cc}](?:[^/\p{Cc}]*[^/\s\p{Cc}])?$/u.test(text)
    ? meant(text)
    : unusable("team/project, with one slash");

export const parsePrefix = (text: string): Parsed<string> =>
  /^[a-z][a-z0-9_-]{0,63}$/i.test(text) ? meant(text) : unusable("letters, digits, - and _, a letter first");

/** Headers that the request itself needs. */
const takenHeaders = new Set(
  "authorization connection content-encoding content-length content-type cookie host expect idempotency-key keep-alive proxy-authorization te trailer transfer-encoding upgrade user-agent".split(
    " ",
  ),
);

export const parseHeaderName = (text: string): Parsed<string> => {
  if (!/^[!#$%&'*+\-.^_`|~0-9a-z]{1,128}$/i.test(text)) return unusable("the name of a header, such as Vendor-Project");
  return takenHeaders.has(text.toLowerCase()) ? unusable("a header that requests do not use otherwise") : meant(text);
};

const yes = new Set(["true", "1", "yes", "on"]);
const no = new Set(["false", "0", "no", "off"]);

export const parseBoolean = (text: string): Parsed<boolean> => {
  const word = text.toLowerCase();
  if (yes.has(word)) return meant(true);
  return no.has(word) ? meant(false) : unusable("true or false");
};

export const parseIdempotency = (text: string): Parsed<"auto" | "never"> =>
  text === "auto" || text === "never" ? meant(text) : unusable("auto or never");

/** Ways to compress a request; `none` is the lack of one. */
export const parseCompression = (text: string): Parsed<"none" | "gzip" | "zstd"> =>
  text === "none" || text === "gzip" || text === "zstd" ? meant(text) : unusable("none, gzip or zstd");

export const parseCommand = (text: string, { windows }: { readonly windows: boolean }): Parsed<string> => {
  const words = text.includes("\0") ? undefined : splitCommandLine(text, { windows });
  if (words === undefined) return unusable("a command line whose quotes are closed");
  return words[0] ? meant(text) : unusable("a command line: a program and its arguments");
};

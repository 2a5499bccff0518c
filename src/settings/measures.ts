/** Durations and sizes as people write them: `500ms`, `30s`, `2m`, `1h`; `500KB`, `8MiB`, plain bytes. */

/** What reading a text gives: its meaning, or what was wanted instead. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly wanted: string; readonly suggestion?: string };

/** A text's meaning. */
export const meant = <Value>(value: Value): Parsed<Value> => ({ ok: true, value });

/** A text that means nothing here. */
export const unusable = (wanted: string, suggestion?: string): Parsed<never> =>
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

/** Parses and formats sizes, durations and percentages. */
import { pluralize } from "./sentences.ts";

const parseQuantity = (text: string, factors: Readonly<Record<string, number>>) => {
  const [, digits, unit = ""] = /^(\d{1,15}(?:\.\d{1,9})?)([a-z]*)$/.exec(text) ?? [];
  return digits !== undefined && Object.hasOwn(factors, unit) ? Number(digits) * (factors[unit] ?? 0) : undefined;
};

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export const dayMs = durationUnits.d;

/** Returns milliseconds, or undefined. */
export const parseMs = (text: string) => {
  const ms = parseQuantity(text, durationUnits);
  return ms === undefined ? undefined : Math.round(ms);
};

/** Returns text such as `30 s`. */
export const formatSeconds = (ms: number, round = Math.round) => `${round(ms / 1000)} s`;

/** Returns a text such as `5 min`, rounded up. */
export const formatRest = (ms: number) => {
  if (ms <= 59_000) return formatSeconds(ms, Math.ceil);
  const seconds = Math.ceil(ms / 1000);
  return seconds < 3600 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
};

/** Returns the exact duration, such as `1.5 s`. */
export const formatMicros = (micros: number) => (micros < 1e6 ? `${micros / 1000} ms` : `${micros / 1e6} s`);

const prefixes = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30, ti: 2 ** 40 };

/** With and without a B: `128k`, `128KB`. */
const sizeUnits = Object.fromEntries(
  Object.entries(prefixes).flatMap(([prefix, factor]) => [prefix, `${prefix}b`].map((unit) => [unit, factor])),
);

/** Returns bytes or a count, or undefined. */
export const parseAmountOf = (text: string) => parseQuantity(text.toLowerCase(), sizeUnits);

/** Returns the size of a value, such as `1.5 KiB`. */
export const formatRoundedSize = (bytes: number) => {
  if (bytes < 1024) return pluralize(bytes, "byte");
  const [size, unit] = bytes < 2 ** 20 ? [bytes / 1024, "KiB"] : [bytes / 2 ** 20, "MiB"];
  return `${Math.round(size * 10) / 10} ${unit}`;
};

/** Returns an amount of data, such as `1.5 MB`. */
export const formatMB = (bytes: number) => {
  if (bytes < 1e6) return `${Math.round(bytes / 1e3)} kB`;
  return `${(bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0)} MB`;
};

/** Returns a limit, such as `256 MiB`. */
export const formatMiB = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;

/** Returns `100%` only for the whole. An empty whole is complete. */
export const formatPercent = (part: number, of: number, round = Math.floor) =>
  `${of === 0 ? 100 : round((part / of) * 100)}%`;

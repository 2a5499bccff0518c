/** Parses and formats sizes, counts, durations, times, percentages and exact decimals. */
import { pluralize } from "./sentences.ts";

/** The result of a parser for a text that it refuses. `part` is the refused part. Default: the text. */
export type InvalidText = Readonly<{ wanted: string; part?: string; suggestion?: string | undefined }>;
export const isInvalid = (parsed: unknown): parsed is InvalidText =>
  typeof parsed === "object" && parsed !== null && "wanted" in parsed;
export const reject = (wanted: string, suggestion?: string): InvalidText => ({ wanted, suggestion });

const parseQuantity = (text: string, factors: Readonly<Record<string, number>>) => {
  const [, digits, unit = ""] = /^(\d{1,15}(?:\.\d{1,9})?)([a-z]*)$/.exec(text) ?? [];
  return digits !== undefined && Object.hasOwn(factors, unit) ? Number(digits) * (factors[unit] ?? 0) : undefined;
};

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export const dayMs = durationUnits.d;

/** Timers have 31 bits for milliseconds (about 596 hours). */
export const maxTimerMs = 2 ** 31 - 1;

/** Returns the milliseconds of a timer. */
export const parseDuration = (text: string) => {
  const amount = parseQuantity(text, durationUnits);
  if (amount === undefined) return reject("a duration such as 500ms, 30s, 2m or 1h");
  const ms = Math.round(amount);
  return ms > maxTimerMs ? reject("a duration of at most 596h") : ms;
};

const daysInMonth = (year: number, month: number) => new Date(Date.UTC(year, month, 0)).getUTCDate();

/** True if the text is an ISO 8601 date and time, with or without an offset. */
export const isDateTime = (text: string) => {
  const [, year, month, day] =
    /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d+)?)?(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?$/.exec(
      text,
    ) ?? [];
  // `Date.UTC` reads a year below 100 as 19xx. Leap years repeat every 400 years.
  const isInMonth = () => Number(day) <= daysInMonth(2000 + (Number(year) % 400), Number(month));
  return year !== undefined && (Number(day) <= 28 || isInMonth());
};

/** The last millisecond of the year 9999. */
const maxMs = Date.UTC(10_000, 0) - 1;
export const utcDay = (ms: number) => new Date(Math.min(ms, maxMs)).toISOString().slice(0, 10);

/** Earlier numbers are rather years, or days as `20260131`. */
const firstSeconds = Date.UTC(2000, 0) / 1000;

/** Returns undefined for a value that is not a time in seconds since 2000. */
export const formatUnixDay = (seconds: unknown) =>
  typeof seconds === "number" && seconds >= firstSeconds && seconds * 1000 <= maxMs
    ? utcDay(seconds * 1000)
    : undefined;

export const formatIsoTime = (ms: number) => new Date(ms).toISOString();

/** Returns text such as `30 s`, or `2.5 s` with `parts` of 10. */
export const formatSeconds = (ms: number, round = Math.round, parts = 1) => `${round((ms * parts) / 1000) / parts} s`;

/** Returns a text such as `5 min`, rounded up. */
export const formatRest = (ms: number) => {
  if (ms <= 59_000) return formatSeconds(ms, Math.ceil);
  const seconds = Math.ceil(ms / 1000);
  return seconds < 3600 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
};

const prefixes = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30, ti: 2 ** 40 };

/** With and without a B: `128k`, `128KB`. */
const sizeUnits = Object.fromEntries(
  Object.entries(prefixes).flatMap(([prefix, factor]) => [prefix, `${prefix}b`].map((unit) => [unit, factor])),
);

const parseAmount = (text: string) => parseQuantity(text.toLowerCase(), sizeUnits);

/** Returns bytes. */
export const parseSize = (text: string) => {
  const amount = parseAmount(text);
  const bytes = Math.floor(amount ?? 0);
  if (amount === undefined) return reject("a size such as 500KB, 8MiB or 1000000 (bytes)");
  if (bytes < 1) return reject("a size of at least 1 byte");
  return Number.isSafeInteger(bytes) ? bytes : reject("a size below 8192TiB");
};

export const parseCount = (text: string) => {
  const amount = parseAmount(text);
  return amount !== undefined && Number.isSafeInteger(amount) ? amount : reject("a number such as 131072, 128k or 1M");
};

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
export const formatPercent = (part: number, of: number) => `${of === 0 ? 100 : Math.floor((part / of) * 100)}%`;

/** Means of shares have rounding errors. */
const shareTolerance = 1e-9;

/** Returns a text such as `17%`. `0%` is only for nothing, and `100%` only for the whole. */
export const formatShare = (share: number) => {
  const percent = Math.round(share * 100);
  if (percent === 0 && share > shareTolerance) return "<1%";
  return percent === 100 && share < 1 - shareTolerance ? ">99%" : `${percent}%`;
};

/** The number `digits` × 10^-`places`. `places` is at least 0. */
export type Decimal = Readonly<{ digits: bigint; places: number }>;

/** A larger exponent could fill a screen with zeros. */
const maxExponent = 40;
const maxChars = 100;

export const parseDecimal = (text: string): Decimal | undefined => {
  if (text.length > maxChars) return undefined;
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (!match) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const power = Number(exponent);
  if (Math.abs(power) > maxExponent) return undefined;
  return shiftDecimal({ digits: BigInt(`${sign}${whole}${fraction}`), places: fraction.length }, power);
};

export const formatDecimal = ({ digits, places }: Decimal) => {
  const sign = digits < 0n ? "-" : "";
  const text = String(digits < 0n ? -digits : digits).padStart(places + 1, "0");
  const fraction = text.slice(text.length - places).replace(/0+$/, "");
  return `${sign}${text.slice(0, text.length - places)}${fraction === "" ? "" : `.${fraction}`}`;
};

/** Rounds to at most 6 significant digits. Whole numbers keep all digits. */
export const formatRounded = (decimal: Decimal) => {
  const digits = String(decimal.digits < 0n ? -decimal.digits : decimal.digits);
  const extra = Math.min(decimal.places, digits.length - 6);
  if (extra <= 0) return formatDecimal(decimal);
  const divisor = 10n ** BigInt(extra);
  const half = decimal.digits < 0n ? -divisor / 2n : divisor / 2n;
  return formatDecimal({ digits: (decimal.digits + half) / divisor, places: decimal.places - extra });
};

export const compareDecimals = (a: Decimal, b: Decimal) => {
  const [left, right] = [shiftDecimal(a, b.places).digits, shiftDecimal(b, a.places).digits];
  return Number(left > right) - Number(left < right);
};

/** Multiplies the number by 10^`power`. */
export const shiftDecimal = ({ digits, places }: Decimal, power: number): Decimal =>
  places < power ? { digits: digits * 10n ** BigInt(power - places), places: 0 } : { digits, places: places - power };

export const formatForDisplay = (value: number) => String(roundForDisplay(value));

/** Keeps whole numbers, because they may be counts. Those below a million have at most six digits. */
export const roundForDisplay = (value: number) =>
  Math.abs(value) >= 1e6 ? Math.round(value) : Number(value.toPrecision(6));

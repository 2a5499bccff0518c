/** Parses sizes, counts and durations. */

const parseQuantity = (text: string, factors: Readonly<Record<string, number>>) => {
  const [, digits, unit = ""] = /^(\d{1,15}(?:\.\d{1,9})?)([a-z]*)$/.exec(text) ?? [];
  return digits !== undefined && Object.hasOwn(factors, unit) ? Number(digits) * (factors[unit] ?? 0) : undefined;
};

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Returns milliseconds, or undefined. */
export const parseMs = (text: string) => {
  const ms = parseQuantity(text, durationUnits);
  return ms === undefined ? undefined : Math.round(ms);
};

const prefixes = { "": 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, ki: 2 ** 10, mi: 2 ** 20, gi: 2 ** 30, ti: 2 ** 40 };

/** With and without a B: `128k`, `128KB`. */
const sizeUnits = Object.fromEntries(
  Object.entries(prefixes).flatMap(([prefix, factor]) => [prefix, `${prefix}b`].map((unit) => [unit, factor])),
);

/** Returns bytes or a count, or undefined. */
export const parseAmountOf = (text: string) => parseQuantity(text.toLowerCase(), sizeUnits);

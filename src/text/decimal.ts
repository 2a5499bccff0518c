/** Calculates with exact decimals, because doubles would round prices. */

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

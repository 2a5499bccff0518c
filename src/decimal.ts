/** Exact decimal arithmetic on numbers as they are spelled: prices and costs never pass through a double. */

/** `digits` × 10^-`places`. */
export interface Decimal {
  readonly digits: bigint;
  /** Never negative. */
  readonly places: number;
}

/** Larger exponents and longer spellings are no amounts of money: their zeros would fill a screen. */
const maxExponent = 40;
const maxSpellingChars = 100;

/** Reads `12`, `0.3`, `-1` and `3e-7`; undefined for any other spelling, and for what is too long or too wide for money. */
export const parseDecimal = (text: string): Decimal | undefined => {
  if (text.length > maxSpellingChars) return undefined;
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const power = Number(exponent);
  if (Math.abs(power) > maxExponent) return undefined;
  return shiftDigits({ digits: BigInt(`${sign}${whole}${fraction}`), places: fraction.length }, power);
};

/** Without an exponent, and without zeros at its end. */
export const formatDecimal = ({ digits, places }: Decimal): string => {
  const sign = digits < 0n ? "-" : "";
  const text = String(digits < 0n ? -digits : digits).padStart(places + 1, "0");
  const whole = text.slice(0, text.length - places);
  const fraction = text.slice(text.length - places).replace(/0+$/, "");
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`;
};

/** Below zero where `a` is less than `b`, above zero where it is more. */
export const compareDecimals = (a: Decimal, b: Decimal): number => {
  const [left, right] = [digitsWithPlaces(a, b.places), digitsWithPlaces(b, a.places)];
  return left === right ? 0 : left < right ? -1 : 1;
};

export const addDecimals = (a: Decimal, b: Decimal): Decimal => ({
  digits: digitsWithPlaces(a, b.places) + digitsWithPlaces(b, a.places),
  places: Math.max(a.places, b.places),
});

export const multiplyDecimals = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  places: a.places + b.places,
});

/** The exact product with 10 to the power of `power`. */
export const shiftDigits = ({ digits, places }: Decimal, power: number): Decimal =>
  places < power ? { digits: digits * 10n ** BigInt(power - places), places: 0 } : { digits, places: places - power };

/** Its digits, spelled with at least so many places. */
const digitsWithPlaces = ({ digits, places }: Decimal, least: number): bigint =>
  least > places ? digits * 10n ** BigInt(least - places) : digits;

export const zero: Decimal = { digits: 0n, places: 0 };

/**
 * The exact product with 10 to the power of `places`, without an exponent or zeros at its end; undefined where it is no
 * decimal number. `"3e-7"` by 6 places is `"0.3"`.
 */
export const shiftDecimal = (text: string, places: number): string | undefined => {
  const decimal = parseDecimal(text);
  return decimal === undefined ? undefined : formatDecimal(shiftDigits(decimal, places));
};

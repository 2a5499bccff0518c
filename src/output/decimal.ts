/** Exact decimal arithmetic on numbers as they are spelled: prices and costs never pass through a double. */

/** `digits` × 10^-`places`. */
interface Decimal {
  readonly digits: bigint;
  readonly places: number;
}

/** An exponent beyond this is no amount of money: its zeros would fill a screen. */
const widestExponent = 40;

/** Longer spellings are no amount of money either. */
const longestSpelling = 100;

const parseDecimal = (text: string): Decimal | undefined => {
  if (text.length > longestSpelling) return undefined;
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const power = Number(exponent);
  if (Math.abs(power) > widestExponent) return undefined;
  const places = fraction.length - power;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0 } : { digits, places };
};

const formatDecimal = ({ digits, places }: Decimal): string => {
  const sign = digits < 0n ? "-" : "";
  const text = String(digits < 0n ? -digits : digits).padStart(places + 1, "0");
  const whole = text.slice(0, text.length - places);
  const fraction = text.slice(text.length - places).replace(/0+$/, "");
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`;
};

/** The exact sum, without zeros at its end; undefined where one of them is no decimal number. */
export const sumDecimals = (texts: readonly string[]): string | undefined => {
  let sum: Decimal = { digits: 0n, places: 0 };
  for (const text of texts) {
    const next = parseDecimal(text);
    if (next === undefined) return undefined;
    const places = Math.max(sum.places, next.places);
    const scaled = ({ digits, places: own }: Decimal): bigint => digits * 10n ** BigInt(places - own);
    sum = { digits: scaled(sum) + scaled(next), places };
  }
  return formatDecimal(sum);
};

/**
 * The exact product with 10 to the power of `places`, without an exponent or zeros at its end; undefined where it is no
 * decimal number. `"3e-7"` by 6 places is `"0.3"`.
 */
export const shiftDecimal = (text: string, places: number): string | undefined => {
  const decimal = parseDecimal(text);
  if (decimal === undefined) return undefined;
  const left = decimal.places - places;
  return formatDecimal(
    left < 0 ? { digits: decimal.digits * 10n ** BigInt(-left), places: 0 } : { digits: decimal.digits, places: left },
  );
};

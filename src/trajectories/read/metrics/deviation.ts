/** The deviation of doubles, of their exact values and rounded once at the end (kernel/deviation.ts does the same). */
import { bitLength, limbValue, lowestExponent, takeApart } from "./exact.ts";

/** Magnitudes whose squares, and what their rounding leaves out, are doubles. */
const largest = 2 ** 400;
const smallest = 2 ** -400;

/** Population standard deviation of finite doubles. */
export const deviation = (values: readonly number[]): number => {
  let sum = 0;
  let equal = true;
  let usual = true;
  for (const value of values) {
    const size = Math.abs(value);
    equal &&= value === values[0];
    usual &&= size <= largest && (size >= smallest || size === 0);
    sum += value;
  }
  if (equal) return 0;
  return usual ? usualDeviation(values, sum / values.length) : wideDeviation(values);
};

/** A number in two doubles, the second of which is what the first leaves out. */
const pair = { high: 0, low: 0 };

/** √(n·Σd² − (Σd)²) / n, of the distances from about the mean, so that little is taken away from much. */
const usualDeviation = (values: readonly number[], middle: number): number => {
  let [sum, sumLow] = [0, 0];
  let [squares, squaresLow] = [0, 0];
  for (const value of values) {
    twoSum(value, -middle);
    const { high, low } = pair;
    twoSum(sum, high);
    sum = pair.high;
    sumLow += pair.low + low;
    product(high, high);
    const square = pair.high;
    const squareLow = pair.low + 2 * high * low;
    twoSum(squares, square);
    squares = pair.high;
    squaresLow += pair.low + squareLow;
  }
  const count = values.length;
  product(squares, count);
  const all = pair.high;
  const allLow = pair.low + squaresLow * count;
  product(sum, sum);
  const taken = pair.high;
  const takenLow = pair.low + 2 * sum * sumLow;
  twoSum(all, -taken);
  return rootOver({ high: pair.high, low: pair.low + allLow - takenLow, count });
};

/** a + b, and what its rounding leaves out (Knuth). */
const twoSum = (a: number, b: number): void => {
  const high = a + b;
  const part = high - a;
  pair.low = a - (high - part) + (b - part);
  pair.high = high;
};

/** √(n·Σx² − (Σx)²) / n, on integers of any size. */
const wideDeviation = (values: readonly number[]): number => {
  const apart = values.map((value) => ({ ...takeApart(value) }));
  const lowest = Math.min(...apart.map(({ position }) => position));
  let sum = 0n;
  let squares = 0n;
  for (const { sign, high, low, position } of apart) {
    const whole = BigInt(sign * (high * limbValue + low)) << BigInt(position - lowest);
    sum += whole;
    squares += whole * whole;
  }
  const square = BigInt(values.length) * squares - sum * sum;
  // An even number of bits goes into the exponent, so that its root is a whole power of two.
  const down = Math.max(0, Math.ceil((bitLength(square) - 200) / 2));
  const kept = square >> BigInt(2 * down);
  const high = Number(kept);
  const low = Number(kept - BigInt(high));
  const root = rootOver({ high, low, count: values.length });
  const lift = lowest + lowestExponent + down;
  return lift < -1000 ? root * 2 ** -1000 * 2 ** (lift + 1000) : root * 2 ** lift;
};

/** √(high + low) / count in twice the precision of a double, then rounded. */
const rootOver = ({ high, low, count }: { high: number; low: number; count: number }): number => {
  const root = Math.sqrt(high);
  product(root, root);
  const rest = (high - pair.high - pair.low + low) / (2 * root);
  const quotient = root / count;
  product(quotient, count);
  return quotient + (root - pair.high - pair.low + rest) / count;
};

/** Veltkamp's constant: splits a double into two halves whose products are exact. */
const splitter = 2 ** 27 + 1;

/** a · b, and what its rounding leaves out (Dekker). */
const product = (a: number, b: number): void => {
  const value = a * b;
  const aHigh = splitter * a - (splitter * a - a);
  const bHigh = splitter * b - (splitter * b - b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  pair.low = aLow * bLow - (value - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
  pair.high = value;
};

/** Sums of doubles that are exact until they are rounded once, so that order and parts change nothing. */

import { limbCount } from "./constants.ts";

/** Bits of one limb. */
const limbBits = 32;
/** The value of bit 0 of the first limb: 2^-1074, the smallest double. */
export const lowestExponent = -1074;
/** Additions after which limbs are carried: each adds less than 2^32 to a limb that is exact up to 2^53. */
const additionsBeforeCarry = 2 ** 20;
export const limbValue = 2 ** limbBits;

const double = new Float64Array(1);
const words = new Uint32Array(double.buffer);
/** Which half of a double holds its sign and exponent on this machine. */
const high = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 1 : 0;

/** A double taken apart: sign · (high · 2^32 + low) · 2^(position − 1074). */
const parts = { sign: 1, high: 0, low: 0, position: 0 };

export const takeApart = (value: number): typeof parts => {
  double[0] = value;
  const top = words[high] ?? 0;
  const exponent = (top >>> 20) & 0x7ff;
  parts.sign = top >>> 31 === 0 ? 1 : -1;
  parts.high = exponent === 0 ? top & 0xfffff : (top & 0xfffff) | 0x100000;
  parts.low = words[1 - high] ?? 0;
  parts.position = exponent === 0 ? 0 : exponent - 1;
  return parts;
};

/** A sum as it goes from one thread to another. */
export interface PackedSum {
  readonly whole: number;
  /** Carried; undefined where all that was added was whole. */
  readonly limbs: Float64Array | undefined;
}

/** An exact sum of finite doubles. */
export class ExactSum {
  /** Sum of what was whole and small enough to stay exact in one double: most metrics are counts. */
  #whole = 0;
  #limbs: Float64Array | undefined;
  #additions = 0;

  /** Adds a finite double; the negative of one that was added takes it away again. */
  add(value: number): void {
    if (Number.isSafeInteger(value)) {
      const whole = this.#whole + value;
      if (Number.isSafeInteger(whole)) {
        this.#whole = whole;
        return;
      }
    }
    this.#limbs ??= new Float64Array(limbCount);
    const limbs = this.#limbs;
    const { sign, high, low, position } = takeApart(value);
    const at = position >>> 5;
    const shift = position & 31;
    // `>>> 32` is `>>> 0` in JavaScript: a shift of none has no third word and no bits of the low word above it.
    const middle = shift === 0 ? high : ((low >>> (limbBits - shift)) | (high << shift)) >>> 0;
    const upper = shift === 0 ? 0 : high >>> (limbBits - shift);
    limbs[at] = (limbs[at] ?? 0) + sign * ((low << shift) >>> 0);
    limbs[at + 1] = (limbs[at + 1] ?? 0) + sign * middle;
    limbs[at + 2] = (limbs[at + 2] ?? 0) + sign * upper;
    if (++this.#additions >= additionsBeforeCarry) this.#carry();
  }

  /** Adds another sum. */
  merge({ whole, limbs }: PackedSum): void {
    this.add(whole);
    if (limbs === undefined) return;
    this.#carry();
    if (this.#limbs === undefined) this.#limbs = limbs.slice();
    else addAll(this.#limbs, limbs);
    this.#additions = 1;
  }

  /** The sum so far, to be added to another. */
  pack(): PackedSum {
    this.#carry();
    return { whole: this.#whole, limbs: this.#limbs?.slice() };
  }

  /** The sum, rounded once to the nearest double; infinite where it is larger than any. */
  rounded(): number {
    return round(this.#total(), lowestExponent);
  }

  /** The sum, rounded once, divided by a count; finite even where the sum is larger than any double. */
  mean(count: number): number {
    const sum = this.rounded();
    if (Number.isFinite(sum)) return sum / count;
    const down = 64;
    return (round(this.#total(), lowestExponent - down) / count) * 2 ** down;
  }

  #carry(): void {
    const limbs = this.#limbs;
    this.#additions = 0;
    if (limbs === undefined) return;
    let carry = 0;
    for (let at = 0; at < limbCount - 1; at++) {
      const limb = (limbs[at] ?? 0) + carry;
      carry = Math.floor(limb / limbValue);
      limbs[at] = limb - carry * limbValue;
    }
    limbs[limbCount - 1] = (limbs[limbCount - 1] ?? 0) + carry;
  }

  /** The sum in units of 2^-1074. */
  #total(): bigint {
    let total = 0n;
    if (this.#limbs !== undefined) {
      for (const limb of this.#limbs.toReversed()) total = (total << BigInt(limbBits)) + BigInt(limb);
    }
    return total + (BigInt(this.#whole) << BigInt(-lowestExponent));
  }
}

const addAll = (into: Float64Array, limbs: Float64Array): void => {
  for (let at = 0; at < limbs.length; at++) into[at] = (into[at] ?? 0) + (limbs[at] ?? 0);
};

/** Bits of a whole number. */
export const bitLength = (value: bigint): number => {
  const hex = value.toString(16);
  return (hex.length - 1) * 4 + (32 - Math.clz32(Number.parseInt(hex[0] ?? "0", 16)));
};

/** value · 2^exponent, rounded to nearest, ties to even. */
const round = (value: bigint, exponent: number): number => {
  if (value < 0n) return -round(-value, exponent);
  // 64 bits hold the 53 of a double and enough below them; the last says whether anything was cut off.
  const cut = Math.max(0, bitLength(value) - 64);
  const kept = value >> BigInt(cut);
  const sticky = kept << BigInt(cut) === value ? 0n : 1n;
  const lift = exponent + cut;
  const mantissa = Number(kept | sticky);
  return lift > 900 ? mantissa * 2 ** 900 * 2 ** (lift - 900) : mantissa * 2 ** lift;
};

/** Numbers in columns that grow: the index of millions of parts in tens of megabytes. */

type Column = Float64Array | Uint32Array | Uint8Array;

/** A column of numbers, all of one size in memory. */
export class Numbers {
  #values: Column;
  #length = 0;
  readonly #make: (length: number) => Column;

  private constructor(make: (length: number) => Column) {
    this.#make = make;
    this.#values = make(16);
  }

  /** Whole numbers up to 2^53, and any double. */
  static doubles(): Numbers {
    return new Numbers((length) => new Float64Array(length));
  }

  /** Whole numbers below 2^32. */
  static words(): Numbers {
    return new Numbers((length) => new Uint32Array(length));
  }

  /** Whole numbers below 256. */
  static bytes(): Numbers {
    return new Numbers((length) => new Uint8Array(length));
  }

  get length(): number {
    return this.#length;
  }

  /** The number at a position; 0 behind the end. */
  at(position: number): number {
    return this.#values[position] ?? 0;
  }

  set(position: number, value: number): void {
    this.#values[position] = value;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) this.#grow(this.#length * 2);
    this.#values[this.#length++] = value;
  }

  /** Adds all numbers of another column. */
  append(other: Numbers): void {
    const length = this.#length + other.#length;
    if (length > this.#values.length) this.#grow(Math.max(length, this.#values.length * 2));
    this.#values.set(other.#values.subarray(0, other.#length), this.#length);
    this.#length = length;
  }

  #grow(length: number): void {
    const grown = this.#make(length);
    grown.set(this.#values);
    this.#values = grown;
  }
}

/** How a part arrived. */
export type PartKind = "group" | "trajectory" | "unreadable";

const kinds: readonly PartKind[] = ["group", "trajectory", "unreadable"];
const validBit = 4;

/** One part of the input: a group, or a trajectory that becomes part of one. */
export interface Part {
  /** Position of its source among the inputs. */
  readonly source: number;
  /** Where its bytes stand in the source. */
  readonly start: number;
  readonly length: number;
  /** Line its first byte stands on, from 1. */
  readonly line: number;
  /** CRC-32 of its bytes: what is sent is held against it. */
  readonly checksum: number;
  /** First `digestBytes` of the SHA-256 of its bytes. */
  readonly digest: Uint8Array;
  readonly kind: PartKind;
  readonly valid: boolean;
  readonly trajectories: number;
  /** Reward of a trajectory; 0 for a group. */
  readonly reward: number;
}

/** Bytes of a part's digest: half a SHA-256, which no two of a million parts share by chance. */
export const digestBytes = 16;

/** Digests in a block that grows. */
class Digests {
  #bytes = new Uint8Array(16 * digestBytes);
  #count = 0;

  push(digest: Uint8Array): void {
    if (this.#count * digestBytes === this.#bytes.length) {
      const grown = new Uint8Array(this.#bytes.length * 2);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(digest.subarray(0, digestBytes), this.#count++ * digestBytes);
  }

  append(other: Digests): void {
    for (let at = 0; at < other.#count; at++) this.push(other.at(at));
  }

  at(position: number): Uint8Array {
    return this.#bytes.subarray(position * digestBytes, (position + 1) * digestBytes);
  }
}

/** All parts of the input, in its order. */
export class Parts {
  readonly #source = Numbers.words();
  readonly #start = Numbers.doubles();
  readonly #length = Numbers.doubles();
  readonly #line = Numbers.doubles();
  readonly #checksum = Numbers.words();
  readonly #digest = new Digests();
  readonly #flags = Numbers.bytes();
  readonly #trajectories = Numbers.words();
  readonly #reward = Numbers.doubles();

  get count(): number {
    return this.#start.length;
  }

  push(part: Part): void {
    this.#source.push(part.source);
    this.#start.push(part.start);
    this.#length.push(part.length);
    this.#line.push(part.line);
    this.#checksum.push(part.checksum);
    this.#digest.push(part.digest);
    this.#flags.push(kinds.indexOf(part.kind) + (part.valid ? validBit : 0));
    this.#trajectories.push(part.trajectories);
    this.#reward.push(part.reward);
  }

  /** Adds all parts of a later range. */
  append(other: Parts): void {
    this.#source.append(other.#source);
    this.#start.append(other.#start);
    this.#length.append(other.#length);
    this.#line.append(other.#line);
    this.#checksum.append(other.#checksum);
    this.#digest.append(other.#digest);
    this.#flags.append(other.#flags);
    this.#trajectories.append(other.#trajectories);
    this.#reward.append(other.#reward);
  }

  /** The part at a position. */
  at(position: number): Part {
    const flags = this.#flags.at(position);
    return {
      source: this.#source.at(position),
      start: this.#start.at(position),
      length: this.#length.at(position),
      line: this.#line.at(position),
      checksum: this.#checksum.at(position),
      digest: this.#digest.at(position),
      kind: kinds[flags % validBit] ?? "unreadable",
      valid: flags >= validBit,
      trajectories: this.#trajectories.at(position),
      reward: this.#reward.at(position),
    };
  }
}

/** Numbers in columns that grow: the index of millions of parts in tens of megabytes. */

/** The numbers of a column alone, as they go from one thread to another. */
export type Column = Float64Array | Uint32Array | Uint8Array;

/** A column of numbers, all of one size in memory, in blocks: one that grows leaves nothing behind and little empty. */
export class Numbers {
  readonly #make: (length: number) => Column;
  readonly #blocks: Column[];
  #length = 0;

  private constructor(make: (length: number) => Column) {
    this.#make = make;
    this.#blocks = [make(0)];
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
    return this.#blocks[position >>> blockBits]?.[position & blockMask] ?? 0;
  }

  /** Changes the number at a position that there is. */
  set(position: number, value: number): void {
    const block = this.#blocks[position >>> blockBits];
    if (block !== undefined) block[position & blockMask] = value;
  }

  push(value: number): void {
    const block = this.#room();
    block[this.#length++ & blockMask] = value;
  }

  /** Adds many. */
  append(values: Column): void {
    for (let from = 0; from < values.length; ) {
      const block = this.#room(values.length - from);
      const at = this.#length & blockMask;
      const some = values.subarray(from, from + block.length - at);
      block.set(some, at);
      from += some.length;
      this.#length += some.length;
    }
  }

  /** Those from one position up to another; valid until the next one is added. */
  values(from = 0, to = this.#length): Column {
    const first = from >>> blockBits;
    if (to <= (first + 1) << blockBits) {
      const start = first << blockBits;
      return (this.#blocks[first] ?? this.#make(0)).subarray(from - start, Math.max(from, to) - start);
    }
    const all = this.#make(to - from);
    for (let at = from; at < to; ) {
      const end = Math.min(to, ((at >>> blockBits) + 1) << blockBits);
      all.set(this.values(at, end), at - from);
      at = end;
    }
    return all;
  }

  /** The block that the next number goes to, with room for as many as go into one. */
  #room(wanted = 1): Column {
    const at = this.#length >>> blockBits;
    const block = this.#blocks[at] ?? this.#make(0);
    const filled = this.#length & blockMask;
    if (filled < block.length) return block;
    // The first block grows from nothing; behind it there will be many.
    const length = at > 0 ? blockLength : Math.min(blockLength, Math.max(filled + wanted, 2 * filled, leastLength));
    const larger = this.#make(length);
    larger.set(block);
    this.#blocks[at] = larger;
    return larger;
  }
}

/** Numbers in a block: a power of two, which no digest goes across. */
const blockBits = 14;
const blockLength = 2 ** blockBits;
const blockMask = blockLength - 1;

/** Numbers that a column has room for once it has any. */
const leastLength = 16;

/** How a part arrived. */
export type PartKind = "group" | "trajectory" | "unreadable";

const kinds: readonly PartKind[] = ["group", "trajectory", "unreadable"];
const validBit = 4;
const equalBit = 8;

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
  readonly kind: PartKind;
  readonly valid: boolean;
  readonly trajectories: number;
  /** Reward of a trajectory; 0 for a group. */
  readonly reward: number;
  /** Whether a group's rewards are all equal; false for a trajectory. */
  readonly equal: boolean;
  /** The newest policy version in it; NaN where it names none. */
  readonly version: number;
}

/** Bytes of a part's digest: half a SHA-256, which no two of a million parts share by chance. */
export const digestBytes = 16;

const newColumns = () => ({
  source: Numbers.words(),
  start: Numbers.doubles(),
  length: Numbers.words(),
  line: Numbers.words(),
  checksum: Numbers.words(),
  /** `digestBytes` for each part. */
  digest: Numbers.bytes(),
  flags: Numbers.bytes(),
  trajectories: Numbers.words(),
  reward: Numbers.doubles(),
  version: Numbers.doubles(),
  /** A print of each trajectory, those of a part side by side; 0 where it has none. */
  prints: Numbers.words(),
});

type Columns = ReturnType<typeof newColumns>;

/** Parts as they go from one thread to another. */
export type PackedParts = { readonly [Name in keyof Columns]: Column };

/** All parts of the input, in its order. */
export class Parts {
  readonly #columns = newColumns();

  get count(): number {
    return this.#columns.start.length;
  }

  /** Adds a part; `hash` is the SHA-256 of its bytes. */
  push(part: Part, hash: Uint8Array): void {
    const { source, start, length, line, checksum, digest, flags, trajectories, reward, version } = this.#columns;
    source.push(part.source);
    start.push(part.start);
    length.push(part.length);
    line.push(part.line);
    checksum.push(part.checksum);
    digest.append(hash.subarray(0, digestBytes));
    flags.push(kinds.indexOf(part.kind) + (part.valid ? validBit : 0) + (part.equal ? equalBit : 0));
    trajectories.push(part.trajectories);
    reward.push(part.reward);
    version.push(part.version);
  }

  /** The prints of all trajectories. */
  get prints(): Numbers {
    return this.#columns.prints;
  }

  /** Adds all parts of a later range, whose lines are counted from the last of `lines` lines on. */
  append(later: PackedParts, lines: number): void {
    const { source, start, length, line, checksum, digest, flags, trajectories, reward, version } = this.#columns;
    source.append(later.source);
    start.append(later.start);
    length.append(later.length);
    line.append(lines === 0 ? later.line : later.line.map((own) => own + lines));
    checksum.append(later.checksum);
    digest.append(later.digest);
    flags.append(later.flags);
    trajectories.append(later.trajectories);
    reward.append(later.reward);
    version.append(later.version);
    this.prints.append(later.prints);
  }

  /** The columns alone; valid until a part is added. */
  pack(): PackedParts {
    const { source, start, length, line, checksum, digest, flags, trajectories, reward, version } = this.#columns;
    return {
      source: source.values(),
      start: start.values(),
      length: length.values(),
      line: line.values(),
      checksum: checksum.values(),
      digest: digest.values(),
      flags: flags.values(),
      trajectories: trajectories.values(),
      reward: reward.values(),
      version: version.values(),
      prints: this.prints.values(),
    };
  }

  /** The newest policy version of the part at a position; NaN where it names none. */
  versionOf(position: number): number {
    return this.#columns.version.at(position);
  }

  /** The first `digestBytes` of the SHA-256 of a part's bytes. */
  digestOf(position: number): Column {
    return this.#columns.digest.values(position * digestBytes, (position + 1) * digestBytes);
  }

  /** The part at a position. */
  at(position: number): Part {
    const { source, start, length, line, checksum, flags, trajectories, reward, version } = this.#columns;
    const own = flags.at(position);
    return {
      source: source.at(position),
      start: start.at(position),
      length: length.at(position),
      line: line.at(position),
      checksum: checksum.at(position),
      kind: kinds[own % validBit] ?? "unreadable",
      valid: (own & validBit) !== 0,
      equal: (own & equalBit) !== 0,
      version: version.at(position),
      trajectories: trajectories.at(position),
      reward: reward.at(position),
    };
  }
}

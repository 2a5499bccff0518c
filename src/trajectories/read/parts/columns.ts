/** The index of all parts: millions of them in tens of megabytes. */
import { Digests, digestBytes } from "./digests.ts";
import { NarrowNumbers, type PackedNumbers } from "./narrow.ts";
import { type Column, Numbers } from "./numbers.ts";

/** How a part arrived. */
export type PartKind = "group" | "trajectory" | "unreadable";

const kinds: readonly PartKind[] = ["group", "trajectory", "unreadable"];
const validBit = 4;
const equalBit = 8;

/** Flags of a valid part. */
export const flagsOf = ({ kind, equal = false }: { readonly kind: PartKind; readonly equal?: boolean }): number =>
  kinds.indexOf(kind) + validBit + (equal ? equalBit : 0);

/** Whether flags are those of a bare trajectory. */
export const isTrajectory = (flags: number): boolean => flags % validBit === kinds.indexOf("trajectory");
const validGroup = flagsOf({ kind: "group" });

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

/** Parts of a source that are valid, in columns. */
export interface ManyParts {
  readonly source: number;
  readonly starts: Float64Array;
  readonly lengths: Float64Array;
  readonly lines: Float64Array;
  /** Each made by `flagsOf`. */
  readonly flags: Float64Array;
  readonly trajectories: Float64Array;
  readonly rewards: Float64Array;
  readonly versions: Float64Array;
  readonly checksums: Uint32Array;
  readonly digests: Uint8Array;
  /** A print of each trajectory. */
  readonly prints: Uint32Array;
}

/** The facts of a part that are numbers, each a column of its own. */
const newColumns = () => ({
  source: new NarrowNumbers(),
  start: new NarrowNumbers(),
  length: new NarrowNumbers(),
  line: new NarrowNumbers(),
  flags: new NarrowNumbers(),
  trajectories: new NarrowNumbers(),
  reward: new NarrowNumbers(),
  version: new NarrowNumbers(),
});

/** Parts as they go from one thread to another. */
export type PackedParts = { readonly [Name in keyof ReturnType<typeof newColumns>]: PackedNumbers } & {
  readonly checksum: Column;
  readonly digest: Uint8Array;
  readonly prints: Column;
};

/** The memory of packed parts, which another thread may take over. */
export const buffersOf = ({ checksum, digest, prints, ...narrow }: PackedParts): readonly ArrayBufferLike[] =>
  [
    checksum,
    digest,
    prints,
    ...Object.values(narrow).flatMap((blocks) => blocks.flatMap(({ more }) => more ?? [])),
  ].map(({ buffer }) => buffer);

/** Prints of a block, as a power of two: so many that the system takes it back once they are let go. */
const printBits = 20;

/** All parts of the input, in its order. */
export class Parts {
  readonly #columns = newColumns();
  readonly #checksum = Numbers.words();
  /** The first `digestBytes` of the SHA-256 of each part's bytes. */
  readonly #digests = new Digests();
  /** A print of each trajectory, those of a part side by side; 0 where it has none. */
  #prints = Numbers.words(printBits);

  get count(): number {
    return this.#checksum.length;
  }

  /** Adds a part; `hash` is the SHA-256 of its bytes. */
  push(part: Part, hash: Uint8Array): void {
    const { source, start, length, line, flags, trajectories, reward, version } = this.#columns;
    source.push(part.source);
    start.push(part.start);
    length.push(part.length);
    line.push(part.line);
    this.#checksum.push(part.checksum);
    this.#digests.append(hash.subarray(0, digestBytes));
    flags.push(kinds.indexOf(part.kind) + (part.valid ? validBit : 0) + (part.equal ? equalBit : 0));
    trajectories.push(part.trajectories);
    reward.push(part.reward);
    version.push(part.version);
  }

  /** Adds valid groups and trajectories of a source, column by column. */
  pushMany(many: ManyParts): void {
    const { source, start, length, line, flags, trajectories, reward, version } = this.#columns;
    source.pushMany(new Float64Array(many.starts.length).fill(many.source));
    start.pushMany(many.starts);
    length.pushMany(many.lengths);
    line.pushMany(many.lines);
    flags.pushMany(many.flags);
    trajectories.pushMany(many.trajectories);
    reward.pushMany(many.rewards);
    version.pushMany(many.versions);
    this.#checksum.append(many.checksums);
    this.#digests.append(many.digests);
    this.#prints.append(many.prints);
  }

  /** The prints of all trajectories. */
  get prints(): Numbers {
    return this.#prints;
  }

  /** Lets the prints go: nobody asks for them once they were held against each other. */
  dropPrints(): void {
    this.#prints = Numbers.words(printBits);
  }

  /** Adds all parts of a later range, whose lines are counted from the last of `lines` lines on. */
  append(later: PackedParts, lines: number): void {
    const { source, start, length, line, flags, trajectories, reward, version } = this.#columns;
    source.append(later.source);
    start.append(later.start);
    length.append(later.length);
    line.append(later.line, lines);
    this.#checksum.append(later.checksum);
    this.#digests.append(later.digest);
    flags.append(later.flags);
    trajectories.append(later.trajectories);
    reward.append(later.reward);
    version.append(later.version);
    this.prints.append(later.prints);
  }

  /** The columns alone; valid until a part is added. */
  pack(): PackedParts {
    const { source, start, length, line, flags, trajectories, reward, version } = this.#columns;
    return {
      source: source.pack(),
      start: start.pack(),
      length: length.pack(),
      line: line.pack(),
      checksum: this.#checksum.values(),
      digest: this.#digests.slice(0, this.count),
      flags: flags.pack(),
      trajectories: trajectories.pack(),
      reward: reward.pack(),
      version: version.pack(),
      prints: this.prints.values(),
    };
  }

  /** The digests of all parts. */
  get digests(): Digests {
    return this.#digests;
  }

  /** The source of the part at a position. */
  sourceOf(position: number): number {
    return this.#columns.source.at(position);
  }

  /** Where the part's bytes stand in its source. */
  startOf(position: number): number {
    return this.#columns.start.at(position);
  }

  lengthOf(position: number): number {
    return this.#columns.length.at(position);
  }

  /** CRC-32 of a part's bytes. */
  checksumOf(position: number): number {
    return this.#checksum.at(position);
  }

  /** The facts of all parts, column by column: where many are asked for, that takes a tenth of the time. */
  get columns() {
    return { ...this.#columns, checksum: this.#checksum };
  }

  kindOf(position: number): PartKind {
    return kinds[this.#columns.flags.at(position) % validBit] ?? "unreadable";
  }

  isValid(position: number): boolean {
    return (this.#columns.flags.at(position) & validBit) !== 0;
  }

  /** Whether the rewards of a group are all equal; false for a trajectory. */
  isEqual(position: number): boolean {
    return (this.#columns.flags.at(position) & equalBit) !== 0;
  }

  trajectoriesOf(position: number): number {
    return this.#columns.trajectories.at(position);
  }

  /** Reward of a trajectory; 0 for a group. */
  rewardOf(position: number): number {
    return this.#columns.reward.at(position);
  }

  /** The newest policy version of the part at a position; NaN where it names none. */
  versionOf(position: number): number {
    return this.#columns.version.at(position);
  }

  /** Positions of what is not valid. */
  get invalid(): readonly number[] {
    return this.#columns.flags.positionsOf((flags) => (flags & validBit) === 0);
  }

  /** Whether there is any of a kind. */
  has(kind: PartKind): boolean {
    return this.#columns.flags.some((flags) => kinds[flags % validBit] === kind);
  }

  /** Positions of what is not a valid group of several trajectories whose rewards differ. */
  get unusual(): readonly number[] {
    const { flags, trajectories } = this.#columns;
    const few = trajectories.positionsOf((count) => count < 2);
    const others = flags.positionsOf((own) => own !== validGroup);
    return few.length === 0 ? others : [...new Set([...others, ...few])].sort((a, b) => a - b);
  }

  /** Whether all name the same policy version, or none. */
  get areOfOneVersion(): boolean {
    return this.#columns.version.areAlike;
  }

  /** The part at a position. */
  at(position: number): Part {
    return {
      source: this.sourceOf(position),
      start: this.startOf(position),
      length: this.lengthOf(position),
      line: this.#columns.line.at(position),
      checksum: this.checksumOf(position),
      kind: this.kindOf(position),
      valid: this.isValid(position),
      equal: this.isEqual(position),
      version: this.versionOf(position),
      trajectories: this.trajectoriesOf(position),
      reward: this.rewardOf(position),
    };
  }
}

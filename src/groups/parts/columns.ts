/** The index of all parts: a million of them in some fifty megabytes. */
import { Digests, digestBytes } from "./digests.ts";
import { type Column, Numbers } from "./numbers.ts";

/** How a part arrived. */
type PartKind = "group" | "trajectory" | "unreadable";

const kinds: readonly PartKind[] = ["group", "trajectory", "unreadable"];
const validBit = 4;
const equalBit = 8;

/** Flags of a valid part. */
export const flagsOf = ({ kind, equal = false }: { readonly kind: PartKind; readonly equal?: boolean }): number =>
  kinds.indexOf(kind) + validBit + (equal ? equalBit : 0);

/** One part of the input: a group, or a trajectory that becomes part of one. */
export interface Part {
  /** Position of its source among the inputs. */
  readonly source: number;
  /** Where its bytes stand in the source. */
  readonly start: number;
  readonly length: number;
  /** Line its first byte stands on, from 1. */
  readonly line: number;
  /** CRC-32 of its bytes: what is sent is held against it. 0 where parts are not marked. */
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
  /** What its trajectories have to train on, and what they lack, in bits (metrics/constants.ts). */
  readonly training: number;
}

/** Numbers of a column, piece by piece. */
type Pieces = readonly Column[];

/** Parts of one source, column by column, as they go from one thread to another. */
export interface PackedParts {
  readonly source: number;
  readonly starts: Pieces;
  readonly lengths: Pieces;
  readonly lines: Pieces;
  readonly checksums: Pieces;
  readonly digests: readonly Uint8Array[];
  /** Those of valid parts as `flagsOf` makes them. */
  readonly flags: Pieces;
  readonly trajectories: Pieces;
  readonly rewards: Pieces;
  readonly versions: Pieces;
  readonly trainings: Pieces;
  /** A print of each trajectory. */
  readonly prints: Pieces;
}

/** The memory of packed parts, which another thread may take over. */
export const buffersOf = ({ source: _, ...columns }: PackedParts): readonly ArrayBufferLike[] =>
  Object.values(columns).flatMap((pieces) => pieces.map(({ buffer }) => buffer));

/** All parts of the input, in its order. */
export class Parts {
  readonly #sources = Numbers.words();
  readonly #starts = Numbers.doubles();
  readonly #lengths = Numbers.words();
  readonly #lines = Numbers.words();
  readonly #checksums = Numbers.words();
  readonly #flags = Numbers.bytes(flagsOf({ kind: "group" }));
  readonly #trajectories = Numbers.words(1);
  readonly #rewards = Numbers.doubles();
  readonly #versions = Numbers.doubles(Number.NaN);
  readonly #trainings = Numbers.bytes();
  /** The first `digestBytes` of the SHA-256 of each part's bytes; none where parts are not marked. */
  readonly digests = new Digests();
  /**
   * Whether parts have checksums and digests. What is sent, chosen or held against other inputs needs them; what is only
   * looked at doesn't, and takes a quarter less time.
   */
  readonly isMarked: boolean;
  #prints = Numbers.words();

  constructor(isMarked = true) {
    this.isMarked = isMarked;
  }

  get count(): number {
    return this.#starts.length;
  }

  /** A print of each trajectory, those of a part side by side; 0 where it has none. */
  get prints(): Numbers {
    return this.#prints;
  }

  /** Lets the prints go: nobody asks for them once they were held against each other. */
  dropPrints(): void {
    this.#prints = Numbers.words();
  }

  /** Adds a part; `hash` is the SHA-256 of its bytes, and nothing where it is not marked. */
  push(part: Part, hash: Uint8Array): void {
    this.#sources.push(part.source);
    this.#starts.push(part.start);
    this.#lengths.push(part.length);
    this.#lines.push(part.line);
    this.#checksums.push(part.checksum);
    this.digests.append(hash.subarray(0, digestBytes));
    this.#flags.push(kinds.indexOf(part.kind) + (part.valid ? validBit : 0) + (part.equal ? equalBit : 0));
    this.#trajectories.push(part.trajectories);
    this.#rewards.push(part.reward);
    this.#versions.push(part.version);
    this.#trainings.push(part.training);
  }

  /** Adds later parts, whose lines are counted from the last of `lines` lines on. */
  append(later: PackedParts, lines = 0): void {
    const before = this.count;
    this.#starts.append(...later.starts);
    this.#sources.fill(later.source, this.count - before);
    this.#lengths.append(...later.lengths);
    this.#lines.append(...later.lines.map((piece) => (lines === 0 ? piece : piece.map((line) => line + lines))));
    this.#checksums.append(...later.checksums);
    this.digests.append(...later.digests);
    this.#flags.append(...later.flags);
    this.#trajectories.append(...later.trajectories);
    this.#rewards.append(...later.rewards);
    this.#versions.append(...later.versions);
    this.#trainings.append(...later.trainings);
    this.#prints.append(...later.prints);
  }

  /** The columns alone, of parts of one source; valid until a part is added. */
  pack(): PackedParts {
    return {
      source: this.#sources.at(0),
      starts: [...this.#starts.blocks()],
      lengths: [...this.#lengths.blocks()],
      lines: [...this.#lines.blocks()],
      checksums: [...this.#checksums.blocks()],
      digests: [...this.digests.blocks()],
      flags: [...this.#flags.blocks()],
      trajectories: [...this.#trajectories.blocks()],
      rewards: [...this.#rewards.blocks()],
      versions: [...this.#versions.blocks()],
      trainings: [...this.#trainings.blocks()],
      prints: [...this.#prints.blocks()],
    };
  }

  /** The source of the part at a position. */
  sourceOf(position: number): number {
    return this.#sources.at(position);
  }

  /** Where the part's bytes stand in its source. */
  startOf(position: number): number {
    return this.#starts.at(position);
  }

  lengthOf(position: number): number {
    return this.#lengths.at(position);
  }

  /** CRC-32 of a part's bytes. */
  checksumOf(position: number): number {
    return this.#checksums.at(position);
  }

  kindOf(position: number): PartKind {
    return kinds[this.#flags.at(position) % validBit] ?? "unreadable";
  }

  isValid(position: number): boolean {
    return (this.#flags.at(position) & validBit) !== 0;
  }

  /** Whether the rewards of a group are all equal; false for a trajectory. */
  isEqual(position: number): boolean {
    return (this.#flags.at(position) & equalBit) !== 0;
  }

  trajectoriesOf(position: number): number {
    return this.#trajectories.at(position);
  }

  /** Reward of a trajectory; 0 for a group. */
  rewardOf(position: number): number {
    return this.#rewards.at(position);
  }

  /** The newest policy version of the part at a position; NaN where it names none. */
  versionOf(position: number): number {
    return this.#versions.at(position);
  }

  /** What the trajectories of the part at a position have to train on, and what they lack, in bits. */
  trainingOf(position: number): number {
    return this.#trainings.at(position);
  }

  /** Whether all are valid groups whose rewards differ, as nearly all are. */
  get areUsual(): boolean {
    return this.#flags.areUsual;
  }

  /** Whether there is any of a kind. */
  has(kind: PartKind): boolean {
    if (this.areUsual) return kind === "group" && this.count > 0;
    for (let at = 0; at < this.count; at++) if (this.kindOf(at) === kind) return true;
    return false;
  }

  /** Whether any has one trajectory alone. */
  get haveOnes(): boolean {
    return this.#trajectories.includes(1);
  }

  /** What the trajectories of all parts have to train on, and what they lack, in bits. */
  get training(): number {
    let bits = 0;
    for (const block of this.#trainings.blocks()) for (let at = 0; at < block.length; at++) bits |= block[at] ?? 0;
    return bits;
  }

  /** Whether any names a policy version. */
  get nameVersions(): boolean {
    return !this.#versions.areUsual;
  }

  /** The part at a position. */
  at(position: number): Part {
    return {
      source: this.sourceOf(position),
      start: this.startOf(position),
      length: this.lengthOf(position),
      line: this.#lines.at(position),
      checksum: this.checksumOf(position),
      kind: this.kindOf(position),
      valid: this.isValid(position),
      equal: this.isEqual(position),
      version: this.versionOf(position),
      training: this.trainingOf(position),
      trajectories: this.trajectoriesOf(position),
      reward: this.rewardOf(position),
    };
  }
}

/** Stores the index of all parts, in 50 MB per million parts. */

import { crc32 } from "../../system/hashes.ts";
import { NumberColumn } from "./column.ts";
import { Digests } from "./digests.ts";
import { FactColumns } from "./fact-columns.ts";

/** A class, because V8 would recompile the checker when a literal makes a second object. */
class Columns {
  readonly source = new NumberColumn();
  /** Byte offset in the source. */
  readonly start = new NumberColumn();
  readonly length = new NumberColumn();
  readonly line = new NumberColumn();
  /** CRC-32 of the bytes; 0 if `hasDigests` is false. */
  readonly checksum = new NumberColumn();
  readonly kind = new NumberColumn();
  readonly valid = new NumberColumn(1);
  readonly warned = new NumberColumn();
  /** 1 for a valid group of several trajectories with equal rewards. */
  readonly equal = new NumberColumn();
  readonly trajectories = new NumberColumn(1);
  /** The number of exceptions of a valid group. */
  readonly exceptions = new NumberColumn();
  /** The reward of a valid trajectory; 0 for other parts. */
  readonly reward = new NumberColumn();
  /** A sum of `trainingBits`. */
  readonly training = new NumberColumn();
  /** The index in `keys` plus 1; 0 without a key. */
  readonly key = new NumberColumn();
  /** The fingerprint of the prompt of a trajectory with a group key; 0 if the prompt is unknown. */
  readonly prompt = new NumberColumn();
  /** The hash of the step columns of a trajectory with a group key; 0 without such a column. */
  readonly steps = new NumberColumn();
  /** The number of trajectories of valid parts before the part, which are rows of facts and of `sampled`. */
  readonly row = new NumberColumn();
}

export const kinds = ["group", "trajectory", "unreadable"] as const;

export interface PartsOptions {
  /** False if the caller neither identifies nor sends groups. The parts then have no digests and no checksums. */
  readonly hasDigests: boolean;
  /** True if the caller aggregates trajectories. */
  readonly hasFacts?: boolean;
}

/** A group, a trajectory outside of groups, or an unreadable line. */
export interface Part {
  readonly source: number;
  readonly start: number;
  readonly length: number;
  readonly line: number;
  /** Undefined if the parts have no checksums. */
  readonly checksum: number | undefined;
  readonly kind: (typeof kinds)[number];
  readonly valid: boolean;
  readonly trajectories: number;
}

export class Parts {
  count = 0;
  readonly columns = new Columns();
  readonly keys: string[] = [];
  readonly hasDigests: boolean;
  readonly digests = new Digests();
  /** One for each trajectory; 0 in an invalid part. */
  readonly fingerprints = new NumberColumn();
  /** The digest of what was sampled in each trajectory of a valid part; 0 without a turn. Only with `hasDigests`. */
  readonly sampled = new NumberColumn();
  readonly facts: FactColumns | undefined;

  constructor({ hasDigests, hasFacts = false }: PartsOptions) {
    this.hasDigests = hasDigests;
    if (hasFacts) this.facts = new FactColumns();
  }

  /** Takes the checksum and the digest of the bytes of a part, if parts have digests. */
  setContent(part: number, bytes: Uint8Array) {
    if (!this.hasDigests) return;
    this.columns.checksum.set(part, crc32(bytes));
    this.digests.setHash(part, bytes);
  }

  /** Returns a function that removes later parts, also their keys and facts. */
  mark() {
    const [count, keys, trajectories] = [this.count, this.keys.length, this.fingerprints.length];
    const sampled = this.sampled.length;
    const resetFacts = this.facts?.mark();
    return () => {
      for (const column of Object.values<NumberColumn>({ ...this.columns })) column.clear(count);
      this.fingerprints.clear(trajectories);
      this.fingerprints.length = trajectories;
      this.sampled.clear(sampled);
      this.sampled.length = sampled;
      this.keys.length = keys;
      this.count = count;
      resetFacts?.();
    };
  }

  rowsOf(part: number): readonly number[] {
    const rows: number[] = [];
    const end = part + 1 < this.count ? this.columns.row.at(part + 1) : (this.facts?.rows ?? this.sampled.length);
    for (let row = this.columns.row.at(part); row < end; row++) rows.push(row);
    return rows;
  }

  setKey(key: string) {
    if (this.keys.at(-1) !== key) this.keys.push(key);
    this.columns.key.set(this.count - 1, this.keys.length);
  }

  setLast(column: "prompt" | "steps", value: number) {
    this.columns[column].set(this.count - 1, value);
  }

  keyOf(position: number) {
    return this.keys[this.columns.key.at(position) - 1];
  }

  forgetKeys() {
    this.columns.key.clear();
    this.keys.length = 0;
  }

  kindOf(position: number) {
    return kinds[this.columns.kind.at(position)] ?? "unreadable";
  }

  isValid(position: number) {
    return this.columns.valid.at(position) === 1;
  }

  has(kind: (typeof kinds)[number]) {
    return this.columns.kind.values(0, this.count).includes(kinds.indexOf(kind));
  }

  at(position: number): Part {
    const { columns } = this;
    return {
      source: columns.source.at(position),
      start: columns.start.at(position),
      length: columns.length.at(position),
      line: columns.line.at(position),
      checksum: this.hasDigests ? columns.checksum.at(position) : undefined,
      kind: this.kindOf(position),
      valid: this.isValid(position),
      trajectories: columns.trajectories.at(position),
    };
  }
}

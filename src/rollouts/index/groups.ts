/** Puts parts into groups. */
import { createHash } from "../../system/hashes.ts";
import { NumberColumn } from "./column.ts";
import { type Digests, digestBytes } from "./digests.ts";
import type { Parts } from "./parts.ts";

export const groupOpening = Buffer.from('{"trajectories":[');
export const groupClosing = Buffer.from("]}");

const rejectedBit = 1;
const keyedBit = 2;
const warnedBit = 4;

/** The groups in the order of their first parts. If each part is a group, distances take no memory. */
export class Groups {
  readonly #parts: Parts;
  readonly #fromGroup = new NumberColumn();
  /** The distance from a part to the next part of its group, or 0 for the last part. */
  readonly #toNext = new NumberColumn();
  readonly #toFirst = new NumberColumn();
  readonly #flags = new NumberColumn();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get count() {
    return this.#toFirst.length;
  }

  startGroup(part: number, { isKeyed }: { isKeyed: boolean }) {
    const group = this.count;
    this.#assignGroup(part, group);
    this.#toFirst.push(part - group);
    this.#flags.push((isKeyed ? keyedBit : 0) | (this.#parts.isValid(part) ? 0 : rejectedBit));
    return group;
  }

  /** True if each part is a valid group that no caller has marked. */
  get areValidParts() {
    return this.#flags.hasOnlyDefaults && this.count === this.#parts.count && !this.#parts.has("trajectory");
  }

  /** The digests of the groups if each part is a group. They can become dedup keys without more memory. */
  get digestsOfParts() {
    return this.areValidParts ? this.#parts.digests : undefined;
  }

  addPart(last: number, part: number) {
    const group = this.groupOf(last);
    this.#assignGroup(part, group);
    this.#toNext.set(last, part - last);
    if (!this.#parts.isValid(part)) this.reject(group);
    return group;
  }

  #assignGroup(part: number, group: number) {
    this.#fromGroup.length = part;
    this.#fromGroup.push(part - group);
    this.#toNext.length = part + 1;
  }

  firstOf(group: number) {
    return group + this.#toFirst.at(group);
  }

  partsOf(group: number): readonly number[] {
    const parts: number[] = [];
    for (let part = this.firstOf(group), step = -1; step !== 0; part += step) {
      parts.push(part);
      step = this.#toNext.at(part);
    }
    return parts;
  }

  rowsOf(group: number): readonly number[] {
    const parts = this.partsOf(group);
    if (parts.length === 1) return this.#parts.rowsOf(this.firstOf(group));
    return parts.flatMap((part) => this.#parts.rowsOf(part));
  }

  groupOf(part: number) {
    return part - this.#fromGroup.at(part);
  }

  /** True if the trajectories are separate parts. */
  isBare(group: number) {
    return this.#parts.kindOf(this.firstOf(group)) === "trajectory";
  }

  /** A group without a key has one part. */
  isKeyed(group: number) {
    return (this.#flags.at(group) & keyedBit) !== 0;
  }

  isValid(group: number) {
    return group < this.count && (this.#flags.at(group) & rejectedBit) === 0;
  }

  *valid() {
    for (let group = 0; group < this.count; group++) if (this.isValid(group)) yield group;
  }

  reject(group: number) {
    this.#flags.set(group, this.#flags.at(group) | rejectedBit);
  }

  /** Marks a group that `rejectWarned` rejects. */
  warn(group: number) {
    this.#flags.set(group, this.#flags.at(group) | warnedBit);
  }

  rejectWarned() {
    const { warned } = this.#parts.columns;
    for (let part = 0; part < this.#parts.count; part++) if (warned.at(part) === 1) this.reject(this.groupOf(part));
    for (let group = 0; group < this.count; group++) if ((this.#flags.at(group) & warnedBit) !== 0) this.reject(group);
  }

  trajectoriesOf(group: number) {
    return this.#sum(group, this.#parts.columns.trajectories);
  }

  exceptionsOf(group: number) {
    return this.#sum(group, this.#parts.columns.exceptions);
  }

  /** Expects a bare group. */
  rewardsOfParts(group: number): readonly number[] {
    return this.partsOf(group).map((part) => this.#parts.columns.reward.at(part));
  }

  /** Returns the length of the group in a request, in bytes. */
  bytesOf(group: number) {
    const bytes = this.#sum(group, this.#parts.columns.length);
    if (this.#parts.kindOf(this.firstOf(group)) === "group") return bytes;
    const commas = Math.max(0, this.trajectoriesOf(group) - 1);
    return bytes + groupOpening.length + commas + groupClosing.length;
  }

  #sum(group: number, column: NumberColumn) {
    let sum = 0;
    for (let part = this.firstOf(group), step = -1; step !== 0; part += step) {
      sum += column.at(part);
      step = this.#toNext.at(part);
    }
    return sum;
  }

  digestOf(group: number): Uint8Array {
    const { digests } = this.#parts;
    if (!this.isBare(group)) return digests.at(this.firstOf(group));
    const digest = openGroupDigest();
    for (const part of this.partsOf(group)) digest.update(digests.at(part));
    return digest.digest().subarray(0, digestBytes);
  }

  /** Most groups are one part, whose digest is copied without new memory. */
  copyDigest(group: number, into: Digests) {
    if (this.isBare(group)) into.set(group, this.digestOf(group));
    else into.copy(group, this.#parts.digests, this.firstOf(group));
  }
}

/** Opens the digest of a bare group. The caller adds the digests of the trajectories. */
export const openGroupDigest = () => createHash("sha256").update("trajectories");

/** A part after the end of its group. `first` is the first part of the group. */
export type ScatteredPart = Readonly<{ part: number; first: number; key: string }>;

export interface GroupingOptions {
  parts: Parts;
  groups: Groups;
  /** True for --group-by. If false, adjacent parts with the same `group_id` form a group. */
  isGroupedByKey: boolean;
  onPart?: (part: number, how: { endsGroups: boolean }) => void;
  onGrouped?: (grouped: GroupedPart) => void;
}

export interface GroupedPart {
  part: number;
  group: number;
  key: string | undefined;
  isNew: boolean;
  /** True if the part follows a part with the same key. Always true with `isGroupedByKey`. */
  isAdjacent: boolean;
}

export const openGrouping = ({ parts, groups, isGroupedByKey, onPart, onGrouped }: GroupingOptions) => {
  const lastPartByKey = new Map<string, number>();
  const scattered: ScatteredPart[] = [];
  let previousKey: string | undefined;
  const takePart = (part: number) => {
    const key = parts.keyOf(part);
    // An invalid part without a key can belong to the current group, so the part does not end that group.
    const isBetween = key === undefined && !parts.isValid(part);
    const isAdjacent = isGroupedByKey || key === previousKey;
    onPart?.(part, { endsGroups: !isAdjacent && !isBetween });
    const last = key === undefined ? undefined : lastPartByKey.get(key);
    const isNew = last === undefined;
    const group = isNew ? groups.startGroup(part, { isKeyed: key !== undefined }) : groups.addPart(last, part);
    if (key !== undefined) lastPartByKey.set(key, part);
    if (!isNew && key !== undefined && !isAdjacent) {
      scattered.push({ part, first: groups.firstOf(group), key });
      groups.reject(group);
    }
    if (!isBetween) previousKey = key;
    onGrouped?.({ part, group, key, isNew, isAdjacent });
  };
  return {
    scattered,
    /** The next part with the key starts a new group. */
    endGroup: (key: string) => lastPartByKey.delete(key),
    /** Groups the parts before `beforeLine`. Removes all keys from `parts`. Later calls can extend the groups. */
    groupParts(first: number, beforeLine = Number.POSITIVE_INFINITY) {
      const { line } = parts.columns;
      for (let at = first; at < parts.count && line.at(at) < beforeLine; at++) takePart(at);
      parts.forgetKeys();
    },
  };
};

/** Groups of parts: parts are put into them as they come, they grow, and their numbers never change. */
import { createHash } from "node:crypto";
import { Column, Digests, digestBytes } from "./column.ts";
import type { Parts } from "./parts.ts";

/** `{"trajectories":[` and `]}`, which make a group out of bare trajectories. */
export const groupOpening = Buffer.from('{"trajectories":[');
export const groupClosing = Buffer.from("]}");

/** Bits of a group's flags. */
const rejected = 1;
const keyed = 2;

/** Groups, in the order of their first parts. Columns are distances: they take no memory if each part is a group. */
export class Groups {
  readonly #parts: Parts;
  /** From a part's group to the part; from it to the next part of the group, 0 for the last. */
  readonly #fromGroup = new Column("u32");
  readonly #toNext = new Column("u32");
  /** From a group to its first part; from that to its last. */
  readonly #toFirst = new Column("u32");
  readonly #toLast = new Column("u32");
  readonly #flags = new Column("u8");

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#toFirst.length;
  }

  /** Begins a group with the part at a position; returns its number. */
  startGroup(part: number, { isKeyed }: { readonly isKeyed: boolean }): number {
    const group = this.count;
    this.#assignGroup(part, group);
    this.#toFirst.push(part - group);
    this.#toLast.push(0);
    this.#flags.push((isKeyed ? keyed : 0) | (this.#parts.isValid(part) ? 0 : rejected));
    return group;
  }

  /** Adds the part at a position to a group with a key. */
  addPart(group: number, part: number): void {
    const first = this.firstOf(group);
    const last = first + this.#toLast.at(group);
    this.#assignGroup(part, group);
    this.#toNext.set(last, part - last);
    this.#toLast.set(group, part - first);
    if (!this.#parts.isValid(part)) this.reject(group);
  }

  #assignGroup(part: number, group: number): void {
    // Parts on lines that were not taken are in no group.
    this.#fromGroup.length = part;
    this.#fromGroup.push(part - group);
    this.#toNext.length = part + 1;
  }

  firstOf(group: number): number {
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

  groupOf(part: number): number {
    return part - this.#fromGroup.at(part);
  }

  /** True if the trajectories of a group are parts of their own; false for a group on a line, or what can't be read. */
  isBare(group: number): boolean {
    return this.#parts.kindOf(this.firstOf(group)) === "trajectory";
  }

  /** True if a group has a key, so that it may have several parts. */
  isKeyed(group: number): boolean {
    return (this.#flags.at(group) & keyed) !== 0;
  }

  isValid(group: number): boolean {
    return group < this.count && (this.#flags.at(group) & rejected) === 0;
  }

  /** Makes a group invalid whose parts are valid. */
  reject(group: number): void {
    this.#flags.set(group, this.#flags.at(group) | rejected);
  }

  trajectoriesOf(group: number): number {
    return this.#sum(group, this.#parts.columns.trajectories);
  }

  /** The rewards of a group's parts, in their order: of its trajectories, if these are parts of their own. */
  rewardsOf(group: number): readonly number[] {
    return this.partsOf(group).map((part) => this.#parts.columns.reward.at(part));
  }

  /** Bytes of a group in a request. */
  bytesOf(group: number): number {
    const bytes = this.#sum(group, this.#parts.columns.length);
    if (this.#parts.kindOf(this.firstOf(group)) === "group") return bytes;
    const commas = Math.max(0, this.trajectoriesOf(group) - 1);
    return bytes + groupOpening.length + commas + groupClosing.length;
  }

  #sum(group: number, column: Column): number {
    let sum = 0;
    for (let part = this.firstOf(group), step = -1; step !== 0; part += step) {
      sum += column.at(part);
      step = this.#toNext.at(part);
    }
    return sum;
  }

  /** The digest of a group's bytes, or of its trajectories' digests. */
  digestOf(group: number): Uint8Array {
    const { digests } = this.#parts;
    if (!this.isBare(group)) return digests.at(this.firstOf(group));
    const digest = openGroupDigest();
    for (const part of this.partsOf(group)) digest.update(digests.at(part));
    return digest.digest().subarray(0, digestBytes);
  }

  /** The digest of each group, in their order. Not to be changed. */
  readonly digests = (): Digests => {
    if (this.count === this.#parts.count && !this.#parts.has("trajectory")) return this.#parts.digests;
    const digests = new Digests();
    for (let group = 0; group < this.count; group++) digests.append(this.digestOf(group));
    return digests;
  };
}

/** Begins the digest of a group of trajectories: the digest of each follows. */
export const openGroupDigest = (): ReturnType<typeof createHash> => createHash("sha256").update("trajectories");

/** A part whose group had already ended, and the first part of its group. */
export interface UnsortedPart {
  readonly part: number;
  readonly first: number;
  readonly key: string;
}

export interface GroupingOptions {
  readonly found: { readonly parts: Parts };
  readonly groups: Groups;
  /** True if trajectories belong together wherever they are, false if they have to be adjacent. */
  readonly byKey: boolean;
}

export interface GroupedPart {
  readonly part: number;
  readonly group: number;
  /** Key of the group; undefined for a part that is a group alone. */
  readonly key: string | undefined;
  readonly isNew: boolean;
  /** True if the part before has the same key, or need not have it. */
  readonly isAdjacent: boolean;
}

/** What is called for each part, before it is grouped and after. */
interface GroupingHooks {
  readonly onPart?: (part: number, how: { readonly endsGroups: boolean }) => void;
  readonly onGrouped?: (grouped: GroupedPart) => void;
}

/** Opens the grouping of one input: of adjacent trajectories with one `group_id`; by a key, that of all inputs. */
export const openGrouping = ({ found: { parts }, groups, byKey }: GroupingOptions, hooks: GroupingHooks = {}) => {
  /** Groups that trajectories may still be added to, by their keys. */
  const open = new Map<string, number>();
  /** Parts that are not adjacent to their groups, which are invalid. */
  const scattered: UnsortedPart[] = [];
  /** Key of the part before; undefined for a group alone. */
  let before: string | undefined;
  const takePart = (part: number): void => {
    const key = parts.keyOf(part);
    // What can't be read may have belonged to the group it is in: it ends none.
    const isUnreadable = parts.kindOf(part) === "unreadable";
    const isAdjacent = byKey || key === before;
    hooks.onPart?.(part, { endsGroups: !isAdjacent && !isUnreadable });
    const known = key === undefined ? undefined : open.get(key);
    const group = known ?? groups.startGroup(part, { isKeyed: key !== undefined });
    if (known !== undefined) groups.addPart(known, part);
    if (known !== undefined && key !== undefined && !isAdjacent) {
      scattered.push({ part, first: groups.firstOf(known), key });
      groups.reject(known);
    }
    if (known === undefined && key !== undefined) open.set(key, group);
    if (!isUnreadable) before = key;
    hooks.onGrouped?.({ part, group, key, isNew: known === undefined, isAdjacent });
  };
  return {
    open,
    scattered,
    /** Takes the parts from one on: all of them, or those on lines before one. Their keys are not needed any more. */
    groupParts(first: number, beforeLine = Number.POSITIVE_INFINITY): void {
      const { line } = parts.columns;
      for (let at = first; at < parts.count && line.at(at) < beforeLine; at++) takePart(at);
      parts.forgetKeys();
    },
  };
};

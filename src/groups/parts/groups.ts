/** Groups of parts: they grow part by part, and their numbers never change. */
import { createHash } from "node:crypto";
import { Column } from "./column.ts";
import { Digests, digestBytes } from "./digests.ts";
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
  begin(part: number, { isKeyed }: { readonly isKeyed: boolean }): number {
    const group = this.count;
    this.#place(part, group);
    this.#toFirst.push(part - group);
    this.#toLast.push(0);
    this.#flags.push((isKeyed ? keyed : 0) | (this.#parts.isValid(part) ? 0 : rejected));
    return group;
  }

  /** Adds the part at a position to a group with a key. */
  add(group: number, part: number): void {
    const first = this.firstOf(group);
    const last = first + this.#toLast.at(group);
    this.#place(part, group);
    this.#toNext.set(last, part - last);
    this.#toLast.set(group, part - first);
    if (!this.#parts.isValid(part)) this.reject(group);
  }

  #place(part: number, group: number): void {
    // Parts on lines that were not taken are in no group.
    this.#fromGroup.length = part;
    this.#fromGroup.push(part - group);
    this.#toNext.length = part + 1;
  }

  /** Position of a group's first part. */
  firstOf(group: number): number {
    return group + this.#toFirst.at(group);
  }

  /** Positions of a group's parts, in their order. */
  partsOf(group: number): Uint32Array {
    const parts: number[] = [];
    this.#visit(group, (part) => parts.push(part));
    return Uint32Array.from(parts);
  }

  #visit(group: number, take: (part: number) => void): void {
    for (let part = this.firstOf(group), step = -1; step !== 0; part += step) {
      take(part);
      step = this.#toNext.at(part);
    }
  }

  /** The group of the part at a position. */
  groupOf(part: number): number {
    return part - this.#fromGroup.at(part);
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

  /** Bytes of a group in a request. */
  bytesOf(group: number): number {
    const bytes = this.#sum(group, this.#parts.columns.length);
    if (this.#parts.kindOf(this.firstOf(group)) === "group") return bytes;
    const commas = Math.max(0, this.trajectoriesOf(group) - 1);
    return bytes + groupOpening.length + commas + groupClosing.length;
  }

  #sum(group: number, column: Column): number {
    let sum = 0;
    this.#visit(group, (part) => {
      sum += column.at(part);
    });
    return sum;
  }

  /** The digest of a group's bytes, or of its trajectories' digests. */
  digestOf(group: number): Uint8Array {
    const { digests } = this.#parts;
    const first = this.firstOf(group);
    if (this.#parts.kindOf(first) !== "trajectory") return digests.at(first);
    const digest = openDigest();
    this.#visit(group, (part) => digest.update(digests.at(part)));
    return digest.digest().subarray(0, digestBytes);
  }

  /** The digest of each group, in their order. Not to be changed. */
  readonly digests = (): Digests => {
    const areParts = this.count === this.#parts.count;
    if (areParts && !this.#parts.has("trajectory")) return this.#parts.digests;
    const digests = new Digests();
    for (let group = 0; group < this.count; group++) digests.append(this.digestOf(group));
    return digests;
  };
}

/** Begins the digest of a group of trajectories: the digest of each follows. */
export const openDigest = (): ReturnType<typeof createHash> => createHash("sha256").update("trajectories");

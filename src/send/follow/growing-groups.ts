/** Groups of a file that is still written: each grows part by part, until it is complete. */
import type { Part, Parts } from "../../groups/parts/columns.ts";
import { Digests } from "../../groups/parts/digests.ts";
import { digestOfGroup, type Groups, groupClosing, groupOpening } from "../../groups/parts/group.ts";
import { Numbers } from "../../groups/parts/numbers.ts";

const rejectedBit = 1;

/** Groups in the order of their first parts; a group's number never changes. */
export class GrowingGroups implements Groups {
  /** Parts may still be added to any of them. */
  readonly areParts = false;
  readonly #parts: Parts;
  /** First and last part of each group, and of each part the next one of its group: from 1; 0 is none. */
  readonly #first = Numbers.words();
  readonly #last = Numbers.words();
  readonly #next = Numbers.words();
  /** The group of each part. */
  readonly #groupOf = Numbers.words();
  readonly #size = Numbers.words();
  readonly #trajectories = Numbers.doubles();
  readonly #bytes = Numbers.doubles();
  readonly #flags = Numbers.bytes();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#first.length;
  }

  /** Begins a group with the part at a position; gives its number. */
  start(position: number, part: Part): number {
    this.#first.push(position + 1);
    this.#last.push(position + 1);
    this.#size.push(1);
    this.#trajectories.push(part.trajectories);
    this.#bytes.push(part.kind === "group" ? part.length : part.length + groupOpening.length + groupClosing.length);
    this.#flags.push(part.valid ? 0 : rejectedBit);
    this.#seePart(position, this.count - 1);
    return this.count - 1;
  }

  /** Adds a trajectory to a group that was begun with one. */
  add(group: number, position: number, part: Part): void {
    this.#seePart(position, group);
    this.#next.set(this.#last.at(group) - 1, position + 1);
    this.#last.set(group, position + 1);
    this.#size.set(group, this.#size.at(group) + 1);
    this.#trajectories.set(group, this.#trajectories.at(group) + part.trajectories);
    this.#bytes.set(group, this.#bytes.at(group) + 1 + part.length);
    if (!part.valid) this.reject(group);
  }

  firstOf(group: number): number {
    return this.#first.at(group) - 1;
  }

  groupOf(part: number): number {
    return this.#groupOf.at(part);
  }

  partsOf(group: number): Uint32Array {
    const own = new Uint32Array(this.#size.at(group));
    let next = this.#first.at(group);
    for (let at = 0; at < own.length; at++) {
      own[at] = next - 1;
      next = this.#next.at(next - 1);
    }
    return own;
  }

  areValid(): boolean {
    for (let group = 0; group < this.count; group++) if (!this.isValid(group)) return false;
    return true;
  }

  isValid(group: number): boolean {
    return this.#flags.at(group) !== rejectedBit;
  }

  /** Makes a group not valid, whose parts are. */
  reject(group: number): void {
    this.#flags.set(group, rejectedBit);
  }

  trajectoriesOf(group: number): number {
    return this.#trajectories.at(group);
  }

  bytesOf(group: number): number {
    return this.#bytes.at(group);
  }

  digestOf(group: number): Uint8Array {
    return digestOfGroup(this.#parts, this.partsOf(group));
  }

  digests(): Digests {
    const digests = new Digests();
    for (let group = 0; group < this.count; group++) digests.append(this.digestOf(group));
    return digests;
  }

  #seePart(position: number, group: number): void {
    while (this.#next.length <= position) this.#next.push(0);
    while (this.#groupOf.length <= position) this.#groupOf.push(group);
  }
}

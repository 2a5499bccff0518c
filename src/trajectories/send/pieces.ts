/** The parts that a body is made of, in turn, and what stands before each of them. */
import { groupClosing, groupOpening } from "../parts/group.ts";
import type { Reading } from "../read/read.ts";
import type { Frame, PlannedRequest } from "./plan.ts";

const nothing = Buffer.alloc(0);
const comma = Buffer.from(",");

/** What stands between two groups that do or do not need to be made of bare trajectories. */
const afterGroup = { group: comma, bare: Buffer.concat([comma, groupOpening]) };
const afterBare = { group: Buffer.concat([groupClosing, comma]), bare: Buffer.concat([groupClosing, afterGroup.bare]) };

/** The parts of a request, one after the other; it begins with the first. */
export class Pieces {
  readonly #reading: Reading;
  readonly #groups: Uint32Array;
  readonly #frame: Frame;
  #at = -1;
  /** Positions of the parts of the group, where it has more than one, and the place among them. */
  #own: Uint32Array | undefined;
  #nth = 0;
  #isBare = false;
  #part = -1;
  #before: Uint8Array = nothing;

  constructor(reading: Reading, frame: Frame, { groups }: PlannedRequest) {
    this.#reading = reading;
    this.#groups = groups;
    this.#frame = frame;
    this.advance();
  }

  /** Position of the part; -1 behind the last. */
  get part(): number {
    return this.#part;
  }

  /** What stands before it, and behind the part before. */
  get before(): Uint8Array {
    return this.#before;
  }

  /** What stands behind the last part. */
  get behind(): Uint8Array {
    return this.#isBare ? Buffer.concat([groupClosing, this.#frame.closing]) : this.#frame.closing;
  }

  advance(): void {
    const next = this.#own?.[this.#nth++];
    if (next !== undefined) {
      this.#part = next;
      this.#before = comma;
      return;
    }
    const group = this.#groups[++this.#at];
    if (group === undefined) this.#part = -1;
    else this.#enter(group);
  }

  #enter(group: number): void {
    const { groups, found } = this.#reading;
    this.#part = groups.firstOf(group);
    this.#own = groups.sizeOf(group) > 1 ? groups.partsOf(group) : undefined;
    this.#nth = 1;
    const isBare = found.parts.kindOf(this.#part) === "trajectory";
    if (this.#at === 0) this.#before = isBare ? groupOpening : nothing;
    else {
      const after = this.#isBare ? afterBare : afterGroup;
      this.#before = isBare ? after.bare : after.group;
    }
    this.#isBare = isBare;
  }
}

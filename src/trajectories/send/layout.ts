/** The parts that a body is made of, some at a time: where they stand, and what goes before each of them. */
import { joined, withByte } from "../read/parts/checksums.ts";
import { isTrajectory } from "../read/parts/columns.ts";
import { groupClosing, groupOpening } from "../read/parts/group.ts";
import { mostPlaced, Placed } from "../read/parts/placed.ts";
import type { Reading } from "../read/read.ts";
import type { Frame, PlannedRequest } from "./plan.ts";

const nothing = Buffer.alloc(0);
const comma = Buffer.from(",");

/** What can stand before a part: nothing, or what ends the group before it, and begins its own. */
export const separators: readonly Uint8Array[] = [
  nothing,
  comma,
  groupOpening,
  Buffer.concat([comma, groupOpening]),
  Buffer.concat([groupClosing, comma]),
  Buffer.concat([groupClosing, comma, groupOpening]),
];

/** How long each is. */
export const widths = Uint8Array.from(separators, ({ length }) => length);

/** Positions of separators: within a group and between whole ones, before the first group, and between two. */
export const commaAlone = 1;
const firsts = { group: 0, bare: 2 };
const afterGroup = { group: commaAlone, bare: 3 };
const afterBare = { group: 4, bare: 5 };

/** The memory that parts are laid out in. */
export class LaidOut extends Placed {
  /** Positions of the parts. */
  readonly parts = new Uint32Array(mostPlaced);
  /** Whether a part is the first of its group. */
  readonly isFirst = new Uint8Array(mostPlaced);
  /** What stands before each, as a position among the separators. */
  readonly before = new Uint8Array(mostPlaced);
}

/** What a body is made of, part by part; it begins before the first. */
export class Layout {
  /** How many parts there are now. */
  count = 0;
  readonly #now: LaidOut;
  readonly #reading: Reading;
  readonly #groups: Uint32Array;
  readonly #frame: Frame;
  /** The next group, and those of its parts that are left. */
  #next = 0;
  #left: Uint32Array = new Uint32Array(0);
  /** Whether the last group is made of bare trajectories; undefined before the first. */
  #isBare: boolean | undefined;

  constructor(
    reading: Reading,
    { frame, request, laidOut }: { readonly frame: Frame; readonly request: PlannedRequest; readonly laidOut: LaidOut },
  ) {
    const { groups } = request;
    this.#now = laidOut;
    this.#reading = reading;
    this.#groups = groups;
    this.#frame = frame;
  }

  /** What stands behind the last part. */
  get behind(): Uint8Array {
    return this.#isBare === true ? Buffer.concat([groupClosing, this.#frame.closing]) : this.#frame.closing;
  }

  /** Goes on to the next parts; how many there are. */
  advance(): number {
    this.count = this.#reading.groups.areParts ? this.#takeParts() : this.#takeGroups();
    const { parts, isFirst, before, flags } = this.#now;
    this.#now.fill(parts.subarray(0, this.count), this.#reading.found.parts.columns);
    for (let at = 0; at < this.count; at++) {
      if (isFirst[at] === 0) {
        before[at] = commaAlone;
        continue;
      }
      const after = this.#isBare === undefined ? firsts : this.#isBare ? afterBare : afterGroup;
      this.#isBare = isTrajectory(flags[at] ?? 0);
      before[at] = this.#isBare ? after.bare : after.group;
    }
    return this.count;
  }

  /** Takes groups that are a part each. */
  #takeParts(): number {
    const some = this.#groups.subarray(this.#next, this.#next + mostPlaced);
    this.#now.parts.set(some);
    this.#now.isFirst.fill(1);
    this.#next += some.length;
    return some.length;
  }

  /** Takes groups of any number of parts. */
  #takeGroups(): number {
    const { groups } = this.#reading;
    let count = 0;
    while (count < mostPlaced) {
      const isFirst = this.#left.length === 0;
      if (isFirst) {
        const group = this.#groups[this.#next];
        if (group === undefined) break;
        this.#next++;
        this.#left = groups.partsOf(group);
      }
      const some = this.#left.subarray(0, mostPlaced - count);
      this.#now.parts.set(some, count);
      this.#now.isFirst.fill(0, count, count + some.length);
      if (isFirst) this.#now.isFirst[count] = 1;
      this.#left = this.#left.subarray(some.length);
      count += some.length;
    }
    return count;
  }
}

/** Puts a comma before each of several parts that lie where they belong; gives the checksum of all up to there. */
export const putCommas = (
  { lengths, checksums }: LaidOut,
  {
    first,
    end,
    chunk,
    ...before
  }: {
    readonly first: number;
    readonly end: number;
    readonly chunk: Uint8Array;
    readonly place: number;
    readonly checksum: number;
  },
): number => {
  const byte = comma[0] ?? 0;
  let { place, checksum } = before;
  for (let at = first; at < end; at++) {
    const length = lengths[at] ?? 0;
    chunk[place] = byte;
    checksum = joined(withByte(checksum, byte), checksums[at] ?? 0, length);
    place += 1 + length;
  }
  return checksum;
};

/** Finds groups that stand in the files of another split too. */

import { lineText } from "../rules/places.ts";
import type { Digests } from "./parts/digests.ts";
import type { Reading } from "./read.ts";
import { reportOfGroup, spotOfGroup } from "./whole.ts";

/** Bytes of a digest that make a number: as many as a double holds. */
const keyBytes = 6;

/** Reports groups of a reading that are, byte for byte, groups of another. */
export const reportAgainst = async (reading: Reading, other: Reading): Promise<void> => {
  const theirs = other.groups.digests();
  const byKey = new Map<number, number>();
  for (let group = 0; group < other.groups.count; group++) byKey.set(keyOf(theirs, group), group);
  const ours = reading.groups.digests();
  for (let group = 0; group < reading.groups.count; group++) {
    const same = byKey.get(keyOf(ours, group));
    if (same === undefined || !isSame(ours, group, theirs, same)) continue;
    await reportOfGroup(reading, "group-in-both", { data: { place: lineText(spotOfGroup(other, same)) }, group });
  }
};

const keyOf = (digests: Digests, group: number): number => Buffer.from(digests.at(group)).readUIntBE(0, keyBytes);

const isSame = (a: Digests, first: number, b: Digests, second: number): boolean =>
  Buffer.compare(a.at(first), b.at(second)) === 0;

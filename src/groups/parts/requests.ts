/** What whole requests of the input contain in addition to groups: their split, and keys of their own. */

import { movedDown, type Spot } from "../../check/rules/problems.ts";

/** A key that the interface does not name, and its value, as they are spelled. */
interface OwnKey {
  readonly name: string;
  readonly value: string;
}

/** Keys of a request's own, by their decoded names, in their order. */
export type OwnKeys = ReadonlyMap<string, OwnKey>;

/** What one request says, and where. */
export interface RequestFacts {
  readonly split: string | undefined;
  readonly keys: OwnKeys;
  readonly spot: Spot;
  /** Where the split is, if it has one. */
  readonly splitSpot: Spot;
  readonly keySpots: ReadonlyMap<string, Spot>;
}

/** Requests as data: another thread gets this of them. */
export type RequestsData = Pick<Requests, "kept" | "count">;

/** Different requests that are kept: more are not needed to say that they differ. */
const maxKept = 100;

/** The different things that requests say; a million that say the same are one. */
export class Requests {
  /** By what they say, in the order they came. */
  readonly kept = new Map<string, RequestFacts>();
  /** Number of requests added. */
  count = 0;

  /** The different ones, in the order they came. */
  get different(): readonly RequestFacts[] {
    return [...this.kept.values()];
  }

  /** Adds what a request says; its positions are only asked for if it says something new. */
  add({ split, keys, spotOf }: { split: string | undefined; keys: OwnKeys; spotOf: (key?: string) => Spot }): void {
    this.count++;
    const says = JSON.stringify([split ?? null, [...keys.values()].map(({ name, value }) => [name, value])]);
    if (this.kept.has(says) || this.kept.size >= maxKept) return;
    const keySpots = new Map(Array.from(keys.keys(), (key) => [key, spotOf(key)]));
    this.kept.set(says, { split, keys, spot: spotOf(), splitSpot: spotOf("split"), keySpots });
  }

  /** Adds those of a later range, whose lines are counted from the last of `lines` lines on. */
  merge(later: RequestsData, lines: number): void {
    this.count += later.count;
    for (const [says, facts] of later.kept) {
      if (this.kept.has(says) || this.kept.size >= maxKept) continue;
      this.kept.set(says, {
        ...facts,
        spot: movedDown(facts.spot, lines),
        splitSpot: movedDown(facts.splitSpot, lines),
        keySpots: new Map(Array.from(facts.keySpots, ([key, spot]) => [key, movedDown(spot, lines)])),
      });
    }
  }
}

/** True if two values are spelled the same, except for white space between their tokens. */
export const sameSpelling = (a: string, b: string): boolean => a === b || compact(a) === compact(b);

/** JSON without the white space between its tokens. */
const compact = (json: string): string => json.replaceAll(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, "$1");

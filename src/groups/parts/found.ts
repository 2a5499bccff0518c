/** What was found in a range of a source, and how it is added to what was found before it. */

import { movedDown, type PackedProblems, Problems, type Spot } from "../../check/rules/problems.ts";
import type { Judgement } from "../../check/rules/rules.ts";
import { Tally, type TallyData } from "../metrics/metrics.ts";
import { type Extremes, mergeExtremes, newExtremes } from "../metrics/sketch.ts";
import { Parts, type PartsData } from "./parts.ts";

export type Shape = "requests" | "groups" | "trajectories";

/** What was found in a range of a source: the index, the metrics, the problems. */
export interface Found {
  readonly parts: Parts;
  /** Metrics and distributions of the valid trajectories. */
  readonly tally: Tally;
  readonly problems: Problems;
  readonly requests: Requests;
  readonly shapes: Set<Shape>;
  readonly extremes: Extremes;
}

/** The same as data, which can be handed to another thread. */
export interface PackedFound extends Pick<Found, "extremes"> {
  readonly parts: PartsData;
  readonly tally: TallyData;
  readonly problems: PackedProblems;
  readonly requests: Pick<Requests, "kept" | "count">;
  readonly shapes: ReadonlySet<Shape>;
}

/** What is kept of what is found. */
interface Keeping {
  /** Rules of which no problem needs to be kept. */
  readonly enough?: ReadonlySet<string>;
  /** True if parts are marked (parts.ts). Default: true. */
  readonly isMarked?: boolean | undefined;
}

export const nothingFound = (judgement: Judgement, { enough, isMarked }: Keeping = {}): Found => ({
  parts: new Parts(isMarked),
  tally: new Tally(),
  problems: new Problems(judgement, enough),
  requests: new Requests(),
  shapes: new Set(),
  extremes: newExtremes(),
});

export const packFound = (found: Found): PackedFound => ({ ...found, problems: found.problems.pack() });

/** Adds what was found in a later range, whose lines are counted from the last of `lines` lines on. */
export const mergeFound = (into: Found, later: PackedFound, lines = 0): void => {
  mergeExtremes(into.extremes, later.extremes, into.parts.count);
  into.parts.append(later.parts, lines);
  into.tally.merge(later.tally);
  into.problems.merge(later.problems, lines);
  into.requests.merge(later.requests, lines);
  for (const shape of later.shapes) into.shapes.add(shape);
};

/** Keys of a request that the interface does not name, by their decoded names, each as it is spelled. */
export type OwnKeys = ReadonlyMap<string, { readonly name: string; readonly value: string }>;

/** What one request says in addition to its groups, and where. */
export interface RequestFacts {
  readonly split: string | undefined;
  readonly keys: OwnKeys;
  readonly spot: Spot;
  /** Where the split is, if it has one. */
  readonly splitSpot: Spot;
  readonly keySpots: ReadonlyMap<string, Spot>;
}

/** Different requests that are kept: more are not needed to say that they differ. */
const maxKept = 100;

/** The different things that requests say; a million that say the same are one. */
export class Requests {
  /** By what they say, in the order they came. */
  readonly kept = new Map<string, RequestFacts>();
  count = 0;

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
  merge(later: Pick<Requests, "kept" | "count">, lines: number): void {
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

/** What was found in a range of a source, and how it is added to what was found before it. */

import { type ProblemLocation, Problems, type ProblemsData, shiftLine } from "../../check/rules/problems.ts";
import type { Strictness } from "../../check/rules/rules.ts";
import { Tally, type TallyData } from "../metrics/metrics.ts";
import { mergeExtremes, newExtremes, type RewardExtremes } from "../metrics/sketch.ts";
import { Parts, type PartsData } from "./parts.ts";

export type InputShape = "requests" | "groups" | "trajectories";

/** What was found in a range of a source: the index, the metrics, the problems. */
export interface ScanResult {
  readonly parts: Parts;
  /** Metrics and distributions of the valid trajectories. */
  readonly tally: Tally;
  readonly problems: Problems;
  readonly requests: Requests;
  readonly shapes: Set<InputShape>;
  readonly extremes: RewardExtremes;
}

/** The same as data, which can be handed to another thread. */
export interface ScanResultData extends Pick<ScanResult, "extremes"> {
  readonly parts: PartsData;
  readonly tally: TallyData;
  readonly problems: ProblemsData;
  readonly requests: Pick<Requests, "kept" | "count">;
  readonly shapes: ReadonlySet<InputShape>;
}

/** What is kept of what is found. */
interface ScanResultOptions {
  /** Rules of which no problem needs to be kept. */
  readonly fullRules?: ReadonlySet<string>;
  /** True if parts are marked (parts.ts). Default: true. */
  readonly hasDigests?: boolean | undefined;
}

export const newScanResult = (
  judgement: Strictness,
  { fullRules: enough, hasDigests: isMarked }: ScanResultOptions = {},
): ScanResult => ({
  parts: new Parts(isMarked),
  tally: new Tally(),
  problems: new Problems(judgement, enough),
  requests: new Requests(),
  shapes: new Set(),
  extremes: newExtremes(),
});

export const toScanResultData = (found: ScanResult): ScanResultData => ({
  ...found,
  problems: found.problems.toData(),
});

/** Adds what was found in a later range, whose lines are counted from the last of `lines` lines on. */
export const mergeScanResult = (into: ScanResult, later: ScanResultData, lines = 0): void => {
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
  readonly location: ProblemLocation;
  /** Where the split is, if it has one. */
  readonly splitLocation: ProblemLocation;
  readonly keyLocations: ReadonlyMap<string, ProblemLocation>;
}

/** Different requests that are kept: more are not needed to say that they differ. */
const maxRequests = 100;

/** The different things that requests say; a million that say the same are one. */
export class Requests {
  /** By what they say, in the order they came. */
  readonly kept = new Map<string, RequestFacts>();
  count = 0;

  get different(): readonly RequestFacts[] {
    return [...this.kept.values()];
  }

  /** Adds what a request says; its positions are only asked for if it says something new. */
  add({
    split,
    keys,
    spotOf,
  }: {
    split: string | undefined;
    keys: OwnKeys;
    spotOf: (key?: string) => ProblemLocation;
  }): void {
    this.count++;
    const says = JSON.stringify([split ?? null, [...keys.values()].map(({ name, value }) => [name, value])]);
    if (this.kept.has(says) || this.kept.size >= maxRequests) return;
    const keySpots = new Map(Array.from(keys.keys(), (key) => [key, spotOf(key)]));
    this.kept.set(says, { split, keys, location: spotOf(), splitLocation: spotOf("split"), keyLocations: keySpots });
  }

  /** Adds those of a later range, whose lines are counted from the last of `lines` lines on. */
  merge(later: Pick<Requests, "kept" | "count">, lines: number): void {
    this.count += later.count;
    for (const [says, facts] of later.kept) {
      if (this.kept.has(says) || this.kept.size >= maxRequests) continue;
      this.kept.set(says, {
        ...facts,
        location: shiftLine(facts.location, lines),
        splitLocation: shiftLine(facts.splitLocation, lines),
        keyLocations: new Map(Array.from(facts.keyLocations, ([key, spot]) => [key, shiftLine(spot, lines)])),
      });
    }
  }
}

/** True if two values are spelled the same, except for white space between their tokens. */
export const hasSameSpelling = (a: string, b: string): boolean => a === b || stripWhiteSpace(a) === stripWhiteSpace(b);

/** JSON without the white space between its tokens. */
const stripWhiteSpace = (json: string): string => json.replaceAll(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, "$1");

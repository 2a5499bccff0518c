/** Results of scanning a range of a source, and how they are merged. */

import { type ProblemLocation, Problems, type ProblemsData, shiftLine } from "../../check/rules/problems.ts";
import type { Strictness } from "../../check/rules/rules.ts";
import { Tally, type TallyData } from "../metrics/metrics.ts";
import { mergeSketch, newSketch, type Sketch } from "../metrics/sketch.ts";
import { Parts, type PartsData } from "./parts.ts";

export type InputShape = "requests" | "groups" | "trajectories";

/** Index, metrics and problems of a range. */
export interface ScanResult {
  readonly parts: Parts;
  /** Metrics of the valid trajectories. */
  readonly tally: Tally;
  readonly problems: Problems;
  readonly requests: Requests;
  readonly shapes: Set<InputShape>;
  /** Finite rewards of the valid trajectories. */
  readonly rewards: Sketch;
}

/** A scan result as sent between threads. */
export interface ScanResultData extends Pick<ScanResult, "rewards"> {
  readonly parts: PartsData;
  readonly tally: TallyData;
  readonly problems: ProblemsData;
  readonly requests: Pick<Requests, "kept" | "count">;
  readonly shapes: ReadonlySet<InputShape>;
}

export const newScanResult = (strictness: Strictness, hasDigests = true): ScanResult => ({
  parts: new Parts(hasDigests),
  tally: new Tally(),
  problems: new Problems(strictness),
  requests: new Requests(),
  shapes: new Set(),
  rewards: newSketch(),
});

export const toScanResultData = (result: ScanResult): ScanResultData => ({
  ...result,
  problems: result.problems.toData(),
});

/** Adds the result of a later range, and adds `lines` to its line numbers. */
export const mergeScanResult = (into: ScanResult, later: ScanResultData, lines = 0): void => {
  mergeSketch(into.rewards, later.rewards);
  into.parts.append(later.parts, lines);
  into.tally.merge(later.tally);
  into.problems.merge(later.problems, lines);
  into.requests.merge(later.requests, lines);
  for (const shape of later.shapes) into.shapes.add(shape);
};

/** Keys of a request outside of the interface, by decoded name, with the original JSON. */
export type OwnKeys = ReadonlyMap<string, { readonly name: string; readonly value: string }>;

/** A request without its groups. */
export interface RequestFacts {
  readonly split: string | undefined;
  readonly keys: OwnKeys;
  readonly location: ProblemLocation;
  /** Positions of the split and of each key. */
  readonly keyLocations: ReadonlyMap<string, ProblemLocation>;
}

/** Maximum stored requests, which is enough to show a difference. */
const maxRequests = 100;

/** Requests that differ, and the number of all. */
export class Requests {
  /** By content, in order. */
  readonly kept = new Map<string, RequestFacts>();
  count = 0;

  get different(): readonly RequestFacts[] {
    return [...this.kept.values()];
  }

  /** Adds a request; positions are computed only for a new request. */
  add({ split, keys }: Pick<RequestFacts, "split" | "keys">, locate: (key?: string) => ProblemLocation): void {
    this.count++;
    const content = JSON.stringify([split ?? null, [...keys.values()].map(({ name, value }) => [name, value])]);
    if (this.kept.has(content) || this.kept.size >= maxRequests) return;
    const keyLocations = new Map(["split", ...keys.keys()].map((key) => [key, locate(key)]));
    this.kept.set(content, { split, keys, location: locate(), keyLocations });
  }

  merge(later: Pick<Requests, "kept" | "count">, lines: number): void {
    this.count += later.count;
    for (const [content, facts] of later.kept) {
      if (this.kept.has(content) || this.kept.size >= maxRequests) continue;
      const moved = Array.from(facts.keyLocations, ([key, location]) => [key, shiftLine(location, lines)] as const);
      this.kept.set(content, { ...facts, location: shiftLine(facts.location, lines), keyLocations: new Map(moved) });
    }
  }
}

/** True if two values are equal except for white space between tokens. */
export const hasSameSpelling = (a: string, b: string): boolean => a === b || stripWhiteSpace(a) === stripWhiteSpace(b);

const stripWhiteSpace = (json: string): string => json.replaceAll(/("[^"\\]*(?:\\.[^"\\]*)*")|\s+/g, "$1");

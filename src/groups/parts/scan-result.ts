/** Results of scanning a range of a source, and how they are merged. */

import { Problems, type ProblemsData } from "../../check/rules/problems.ts";
import type { Strictness } from "../../check/rules/rules.ts";
import { Tally, type TallyData } from "../metrics/metrics.ts";
import { mergeSketch, newSketch, type Sketch } from "../metrics/sketch.ts";
import { Parts, type PartsData } from "./parts.ts";
import { type InputShape, Requests } from "./requests.ts";

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

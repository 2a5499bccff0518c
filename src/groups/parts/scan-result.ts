/** Results of scanning a source, and how they are merged. */

import { Problems } from "../../check/rules/problems.ts";
import type { Strictness } from "../../check/rules/rules.ts";
import { Tally } from "../metrics/metrics.ts";
import { mergeSketch, newSketch, type Sketch } from "../metrics/sketch.ts";
import { Parts } from "./parts.ts";
import { type InputShape, Requests } from "./requests.ts";

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

export const newScanResult = (strictness: Strictness, hasDigests = true): ScanResult => ({
  parts: new Parts(hasDigests),
  tally: new Tally(),
  problems: new Problems(strictness),
  requests: new Requests(),
  shapes: new Set(),
  rewards: newSketch(),
});

export const mergeScanResult = (into: ScanResult, later: ScanResult): void => {
  mergeSketch(into.rewards, later.rewards);
  into.parts.append(later.parts);
  into.tally.merge(later.tally);
  into.problems.merge(later.problems);
  into.requests.merge(later.requests);
  for (const shape of later.shapes) into.shapes.add(shape);
};

/** Creates and merges scan results. */
import { Problems } from "../../check/rules/problems.ts";
import type { Strictness } from "../../check/rules/rules.ts";
import { Tally } from "../metrics/metrics.ts";
import { createSketch, mergeSketch } from "../metrics/sketch.ts";
import { Parts } from "./parts.ts";
import { type InputShape, Requests } from "./requests.ts";

export const createScanResult = (strictness: Strictness, hasDigests = true) => ({
  parts: new Parts(hasDigests),
  /** Metrics of the valid trajectories. */
  tally: new Tally(),
  problems: new Problems(strictness),
  requests: new Requests(),
  shapes: new Set<InputShape>(),
  /** Finite rewards of the valid trajectories. */
  rewards: createSketch(),
});

export type ScanResult = Readonly<ReturnType<typeof createScanResult>>;

export const mergeScanResult = (into: ScanResult, later: ScanResult) => {
  mergeSketch(into.rewards, later.rewards);
  into.parts.append(later.parts);
  into.tally.merge(later.tally);
  into.problems.merge(later.problems);
  into.requests.merge(later.requests);
  for (const shape of later.shapes) into.shapes.add(shape);
};

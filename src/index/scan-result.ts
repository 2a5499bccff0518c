/** Creates and merges scan results. */
import { Problems } from "../problems/problems.ts";
import type { Strictness } from "../problems/rules.ts";
import { type InputShape, Requests } from "./contradictions.ts";
import { Tally } from "./metrics.ts";
import { Parts } from "./parts.ts";
import { createSketch, mergeSketch, type Sketch } from "./sketch.ts";

/** A class, because V8 would recompile the checker when a literal makes a second result. */
export class ScanResult {
  readonly parts: Parts;
  /** Metrics of the valid trajectories. */
  readonly tally: Tally;
  readonly problems: Problems;
  readonly requests: Requests;
  readonly shapes: Set<InputShape>;
  /** Finite rewards of the valid trajectories. */
  readonly rewards: Sketch;

  constructor(
    from: Pick<ScanResult, "parts" | "tally" | "problems" | "requests" | "shapes">,
    rewards = createSketch(),
  ) {
    this.parts = from.parts;
    this.tally = from.tally;
    this.problems = from.problems;
    this.requests = from.requests;
    this.shapes = from.shapes;
    this.rewards = rewards;
  }
}

export const createScanResult = (strictness: Strictness, hasDigests = true) =>
  new ScanResult({
    parts: new Parts(hasDigests),
    tally: new Tally(),
    problems: new Problems(strictness),
    requests: new Requests(),
    shapes: new Set<InputShape>(),
  });

export const mergeScanResult = (into: ScanResult, later: ScanResult) => {
  mergeSketch(into.rewards, later.rewards);
  into.parts.append(later.parts);
  into.tally.merge(later.tally);
  into.problems.merge(later.problems);
  into.requests.merge(later.requests);
  for (const shape of later.shapes) into.shapes.add(shape);
};

/** Adds parts to a scan result. */
import type { Problems } from "../rules/problems.ts";
import { type InputShape, Requests } from "./contradictions.ts";
import type { TrajectoryFacts } from "./fact-columns.ts";
import { Tally } from "./metrics.ts";
import { kinds, type Part, Parts } from "./parts.ts";
import { rewardTolerance } from "./sums.ts";

export interface NewPart {
  readonly kind: Part["kind"];
  readonly trajectories: number;
  readonly exceptions: number;
  readonly isValid: boolean;
}

/** A class, because V8 would recompile the checker when a literal makes a second result. */
export class ScanResult {
  readonly parts: Parts;
  /** Metrics of the valid trajectories. */
  readonly tally = new Tally();
  readonly problems: Problems;
  readonly requests = new Requests();
  readonly shapes = new Set<InputShape>();
  /** The `trainingBits` of all valid parts. */
  training = 0;
  #rewards = new Float64Array();

  constructor(problems: Problems, parts = new Parts({ hasDigests: true })) {
    this.problems = problems;
    this.parts = parts;
  }

  /**
   * Returns the number of the part. The caller adds warnings, digest, key and rows.
   *
   * @param facts begins with those of each trajectory of a valid part
   */
  addPart(
    position: Pick<Part, "source" | "start" | "length" | "line">,
    part: NewPart,
    facts: readonly TrajectoryFacts[],
  ) {
    const { parts } = this;
    const { columns } = parts;
    const { isValid, trajectories } = part;
    const at = parts.count++;
    columns.source.set(at, position.source);
    columns.start.set(at, position.start);
    columns.length.set(at, position.length);
    columns.line.set(at, position.line);
    columns.kind.set(at, kinds.indexOf(part.kind));
    columns.valid.set(at, isValid ? 1 : 0);
    columns.trajectories.set(at, trajectories);
    columns.row.set(at, parts.facts?.rows ?? parts.sampled.length);
    if (isValid) this.#measure(at, part, facts);
    else parts.fingerprints.length += trajectories;
    return at;
  }

  #measure(part: number, { kind, trajectories, exceptions }: NewPart, facts: readonly TrajectoryFacts[]) {
    const { parts, tally } = this;
    const { columns } = parts;
    let training = 0;
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    if (trajectories !== this.#rewards.length) this.#rewards = new Float64Array(trajectories);
    for (let at = 0; at < trajectories; at++) {
      const trajectory = facts[at];
      if (!trajectory) break;
      const { reward } = trajectory;
      tally.addTrajectory(trajectory);
      this.#rewards[at] = reward;
      if (reward < min) min = reward;
      if (reward > max) max = reward;
      parts.fingerprints.push(trajectory.fingerprint);
      if (parts.hasDigests) parts.sampled.push(trajectory.sampled);
      training |= trajectory.training;
    }
    const isGroup = kind === "group";
    if (isGroup) tally.addGroup({ rewards: this.#rewards, exceptions });
    columns.exceptions.set(part, exceptions);
    columns.equal.set(part, trajectories > 1 && max - min <= rewardTolerance ? 1 : 0);
    columns.reward.set(part, isGroup ? 0 : (this.#rewards[0] ?? 0));
    columns.training.set(part, training);
    this.training |= training;
  }

  /** Adds a result with the same index of parts. */
  merge(later: ScanResult) {
    this.tally.merge(later.tally);
    this.problems.merge(later.problems);
    for (const shape of later.shapes) this.shapes.add(shape);
    this.requests.merge(later.requests);
    this.training |= later.training;
  }
}

/** Adds parts to a scan result. */
import type { Problems } from "../rules/problems.ts";
import { type InputShape, Requests } from "./contradictions.ts";
import { rewardTolerance, Tally } from "./metrics.ts";
import { kinds, type Part, Parts, type PartsOptions } from "./parts.ts";
import { addToSketch, mergeSketch, Sketch } from "./sketch.ts";
import type { TrajectoryFacts } from "./trajectory-facts.ts";

export interface NewPart {
  readonly kind: Part["kind"];
  readonly trajectories: number;
  readonly exceptions: number;
  readonly isValid: boolean;
}

const allDigests: PartsOptions = { hasDigests: true };

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
  /** Finite rewards of the valid trajectories. */
  readonly rewards = new Sketch();
  #rewardsOfPart = new Float64Array(64);

  constructor(problems: Problems, options = allDigests) {
    this.problems = problems;
    this.parts = new Parts(options);
  }

  /** The caller adds warnings, digest and key. @param facts begins with those of each trajectory of a valid part */
  addPart(
    position: Pick<Part, "source" | "start" | "length" | "line">,
    part: NewPart,
    facts: readonly TrajectoryFacts[],
  ) {
    const { columns, facts: rows } = this.parts;
    const { isValid, trajectories } = part;
    columns.source.push(position.source);
    columns.start.push(position.start);
    columns.length.push(position.length);
    columns.line.push(position.line);
    columns.kind.push(kinds.indexOf(part.kind));
    columns.valid.push(isValid ? 1 : 0);
    columns.trajectories.push(trajectories);
    columns.exceptions.push(isValid ? part.exceptions : 0);
    columns.key.length++;
    columns.prompt.length++;
    columns.steps.length++;
    if (rows.walked) rows.addPart(facts, isValid ? trajectories : 0);
    if (isValid) return this.#measure(part, facts);
    for (const column of [columns.equal, columns.reward, columns.training]) column.length++;
    columns.fingerprint.length += trajectories;
  }

  #measure({ kind, trajectories, exceptions }: NewPart, facts: readonly TrajectoryFacts[]) {
    const { parts, tally } = this;
    const { columns } = parts;
    let training = 0;
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    if (trajectories > this.#rewardsOfPart.length) this.#rewardsOfPart = new Float64Array(2 * trajectories);
    for (let at = 0; at < trajectories; at++) {
      const trajectory = facts[at];
      if (!trajectory) break;
      const { reward } = trajectory;
      tally.addTrajectory(trajectory);
      this.#rewardsOfPart[at] = reward;
      if (reward < min) min = reward;
      if (reward > max) max = reward;
      if (Number.isFinite(reward)) addToSketch(this.rewards, reward);
      columns.fingerprint.push(trajectory.fingerprint);
      training |= trajectory.training;
    }
    const isGroup = kind === "group";
    if (isGroup) tally.addGroup({ rewards: this.#rewardsOfPart.subarray(0, trajectories), exceptions });
    columns.equal.push(trajectories > 1 && max - min <= rewardTolerance ? 1 : 0);
    columns.reward.push(isGroup ? 0 : (this.#rewardsOfPart[0] ?? 0));
    columns.training.push(training);
    this.training |= training;
  }

  merge(later: ScanResult) {
    mergeSketch(this.rewards, later.rewards);
    this.parts.append(later.parts);
    this.tally.merge(later.tally);
    this.problems.merge(later.problems);
    for (const shape of later.shapes) this.shapes.add(shape);
    this.requests.merge(later.requests);
    this.training |= later.training;
  }
}

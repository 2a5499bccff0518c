/** Adds parts to a scan result, and merges scan results. */
import { Problems } from "../rules/problems.ts";
import type { Strictness } from "../rules/rules.ts";
import { type InputShape, Requests } from "./contradictions.ts";
import { rewardTolerance, Tally } from "./metrics.ts";
import { kinds, type Part, Parts, type PartsOptions } from "./parts.ts";
import { addToSketch, mergeSketch, Sketch } from "./sketch.ts";
import type { TrajectoryFacts } from "./trajectory-facts.ts";

export type PartPosition = Pick<Part, "source" | "start" | "length" | "line">;

export interface NewPart {
  readonly kind: Part["kind"];
  readonly trajectories: number;
  readonly exceptions: number;
  readonly isValid: boolean;
  readonly isWarned: boolean;
}

/** A class, because V8 would recompile the checker when a literal makes a second result. */
export class ScanResult {
  readonly parts: Parts;
  /** Metrics of the valid trajectories. */
  readonly tally: Tally;
  readonly problems: Problems;
  readonly requests: Requests;
  readonly shapes: Set<InputShape>;
  /** Finite rewards of the valid trajectories. */
  readonly rewards = new Sketch();
  /** The rewards of each source. */
  readonly rewardsOfSources: Sketch[] = [];
  #rewardsOfPart = new Float64Array(64);

  constructor(from: Pick<ScanResult, "parts" | "tally" | "problems" | "requests" | "shapes">) {
    this.parts = from.parts;
    this.tally = from.tally;
    this.problems = from.problems;
    this.requests = from.requests;
    this.shapes = from.shapes;
  }

  /** The caller adds the digest and the key. @param facts begins with the facts of each trajectory of a valid part */
  addPart(position: PartPosition, part: NewPart, facts: readonly TrajectoryFacts[]) {
    const { columns, options, facts: rows } = this.parts;
    const { isValid, trajectories } = part;
    columns.source.push(position.source);
    columns.start.push(position.start);
    columns.length.push(position.length);
    columns.line.push(position.line);
    columns.kind.push(kinds.indexOf(part.kind));
    columns.valid.push(isValid ? 1 : 0);
    columns.warned.push(part.isWarned ? 1 : 0);
    columns.trajectories.push(trajectories);
    columns.exceptions.push(isValid ? part.exceptions : 0);
    columns.key.length++;
    columns.prompt.length++;
    columns.steps.length++;
    if (options.hasFacts || rows.walked) rows.addPart(facts, isValid ? trajectories : 0);
    if (isValid) return this.#measure(part, facts);
    for (const column of [columns.equal, columns.reward, columns.version, columns.training]) column.length++;
    columns.fingerprint.length += trajectories;
  }

  #measure({ kind, trajectories, exceptions }: NewPart, facts: readonly TrajectoryFacts[]) {
    const { parts, tally, rewards } = this;
    const { columns } = parts;
    let training = 0;
    let version = Number.NaN;
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    if (trajectories > this.#rewardsOfPart.length) this.#rewardsOfPart = new Float64Array(2 * trajectories);
    for (let at = 0; at < trajectories; at++) {
      const trajectory = facts[at];
      if (!trajectory) break;
      const { reward } = trajectory;
      tally.addMeasured(trajectory);
      this.#rewardsOfPart[at] = reward;
      if (reward < min) min = reward;
      if (reward > max) max = reward;
      if (Number.isFinite(reward)) addToSketch(rewards, reward);
      columns.fingerprint.push(trajectory.fingerprint);
      training |= trajectory.training;
      if (Number.isNaN(version) || trajectory.version > version) version = trajectory.version;
    }
    const isGroup = kind === "group";
    if (isGroup) tally.addGroup({ rewards: this.#rewardsOfPart.subarray(0, trajectories), exceptions });
    columns.equal.push(trajectories > 1 && max - min <= rewardTolerance ? 1 : 0);
    columns.reward.push(isGroup ? 0 : (this.#rewardsOfPart[0] ?? 0));
    columns.version.push(version);
    columns.training.push(training);
  }
}

const allDigests: PartsOptions = { hasDigests: true, hasChecksums: true, hasFacts: false };

export const createScanResult = (strictness: Strictness, options = allDigests) =>
  new ScanResult({
    parts: new Parts(options),
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

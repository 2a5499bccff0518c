/** Adds parts to a scan result, and copies parts of other results. */
import type { Problems } from "../rules/problems.ts";
import { type InputShape, Requests } from "./contradictions.ts";
import { rewardTolerance, Tally } from "./metrics.ts";
import { kinds, measureSubset, type Part, Parts, type PartsOptions } from "./parts.ts";
import { addToSketch, mergeSketch, Sketch } from "./sketch.ts";
import { TrajectoryFacts } from "./trajectory-facts.ts";

export interface NewPart {
  readonly kind: Part["kind"];
  readonly trajectories: number;
  readonly exceptions: number;
  readonly isValid: boolean;
}

/** `selected` has the indexes of the trajectories that stay if not all stay. */
type PartCopy = Readonly<{ isValid: boolean; selected: readonly number[] | undefined }>;

const allDigests: PartsOptions = { hasDigests: true, hasChecksums: true, canCopyParts: false };

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
  /** Finite rewards of the valid trajectories of each source. */
  readonly rewardsOfSources: (Sketch | undefined)[] = [];
  #rewardsOfPart = new Float64Array(64);

  /** Memory for the facts of the trajectories of a copied part. */
  readonly #copied: TrajectoryFacts[] = [];

  constructor(problems: Problems, options = allDigests) {
    this.problems = problems;
    this.parts = new Parts(options);
  }

  /** Finite rewards of the valid trajectories. */
  get rewards() {
    const all = new Sketch();
    for (const rewards of this.rewardsOfSources) if (rewards) mergeSketch(all, rewards);
    return all;
  }

  /** Adds the shapes and requests of another result. */
  addRequests({ shapes, requests }: ScanResult) {
    for (const shape of shapes) this.shapes.add(shape);
    this.requests.merge(requests);
  }

  /** The caller adds warnings, digest and key. @param facts begins with those of each trajectory of a valid part */
  addPart(
    position: Pick<Part, "source" | "start" | "length" | "line">,
    part: NewPart,
    facts: readonly TrajectoryFacts[],
  ) {
    const { columns, options, facts: rows } = this.parts;
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
    if (options.canCopyParts || rows.walked) rows.addPart(facts, isValid ? trajectories : 0);
    if (isValid) return this.#measure(part, facts, this.#rewardsOf(position.source));
    for (const column of [columns.equal, columns.reward, columns.version, columns.training]) column.length++;
    columns.fingerprint.length += trajectories;
  }

  #measure({ kind, trajectories, exceptions }: NewPart, facts: readonly TrajectoryFacts[], rewards: Sketch) {
    const { parts, tally } = this;
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
      tally.addTrajectory(trajectory);
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
    this.training |= training;
  }

  merge(later: ScanResult) {
    for (const [source, rewards] of later.rewardsOfSources.entries())
      if (rewards) mergeSketch(this.#rewardsOf(source), rewards);
    this.parts.append(later.parts);
    this.tally.merge(later.tally);
    this.problems.merge(later.problems);
    this.addRequests(later);
    this.training |= later.training;
  }

  #rewardsOf(source: number) {
    const rewards = this.rewardsOfSources[source] ?? new Sketch();
    this.rewardsOfSources[source] = rewards;
    return rewards;
  }

  /** Adds a part of another result. The caller adds the problems. */
  copyPart({ parts: from }: ScanResult, at: number, { isValid, selected }: PartCopy) {
    const { parts } = this;
    const { columns, facts } = from;
    const { kind, source, start, length, line, trajectories } = from.at(at);
    const all = facts.rowsOf([at]);
    const rows = isValid ? (selected?.map((row) => all[row] ?? 0) ?? all) : [];
    for (const [to, row] of rows.entries())
      this.#copied[to] = facts.read(row, this.#copied[to] ?? new TrajectoryFacts());
    const subset = selected && { selected, wholeLength: length, spans: () => all.map((row) => facts.spanOf(row)) };
    if (subset) parts.subsets.set(parts.count, subset);
    const exceptions = columns.exceptions.at(at);
    this.addPart(
      { source, start, length: subset ? measureSubset(subset) : length, line },
      { kind, trajectories: selected?.length ?? trajectories, exceptions, isValid },
      this.#copied,
    );
    if (facts.walked) parts.facts.walked?.copyRows(facts.walked, rows);
    parts.columns.warned.push(columns.warned.at(at));
    parts.columns.checksum.push(columns.checksum.at(at));
    if (parts.options.hasDigests) parts.digests.append(from.digests.at(at));
    parts.setLast("prompt", columns.prompt.at(at));
    parts.setLast("steps", columns.steps.at(at));
  }
}

/** Stores the facts of trajectories, so that rollcall can select some of them without a second scan. */

import type { Span } from "../json/json-bytes.ts";
import { NumberColumn } from "./column.ts";
import { createTrajectoryFacts, noMetrics, type TrajectoryFacts } from "./trajectory-facts.ts";

/** Each column has one element per trajectory of a valid part. */
export class TrajectoryColumns {
  readonly #reward = new NumberColumn("f64");
  readonly #version = new NumberColumn("f64", Number.NaN);
  readonly #training = new NumberColumn("u8");
  readonly #start = new NumberColumn("u32");
  readonly #length = new NumberColumn("u32");
  readonly #fingerprint = new NumberColumn("u32");
  readonly #choices = new NumberColumn("u32");
  readonly #choicesWithLogprobs = new NumberColumn("u32");
  readonly #names: (readonly string[])[] = [];
  /** The index of the first metric in `#metrics`. */
  readonly #firstMetric = new NumberColumn("f64");
  readonly #metrics = new NumberColumn("f64");

  get count() {
    return this.#names.length;
  }

  add(facts: TrajectoryFacts) {
    this.#reward.push(facts.reward);
    this.#version.push(facts.version);
    this.#training.push(facts.training);
    this.#start.push(facts.start);
    this.#length.push(facts.length);
    this.#fingerprint.push(facts.fingerprint);
    this.#choices.push(facts.choices);
    this.#choicesWithLogprobs.push(facts.choicesWithLogprobs);
    this.#names.push(facts.metricNames);
    this.#firstMetric.push(this.#metrics.length);
    for (let at = 0; at < facts.metricNames.length; at++) this.#metrics.push(facts.metrics[at] ?? 0);
  }

  append(later: TrajectoryColumns) {
    const facts = createTrajectoryFacts();
    for (let at = 0; at < later.count; at++) this.add(later.read(at, facts));
  }

  versionOf(at: number) {
    return this.#version.at(at);
  }

  rewardOf(at: number) {
    return this.#reward.at(at);
  }

  /** The position in the part. */
  spanOf(at: number): Span {
    const start = this.#start.at(at);
    return { start, end: start + this.#length.at(at) };
  }

  /** Overwrites and returns `facts`. */
  read(at: number, facts: TrajectoryFacts): TrajectoryFacts {
    const names = this.#names[at] ?? noMetrics;
    const first = this.#firstMetric.at(at);
    facts.reward = this.#reward.at(at);
    facts.version = this.#version.at(at);
    facts.training = this.#training.at(at);
    facts.start = this.#start.at(at);
    facts.length = this.#length.at(at);
    facts.fingerprint = this.#fingerprint.at(at);
    facts.choices = this.#choices.at(at);
    facts.choicesWithLogprobs = this.#choicesWithLogprobs.at(at);
    facts.metricNames = names;
    if (facts.metrics.length < names.length) facts.metrics = new Float64Array(2 * names.length);
    for (let metric = 0; metric < names.length; metric++) facts.metrics[metric] = this.#metrics.at(first + metric);
    return facts;
  }
}

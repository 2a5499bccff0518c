/** Adds a trajectory to metrics by its values, as a reference for the facts that a walk finds. */

import { TrajectoryFacts } from "../../src/rollouts/index/fact-columns.ts";
import { isCalculated, type Tally } from "../../src/rollouts/index/metrics.ts";

export interface MeasuredTrajectory {
  readonly reward: number;
  readonly metrics?: Readonly<Record<string, unknown>> | null | undefined;
}

const facts = new TrajectoryFacts();

export const addTrajectory = (tally: Tally, { reward, metrics }: MeasuredTrajectory) => {
  const values = Object.entries(metrics ?? {}).flatMap(([name, given]) => {
    const value: unknown = typeof given === "boolean" ? Number(given) : given;
    return typeof value === "number" && Number.isFinite(value) && !isCalculated(name) ? [{ name, value }] : [];
  });
  const metricNames = values.map(({ name }) => name);
  const numbers = Float64Array.from(values, ({ value }) => value);
  tally.addTrajectory(Object.assign(facts, { reward, metricNames, metrics: numbers }));
};

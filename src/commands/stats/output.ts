/** Defines the documents of `stats`. */
import * as s from "../../output/document-schemas.ts";
import { type Fact, facts, groupFacts, lengthNames, mapFacts } from "../../rollouts/facts/facts.ts";

const interval = s.describe(
  "95 % interval of the mean, clustered by group; null for fewer than two groups",
  s.nullable(s.list(s.number)),
);
const optionalNumber = s.nullable(s.number);
const length = s.objectOrNull({ trajectories: s.count, ...s.sameKeys(s.number, "mean", "p50", "p95", "max") });

const statsKeys = {
  groups: s.count,
  trajectories: s.count,
  exceptions: s.count,
  reward: s.objectOrNull({
    mean: s.number,
    ci95: interval,
    std_dev: s.describe("over all trajectories", s.number),
    within_group_std_dev: s.describe("reward_std_dev of check", s.number),
    ...s.sameKeys(s.number, "min", "p10", "p50", "p90", "max"),
  }),
  solved: s.objectOrNull({
    at: s.describe("the reward from which a trajectory is solved", s.number),
    always: s.describe("groups whose trajectories are all solved", s.count),
    sometimes: s.count,
    never: s.count,
    pass: s.objectsAbout(
      "the means of pass@k and of pass^k (all k solved), over the groups of at least k trajectories",
      {
        k: s.position,
        groups: s.count,
        ...s.sameKeys(optionalNumber, "value", "all"),
      },
    ),
  }),
  finish_reasons: s.objectsOrNull("of the last choices; null without trajectories", {
    name: s.nullable(s.text),
    trajectories: s.count,
    reward: s.describe("mean", optionalNumber),
  }),
  ...s.sameKeys(length, ...lengthNames),
  tools: s.objects({ name: s.nullable(s.text), ...s.sameKeys(s.count, "calls", "errors", "unanswered") }),
  metrics: s.describe(
    "null without metrics",
    s.nullable(s.named(s.object({ trajectories: s.count, mean: s.number, ci95: interval }))),
  ),
};

const slice = s.object({
  value: s.describe(
    "the value of the key of --by; null if it is missing",
    s.nullable(s.union([s.text, s.number, s.flag])),
  ),
  ...statsKeys,
});

const stats = s.object({
  ...statsKeys,
  by: s.describe("the values of --by in natural order", s.list(slice)),
  ...s.inputKeys,
  warnings: s.problems,
  notes: s.notes,
});
export type StatsDocument = s.Infer<typeof stats>;
export type SliceDocument = s.Infer<typeof slice>;

const rowKeys = {
  file: s.describe("with the path of a record in a document, such as results.json#simulations.7", s.text),
  line: s.position,
  key: s.nullable(s.text),
  prompt: s.describe("the beginning of the prompt", s.text),
};
const types = { number: s.number, count: s.count, flag: s.flag, text: s.text };
const defineFact = ({ type, about, unknown }: Fact) =>
  s.describe(about, unknown === undefined ? types[type] : s.nullable(types[type]));

const trajectoryRow = s.object({
  ...rowKeys,
  ...mapFacts(facts, defineFact),
  trajectory: s.describe("the number in its group, from 1", s.count),
});

const groupRow = s.object({
  ...rowKeys,
  trajectories: s.count,
  exceptions: s.count,
  std_dev: optionalNumber,
  ...mapFacts(groupFacts, ({ inGroup }) => (inGroup === "mean" ? s.describe("mean", optionalNumber) : s.count)),
});

const rows = <Row extends s.Schema>(row: Row) => s.object({ data: s.list(row), warnings: s.problems, notes: s.notes });

export const outputs: s.Outputs = {
  stats: [
    "facts of rollouts; with --each, the rows in data",
    s.union([stats, rows(trajectoryRow), rows(groupRow)]),
    s.union([stats, trajectoryRow, groupRow]),
    ({ each }) => (each === "group" ? groupRow : each === "trajectory" ? trajectoryRow : stats),
  ],
};

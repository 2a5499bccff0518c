/** Defines the documents of `stats`. */
import * as s from "../../output/document-schemas.ts";
import {
  count,
  describe,
  inputKeys,
  list,
  named,
  notes,
  nullable,
  number,
  object,
  text,
} from "../../output/document-schemas.ts";
import { type Fact, facts, groupFacts, mapFacts, walkedNames } from "../../rollouts/facts/facts.ts";

const interval = describe(
  "95 % interval of the mean, clustered by group; null for fewer than two groups",
  nullable(list(number)),
);
const length = nullable(object({ trajectories: count, mean: number, p50: number, p95: number, max: number }));

const statsKeys = {
  groups: count,
  trajectories: count,
  exceptions: count,
  reward: nullable(
    object({
      mean: number,
      ci95: interval,
      std_dev: describe("over all trajectories", number),
      within_group_std_dev: describe("reward_std_dev of check", number),
      ...s.sameKeys(number, "min", "p10", "p50", "p90", "max"),
    }),
  ),
  solved: nullable(
    object({
      at: describe("the reward from which a trajectory is solved", number),
      always: describe("groups whose trajectories are all solved", count),
      sometimes: count,
      never: count,
      pass: describe(
        "the means of pass@k and of pass^k (all k solved), over the groups of at least k trajectories",
        list(object({ k: s.position, groups: count, value: nullable(number), all: nullable(number) })),
      ),
    }),
  ),
  finish_reasons: describe(
    "of the last choices; null without trajectories",
    nullable(list(object({ name: nullable(text), trajectories: count, reward: describe("mean", nullable(number)) }))),
  ),
  ...s.sameKeys(length, ...walkedNames),
  tools: list(object({ name: nullable(text), calls: count, errors: count, unanswered: count })),
  metrics: describe(
    "null without metrics",
    nullable(named(object({ trajectories: count, mean: number, ci95: interval }))),
  ),
};

const slice = object({
  value: describe("the value of the key of --by; null if it is missing", nullable(s.union([text, number, s.flag]))),
  ...statsKeys,
});

const stats = object({
  ...statsKeys,
  by: describe("the values of --by in natural order", list(slice)),
  ...inputKeys,
  warnings: s.problems,
  notes,
});
export type StatsDocument = s.Infer<typeof stats>;
export type SliceDocument = s.Infer<typeof slice>;

const rowKeys = {
  file: describe("with the path of a record in a document, such as results.json#simulations.7", text),
  line: s.position,
  key: nullable(text),
  prompt: describe("the beginning of the prompt", text),
};
const optionalNumber = nullable(number);

const types = { number, count, flag: s.flag, text };
const defineFact = ({ type, about, unknown }: Fact) =>
  describe(about, unknown === undefined ? types[type] : nullable(types[type]));

const trajectoryRow = object({
  ...rowKeys,
  ...mapFacts(facts, defineFact),
  trajectory: describe("the number in its group, from 1", count),
});

const groupRow = object({
  ...rowKeys,
  trajectories: count,
  exceptions: count,
  std_dev: optionalNumber,
  ...mapFacts(groupFacts, ({ inGroup }) => (inGroup === "mean" ? describe("mean", optionalNumber) : count)),
});

const rows = <Row extends s.Schema>(row: Row) => object({ data: list(row), warnings: s.problems, notes });

export const outputs: s.Outputs = {
  stats: ["facts of rollouts; with --each, the rows in data", s.union([stats, rows(trajectoryRow), rows(groupRow)])],
};

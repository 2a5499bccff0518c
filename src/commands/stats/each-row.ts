import type { Context } from "../../context.ts";
import type { Dataset } from "../../dataset/index.ts";
import type { toProblemDocument } from "../../failure.ts";
import { parseKeyText } from "../../index/group-key.ts";
import { toRawJson } from "../../json/raw-json.ts";
import { noteSelection, parseOrder, rankColumns, sortRows } from "../../lists/sort-rows.ts";
import type { OrderOptions } from "../../options/list-options.ts";
import { type KeyColumn, printList } from "../../output/index.ts";
import * as stats from "../../stats/index.ts";
import type { GroupRow, TrajectoryRow } from "./output.ts";

type RowOptions = OrderOptions & Readonly<{ pass: number }>;
type Warnings = readonly ReturnType<typeof toProblemDocument>[];

/** Checks `--sort` before the input is read. @throws Failure `invalid-option-value` */
export const openRows = (each: "group" | "trajectory", options: RowOptions) => {
  const { pass } = options;
  return each === "group"
    ? openList(options, "groups", groupColumns, stats.listGroupFacts, (row) => toGroupRow(row, pass))
    : openList(options, "trajectories", trajectoryColumns, stats.listTrajectoryFacts, (row) =>
        toTrajectoryRow(row, pass),
      );
};

const openList = <Facts, Row extends object>(
  { sort, limit }: RowOptions,
  noun: string,
  columns: readonly KeyColumn<Row>[],
  listFacts: (dataset: Dataset, signal: AbortSignal) => AsyncGenerator<Facts>,
  toRow: (facts: Facts) => Row,
) => {
  const order = parseOrder(sort, columns);
  return {
    async print({ screen, host }: Context, dataset: Dataset, warnings: Warnings) {
      const all: Row[] = [];
      for await (const facts of listFacts(dataset, host.signal)) all.push(toRow(facts));
      const data = sortRows(all, order).slice(0, limit);
      noteSelection(screen, { of: all, matching: all, shown: data }, noun);
      const wire = { document: toRawJson({ data, warnings, notes: screen.notices }), member: "data" };
      await printList(screen, { columns: rankColumns(columns, order), rows: data, wire });
    },
  };
};

const toTrajectoryRow = (
  { position, trajectory, fact, groupMean }: stats.TrajectoryFactsRow,
  pass: number,
): TrajectoryRow => {
  const { reward, advantage, ...others } = stats.toFactValues(fact, groupMean);
  const solved = reward === null ? null : stats.isSolved(reward, pass);
  return { ...position, key: toText(fact.key), reward, advantage, solved, ...others, trajectory };
};

const toGroupRow = ({ position, exceptions, facts }: stats.GroupFactsRow, pass: number): GroupRow => {
  const { calls, errors, unanswered } = stats.sumUses(facts.flatMap(({ tools }) => [...tools.values()]));
  const rewards = facts.map(({ reward }) => reward).filter(Number.isFinite);
  const moments = stats.computeMoments(rewards);
  const mean = (values: readonly number[]) => (values.length === 0 ? null : stats.computeMoments(values).mean);
  return {
    ...position,
    key: toText(facts[0]?.key),
    trajectories: facts.length,
    exceptions,
    reward: rewards.length === 0 ? null : moments.mean,
    std_dev: rewards.length === 0 ? null : moments.deviation,
    solved: rewards.filter((reward) => stats.isSolved(reward, pass)).length,
    turns: mean(facts.map(({ turns }) => turns)),
    characters: mean(facts.map(({ characters }) => characters)),
    tokens: mean(facts.map(({ tokens }) => tokens).filter((tokens) => tokens >= 0)),
    tool_calls: calls,
    tool_errors: errors,
    unanswered,
  };
};

const toText = (key: string | undefined) => (key === undefined ? null : String(parseKeyText(key)));

const numbers = { align: "right", isRounded: true } as const;

const trajectoryColumns: readonly KeyColumn<TrajectoryRow>[] = [
  { name: "file", rank: 0 },
  { name: "line", rank: 0, align: "right" },
  { name: "key", rank: 4 },
  { name: "reward", rank: 0, ...numbers },
  { name: "advantage", rank: 5, ...numbers },
  { name: "solved", rank: 7 },
  { name: "turns", rank: 3, ...numbers },
  { name: "characters", rank: 6, ...numbers },
  { name: "tokens", rank: 6, ...numbers },
  { name: "finish_reason", heading: "finish reason", rank: 2 },
  { name: "tool_calls", heading: "tool calls", rank: 4, ...numbers },
  { name: "tool_errors", heading: "tool errors", rank: 3, ...numbers },
  { name: "unanswered", rank: 7, ...numbers },
  { name: "trajectory", rank: 1, align: "right" },
];

const groupColumns: readonly KeyColumn<GroupRow>[] = [
  { name: "file", rank: 0 },
  { name: "line", rank: 0, align: "right" },
  { name: "key", rank: 4 },
  { name: "trajectories", rank: 2, ...numbers },
  { name: "exceptions", rank: 8, ...numbers },
  { name: "reward", rank: 0, ...numbers },
  { name: "std_dev", heading: "std dev", rank: 1, ...numbers },
  { name: "solved", rank: 2, ...numbers },
  { name: "turns", rank: 5, ...numbers },
  { name: "characters", rank: 6, ...numbers },
  { name: "tokens", rank: 6, ...numbers },
  { name: "tool_calls", heading: "tool calls", rank: 7, ...numbers },
  { name: "tool_errors", heading: "tool errors", rank: 6, ...numbers },
  { name: "unanswered", rank: 8, ...numbers },
];

/** Returns the names of the columns that `--each` prints. */
export const rowNames = (each: string | undefined): readonly string[] =>
  each === "group" ? groupColumns.map(({ name }) => name) : trajectoryColumns.map(({ name }) => name);

/** Defines the columns of the results of `stats` for the values of `--by`. */

import { readValue } from "../../output/list.ts";
import type { KeyColumn } from "../../output/views.ts";
import { walkedNames } from "../../rollouts/facts/facts.ts";
import type { Stats } from "../../rollouts/stats/stats-slice.ts";
import { formatForDisplay } from "../../text/decimal.ts";
import { formatShare } from "../../text/units.ts";
import type { SliceDocument } from "./output.ts";

/** `hasKey` is false if JSON has the value at another path than the name. */
type SliceColumn = KeyColumn<SliceDocument> & {
  readonly hasKey?: boolean;
  /** Only for columns that a terminal shows without --fields. */
  readonly table?: Pick<KeyColumn<SliceDocument>, "heading" | "cell">;
};

/** Returns the values of the columns by their names. */
export const toColumnValues = (columns: readonly SliceColumn[], row: SliceDocument) =>
  Object.fromEntries(columns.map((column) => [column.name, readValue(column, row) ?? null]));

/** The columns of TSV and CSV: a row for each value of `--by`, or one for the input. */
export const sliceColumns = (by: string | undefined, { solved }: Pick<Stats, "solved">): readonly SliceColumn[] => [
  ...(by === undefined ? [] : [{ name: "value" as const, heading: by, rank: 0, table: {} }]),
  { name: "groups", rank: 1, table: {} },
  { name: "trajectories", rank: 1 },
  { name: "exceptions", rank: 1 },
  {
    name: "reward.mean",
    rank: 0,
    value: ({ reward }) => reward?.mean,
    table: { heading: "reward", cell: formatReward },
  },
  { name: "reward.ci95_low", rank: 1, value: ({ reward }) => reward?.ci95?.[0], hasKey: false },
  { name: "reward.ci95_high", rank: 1, value: ({ reward }) => reward?.ci95?.[1], hasKey: false },
  ...(["always", "sometimes", "never"] as const).map((name) => ({
    name: `solved.${name}`,
    rank: 1,
    value: (row: SliceDocument) => row.solved?.[name],
  })),
  {
    name: "solved.any",
    rank: 3,
    hasKey: false,
    value: ({ solved: own }) => own && own.always + own.sometimes,
    table: { heading: "solved" },
  },
  ...(solved?.pass ?? []).map(({ k }) => ({
    name: `pass@${k}`,
    ...(k === 1 && { table: {} }),
    rank: 3,
    hasKey: false,
    value: (row: SliceDocument) => row.solved?.pass.find((one) => one.k === k)?.value,
  })),
  ...walkedNames.map((name) => ({
    name: `${name}.mean`,
    ...(name === "characters" && { table: { heading: "characters" } }),
    rank: 2,
    value: (row: SliceDocument) => row[name]?.mean,
  })),
  { name: "truncated", rank: 1, hasKey: false, value: findTruncated, table: { cell: formatShareOf(findTruncated) } },
  { name: "failed", rank: 1, hasKey: false, value: findFailed, table: { cell: formatShareOf(findFailed) } },
  {
    name: "tool_errors",
    rank: 1,
    hasKey: false,
    value: ({ tools }) => tools.reduce((sum, { errors }) => sum + errors, 0),
    table: { heading: "calls with errors", cell: formatToolErrors },
  },
];

const formatReward = ({ reward }: SliceDocument) => {
  if (!reward) return "";
  const [, high = reward.mean] = reward.ci95 ?? [];
  return `${round(reward.mean)}${reward.ci95 ? ` ± ${round(high - reward.mean)}` : ""}`;
};

const round = (value: number) => formatForDisplay(Number(value.toPrecision(3)));

/** Null if no finish reason is recorded. */
const findTruncated = ({ finish_reasons, trajectories }: SliceDocument) => {
  const known = (finish_reasons ?? []).filter(({ name, trajectories: count }) => name !== null && count > 0);
  if (known.length === 0) return null;
  return (known.find(({ name }) => name === "length")?.trajectories ?? 0) / trajectories;
};

const findFailed = ({ exceptions, trajectories }: SliceDocument) =>
  exceptions + trajectories === 0 ? null : exceptions / (exceptions + trajectories);

const formatShareOf = (find: (row: SliceDocument) => number | null) => (row: SliceDocument) => {
  const share = find(row);
  return share === null ? "not recorded" : formatShare(share);
};

const formatToolErrors = ({ tools }: SliceDocument) => {
  const calls = tools.reduce((sum, tool) => sum + tool.calls, 0);
  const errors = tools.reduce((sum, tool) => sum + tool.errors, 0);
  return calls === 0 ? "" : `${errors} of ${calls}`;
};

/** The last columns of a table. */
const lastNames = ["characters.mean", "tool_errors"];

/** A row for each value of `--by`. A terminal shows few columns without `fields`. */
export const selectTableColumns = (columns: readonly SliceColumn[], fields: readonly string[] | undefined) =>
  columns
    .filter(({ name, table }) => (fields ? fields.includes(name) : table !== undefined))
    .sort((x, y) => lastNames.indexOf(x.name) - lastNames.indexOf(y.name))
    .map(({ table, hasKey: _, ...column }) => ({ ...column, ...numbers, ...table }));

const numbers = { align: "right", isRounded: true } as const;

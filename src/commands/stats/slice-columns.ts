/** Defines the columns of the results of `stats` for the values of `--by`. */

import { isObject } from "../../json/raw-json.ts";
import { readValue } from "../../output/list.ts";
import type { Column } from "../../output/views.ts";
import { isCutOff, lengthNames } from "../../rollouts/facts.ts";
import type { Stats } from "../../rollouts/stats/stats-slice.ts";
import { formatForDisplay, formatShare, roundForDisplay } from "../../text/units.ts";

/** The display of a column with numbers. */
export const numbers = { align: "right", isRounded: true } as const;

/** The facts of a value of `--by`. `value` is null if the key is missing. */
export type SliceDocument = Stats & Readonly<{ value: unknown }>;

type SliceColumn = Column<SliceDocument> & {
  /** True if JSON has no value at this name. */
  readonly isDerived: boolean;
  /** True if a terminal shows the column without --fields. */
  readonly isUsual: boolean;
};

/** The heading and cells in a terminal that shows the column without --fields. */
type Usual = Pick<Column<SliceDocument>, "heading" | "cell">;

/** A column with the value at the path `name` in JSON. */
const key = (name: string, rank: number, usual?: Usual): SliceColumn => {
  const value = (row: SliceDocument) =>
    name.split(".").reduce<unknown>((holder, step) => (isObject(holder) ? holder[step] : undefined), row);
  return { name, rank, value, ...usual, isUsual: usual !== undefined, isDerived: false };
};

const derived = (name: string, rank: number, value: (row: SliceDocument) => unknown, usual?: Usual): SliceColumn => {
  return { name, rank, value, ...usual, isUsual: usual !== undefined, isDerived: true };
};

/** Returns the values of the columns by their names. */
export const toColumnValues = (columns: readonly SliceColumn[], row: SliceDocument) =>
  Object.fromEntries(columns.map((column) => [column.name, readValue(column, row) ?? null]));

/** The columns of TSV: a row for each value of `--by`, or one for the input. */
export const sliceColumns = (by: string | undefined, tries: readonly number[]): readonly SliceColumn[] => [
  ...(by === undefined ? [] : [key("value", 0, { heading: by })]),
  key("groups", 1, {}),
  key("trajectories", 1),
  key("exceptions", 1),
  key("reward.mean", 0, { heading: "reward", cell: formatReward }),
  derived("reward.ci95_low", 1, ({ reward }) => reward?.ci95?.[0]),
  derived("reward.ci95_high", 1, ({ reward }) => reward?.ci95?.[1]),
  ...["always", "sometimes", "never"].map((name) => key(`solved.${name}`, 1)),
  derived("solved.any", 3, ({ solved: own }) => own && own.always + own.sometimes, { heading: "solved" }),
  ...tries.map((k) => {
    const value = (row: SliceDocument) => row.solved?.pass.find((one) => one.k === k)?.value;
    return derived(`pass@${k}`, 3, value, k === 1 ? {} : undefined);
  }),
  ...lengthNames.map((name) => key(`${name}.mean`, 2, name === "characters" ? { heading: name } : undefined)),
  derived("truncated", 1, findTruncated, { cell: formatShareOf(findTruncated) }),
  derived("failed", 1, findFailed, { cell: formatShareOf(findFailed) }),
  derived("tool_errors", 1, ({ tools }) => sumOf(tools, "errors"), {
    heading: "calls with errors",
    cell: formatToolErrors,
  }),
];

const sumOf = (tools: SliceDocument["tools"], count: "calls" | "errors") =>
  tools?.reduce((sum, tool) => sum + tool[count], 0) ?? null;

const formatReward = ({ reward }: SliceDocument) => {
  if (!reward) return "";
  const [, high = reward.mean] = reward.ci95 ?? [];
  const half = formatForDisplay(Number((high - reward.mean).toPrecision(3)));
  return `${formatForDisplay(reward.mean)}${reward.ci95 ? ` ± ${half}` : ""}`;
};

/** Null if no finish reason is recorded. */
const findTruncated = ({ finish_reasons, trajectories }: SliceDocument) => {
  const known = (finish_reasons ?? []).filter(({ name }) => name !== null);
  if (known.length === 0) return null;
  return (known.find(({ name }) => isCutOff(name))?.trajectories ?? 0) / trajectories;
};

const findFailed = ({ exceptions, trajectories }: SliceDocument) =>
  exceptions + trajectories === 0 ? null : exceptions / (exceptions + trajectories);

const formatShareOf = (find: (row: SliceDocument) => number | null) => (row: SliceDocument) => {
  const share = find(row);
  return share === null ? "not recorded" : formatShare(share);
};

const formatToolErrors = ({ tools }: SliceDocument) => {
  const calls = sumOf(tools, "calls");
  return calls ? `${sumOf(tools, "errors")} of ${calls}` : "";
};

/** The last columns of a table. */
const lastNames = ["characters.mean", "tool_errors"];

/** A terminal shows few columns without `--fields`. */
export const toTableColumns = (columns: readonly SliceColumn[], hasFields: boolean) =>
  columns
    .filter(({ isUsual }) => hasFields || isUsual)
    .sort((x, y) => lastNames.indexOf(x.name) - lastNames.indexOf(y.name))
    .map(({ isUsual: _, isDerived: _own, ...column }) => ({ ...column, ...numbers }));

/** TSV has the values of JSON with fewer digits, and their names. */
export const toValueColumns = (columns: readonly SliceColumn[], by: string | undefined) =>
  columns.map((column) => {
    const { name, rank } = column;
    const value = (row: SliceDocument) => {
      const found = readValue(column, row);
      return typeof found === "number" && name !== "value" ? roundForDisplay(found) : found;
    };
    return { name, rank, value, heading: name === "value" && by !== undefined ? by : name };
  });

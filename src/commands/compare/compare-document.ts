/** Defines the document of `rollcall compare`, and lists and formats its means by their names. */
import type { ProblemDocument } from "../../failure.ts";
import type { KeyColumn } from "../../output/views.ts";
import { rewardTolerance } from "../../rollouts/index/metrics.ts";
import type { Compared } from "../../rollouts/stats/compare.ts";
import { formatForDisplay } from "../../text/units.ts";

export interface CompareDocument extends Compared {
  /** The pairs whose reward changed most. */
  readonly changed: readonly ChangedPair[];
  readonly warnings: readonly ProblemDocument[];
  readonly notes: readonly string[];
}

/** `at_a` and `at_b` are positions, such as `a.jsonl:3`. */
export type ChangedPair = Readonly<
  Record<"prompt" | "at_a" | "at_b", string> & Record<"a" | "b" | "difference", number> & { key: string | null }
>;

export const documentKeys: readonly (keyof CompareDocument)[] = [
  ...(["a", "b", "exceptions", "paired", "only_a", "only_b", "failed_a", "failed_b", "without_prompt"] as const),
  ...(["reward", "reward_of_all", "pass", "causes", "facts", "tools", "transitions", "divisions"] as const),
  ...(["settings", "metrics", "finish_reasons", "changed", "warnings", "notes"] as const),
];

type Measure = Omit<Compared["pass"][number], "k" | "pairs" | "all"> & Readonly<{ name: string; pairs: number | null }>;
/** A measure of at least one pair. */
export type ChangedMeasure = NonNullable<Compared["metrics"]>[number];

type Measures = Pick<Compared, "reward" | "pass" | "metrics">;

const listMeasures = ({ reward, pass, metrics }: Measures): readonly Measure[] => [
  ...(reward ? [{ name: "reward", ...reward }] : []),
  ...pass.map(({ k, all: _, ...compared }) => ({ name: `pass@${k}`, ...compared })),
  ...(metrics ?? []).map((metric) => ({ ...metric, name: nameMetric(metric.name) })),
];

/** Metrics are never named `reward`, but can be named like another row. */
const nameMetric = (name: string) => (/^(?:exceptions|pass@\d+)$/.test(name) ? `metrics.${name}` : name);

/** The last row has the exceptions of all groups, paired or not. */
export const listRows = (compared: Compared): readonly Measure[] => {
  const { a, b } = compared.exceptions;
  return [...listMeasures(compared), { name: "exceptions", pairs: null, a, b, difference: b - a, ci95: null }];
};

export const listChanges = (measures: Measures): readonly ChangedMeasure[] =>
  listMeasures(measures).flatMap((measure) => {
    const { a, b, difference, pairs } = measure;
    return a === null || b === null || difference === null || pairs === null
      ? []
      : { ...measure, a, b, difference, pairs };
  });

export const formatSigned = (value: number) => {
  if (Math.abs(value) <= rewardTolerance) return "0";
  return value > 0 ? `+${formatForDisplay(value)}` : formatForDisplay(value);
};

export const rowColumns: readonly KeyColumn<Measure>[] = [
  { name: "name", rank: 0 },
  { name: "pairs", rank: 1 },
  { name: "a", rank: 0 },
  { name: "b", rank: 0 },
  { name: "difference", rank: 0 },
  { name: "ci95_low", rank: 0, value: ({ ci95 }) => ci95?.[0] },
  { name: "ci95_high", rank: 0, value: ({ ci95 }) => ci95?.[1] },
];

/** Lists and formats the compared means by their names. */

import type { KeyColumn } from "../../output/views.ts";
import { rewardTolerance } from "../../rollouts/index/metrics.ts";
import { formatForDisplay } from "../../text/decimal.ts";
import type { CompareDocument } from "./compare-document.ts";

type Measure = Omit<CompareDocument["pass"][number], "k" | "pairs" | "all"> &
  Readonly<{ name: string; pairs: number | null }>;
/** A measure of at least one pair. */
export type ChangedMeasure = NonNullable<CompareDocument["metrics"]>[number];

type Measures = Pick<CompareDocument, "reward" | "pass" | "metrics">;

export const listMeasures = ({ reward, pass, metrics }: Measures): readonly Measure[] => [
  ...(reward ? [{ name: "reward", ...reward }] : []),
  ...pass.map(({ k, all: _, ...compared }) => ({ name: `pass@${k}`, ...compared })),
  ...(metrics ?? []).map((metric) => ({ ...metric, name: nameMetric(metric.name) })),
];

/** Metrics are never named `reward`, but can be named like another row. */
const nameMetric = (name: string) => (/^(?:exceptions|pass@\d+)$/.test(name) ? `metrics.${name}` : name);

/** The exceptions of all groups, paired or not. */
export const toExceptionMeasure = ({ exceptions: { a, b } }: CompareDocument): Measure => ({
  name: "exceptions",
  pairs: null,
  a,
  b,
  difference: b - a,
  ci95: null,
});

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

export const measureColumns: readonly KeyColumn<Measure>[] = [
  { name: "name", rank: 0 },
  { name: "pairs", rank: 1 },
  { name: "a", rank: 0 },
  { name: "b", rank: 0 },
  { name: "difference", rank: 0 },
  { name: "ci95_low", rank: 0, value: ({ ci95 }) => ci95?.[0] },
  { name: "ci95_high", rank: 0, value: ({ ci95 }) => ci95?.[1] },
];

/** Lists the sections of a comparison of two runs, for a page and for a report to GitHub Actions. */
import type { Failure, Problem } from "../../failure.ts";
import { formatSections, printReport } from "../../output/ci-report.ts";
import type { TextCleaner } from "../../output/cleaner.ts";
import type { Screen } from "../../output/screen.ts";
import type { Line, Section } from "../../output/views.ts";
import { findSign } from "../../rollouts/stats/compare.ts";
import { pluralize } from "../../text/sentences.ts";
import { formatForDisplay, formatShare } from "../../text/units.ts";
import type { CompareOptions } from "./command.ts";
import { type ChangedPair, type CompareDocument, formatSigned, isRegression } from "./compare-document.ts";
import { listSources, listWarnings, nameSources } from "./where-from.ts";

export const listSections = (document: CompareDocument, files: CompareOptions): readonly Section[] => {
  const { pass, metrics, finish_reasons, changed } = document;
  return [
    { lines: [...listWarnings(document), ...listReward(document), ...listCounts(document, files)] },
    { title: nameSources(document), lines: listSources(document) },
    { title: "Prompts that changed most", lines: changed.flatMap(listPair) },
    { title: "Solved", lines: pass.flatMap(({ k, ...change }) => listChange(`pass@${k}`, change)) },
    { title: "Metrics", lines: (metrics ?? []).flatMap((change) => listChange(change.name, change)) },
    {
      title: "Last finish reasons",
      lines: (finish_reasons ?? []).map(({ name, a, b }) => ({
        label: name ?? "not recorded",
        text: `${formatShare(a)} → ${formatShare(b)}`,
      })),
    },
  ];
};

/** Returns the counts of each input, and of the pairs. */
const listCounts = (
  { a, b, paired, only_a, only_b, failed_a, failed_b, without_prompt }: CompareDocument,
  files: CompareOptions,
): readonly Line[] => {
  const count = ({ groups, trajectories }: CompareDocument["a"]) =>
    `${pluralize(groups, "group")}, ${pluralize(trajectories, "trajectory", "trajectories")}`;
  const failed = failed_a + failed_b > 0 ? `, ${failed_a} failed in a, ${failed_b} failed in b` : "";
  const unpaired = pluralize(without_prompt, "trajectory", "trajectories");
  const unknown = without_prompt > 0 ? `, ${unpaired} without a known prompt or key` : "";
  return [
    { label: "a", text: `${files.a}: ${count(a)}` },
    { label: "b", text: `${files.b}: ${count(b)}` },
    { label: "pairs", text: `${paired}, ${only_a} only in a, ${only_b} only in b${failed}${unknown}` },
  ];
};

type Change = Omit<CompareDocument["pass"][number], "k" | "all">;

const listChange = (label: string, { pairs, a, b, difference, ci95 }: Change): readonly Line[] => {
  if (a === null || b === null || difference === null) return [];
  const interval = ci95 ? `, between ${ci95.map(formatSigned).join(" and ")} (95 % interval)` : "";
  const change = `${formatForDisplay(a)} → ${formatForDisplay(b)}, difference ${formatSigned(difference)}${interval}`;
  return [{ label, text: `${change}, ${pluralize(pairs, "pair")}` }];
};

const listReward = ({ reward, verdict }: CompareDocument): readonly Line[] => {
  const sign = findSign(reward);
  const tone = sign > 0 ? "good" : sign < 0 ? "bad" : undefined;
  const changed = reward ? `${reward.better} better, ${reward.worse} worse, ${reward.equal} equal` : "";
  return [
    { label: "result", text: verdict, tone, kind: "sentence" },
    ...(changed ? [{ label: "prompts", text: changed }] : []),
  ];
};

const listPair = ({ key, prompt, a, b, difference, at_a, at_b }: ChangedPair): readonly Line[] => [
  {
    label: formatSigned(difference),
    text: `${formatForDisplay(a)} → ${formatForDisplay(b)}, at ${at_a} and ${at_b}`,
  },
  { label: "", text: key === null ? prompt : `${key}: ${prompt}`, tone: "faint" },
];

interface ReportedComparison {
  readonly typed: CompareOptions;
  /** Undefined if both inputs are valid. */
  readonly failure: Failure | undefined;
  /** Undefined if an input is unreadable. */
  readonly document?: CompareDocument;
  readonly problems?: readonly Problem[];
}

/** @throws Failure `output-unwritable` */
export const reportComparison = async (screen: Screen, comparison: ReportedComparison) => {
  const { typed, failure, document, problems = failure?.details.problems ?? [] } = comparison;
  if (typed.report === undefined) return;
  const errors = problems.filter(({ severity }) => severity === "error");
  // Without a failure, the groups with errors were skipped.
  const shown = failure ? errors : errors.map((problem) => ({ ...problem, severity: "warning" as const }));
  const sections = document ? listSections(document, typed) : [];
  const isFailure = document ? isRegression(document.reward, typed.minEffect ?? 0) : true;
  const [summary, ...others] = sections.slice(0, 3).map(({ lines = [] }) => lines);
  const details = [...(summary ?? []).filter(({ tone }) => tone === "warning"), ...others.flat()];
  const text = [
    document?.verdict ?? failure?.message ?? "",
    ...details.map(({ label, text }) => (label === "" ? text : `${label}: ${text}`)),
  ].join("\n");
  const notes = [...new Set(document?.notes)].map((note) => ({ label: "note", text: note }));
  const listBlocks = (quote: TextCleaner) => [
    `### Comparison of ${quote(typed.a)} and ${quote(typed.b)}`,
    failure ? `**Invalid input:** ${quote(failure.message)}` : "",
    document ? `**${document.verdict}**` : "",
    ...formatSections([...sections, { lines: notes }], quote),
  ];
  await printReport(screen, { title: "rollcall compare", problems: shown, result: { isFailure, text }, listBlocks });
};

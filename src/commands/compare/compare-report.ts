/** Reports a comparison to GitHub Actions. */

import type { Failure, Problem } from "../../failure.ts";
import { formatTable, printReport } from "../../output/ci-report.ts";
import type { TextCleaner } from "../../output/cleaner.ts";
import type { Screen } from "../../output/screen.ts";
import type { Line } from "../../output/views.ts";
import { formatForDisplay, formatShare } from "../../text/units.ts";
import type { CompareOptions } from "./command.ts";
import { type CompareDocument, formatSigned, listChanges } from "./compare-document.ts";
import { formatChange, formatPositions, formatPrompt, listCounts } from "./compare-page.ts";
import { isRegression, judgeReward } from "./verdict.ts";
import { listNext, listSources, listWarnings } from "./where-from.ts";

export interface ReportedComparison {
  readonly typed: CompareOptions;
  /** Undefined if both inputs are valid. */
  readonly failure: Failure | undefined;
  /** Undefined if an input is unreadable. */
  readonly document?: CompareDocument;
  readonly problems?: readonly Problem[];
}

/** @throws Failure `output-unwritable` */
export const printComparisonReport = async (screen: Screen, comparison: ReportedComparison) => {
  const { failure, problems = failure?.details.problems ?? [] } = comparison;
  const errors = problems.filter(({ severity }) => severity === "error");
  // Without a failure, the groups with errors were skipped.
  const shown = failure ? errors : errors.map((problem) => ({ ...problem, severity: "warning" as const }));
  const listBlocks = (quote: TextCleaner) => listComparisonBlocks(comparison, quote);
  const report = { title: "rollcall compare", problems: shown, result: toResult(comparison), listBlocks };
  await printReport(screen, report);
};

const toResult = ({ typed, document, failure }: ReportedComparison) => {
  if (!document) return { isFailure: true, text: failure?.message ?? "" };
  const { reward, changed } = document;
  const text = [
    judgeReward(document, typed.minEffect),
    ...listWarnings(document).map(({ label, text }) => `${label}: ${text}`),
    ...listChanges(document).map((change) => `${change.name}: ${formatChange(change)}`),
    ...changed.map((pair) => `${formatSigned(pair.difference)}: ${formatPositions(pair)}`),
  ].join("\n");
  return { isFailure: isRegression(reward, typed.minEffect ?? 0), text };
};

const listComparisonBlocks = ({ typed, document, failure }: ReportedComparison, quote: TextCleaner) => [
  `### Comparison of ${quote(typed.a)} and ${quote(typed.b)}`,
  failure ? `**Invalid input:** ${quote(failure.message)}` : "",
  ...(document ? formatDocument(document, typed, quote) : []),
];

const formatDocument = (document: CompareDocument, typed: CompareOptions, quote: TextCleaner) => {
  const { reward, finish_reasons, changed, notes } = document;
  const warnings = listWarnings(document).map(({ text }) => `**Failures:** ${quote(text)}`);
  const nameReason = (name: string | null) => (name === null ? "not recorded" : quote(name));
  const noteFacts = [...new Set(notes)].map((text) => ({ label: "note", text }));
  const counts = reward ? ` ${reward.better} better, ${reward.worse} worse, ${reward.equal} equal.` : "";
  return [
    warnings.join("\n\n"),
    `**${judgeReward(document, typed.minEffect)}**${counts}`,
    formatFacts(listSources(document), quote),
    formatTable(
      ["", "a", "b", "difference", "95 % interval", "pairs"],
      listChanges(document).map(({ name, a, b, difference, ci95, pairs }) => [
        quote(name),
        ...[a, b].map(formatForDisplay),
        formatSigned(difference),
        ci95?.map(formatSigned).join(" to ") ?? "",
        String(pairs),
      ]),
    ),
    formatTable(
      ["finish reason", "a", "b"],
      (finish_reasons ?? []).map(({ name, a, b }) => [nameReason(name), formatShare(a), formatShare(b)]),
    ),
    formatTable(
      ["prompts that changed most", "a", "b", "difference", "in a", "in b"],
      changed.map((pair) => [
        quote(formatPrompt(pair)),
        ...[pair.a, pair.b].map(formatForDisplay),
        formatSigned(pair.difference),
        ...[pair.at_a, pair.at_b].map(quote),
      ]),
    ),
    formatFacts([...listCounts(document, typed), ...noteFacts], quote),
    `Next: ${listNext(typed).map(quote).join(", ")}`,
  ];
};

const formatFacts = (facts: readonly Line[], quote: TextCleaner) =>
  facts.map(({ label, text }) => `- ${label}: ${quote(text)}`).join("\n");

/** Prints a comparison of two runs as a page. */
import { printPage } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import type { Line, Section } from "../../output/views.ts";
import { pluralize } from "../../text/sentences.ts";
import { formatForDisplay, formatShare } from "../../text/units.ts";
import type { CompareOptions } from "./command.ts";
import { type ChangedMeasure, type CompareDocument, formatSigned, listChanges } from "./compare-document.ts";
import { findSign, judgeReward } from "./verdict.ts";
import { listNext, listSources, listWarnings, nameSources } from "./where-from.ts";

export const printComparePage = async (screen: Screen, document: CompareDocument, files: CompareOptions) => {
  const { pass, metrics, finish_reasons, changed } = document;
  const sections: readonly Section[] = [
    {
      lines: [...listWarnings(document), ...listReward(document, files), ...listCounts(document, files)],
    },
    { title: nameSources(document), lines: listSources(document) },
    { title: "Prompts that changed most", lines: changed.flatMap(listPair) },
    {
      title: "Solved",
      lines: listChanges({ reward: null, pass, metrics: null }).map((change) => ({
        label: change.name,
        text: `${formatChange(change)}, ${pluralize(change.pairs, "pair")}`,
      })),
    },
    {
      title: "Metrics",
      lines: (metrics ?? []).map((metric) => ({ label: metric.name, text: formatChange(metric) })),
    },
    {
      title: "Last finish reasons",
      lines: (finish_reasons ?? []).map(({ name, a, b }) => ({
        label: name ?? "not recorded",
        text: `${formatShare(a)} → ${formatShare(b)}`,
      })),
    },
    { title: "Next", lines: listNext(files).map((text) => ({ label: "", text, kind: "command" })) },
  ];
  await printPage(screen, { sections });
};

/** Returns the counts of each input, and of the pairs. */
export const listCounts = (
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

export const formatChange = ({ a, b, difference, ci95 }: Omit<ChangedMeasure, "name" | "pairs">) => {
  const interval = ci95 ? `, between ${ci95.map(formatSigned).join(" and ")} (95 % interval)` : "";
  return `${formatForDisplay(a)} → ${formatForDisplay(b)}, difference ${formatSigned(difference)}${interval}`;
};

const listReward = (document: CompareDocument, { minEffect }: CompareOptions): readonly Line[] => {
  const { reward } = document;
  const sign = findSign(reward);
  const tone = sign > 0 ? "good" : sign < 0 ? "bad" : undefined;
  const changed = reward ? `${reward.better} better, ${reward.worse} worse, ${reward.equal} equal` : "";
  return [
    { label: "result", text: judgeReward(document, minEffect), tone, kind: "sentence" },
    ...(changed ? [{ label: "prompts", text: changed }] : []),
  ];
};

type ChangedPrompt = CompareDocument["changed"][number];

export const formatPositions = ({ a, b, at_a, at_b }: ChangedPrompt) =>
  `${formatForDisplay(a)} → ${formatForDisplay(b)}, at ${at_a} and ${at_b}`;

export const formatPrompt = ({ key, prompt }: ChangedPrompt) => (key === null ? prompt : `${key}: ${prompt}`);

const listPair = (pair: ChangedPrompt): readonly Line[] => [
  { label: formatSigned(pair.difference), text: formatPositions(pair) },
  { label: "", text: formatPrompt(pair), tone: "faint" },
];

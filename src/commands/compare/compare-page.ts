import { formatForDisplay } from "../../decimal.ts";
import { type Line, printPage, type Screen, type Section } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";
import { formatPercent } from "../../units.ts";
import type { CompareOptions } from "./command.ts";
import { type ChangedMeasure, formatSigned, listChanges } from "./measures.ts";
import type { CompareDocument } from "./output.ts";
import { findSign, judgeReward } from "./verdict.ts";

export const printComparePage = async (screen: Screen, document: CompareDocument, typed: CompareOptions) => {
  const { reward, pass, metrics, finish_reasons, changed } = document;
  const titled: readonly Section[] = [
    { title: "Mean reward", lines: reward ? listReward(reward, typed.minEffect) : [] },
    {
      title: "Solved",
      lines: listChanges({ reward: null, pass, metrics: null }).map((change) => ({
        label: change.name,
        text: `${formatChange(change)}, ${pluralize(change.pairs, "pair")}`,
      })),
    },
    {
      title: "Metrics",
      lines: Object.entries(metrics ?? {}).map(([label, metric]) => ({ label, text: formatChange(metric) })),
    },
    {
      title: "Last finish reasons",
      lines: (finish_reasons ?? []).map(({ name, a, b }) => ({
        label: name ?? "not recorded",
        text: `${formatPercent(a, 1, Math.round)} → ${formatPercent(b, 1, Math.round)}`,
      })),
    },
    { title: "Prompts that changed most", lines: changed.flatMap(listPair) },
  ];
  const sections = titled.filter(({ lines = [] }) => lines.length > 0);
  await printPage(screen, { sections: [{ lines: listCounts(document, typed) }, ...sections] });
};

/** Returns the counts of each input, and of the pairs. */
export const listCounts = (
  { a, b, paired, only_a, only_b, failed_a, failed_b, without_prompt }: CompareDocument,
  files: Pick<CompareOptions, "a" | "b">,
): readonly Line[] => {
  const count = ({ groups, trajectories }: CompareDocument["a"]) =>
    `${pluralize(groups, "group")}, ${pluralize(trajectories, "trajectory", "trajectories")}`;
  const failed = failed_a + failed_b > 0 ? `, ${failed_a} failed in a, ${failed_b} failed in b` : "";
  const hasExceptions = a.exceptions + b.exceptions > 0;
  const unpaired = pluralize(without_prompt, "trajectory", "trajectories");
  const unknown = without_prompt > 0 ? `, ${unpaired} without a prompt or key` : "";
  return [
    { label: "a", text: `${files.a}: ${count(a)}` },
    { label: "b", text: `${files.b}: ${count(b)}` },
    { label: "pairs", text: `${paired}, ${only_a} only in a, ${only_b} only in b${failed}${unknown}` },
    ...(hasExceptions
      ? [{ label: "exceptions", text: `a ${a.exceptions}, b ${b.exceptions}`, tone: "warning" as const }]
      : []),
  ];
};

type Change = Omit<ChangedMeasure, "name" | "pairs">;

export const formatChange = ({ a, b, difference, ci95 }: Change) => {
  const interval = ci95 ? `, between ${ci95.map(formatSigned).join(" and ")} (95 % interval)` : "";
  return `${formatForDisplay(a)} → ${formatForDisplay(b)}, difference ${formatSigned(difference)}${interval}`;
};

const listReward = (reward: NonNullable<CompareDocument["reward"]>, minEffect?: number): readonly Line[] => {
  const { better, worse, equal } = reward;
  const sign = findSign(reward);
  const tone = sign > 0 ? "good" : sign < 0 ? "bad" : undefined;
  return [
    { label: "change", text: formatChange(reward) },
    { label: "pairs", text: `${better} better, ${worse} worse, ${equal} equal` },
    { label: "result", text: judgeReward(reward, minEffect), tone, kind: "sentence" },
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

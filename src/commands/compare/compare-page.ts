import { roundForDisplay } from "../../decimal.ts";
import { type Line, printPage, type Screen, type Section } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";
import { findSign } from "../../stats/index.ts";
import { formatPercent } from "../../units.ts";
import type { CompareDocument } from "./output.ts";

/** With fewer pairs, the t interval depends much on the distribution of the differences. */
const fewPairs = 20;

export const printComparePage = async (
  screen: Screen,
  document: CompareDocument,
  files: Readonly<Record<"a" | "b", string>>,
) => {
  const { reward, pass, metrics, finish_reasons, changed } = document;
  const titled: readonly Section[] = [
    { title: "Mean reward", lines: reward ? listReward(reward) : [] },
    {
      title: "Solved",
      lines: pass.flatMap(({ k, pairs, a, b, difference, ci95 }) =>
        a === null || b === null || difference === null
          ? []
          : { label: `pass@${k}`, text: `${formatChange({ a, b, difference, ci95 })}, ${pluralize(pairs, "pair")}` },
      ),
    },
    {
      title: "Metrics",
      lines: Object.entries(metrics).map(([label, metric]) => ({ label, text: formatChange(metric) })),
    },
    {
      title: "Last finish reasons",
      lines: finish_reasons.map(({ name, a, b }) => ({
        label: name ?? "unknown",
        text: `${formatPercent(a, 1, Math.round)} → ${formatPercent(b, 1, Math.round)}`,
      })),
    },
    { title: "Prompts that changed most", lines: changed.flatMap(listPair) },
  ];
  const sections = titled.filter(({ lines = [] }) => lines.length > 0);
  await printPage(screen, { sections: [{ lines: listCounts(document, files) }, ...sections] });
};

const format = (value: number) => String(roundForDisplay(value));
const formatSigned = (value: number) => (value > 0 ? `+${format(value)}` : format(value));

const listCounts = (
  { a, b, paired, only_a, only_b, without_prompt }: CompareDocument,
  files: Readonly<Record<"a" | "b", string>>,
): readonly Line[] => {
  const count = ({ groups, trajectories }: CompareDocument["a"]) =>
    `${pluralize(groups, "group")}, ${pluralize(trajectories, "trajectory", "trajectories")}`;
  const unpaired = pluralize(without_prompt, "trajectory", "trajectories");
  const unknown = without_prompt > 0 ? `, ${unpaired} without a prompt or key` : "";
  return [
    { label: "a", text: `${files.a}: ${count(a)}` },
    { label: "b", text: `${files.b}: ${count(b)}` },
    { label: "pairs", text: `${paired}, ${only_a} only in a, ${only_b} only in b${unknown}` },
  ];
};

type Change = Readonly<{ a: number; b: number; difference: number; ci95: readonly number[] | null }>;

const formatChange = ({ a, b, difference, ci95 }: Change) => {
  const interval = ci95 ? `, between ${ci95.map(formatSigned).join(" and ")} (95 % interval)` : "";
  return `${format(a)} → ${format(b)}, difference ${formatSigned(difference)}${interval}`;
};

const listReward = (reward: NonNullable<CompareDocument["reward"]>): readonly Line[] => {
  const { pairs, better, worse, equal } = reward;
  const caution = pairs < fewPairs && pairs > 1 ? ` ${pairs} pairs are few, so this can change with more data.` : "";
  return [
    { label: "change", text: formatChange(reward) },
    { label: "pairs", text: `${better} better, ${worse} worse, ${equal} equal` },
    { label: "result", text: `${judge(reward)}${caution}`, tone: toneOf(reward), kind: "sentence" },
  ];
};

const judge = (reward: NonNullable<CompareDocument["reward"]>) => {
  if (reward.pairs < 2) return "One pair is too few to judge.";
  if (!reward.ci95) return "The interval is unknown, because the rewards are too large.";
  const sign = findSign(reward);
  if (sign === 0) return "No difference that this data can show.";
  return `The mean reward of b is ${sign > 0 ? "higher" : "lower"}.`;
};

const toneOf = (reward: Change) => {
  const sign = findSign(reward);
  return sign > 0 ? "good" : sign < 0 ? "bad" : undefined;
};

const listPair = ({
  key,
  prompt,
  a,
  b,
  difference,
  at_a,
  at_b,
}: CompareDocument["changed"][number]): readonly Line[] => [
  { label: formatSigned(difference), text: `${format(a)} → ${format(b)}, at ${at_a} and ${at_b}` },
  { label: "", text: `${key === null ? "" : `${key}: `}${prompt}`, tone: "faint" },
];

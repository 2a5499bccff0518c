/** Lists where the difference of two runs comes from, and what to run next. */

import type { Line } from "../../output/views.ts";
import { rewardTolerance } from "../../rollouts/index/metrics.ts";
import { formatForDisplay } from "../../text/decimal.ts";
import { pluralize } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { formatPercent } from "../../text/units.ts";
import type { ComparedFiles } from "./compare-page.ts";
import { formatSigned } from "./measures.ts";
import type { CompareDocument } from "./output.ts";
import { findSign } from "./verdict.ts";

const maxLines = 8;
/** Smaller parts of the difference, and smaller changes of facts, are not listed. */
const minPart = 0.1;
const minChange = 0.1;

type Cause = NonNullable<CompareDocument["causes"]>[number];

const percent = (share: number) => formatPercent(share, 1, Math.round);

const classNames = {
  truncated: "trajectories that were cut (finish reason length)",
  tool_errors: "trajectories with errors of tools",
  other: "other trajectories",
} as const;

const listCause = ({ name, a, b, by_share, by_reward }: Cause) => [
  { by: by_share, text: `${classNames[name]}: ${percent(a.share)} → ${percent(b.share)} of all` },
  {
    by: by_reward,
    text: `mean reward of ${classNames[name]}: ${[a, b].map(({ reward }) => formatForDisplay(reward ?? 0)).join(" → ")}`,
  },
];

/** A difference that the data does not show comes from nowhere, so only prompts that are not compared are named. */
export const listSources = (document: CompareDocument): readonly Line[] => {
  const { reward, causes } = document;
  const unpaired = listUnpaired(document);
  if (!reward || findSign(reward) === 0) return unpaired;
  const minBy = Math.max(rewardTolerance, minPart * Math.abs(reward.difference));
  const parts = [...(causes ?? []).flatMap(listCause), ...listDivisions(document)]
    .filter(({ by }) => Math.abs(by) >= minBy)
    .sort((x, y) => Math.abs(y.by) - Math.abs(x.by))
    .map(({ by, text }) => ({ label: formatSigned(by), text }));
  const others = [...listTools(document), ...listFacts(document), ...listTransitions(document)];
  return [...unpaired, ...parts, ...others].slice(0, maxLines);
};

const listUnpaired = ({ paired, only_a, only_b }: CompareDocument): readonly Line[] =>
  only_a + only_b > minChange * paired
    ? [{ label: "prompts", text: `${only_a} only in a and ${only_b} only in b are not compared`, tone: "warning" }]
    : [];

const listDivisions = ({ divisions, reward }: CompareDocument) =>
  divisions.flatMap(({ name, value, pairs, a, b }) => {
    const all = reward?.pairs ?? pairs;
    const text = `${name} ${value}: mean reward ${formatForDisplay(a)} → ${formatForDisplay(b)} in ${pairs} of ${all} pairs`;
    const by = ((b - a) * pairs) / all;
    // Half of the pairs have half of the difference without a reason.
    const isSpecial = Math.abs(by) > (1.5 * pairs * Math.abs(reward?.difference ?? 0)) / all;
    return isSpecial ? { by, text } : [];
  });

const listTools = ({ tools }: CompareDocument): readonly Line[] =>
  tools
    .flatMap(({ name, a, b }) => {
      const change = (b.errors ?? 0) - (a.errors ?? 0);
      const text = `errors in ${percent(a.errors ?? 0)} → ${percent(b.errors ?? 0)} of the results of ${name ?? "an unknown tool"}`;
      return Math.abs(change) < minChange ? [] : { change, text };
    })
    .sort((x, y) => Math.abs(y.change) - Math.abs(x.change))
    .slice(0, 2)
    .map(({ text }) => ({ label: "tool", text }));

const listFacts = ({ facts }: CompareDocument): readonly Line[] =>
  facts
    .filter(({ name, a, b }) => name !== "tool_errors" && Math.abs(b - a) > minChange * Math.max(a, b))
    .slice(0, 2)
    .map(({ name, a, b }) => ({
      label: name.replaceAll("_", " "),
      text: `${formatForDisplay(a)} → ${formatForDisplay(b)} for each trajectory`,
    }));

const listTransitions = ({ transitions }: CompareDocument): readonly Line[] => {
  const changed = transitions.filter(({ from, to }) => from !== to).sort((x, y) => y.prompts - x.prompts);
  if (changed.length === 0) return [];
  const texts = changed.slice(0, 3).map(({ from, to, prompts }) => `${prompts} ${from} → ${to}`);
  return [{ label: "solved", text: `${texts.join(", ")} (${pluralize(sumPrompts(changed), "prompt")})` }];
};

const sumPrompts = (changed: CompareDocument["transitions"]) => changed.reduce((sum, { prompts }) => sum + prompts, 0);

/** Returns the failures, which have no reward. */
export const listFailures = ({ a, b, failed_a, failed_b }: CompareDocument): readonly Line[] => {
  if (a.exceptions + b.exceptions === 0) return [];
  const share = (side: typeof a) => {
    const { exceptions, trajectories } = side;
    return `${exceptions} of ${pluralize(exceptions + trajectories, "rollout")} (${formatPercent(exceptions, exceptions + trajectories, Math.round)})`;
  };
  const failed = failed_a + failed_b > 0 ? `, all of ${failed_a} tasks in a and ${failed_b} in b` : "";
  return [{ label: "failures", text: `a ${share(a)}, b ${share(b)}${failed}`, tone: "warning" }];
};

/** Returns command lines that show the rollouts of the largest cause. */
export const listNext = ({ causes, reward }: CompareDocument, { a, b, whereB }: ComparedFiles): readonly string[] => {
  const size = ({ by_share, by_reward }: Cause) => Math.abs(by_share + by_reward);
  const [largest] = [...(causes ?? [])].sort((x, y) => size(y) - size(x));
  const isKnown = reward !== null && findSign(reward) !== 0 && largest !== undefined;
  const cause = isKnown
    ? { truncated: 'finish_reason == "length"', tool_errors: "tool_errors > 0", other: "" }[largest.name]
    : "";
  const wheres = [whereB, cause].filter((one) => one !== undefined && one !== "");
  const where = wheres.length > 1 ? wheres.map((one) => `(${one})`).join(" && ") : wheres[0];
  const selection = where === undefined ? [] : ["--where", where];
  const rows = ["stats", b, "--each", "trajectory", ...selection, "--sort", "reward", "--limit", "10"];
  return [rows, ["view", ...new Set([a, b])]].map((words) => formatCommandLine(["rollcall", ...words]));
};

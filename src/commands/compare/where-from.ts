/** Lists where the difference of two runs comes from, and what to run next. */

import type { Line } from "../../output/views.ts";
import { rewardTolerance } from "../../rollouts/index/metrics.ts";
import type { Compared } from "../../rollouts/stats/compare.ts";
import { type InputOptions, listInputArgs, listPassArgs } from "../../session/options.ts";
import { pluralize, toFileArg } from "../../text/sentences.ts";
import { formatOwnCommand } from "../../text/shell-words.ts";
import { formatForDisplay, formatShare } from "../../text/units.ts";
import type { CompareOptions } from "./command.ts";
import { formatSigned } from "./compare-document.ts";
import { findSign, isSure, measureDistance, minPairs } from "./verdict.ts";

const maxParts = 8;
const maxLinesOfEach = 5;
/** Smaller parts of the difference, and smaller changes of facts, are not listed. */
const minPart = 0.1;
const minChange = 0.1;
/** Chance hardly ever moves a mean by this many half widths of its interval. */
const clearWidths = 2;

/** Fewer pairs can have equal differences by chance, and then an interval without width. */
const minEqualPairs = 5;

type Cause = NonNullable<Compared["causes"]>[number];

const isClear =
  (pairs: number) =>
  ({ ci95 }: { readonly ci95: Cause["ci95"] }) => {
    const distance = measureDistance(ci95);
    return distance > clearWidths && (pairs >= minEqualPairs || distance < 1 / rewardTolerance);
  };

const formatArrow = (a: number | null, b: number | null) =>
  [a, b].map((mean) => (mean === null ? "none" : formatForDisplay(mean))).join(" → ");

const formatShares = (a: number, b: number) => `${formatShare(a)} → ${formatShare(b)}`;

const classNames = {
  truncated: "trajectories that were cut (finish reason length)",
  tool_errors: "trajectories with errors of tools",
  other: "other rollouts (no known cut, no errors of tools)",
} as const;

const listShare = ({ name, a, b, by_share }: Cause) => ({
  by: by_share,
  text: `${classNames[name]}: ${formatShares(a.share, b.share)} of all`,
});

const listReward = ({ name, a, b, by_reward }: Cause) => ({
  by: by_reward,
  text: `mean reward of ${classNames[name]}: ${formatArrow(a.reward ?? 0, b.reward ?? 0)}`,
});

export const nameSources = ({ reward }: Compared) =>
  findSign(reward) === 0 ? "What changed" : "Where the difference comes from";

/** A difference that the data does not show comes from nowhere, but other changes can cancel each other. */
export const listSources = (document: Compared): readonly Line[] => {
  const { reward, causes, finish_reasons, paired } = document;
  if (paired < minPairs) return listUnpaired(document);
  const isJudged = findSign(reward) !== 0;
  const minBy = Math.max(rewardTolerance, minPart * Math.abs(reward?.difference ?? 0));
  // Which trajectories were cut is unknown on a side that records no finish reason.
  const isCutKnown = !finish_reasons?.some(({ name, a, b }) => name === null && Math.max(a, b) === 1);
  const known = (causes ?? []).filter(({ name }) => isCutKnown || name === "tool_errors");
  const shares = known.filter(isClear(paired)).map(listShare);
  const rewards = isJudged ? (causes ?? []).map(listReward) : [];
  const parts = [...shares, ...rewards, ...listDivisions(document)]
    .filter(({ by }) => Math.abs(by) >= minBy)
    .sort((x, y) => Math.abs(y.by) - Math.abs(x.by))
    .slice(0, maxParts)
    .map(({ by, text }) => ({ label: formatSigned(by), text }));
  const lists = [listMetrics, listSettings, listTools, listFinishes, listFacts];
  const changes = lists.flatMap((list) => limitLines(list(document)));
  const transitions = isJudged ? listTransitions(document) : [];
  return [...listUnpaired(document), ...parts, ...changes, ...transitions];
};

/** Counts the lines that it omits, because most are not in another section of the page. */
const limitLines = (lines: readonly Line[]): readonly Line[] => {
  const { length: more, 0: next } = lines.slice(maxLinesOfEach);
  if (!next || more === 1) return lines;
  return [...lines.slice(0, maxLinesOfEach), { label: next.label, text: `${more} more (see --json)` }];
};

/** The prompts of both inputs can be easier than the other prompts. */
const listUnpaired = (document: Compared): readonly Line[] => {
  const { a, b, reward, reward_of_all, paired, only_a, only_b, without_prompt } = document;
  const isSmall = without_prompt <= minChange * (a.trajectories + b.trajectories);
  if (only_a + only_b <= minChange * paired && isSmall) return [];
  const means = `The mean reward of all prompts is ${formatArrow(reward_of_all.a, reward_of_all.b)}`;
  const ofPairs = reward ? `, and of the prompts in both ${formatArrow(reward.a, reward.b)}` : "";
  const unknown = pluralize(without_prompt, "trajectory", "trajectories");
  const others = isSmall ? "" : `, nor are ${unknown} without a known prompt or key`;
  const text = `${only_a} only in a and ${only_b} only in b are not compared${others}. ${means}${ofPairs}`;
  return [{ label: "prompts", text, tone: "warning" }];
};

const listDivisions = ({ divisions, reward }: Compared) =>
  divisions.flatMap(({ name, value, pairs, a, b, difference, ci95 }) => {
    const all = reward?.pairs ?? pairs;
    const text = `${name} ${value}: mean reward ${formatArrow(a, b)} in ${pairs} of ${all} pairs`;
    const isSpecial = findSign(reward) === 0 ? isClear(pairs)({ ci95 }) : isSure(ci95, reward?.difference);
    return isSpecial && pairs >= minEqualPairs ? { by: (difference * pairs) / all, text } : [];
  });

const listMetrics = ({ metrics }: Compared): readonly Line[] =>
  (metrics ?? [])
    .filter((metric) => isClear(metric.pairs)(metric))
    .sort((x, y) => measureDistance(y.ci95) - measureDistance(x.ci95))
    .map(({ name, a, b }) => ({ label: "metric", text: `${name}: ${formatArrow(a, b)}` }));

const listSettings = ({ settings }: Compared): readonly Line[] =>
  settings.map(({ name, a, b }) => ({ label: "metadata", text: `${name}: ${a} in a, ${b} in b` }));

/** A side without results of a tool has no share of errors, and can be without its calls. */
const listTools = ({ tools, paired }: Compared): readonly Line[] => {
  const sizeOf = ({ a, b }: (typeof tools)[number]) =>
    a.errors === null || b.errors === null ? 0 : Math.abs(b.errors - a.errors);
  const errors = tools
    .filter((tool) => isClear(paired)(tool) && sizeOf(tool) >= minChange)
    .sort((x, y) => sizeOf(y) - sizeOf(x))
    .map(({ name, a, b }) => {
      const change = formatShares(a.errors ?? 0, b.errors ?? 0);
      return `errors in ${change} of the results of ${nameTool(name)}`;
    });
  const calls = tools
    .filter(({ a, b }) => Math.min(a.calls, b.calls) === 0 && isBeyondChance(Math.min(1, a.calls + b.calls), 0, paired))
    .map(({ name, a, b }) => `calls of ${nameTool(name)}: ${formatArrow(a.calls, b.calls)} for each trajectory`);
  return [...errors, ...calls].map((text) => ({ label: "tool", text }));
};

const nameTool = (name: string | null) => name ?? "an unknown tool";

/** As if all rollouts of a prompt had one value, which chance moves most. */
const isBeyondChance = (a: number, b: number, pairs: number) =>
  Math.abs(b - a) > Math.max(minChange, 2 * Math.sqrt((a * (1 - a) + b * (1 - b)) / pairs));

/** The cut trajectories are a cause, and other reasons replace `stop`. */
const expectedReasons: readonly unknown[] = ["length", "stop"];

const listFinishes = ({ finish_reasons, paired }: Compared): readonly Line[] =>
  (finish_reasons ?? [])
    .filter(({ name, a, b }) => !expectedReasons.includes(name) && isBeyondChance(a, b, paired))
    .map(({ name, a, b }) => {
      return { label: "finish", text: `${name ?? "not recorded"}: ${formatShares(a, b)} of the trajectories` };
    });

const listFacts = ({ facts, paired }: Compared): readonly Line[] =>
  facts
    .filter(({ name, a, b }) => name !== "tool_errors" && Math.abs(b - a) > minChange * Math.max(a, b))
    .filter(isClear(paired))
    .map(({ name, a, b }) => ({ label: name.replaceAll("_", " "), text: `${formatArrow(a, b)} for each trajectory` }));

const listTransitions = ({ transitions }: Compared): readonly Line[] => {
  const changed = transitions.filter(({ from, to }) => from !== to).sort((x, y) => y.prompts - x.prompts);
  if (changed.length === 0) return [];
  const texts = changed.slice(0, 3).map(({ from, to, prompts }) => `${prompts} ${from} → ${to}`);
  const sum = changed.reduce((before, { prompts }) => before + prompts, 0);
  return [{ label: "solved", text: `${texts.join(", ")} (${pluralize(sum, "prompt")})` }];
};

/** Returns the failures, which have no reward. */
export const listWarnings = ({ a, b, failed_a, failed_b }: Compared): readonly Line[] => {
  if (a.exceptions + b.exceptions === 0) return [];
  const share = ({ exceptions, trajectories }: typeof a) => {
    const of = exceptions + trajectories;
    return `${exceptions} of ${pluralize(of, "rollout")} (${formatShare(exceptions / of)})`;
  };
  const failed = failed_a + failed_b > 0 ? `, all of ${pluralize(failed_a, "task")} in a and ${failed_b} in b` : "";
  return [{ label: "failures", text: `a ${share(a)}, b ${share(b)}${failed}`, tone: "warning" }];
};

type NextOptions = Pick<CompareOptions, "a" | "b" | "pass"> & Partial<InputOptions>;

/** Returns command lines that show the rollouts. */
export const listNext = (typed: NextOptions): readonly string[] => {
  const [a, b] = [toFileArg(typed.a), toFileArg(typed.b)];
  const input = listInputArgs(typed);
  const rows = ["stats", b, "--each", "trajectory", "--sort", "reward", "--limit", "10", ...input];
  return [
    [...rows, ...listPassArgs(typed.pass)],
    ["view", a, b, ...input],
  ].map(formatOwnCommand);
};

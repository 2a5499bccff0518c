/** Lists where the difference of two runs comes from. */

import type { Line } from "../../output/views.ts";
import { rewardTolerance } from "../../rollouts/index/sums.ts";
import type { Compared } from "../../rollouts/stats/compare.ts";
import type { Chance } from "../../rollouts/stats/intervals.ts";
import { pluralize } from "../../text/sentences.ts";
import { formatForDisplay, formatShare } from "../../text/units.ts";
import { formatSigned, isSure, minPairs } from "./compare-document.ts";

const maxParts = 8;
const maxLinesOfEach = 5;
/** Smaller parts of the difference, and smaller changes of facts, are not listed. */
const minPart = 0.1;
const minChange = 0.1;
type Cause = NonNullable<Compared["causes"]>[number];

/** Of all lists of changes without a true change, one in twenty has a name. */
const maxChance = 0.05;
const isNamed = ({ p }: Chance) => p !== null && p <= maxChance;

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
  isSure(reward) ? "Where the difference comes from" : "What changed";

/** A difference that chance can make comes from nowhere, but other changes can cancel each other. */
export const listSources = (document: Compared): readonly Line[] => {
  const { reward, causes, paired } = document;
  if (paired < minPairs) return listUnpaired(document);
  const minBy = Math.max(rewardTolerance, minPart * Math.abs(reward?.difference ?? 0));
  const known = (causes ?? []).filter(
    ({ name }) => name === "tool_errors" || (name === "truncated" && areFinishesKnown(document)),
  );
  const shares = known.filter(isNamed).map(listShare);
  const rewards = isSure(reward) ? (causes ?? []).map(listReward) : [];
  const parts = [...shares, ...rewards, ...listDivisions(document)]
    .filter(({ by }) => Math.abs(by) >= minBy)
    .sort((x, y) => Math.abs(y.by) - Math.abs(x.by))
    .slice(0, maxParts)
    .map(({ by, text }) => ({ label: formatSigned(by), text }));
  const lists = [listMetrics, listTools, listFinishes, listFacts];
  const changes = lists.flatMap((list) => limitLines(list(document)));
  const transitions = isSure(reward) ? listTransitions(document) : [];
  return [...listUnpaired(document), ...parts, ...changes, ...transitions];
};

/** False if a side records no finish reason, as before a conversion. Then it is unknown which trajectories were cut. */
const areFinishesKnown = ({ finish_reasons }: Compared) =>
  !finish_reasons?.some(({ name, a, b }) => name === null && Math.max(a, b) === 1);

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
  divisions.filter(isNamed).map(({ name, value, pairs, a, b, difference }) => {
    const all = reward?.pairs ?? pairs;
    const text = `${name} ${value}: mean reward ${formatArrow(a, b)} in ${pairs} of ${all} pairs`;
    return { by: (difference * pairs) / all, text };
  });

const listMetrics = ({ metrics }: Compared): readonly Line[] =>
  (metrics ?? [])
    .filter(isNamed)
    .sort((x, y) => (x.p ?? 1) - (y.p ?? 1))
    .map(({ name, a, b }) => ({ label: "metric", text: `${name}: ${formatArrow(a, b)}` }));

/** True if a mean changed by more than a tenth of the larger. */
const isLarge = ({ a, b }: Readonly<Record<"a" | "b", number>>) => Math.abs(b - a) > minChange * Math.max(a, b);

/** A side without results of a tool has no share of errors, and can be without its calls. */
const listTools = ({ tools }: Compared): readonly Line[] => {
  const sizeOf = ({ a, b }: NonNullable<typeof tools>[number]) =>
    a.errors === null || b.errors === null ? 0 : Math.abs(b.errors - a.errors);
  const errors = (tools ?? [])
    .filter((tool) => isNamed(tool.of_errors) && sizeOf(tool) >= minChange)
    .sort((x, y) => sizeOf(y) - sizeOf(x))
    .map(({ name, a, b }) => {
      const change = formatShares(a.errors ?? 0, b.errors ?? 0);
      return `errors in ${change} of the results of ${nameTool(name)}`;
    });
  const calls = (tools ?? [])
    .filter(({ a, b, of_calls }) => isNamed(of_calls) && isLarge({ a: a.calls, b: b.calls }))
    .map(({ name, a, b }) => `calls of ${nameTool(name)}: ${formatArrow(a.calls, b.calls)} for each trajectory`);
  return [...errors, ...calls].map((text) => ({ label: "tool", text }));
};

const nameTool = (name: string | null) => name ?? "an unknown tool";

/** The cut trajectories are a cause, and other reasons replace `stop`. */
const expectedReasons: readonly unknown[] = ["length", "stop"];

const listFinishes = (document: Compared): readonly Line[] =>
  (areFinishesKnown(document) ? (document.finish_reasons ?? []) : [])
    .filter((reason) => !expectedReasons.includes(reason.name) && isNamed(reason))
    .map(({ name, a, b }) => {
      return { label: "finish", text: `${name ?? "not recorded"}: ${formatShares(a, b)} of the trajectories` };
    });

const listFacts = ({ facts }: Compared): readonly Line[] =>
  facts
    .filter((fact) => fact.name !== "tool_errors" && isLarge(fact) && isNamed(fact))
    .map(({ name, a, b }) => ({ label: name.replaceAll("_", " "), text: `${formatArrow(a, b)} for each trajectory` }));

const listTransitions = ({ transitions }: Compared): readonly Line[] => {
  const changed = transitions.filter(({ from, to }) => from !== to).sort((x, y) => y.prompts - x.prompts);
  if (changed.length === 0) return [];
  const texts = changed.slice(0, 3).map(({ from, to, prompts }) => `${prompts} ${from} → ${to}`);
  const sum = changed.reduce((before, { prompts }) => before + prompts, 0);
  return [{ label: "solved", text: `${texts.join(", ")} (${pluralize(sum, "prompt")})` }];
};

/** Returns undefined if the known prompts of each pair are equal. */
export const describeOtherPrompts = ({ other_prompts, paired }: Compared) =>
  other_prompts === 0
    ? undefined
    : `the prompts of ${other_prompts} of ${pluralize(paired, "pair")} differ, so the rewards compare the prompts, too`;

/** Returns pairs of different prompts, and the failures, which have no reward. */
export const listWarnings = (document: Compared): readonly Line[] => {
  const text = describeOtherPrompts(document);
  const prompts = text === undefined ? [] : [{ label: "prompts", text, tone: "warning" } as const];
  return [...prompts, ...listFailures(document)];
};

const listFailures = ({ a, b, failed_a, failed_b }: Compared): readonly Line[] => {
  if (a.exceptions + b.exceptions === 0) return [];
  const share = ({ exceptions, trajectories }: typeof a) => {
    const of = exceptions + trajectories;
    return `${exceptions} of ${pluralize(of, "rollout")} (${formatShare(exceptions / of)})`;
  };
  const failed = failed_a + failed_b > 0 ? `, all of ${pluralize(failed_a, "task")} in a and ${failed_b} in b` : "";
  return [{ label: "failures", text: `a ${share(a)}, b ${share(b)}${failed}`, tone: "warning" }];
};

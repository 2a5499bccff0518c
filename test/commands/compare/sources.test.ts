import { describe, expect, it } from "vitest";
import * as verdict from "../../../src/commands/compare/compare-document.ts";
import { listSources } from "../../../src/commands/compare/where-from.ts";
import { findSign } from "../../../src/rollouts/stats/compare.ts";

type CompareDocument = verdict.CompareDocument;

type Reward = NonNullable<CompareDocument["reward"]>;
type Cause = NonNullable<CompareDocument["causes"]>[number];

/** The mean of a is 0.5. */
const rewardOf = (low: number, high: number, pairs = 30): Reward => {
  const difference = (low + high) / 2;
  const counts = { better: 0, worse: 0, equal: pairs };
  return { pairs, a: 0.5, b: 0.5 + difference, difference, ci95: [low, high], detectable: 0.25, ...counts };
};

const changed = (from: "never" | "always" | "failed", to: typeof from, prompts: number) => ({ from, to, prompts });
const few = "pairs are few, so this can change with more data.";

describe("the verdict of a comparison", () => {
  it.each<[reward: Reward | null, text: string, minEffect?: number]>([
    [null, "Nothing is compared, because no pair has comparable rewards."],
    [rewardOf(1, 1, 1), "One pair is too few to judge: 0.5 → 1.5, difference +1."],
    [{ ...rewardOf(1, 2), ci95: null }, "The interval is unknown, because the rewards are too large."],
    [rewardOf(1, 3, 2), "Two pairs are too few to judge: 0.5 → 2.5, difference +2."],
    [rewardOf(1, 3, 19), `The mean reward of b is higher: 0.5 → 2.5, difference +2, between +1 and +3. 19 ${few}`],
    [rewardOf(1, 3, 20), "The mean reward of b is higher: 0.5 → 2.5, difference +2, between +1 and +3."],
    [
      { ...rewardOf(0.25, 1.25), detectable: 0.75 },
      "The mean reward of b is higher: 0.5 → 1.25, difference +0.75, between +0.25 and +1.25. Without a true difference, 1 of 20 comparisons says this.",
    ],
    [
      rewardOf(0, 0.5),
      "No difference that this data can show: +0.25, between 0 and +0.5 (a difference of 0.25 would show in four of five cases).",
    ],
    [{ ...rewardOf(0, 0), detectable: 0 }, "No difference that this data can show: 0, between 0 and 0."],
    [rewardOf(-3, -1), "The mean reward of b is lower: 0.5 → -1.5, difference -2, between -3 and -1.", 0.5],
    [
      rewardOf(-3, -1),
      "The mean reward of b is lower, but the loss can be less than 1: 0.5 → -1.5, difference -2, between -3 and -1.",
      1,
    ],
  ])("says what the data shows (row %$)", (reward, text, minEffect = 0) => {
    expect(verdict.judgeReward(reward, minEffect)).toBe(text);
  });

  it.each<[low: number, high: number, sign: number, isRegression: boolean, isSure: boolean]>([
    [1, 3, 1, false, true],
    [0.1, 0.2, 1, false, false],
    [2e-12, 1, 1, false, true],
    [1e-12, 1, 0, false, false],
    [-1, -1e-12, 0, false, false],
    [-1, -2e-12, -1, true, true],
    [-3, -1, -1, true, true],
    [0, 0, 0, false, false],
  ])("shows the sign of a difference between %d and %d only beyond rounding", (low, high, sign, isWorse, isSure) => {
    const reward = rewardOf(low, high);
    expect([findSign(reward), verdict.isRegression(reward, 0), verdict.isSure(reward)]).toEqual([
      sign,
      isWorse,
      isSure,
    ]);
  });

  it("has no sign without an interval", () => {
    expect([findSign(null), verdict.isRegression(null, 0), verdict.isSure(null)]).toEqual([0, false, false]);
  });
});

const side = { groups: 30, trajectories: 30, exceptions: 0 };
const empty: CompareDocument = {
  ...{ a: side, b: side, exceptions: { a: 0, b: 0 }, paired: 30, only_a: 0, only_b: 0, failed_a: 0, failed_b: 0 },
  ...{ without_prompt: 0, other_prompts: 0, reward: rewardOf(-3, -1), reward_of_all: { a: 0.5, b: 0.25 }, pass: [] },
  ...{
    verdict: "",
    causes: null,
    facts: [],
    tools: null,
    finish_reasons: null,
    divisions: [],
    transitions: [],
    metrics: null,
  },
  ...{ changed: [], warnings: [], notes: [] },
};

const [sure, chance] = [0.05, 0.051];
const ci95 = null;

const causeOf = (name: Cause["name"], by_share: number, by_reward: number, p = sure): Cause => {
  return { name, a: { share: 0.25, reward: 1 }, b: { share: 0.5, reward: null }, by_share, by_reward, ci95, p };
};
const value = (name: string, difference: number, pairs: number, p = sure) => {
  return { name: "env", value: name, pairs, a: 1, b: 1 + difference, difference, ci95, p };
};
const mean = (name: string, a: number, b: number, p = sure) => ({ name, a, b, ci95, p });
const metric = (name: string, a: number, b: number, p = sure) => {
  return { name, pairs: 30, a, b, difference: b - a, ci95, p };
};
const tool = (name: string | null, a: number | null, b: number | null, p = sure, ofCalls = chance) => {
  const changed = { of_errors: { ci95, p }, of_calls: { ci95, p: ofCalls } };
  return { name, a: { calls: 1, errors: a }, b: { calls: 1, errors: b }, ...changed };
};
const noDifference = rewardOf(-1, 1);
const many = Array.from({ length: 9 }, (_, at) => value(`${at}`, at - 12, 30));

describe("the list of sources of a difference", () => {
  it.each<[title: string, document: Partial<CompareDocument>, lines: readonly string[]]>([
    ["no unpaired prompts up to a tenth of the pairs", { only_a: 2, only_b: 1 }, []],
    [
      "unpaired prompts",
      { only_a: 3, only_b: 1 },
      [
        "prompts: 3 only in a and 1 only in b are not compared. The mean reward of all prompts is 0.5 → 0.25, and of the prompts in both 0.5 → -1.5",
      ],
    ],
    ["no trajectories without a known prompt up to a tenth of all", { without_prompt: 6 }, []],
    [
      "trajectories without a known prompt",
      { without_prompt: 7 },
      [
        "prompts: 0 only in a and 0 only in b are not compared, nor are 7 trajectories without a known prompt or key. The mean reward of all prompts is 0.5 → 0.25, and of the prompts in both 0.5 → -1.5",
      ],
    ],
    [
      "only unpaired prompts for two pairs",
      { paired: 2, only_b: 1, reward: null, reward_of_all: { a: null, b: 1 }, metrics: [metric("m", 0, 1, 0)] },
      ["prompts: 0 only in a and 1 only in b are not compared. The mean reward of all prompts is none → 1"],
    ],
    [
      "parts of at least a tenth of the difference, from the largest, and no share that chance can change",
      {
        causes: [
          causeOf("truncated", -0.2, 0.19),
          causeOf("tool_errors", -1, -0.25, chance),
          causeOf("other", 0.19, 2),
        ],
      },
      [
        "+2: mean reward of other rollouts (no known cut, no errors of tools): 1 → 0",
        "-0.25: mean reward of trajectories with errors of tools: 1 → 0",
        "-0.2: trajectories that were cut (finish reason length): 25% → 50% of all",
      ],
    ],
    [
      "the parts of a difference that chance can make, also those of mean rewards",
      { reward: rewardOf(-0.5, -0.1), causes: [causeOf("tool_errors", 0.06, -0.16), causeOf("other", 0.06, -0.26)] },
      [
        "-0.26: mean reward of other rollouts (no known cut, no errors of tools): 1 → 0",
        "-0.16: mean reward of trajectories with errors of tools: 1 → 0",
        "+0.06: trajectories with errors of tools: 25% → 50% of all",
      ],
    ],
    [
      "no parts of a verdict that chance can make",
      { reward: { ...rewardOf(-0.5, -0.1), detectable: 0.3 }, causes: [causeOf("other", 0, -0.3)] },
      [],
    ],
    [
      "shares alone if there may be no difference",
      { reward: noDifference, causes: [causeOf("tool_errors", 0.5, 1)], transitions: [changed("never", "always", 1)] },
      ["+0.5: trajectories with errors of tools: 25% → 50% of all"],
    ],
    [
      "no share of cut trajectories if a side records no finish reason",
      {
        causes: [causeOf("truncated", -2, 0), causeOf("tool_errors", -1, 0), causeOf("other", 1, 0)],
        finish_reasons: [mean("length", 0, 0.25), { name: null, a: 1, b: 0, p: sure }],
      },
      ["-1: trajectories with errors of tools: 25% → 50% of all"],
    ],
    [
      "no share of cut trajectories if the other side records none",
      { causes: [causeOf("truncated", -2, 0)], finish_reasons: [{ name: null, a: 0, b: 1, p: sure }] },
      [],
    ],
    [
      "six lines of a kind, and no change of a tool without results in one input",
      {
        metrics: [..."mnopqr"].map((name) => metric(name, 1, 2, 0)),
        tools: [tool("a", null, 1), tool("b", 1, null)],
      },
      [..."mnopqr"].map((name) => `metric: ${name}: 1 → 2`),
    ],
    [
      "values of keys whose difference is not that of other pairs, by their part of the pairs",
      { divisions: [value("a", -4, 15), value("b", -2, 15, chance), value("c", 6, 5)] },
      ["-2: env a: mean reward 1 → -3 in 15 of 30 pairs", "+1: env c: mean reward 1 → 7 in 5 of 30 pairs"],
    ],
    [
      "up to five of each: the clearest metrics, tools whose errors changed most, and other finish reasons",
      {
        metrics: [..."mnopqr", "b", "c"].map((name, at) => metric(name, 0, 1, 0.04 - at / 1000)),
        tools: [tool("a", 0, 0.2), tool(null, 0.75, 0.25), tool("c", 0, 0.25), tool("d", null, 1)],
        finish_reasons: [
          ...[mean("length", 0, 1), mean("stop", 1, 0), mean("content_filter", 0, 0.5)],
          ...[mean("abort", 0, 0.1, chance), mean("error", 0.5, 0.7, chance), { name: null, a: 0.75, b: 0.5, p: sure }],
        ],
      },
      [
        ...[..."cbrqp"].map((name) => `metric: ${name}: 0 → 1`),
        "metric: 3 more (see --json)",
        "tool: errors in 75% → 25% of the results of an unknown tool",
        "tool: errors in 0% → 25% of the results of c",
        "tool: errors in 0% → 20% of the results of a",
        "finish: content_filter: 0% → 50% of the trajectories",
        "finish: not recorded: 75% → 50% of the trajectories",
      ],
    ],
    [
      "no metric and no tool that chance can change, and no small change",
      { metrics: [metric("a", 0, 1, chance)], tools: [tool("a", 0.5, 0.55), tool("b", 0, 1, chance)] },
      [],
    ],
    [
      "tools that are called more or less often by a tenth",
      {
        tools: [
          { ...tool("a", null, 1, chance, sure), a: { calls: 0, errors: null }, b: { calls: 2.5, errors: 1 } },
          { ...tool("b", 0, null, chance, sure), a: { calls: 1, errors: 0 }, b: { calls: 0.91, errors: null } },
        ],
      },
      ["tool: calls of a: 0 → 2.5 for each trajectory"],
    ],
    [
      "facts that changed by more than a tenth of the larger mean, except errors of tools",
      {
        facts: [
          mean("tool_errors", 0, 1),
          mean("turns", 9, 10),
          mean("tool_calls", 8, 10),
          mean("tokens", 1, 2, chance),
          mean("characters", 20, 10),
        ],
      },
      ["tool calls: 8 → 10 for each trajectory", "characters: 20 → 10 for each trajectory"],
    ],
    [
      "the three most frequent transitions, and the number of all",
      {
        transitions: [
          ...[changed("never", "never", 9), changed("never", "always", 2), changed("always", "never", 4)],
          ...[changed("always", "failed", 1), changed("failed", "never", 3)],
        ],
      },
      ["solved: 4 always → never, 3 failed → never, 2 never → always (10 prompts)"],
    ],
    ["no transitions without a change", { transitions: [changed("never", "never", 9)] }, []],
    [
      "eight lines",
      { divisions: many },
      many.slice(0, 8).map((one) => `${one.difference}: env ${one.value}: mean reward 1 → ${one.b} in 30 of 30 pairs`),
    ],
  ])("has %s", (_, document, lines) => {
    expect(listSources({ ...empty, ...document }).map(({ label, text }) => `${label}: ${text}`)).toEqual(lines);
  });
});

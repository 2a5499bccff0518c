/** Defines the document of `compare`. */
import * as s from "../../output/document-schemas.ts";

const maybeNumber = s.nullable(s.number);
const side = s.object({ groups: s.count, trajectories: s.count, exceptions: s.count });
const maybeRange = s.nullable(s.list(s.number));
const interval = s.describe("95 % interval; null for fewer than two pairs", maybeRange);
const difference = { a: s.number, b: s.number, difference: s.describe("b − a", s.number), ci95: interval };

const detectable = s.describe("the smallest true difference that such data shows in four of five cases", maybeNumber);
const maybeSides = s.sameKeys(maybeNumber, "a", "b");
const cause = { share: s.number, reward: maybeNumber };
const intervalOf = (what: string) => s.describe(`95 % interval of the difference of ${what}`, maybeRange);
const toolUse = {
  calls: s.describe("for each trajectory", s.number),
  errors: s.describe("share of the results that are errors; null without results", maybeNumber),
};

const compare = s.object({
  a: side,
  b: side,
  exceptions: s.object({ a: s.count, b: s.count }),
  paired: s.describe("values of a key, or prompts, that both inputs have", s.count),
  only_a: s.count,
  only_b: s.count,
  failed_a: s.describe("keys whose rollouts all failed in a", s.count),
  failed_b: s.count,
  without_prompt: s.describe("trajectories without a known prompt, or without the key", s.count),
  reward: s.objectOrNull({
    pairs: s.count,
    ...difference,
    detectable,
    ...s.sameKeys(s.count, "better", "worse", "equal"),
  }),
  reward_of_all: s.objectAbout("means over all trajectories, paired or not", maybeSides),
  pass: s.objects({
    k: s.position,
    pairs: s.count,
    ...s.sameKeys(maybeNumber, "a", "b", "difference"),
    ci95: interval,
    all: s.objectAbout("pass^k, the share of sets of k trajectories that are all solved", maybeSides),
  }),
  causes: s.objectsOrNull(
    "an exact division of the difference of the rewards (after Kitagawa 1955); null without pairs",
    {
      name: s.oneOf("truncated", "tool_errors", "other"),
      a: s.objectAbout("share of the trajectories, and their mean reward", cause),
      b: s.object(cause),
      by_share: s.describe("the difference because the share changed", s.number),
      by_reward: s.describe("the difference because the reward of the class changed", s.number),
      ci95: intervalOf("the shares"),
    },
  ),
  facts: s.objectsAbout("means, in which each pair weighs the same", {
    name: s.text,
    ...s.sameKeys(s.number, "a", "b"),
    ci95: interval,
  }),
  tools: s.objects({
    name: s.nullable(s.text),
    a: s.object(toolUse),
    b: s.object(toolUse),
    ci95: intervalOf("the errors for each trajectory, over the pairs with calls"),
  }),
  transitions: s.objectsAbout("prompts by what they were in a and are in b", {
    ...s.sameKeys(s.oneOf("always", "sometimes", "never", "failed"), "from", "to"),
    prompts: s.count,
  }),
  divisions: s.objectsAbout("mean rewards by the values of recorded keys", {
    name: s.describe("a recorded key with few values, such as environment", s.text),
    value: s.text,
    pairs: s.count,
    ...difference,
  }),
  settings: s.objectsAbout(
    "metadata with one value in a and another in b, such as temperature",
    s.sameKeys(s.text, "name", "a", "b"),
  ),
  metrics: s.objectsOrNull("null if no pair has a metric in both inputs", {
    name: s.text,
    pairs: s.count,
    ...difference,
  }),
  finish_reasons: s.objectsOrNull(
    "shares of the trajectories, in which each pair weighs the same; null without pairs",
    {
      name: s.nullable(s.text),
      ...s.sameKeys(s.number, "a", "b"),
    },
  ),
  changed: s.objectsAbout("the pairs whose reward changed most", {
    key: s.nullable(s.text),
    prompt: s.text,
    ...s.sameKeys(s.number, "a", "b", "difference"),
    at_a: s.describe("file and line", s.text),
    at_b: s.text,
  }),
  warnings: s.problems,
  notes: s.notes,
});
export type CompareDocument = s.Infer<typeof compare>;

export const outputs: s.Outputs = { compare: ["the differences between two runs", compare] };

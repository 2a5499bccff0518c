/** Defines the document of `compare`. */
import * as s from "../../output/document-schemas.ts";
import { count, describe, list, named, notes, nullable, number, object, text } from "../../output/document-schemas.ts";

const side = object({ groups: count, trajectories: count, exceptions: count });
const interval = describe("95 % interval; null for fewer than two pairs", nullable(list(number)));
const difference = { a: number, b: number, difference: describe("b − a", number), ci95: interval };

const detectable = describe(
  "the smallest true difference that such data shows in four of five cases",
  nullable(number),
);
const maybeSides = s.sameKeys(nullable(number), "a", "b");
const cause = { share: number, reward: nullable(number) };
const intervalOf = (what: string) => describe(`95 % interval of the difference of ${what}`, nullable(list(number)));
const toolUse = {
  calls: describe("for each trajectory", number),
  errors: describe("share of the results that are errors; null without results", nullable(number)),
};

const division = {
  name: describe("a recorded key with few values, such as environment", text),
  value: text,
  pairs: count,
  ...difference,
};

const compare = object({
  a: side,
  b: side,
  exceptions: object({ a: count, b: count }),
  paired: describe("values of a key, or prompts, that both inputs have", count),
  only_a: count,
  only_b: count,
  failed_a: describe("keys whose rollouts all failed in a", count),
  failed_b: count,
  without_prompt: describe("trajectories without a known prompt, or without the key", count),
  reward: nullable(
    object({ pairs: count, ...difference, detectable, ...s.sameKeys(count, "better", "worse", "equal") }),
  ),
  reward_of_all: describe("means over all trajectories, paired or not", object(maybeSides)),
  pass: list(
    object({
      k: s.position,
      pairs: count,
      ...s.sameKeys(nullable(number), "a", "b", "difference"),
      ci95: interval,
      all: describe("pass^k, the share of sets of k trajectories that are all solved", object(maybeSides)),
    }),
  ),
  causes: describe(
    "an exact division of the difference of the rewards (after Kitagawa 1955); null without pairs",
    nullable(
      list(
        object({
          name: s.oneOf("truncated", "tool_errors", "other"),
          a: describe("share of the trajectories, and their mean reward", object(cause)),
          b: object(cause),
          by_share: describe("the difference because the share changed", number),
          by_reward: describe("the difference because the reward of the class changed", number),
          ci95: intervalOf("the shares"),
        }),
      ),
    ),
  ),
  facts: describe(
    "means, in which each pair weighs the same",
    list(object({ name: text, a: number, b: number, ci95: interval })),
  ),
  tools: list(
    object({
      name: nullable(text),
      a: object(toolUse),
      b: object(toolUse),
      ci95: intervalOf("the errors for each trajectory, over the pairs with calls"),
    }),
  ),
  transitions: describe(
    "prompts by what they were in a and are in b",
    list(object({ ...s.sameKeys(s.oneOf("always", "sometimes", "never", "failed"), "from", "to"), prompts: count })),
  ),
  divisions: describe("mean rewards by the values of recorded keys", list(object(division))),
  settings: describe(
    "metadata with one value in a and another in b, such as temperature",
    list(object({ name: text, a: text, b: text })),
  ),
  metrics: describe(
    "null if no pair has a metric in both inputs",
    nullable(named(object({ pairs: count, ...difference }))),
  ),
  finish_reasons: describe(
    "shares of the trajectories, in which each pair weighs the same; null without pairs",
    nullable(list(object({ name: nullable(text), a: number, b: number }))),
  ),
  changed: describe(
    "the pairs whose reward changed most",
    list(
      object({
        key: nullable(text),
        prompt: text,
        a: number,
        b: number,
        difference: number,
        at_a: describe("file and line", text),
        at_b: text,
      }),
    ),
  ),
  warnings: s.problems,
  notes,
});
export type CompareDocument = s.Infer<typeof compare>;

export const outputs: s.Outputs = { compare: ["the differences between two runs", compare] };

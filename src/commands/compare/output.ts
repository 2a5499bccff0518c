/** Defines the document of `compare`. */
import * as s from "../../document-schemas.ts";
import { count, describe, list, named, nullable, number, object, text } from "../../document-schemas.ts";
import { notes } from "../check/output.ts";

const side = object({ groups: count, trajectories: count, exceptions: count });
const interval = describe("95 % interval; null for fewer than two pairs", nullable(list(number)));
const difference = { a: number, b: number, difference: describe("b − a", number), ci95: interval };

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
  reward: nullable(object({ pairs: count, ...difference, ...s.sameKeys(count, "better", "worse", "equal") })),
  pass: list(
    object({
      k: s.position,
      pairs: count,
      ...s.sameKeys(nullable(number), "a", "b", "difference"),
      ci95: interval,
    }),
  ),
  metrics: describe(
    "null if no pair has a metric in both inputs",
    nullable(named(object({ pairs: count, ...difference }))),
  ),
  finish_reasons: describe(
    "shares of the trajectories; null without trajectories",
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

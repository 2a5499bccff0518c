/** The pages of the rules that `catalog verify` holds models against. */
import type { LockRule } from "../../catalogs/index.ts";
import type { Severity } from "../../failure.ts";
import type { RulePage } from "./rule-page.ts";

interface Said {
  readonly line: number;
  readonly why: string;
  readonly message: string;
  readonly advice?: string;
}

const page =
  (severity: Severity) =>
  (rule: LockRule, { line, why, message, advice }: Said): RulePage => ({
    why,
    example: {
      file: "rollcall.lock.json",
      line,
      column: 7,
      rule,
      severity,
      message: `maker/large ${message}`,
      ...(advice === undefined ? {} : { advice }),
    },
  });

const [fails, warns] = [page("error"), page("warning")];

/** What every failing rule advises where there is such a model. */
const advice = "the cheapest that can do the same is maker/other: 0.3 $/M in, 1.2 $/M out";

/** The pages, by the names of the rules. */
export const lockRulePages: Readonly<Record<LockRule, RulePage>> = {
  "model-not-served": fails("model-not-served", {
    line: 6,
    why: "A model that was locked is no longer in its catalog.",
    message: "is not in the router catalog any more",
    advice,
  }),
  "price-rose": fails("price-rose", {
    line: 11,
    why: "A price rose by more than `--max-rise` of what it was when it was locked.",
    message: "has a prompt price that rose by 33.4%, from 0.3 $/M to 0.4 $/M",
    advice,
  }),
  "price-unstated": warns("price-unstated", {
    line: 11,
    why: "What a model costs is not known any more; unknown is not zero, and not the same either.",
    message: "had a prompt price of 0.3 $/M, which is not stated any more",
  }),
  "quantization-fell": fails("quantization-fell", {
    line: 7,
    why: "A model that runs in fewer bits than it was locked with answers otherwise.",
    message: "ran in fp8, and its quantization is int4",
    advice,
  }),
  "quantization-changed": warns("quantization-changed", {
    line: 7,
    why: "A model runs in another format of as many bits, or in one that is not known.",
    message: "ran in fp8, and its quantization is int8",
  }),
  "context-fell": fails("context-fell", {
    line: 8,
    why: "What fitted into the context when the model was locked may not fit any more.",
    message: "has a context of 32768 tokens; it had 131072",
    advice,
  }),
  "context-unstated": warns("context-unstated", {
    line: 8,
    why: "How much fits into the context is not known any more.",
    message: "had a context of 131072 tokens, which is not stated any more",
  }),
  "output-fell": warns("output-fell", {
    line: 9,
    why: "An answer that fitted when the model was locked may be cut off now.",
    message: "gives at most 8192 tokens; it gave 65536",
  }),
  "country-left": fails("country-left", {
    line: 18,
    why: "No data centre is left in a country that had one: where data may be kept may depend on it.",
    message: "has no data centre in FI any more",
    advice,
  }),
  "deprecation-near": fails("deprecation-near", {
    line: 19,
    why: "A model's deprecation has come, or is nearer than `--within`.",
    message: "will be deprecated on 2026-12-01",
    advice,
  }),
  "modality-left": warns("modality-left", {
    line: 14,
    why: "A model does not take, or give, something any more that it did when it was locked.",
    message: "does not take image any more",
  }),
  "feature-left": warns("feature-left", {
    line: 16,
    why: "A model lost a feature that it had when it was locked.",
    message: "does not have tools any more",
  }),
  "parameter-left": warns("parameter-left", {
    line: 17,
    why: "A model does not take a sampling parameter any more that it did when it was locked.",
    message: "does not take seed any more",
  }),
};

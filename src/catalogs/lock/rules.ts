/** The rules that a model is held against by the facts it was locked with. */
import type { Severity } from "../../failure.ts";

/** Every rule, and how serious it is: errors fail `catalog verify`; warnings do with `--strict`. */
export const lockRules = {
  "model-not-served": "error",
  "price-rose": "error",
  "price-unstated": "warning",
  "quantization-fell": "error",
  "quantization-changed": "warning",
  "context-fell": "error",
  "context-unstated": "warning",
  "output-fell": "warning",
  "country-left": "error",
  "deprecation-near": "error",
  "modality-left": "warning",
  "feature-left": "warning",
  "parameter-left": "warning",
} as const satisfies Readonly<Record<string, Severity>>;

/** Name of a rule, a promise to users. */
export type LockRule = keyof typeof lockRules;

/** Names of all rules. */
export const lockRuleNames: readonly string[] = Object.keys(lockRules);

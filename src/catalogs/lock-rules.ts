/** Lists the rules of `catalog verify`. */
import type { Severity } from "../failure.ts";
import { lockCommand } from "./failures.ts";

/** `message` follows the model's id. Braces contain example values. */
const defineRule = (severity: Severity) => (why: string, message: string) => {
  return { severity, why, message, example: message.replaceAll(/[{}]/g, "") };
};
const error = defineRule("error");
const warning = defineRule("warning");

export const lockRules = {
  "model-removed": error("A locked model is missing from its catalog.", "is no longer in the {router} catalog"),
  "partial-list": warning(
    "The service sent only a part of the catalog, so `catalog verify` cannot check the models that are missing from it.",
    "was not checked, because the service sent only a part of the {router} catalog",
  ),
  "price-increased": error(
    "A price rose by more than `--max-rise`.",
    "raised its {prompt price by 33.4%,} from {0.3 $/M} to {0.4 $/M}",
  ),
  "price-unknown": warning(
    "The catalog no longer states a price. An unknown price is neither zero nor unchanged.",
    "no longer states its {prompt} price (was {0.3 $/M})",
  ),
  "price-added": warning(
    "The lock file does not have this price, and it can change a total.",
    "states a new {input_cache_write price}, {3.75 $/M}",
  ),
  "price-condition-changed": error(
    "The prices have another unit, currency, discount, time or condition, so they cannot be compared.",
    "changed the conditions of its prices from {none} to {unit per_1m_tokens}",
  ),
  "quantization-decreased": error(
    "A model that is stored in fewer bits gives other answers.",
    "changed its quantization from {fp8} to {int4}",
  ),
  "quantization-changed": warning(
    "A model in another number format, or in an unknown format, can give other answers.",
    "changed its quantization from {fp8} to {int8}",
  ),
  "context-decreased": error(
    "Input that fitted into the context may no longer fit.",
    "reduced its context from {131072} to {32768} tokens",
  ),
  "context-unknown": warning(
    "The catalog no longer states how much input fits into the context.",
    "no longer states its context (was {131072} tokens)",
  ),
  "max-output-decreased": warning(
    "Long answers may be cut off.",
    "reduced its maximum output from {65536} to {8192} tokens",
  ),
  "country-removed": error(
    "A country no longer has a data center of the model. Contracts and laws can require that country.",
    "no longer has a data center in {FI}",
  ),
  "countries-unknown": warning(
    "The catalog no longer states the countries of the data centers. They may have changed.",
    "no longer states the countries of its data centers (were {FI, US})",
  ),
  "model-deprecated": error(
    "The deprecation date of a model is in the past, or today.",
    "was deprecated on {2026-10-01}",
  ),
  "deprecation-near": error(
    "A model will be deprecated within the time in `--within`.",
    "will be deprecated on {2026-12-01}",
  ),
  "modality-removed": warning("A model no longer accepts or returns a modality.", "no longer {accepts image input}"),
  "feature-removed": warning("A model lost a feature.", "no longer has the feature {tools}"),
  "parameter-removed": warning(
    "A model no longer accepts a sampling parameter.",
    "no longer accepts the parameter {seed}",
  ),
};

export type LockRuleName = keyof typeof lockRules;

/** `catalog lock` cannot accept these changes. */
const permanentRules: readonly LockRuleName[] = [
  "model-removed",
  "model-deprecated",
  "deprecation-near",
  "partial-list",
];
export const isAcceptable = (rule: LockRuleName) => !permanentRules.includes(rule);

export const acceptWay = (file: string, args?: readonly string[]) =>
  `accept the change with \`${lockCommand(file, args)}\``;
export const acceptAdvice = (rule: string, file: string, args?: readonly string[]) =>
  rule === "partial-list"
    ? `ignore it with --allow ${rule}`
    : `${acceptWay(file, args)}, or ignore it with --allow <rule>`;

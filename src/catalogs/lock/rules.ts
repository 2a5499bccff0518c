/** The rules that a model is held against by the facts it was locked with: a record each. */
import type { Severity } from "../../failure.ts";

/** A rule: what it says goes on with the model's name. */
interface LockRuleRecord<Data> {
  /** Errors fail `catalog verify`; warnings do with `--strict`. */
  readonly severity: Severity;
  readonly says: (data: Data) => string;
  /** Why it is a rule: its page says it beside an example. */
  readonly why: string;
  /** What its page says it of, and the line of the lock file that this stands on. */
  readonly example: Data;
  readonly line: number;
}

type Written<Data> = Omit<LockRuleRecord<Data>, "severity">;

const error = <Data>(rule: Written<Data>): LockRuleRecord<Data> => ({ severity: "error", ...rule });
const warning = <Data>(rule: Written<Data>): LockRuleRecord<Data> => ({ severity: "warning", ...rule });

/** Every rule, by its name: a promise to users. */
export const lockRules = {
  "model-not-served": error<{ catalog: string }>({
    says: ({ catalog }) => `is not in the ${catalog} catalog any more`,
    why: "A model that was locked is no longer in its catalog.",
    example: { catalog: "router" },
    line: 6,
  }),
  "price-rose": error<{ name: string; by: string | undefined; was: string; is: string }>({
    says: ({ name, by, was, is }) =>
      `has a ${name} price that rose${by === undefined ? "" : ` by ${by}%`}, from ${was} to ${is}`,
    why: "A price rose by more than `--max-rise` of what it was when it was locked.",
    example: { name: "prompt", by: "33.4", was: "0.3 $/M", is: "0.4 $/M" },
    line: 11,
  }),
  "price-unstated": warning<{ name: string; was: string }>({
    says: ({ name, was }) => `had a ${name} price of ${was}, which is not stated any more`,
    why: "What a model costs is not known any more; unknown is not zero, and not the same either.",
    example: { name: "prompt", was: "0.3 $/M" },
    line: 11,
  }),
  "quantization-fell": error<{ was: string; is: string }>({
    says: ({ was, is }) => `ran in ${was}, and its quantization is ${is}`,
    why: "A model that runs in fewer bits than it was locked with answers otherwise.",
    example: { was: "fp8", is: "int4" },
    line: 7,
  }),
  "quantization-changed": warning<{ was: string; is: string | undefined }>({
    says: ({ was, is }) =>
      `ran in ${was}, and its quantization ${is === undefined ? "is not stated any more" : `is ${is}`}`,
    why: "A model runs in another format of as many bits, or in one that is not known.",
    example: { was: "fp8", is: "int8" },
    line: 7,
  }),
  "context-fell": error<{ was: number; is: number }>({
    says: ({ was, is }) => `has a context of ${is} tokens; it had ${was}`,
    why: "What fitted into the context when the model was locked may not fit any more.",
    example: { was: 131072, is: 32768 },
    line: 8,
  }),
  "context-unstated": warning<{ was: number }>({
    says: ({ was }) => `had a context of ${was} tokens, which is not stated any more`,
    why: "How much fits into the context is not known any more.",
    example: { was: 131072 },
    line: 8,
  }),
  "output-fell": warning<{ was: number; is: number }>({
    says: ({ was, is }) => `gives at most ${is} tokens; it gave ${was}`,
    why: "An answer that fitted when the model was locked may be cut off now.",
    example: { was: 65536, is: 8192 },
    line: 9,
  }),
  "country-left": error<{ word: string }>({
    says: ({ word }) => `has no data centre in ${word} any more`,
    why: "No data centre is left in a country that had one: where data may be kept may depend on it.",
    example: { word: "FI" },
    line: 18,
  }),
  "countries-unstated": warning<{ was: readonly string[] }>({
    says: ({ was }) => `had data centres in ${was.join(", ")}, and none is stated any more`,
    why: "Where a model runs is not known any more; unknown is not elsewhere, and not the same either.",
    example: { was: ["FI", "US"] },
    line: 18,
  }),
  "deprecation-near": error<{ day: string; isOver: boolean }>({
    says: ({ day, isOver }) => (isOver ? `was deprecated on ${day}` : `will be deprecated on ${day}`),
    why: "A model's deprecation has come, or is nearer than `--within`.",
    example: { day: "2026-12-01", isOver: false },
    line: 19,
  }),
  "modality-left": warning<{ word: string; way?: "take" | "give" }>({
    says: ({ word, way = "take" }) => `does not ${way} ${word} any more`,
    why: "A model does not take, or give, something any more that it did when it was locked.",
    example: { word: "image" },
    line: 14,
  }),
  "feature-left": warning<{ word: string }>({
    says: ({ word }) => `does not have ${word} any more`,
    why: "A model lost a feature that it had when it was locked.",
    example: { word: "tools" },
    line: 16,
  }),
  "parameter-left": warning<{ word: string }>({
    says: ({ word }) => `does not take ${word} any more`,
    why: "A model does not take a sampling parameter any more that it did when it was locked.",
    example: { word: "seed" },
    line: 17,
  }),
};

/** Name of a rule. */
export type LockRule = keyof typeof lockRules;

/** What a rule's words are made of. */
export type LockRuleData<Name extends LockRule> =
  (typeof lockRules)[Name] extends LockRuleRecord<infer Data> ? Data : never;

const table: { readonly [Name in LockRule]: LockRuleRecord<LockRuleData<Name>> } = lockRules;

/** What a rule says of data. */
export const lockMessage = <Name extends LockRule>(rule: Name, data: LockRuleData<Name>): string =>
  table[rule].says(data);

const isLockRule = (name: string): name is LockRule => Object.hasOwn(lockRules, name);

/** Names of all rules. */
export const lockRuleNames: readonly string[] = Object.keys(lockRules);

/** A rule, as its page shows it. */
interface LockRulePage extends Pick<LockRuleRecord<unknown>, "severity" | "why" | "line"> {
  readonly rule: LockRule;
  /** What it says of its example. */
  readonly message: string;
}

const pageOf = <Name extends LockRule>(rule: Name): LockRulePage => {
  const { severity, why, line, says, example } = table[rule];
  return { rule, severity, why, line, message: says(example) };
};

/** The pages of all rules. */
export const lockRulePages = (): readonly LockRulePage[] => lockRuleNames.filter(isLockRule).map(pageOf);

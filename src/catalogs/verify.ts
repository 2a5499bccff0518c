/** `catalog verify`: what got worse about locked models by a table of rules, and models that can replace them. */
import type { CatalogModel } from "../contract/catalog.ts";
import { typedValue } from "../contract/replies.ts";
import {
  addDecimals,
  compareDecimals,
  type Decimal,
  formatDecimal,
  multiplyDecimals,
  shiftDigits,
  zero,
} from "../decimal.ts";
import type { Problem, Severity } from "../failure.ts";
import type { CatalogName } from "./catalog-files.ts";
import { formatPrice, parsePrice, readPrice } from "./fields.ts";
import { formatLock, type LockedModel, type LockFile, type LockPath, parseLock, toLockedModel } from "./lock.ts";
import { utcDay } from "./models.ts";

/** What is allowed to get worse. */
export interface LockPolicy {
  /** A price may rise by so many percent of what it was. */
  readonly maxRise: Decimal;
  /** A deprecation nearer than this fails: milliseconds. */
  readonly withinMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

interface LockRule {
  /** Errors fail `catalog verify`; warnings do with `--strict`. */
  readonly severity: Severity;
  /** For `explain`. */
  readonly why: string;
  /** What is different about a model in the example of `explain`. */
  readonly example: Partial<LockedModel>;
}

const error = (why: string, example: LockRule["example"]): LockRule => ({ severity: "error", why, example });
const warning = (why: string, example: LockRule["example"]): LockRule => ({ severity: "warning", why, example });

/** The rules by their names, which are a promise to users. */
const rules = {
  "model-removed": error("A model that was locked is no longer in its catalog.", { id: "" }),
  "price-increased": error("A price rose by more than `--max-rise` of what it was when it was locked.", {
    pricing: { prompt: "4e-7" },
  }),
  "price-unknown": warning("What a model costs is not known any more; unknown is not zero, and not the same either.", {
    pricing: {},
  }),
  "quantization-decreased": error("A model that runs in fewer bits than it was locked with answers otherwise.", {
    quantization: "int4",
  }),
  "quantization-changed": warning("A model runs in another format of as many bits, or in one that is not known.", {
    quantization: "int8",
  }),
  "context-decreased": error("What fitted into the context when the model was locked may not fit any more.", {
    context_length: 32_768,
  }),
  "context-unknown": warning("How much fits into the context is not known any more.", { context_length: undefined }),
  "max-output-decreased": warning("An answer that fitted when the model was locked may be cut off now.", {
    max_output_length: 8192,
  }),
  "country-removed": error(
    "No data centre is left in a country that had one: where data may be kept may depend on it.",
    {
      countries: ["US"],
    },
  ),
  "countries-unknown": warning(
    "Where a model runs is not known any more; unknown is not elsewhere, and not the same either.",
    { countries: undefined },
  ),
  "deprecation-near": error("A model's deprecation has come, or is nearer than `--within`.", {
    deprecation_date: "2026-12-01",
  }),
  "modality-removed": warning("A model does not take, or give, something any more that it did when it was locked.", {
    input_modalities: ["text"],
  }),
  "feature-removed": warning("A model lost a feature that it had when it was locked.", { supported_features: [] }),
  "parameter-removed": warning("A model does not take a sampling parameter any more that it did when it was locked.", {
    supported_sampling_parameters: [],
  }),
} satisfies Record<string, LockRule>;

type RuleName = keyof typeof rules;

/** Rules that a replacement may break: it has another price and id, and may give less. */
const replaceable: ReadonlySet<string> = new Set<RuleName>([
  ...(["model-removed", "price-increased", "price-unknown", "quantization-changed", "max-output-decreased"] as const),
]);

export const lockRuleNames: readonly string[] = Object.keys(rules);

/** A fact that got worse. */
interface Regression {
  readonly rule: RuleName;
  /** Below the model in the lock file. */
  readonly path: LockPath;
  /** The values for a person; empty if there is none. */
  readonly locked: string;
  readonly now: string;
  /** A clause after the model's name. */
  readonly message: string;
}

/** Lists of words: what is said of one that is gone, by the rule. */
const listFields = [
  ["input_modalities", "modality-removed", (word: string) => `does not take ${word} any more`],
  ["output_modalities", "modality-removed", (word: string) => `does not give ${word} any more`],
  ["supported_features", "feature-removed", (word: string) => `does not have ${word} any more`],
  ["supported_sampling_parameters", "parameter-removed", (word: string) => `does not take ${word} any more`],
  ["countries", "country-removed", (word: string) => `has no data centre in ${word} any more`],
] as const;

const hundred: Decimal = { digits: 100n, places: 0 };

/** What got worse about a model. Undefined is a model that is not served any more. */
const findRegressions = (was: LockedModel, is: LockedModel | undefined, policy: LockPolicy): readonly Regression[] => {
  const found: Regression[] = [];
  const add = (rule: RuleName, path: LockPath, [locked, now]: readonly [unknown, unknown], message: string) =>
    found.push({ rule, path, locked: String(locked), now: String(now ?? ""), message });
  if (is === undefined) {
    add("model-removed", ["id"], ["", ""], `is not in the ${was.catalog} catalog any more`);
    return found;
  }
  const gone = "which is not stated any more";
  const prices = new Map(Object.entries(is.pricing ?? {}));
  for (const [name, text] of Object.entries(was.pricing ?? {})) {
    const [before, after] = [parsePrice(text), parsePrice(prices.get(name))];
    const values = [formatPrice(name, text), formatPrice(name, prices.get(name) ?? "")] as const;
    const path = ["pricing", name];
    if (before === undefined) continue;
    if (after === undefined) add("price-unknown", path, values, `had a ${name} price of ${values[0]}, ${gone}`);
    else if (hasRisen(before, after, policy.maxRise)) {
      const rise = `rose${percentRisen(before, after)}, from ${values.join(" to ")}`;
      add("price-increased", path, values, `has a ${name} price that ${rise}`);
    }
  }
  const { quantization, context_length: context, max_output_length: output } = was;
  const bits = quantizationBits(is.quantization) - quantizationBits(quantization);
  if (quantization !== undefined && quantization !== is.quantization && !(bits > 0)) {
    const now = is.quantization === undefined ? "is not stated any more" : `is ${is.quantization}`;
    const message = `ran in ${quantization}, and its quantization ${now}`;
    const rule = bits < 0 ? "quantization-decreased" : "quantization-changed";
    add(rule, ["quantization"], [quantization, is.quantization], message);
  }
  const contexts = [context, is.context_length] as const;
  if (context !== undefined && is.context_length === undefined) {
    add("context-unknown", ["context_length"], contexts, `had a context of ${context} tokens, ${gone}`);
  } else if (context !== undefined && (is.context_length ?? 0) < context) {
    const message = `has a context of ${is.context_length} tokens; it had ${context}`;
    add("context-decreased", ["context_length"], contexts, message);
  }
  if (output !== undefined && is.max_output_length !== undefined && is.max_output_length < output) {
    const message = `gives at most ${is.max_output_length} tokens; it gave ${output}`;
    add("max-output-decreased", ["max_output_length"], [output, is.max_output_length], message);
  }
  for (const [field, rule, says] of listFields) {
    const [before = [], after = []] = [was[field], is[field]];
    if (field === "countries" && before.length > 0 && after.length === 0) {
      const message = `had data centres in ${before.join(", ")}, and none is stated any more`;
      add("countries-unknown", [field, 0], [before.join(", "), ""], message);
      continue;
    }
    for (const [at, word] of before.entries()) {
      if (!after.includes(word)) add(rule, [field, at], [word, after.join(", ")], says(word));
    }
  }
  const day = /^\d{4}-\d\d-\d\d/.exec(is.deprecation_date ?? "")?.[0];
  if (day !== undefined && day <= utcDay(policy.now + policy.withinMs)) {
    const when = day <= utcDay(policy.now) ? "was" : "will be";
    add("deprecation-near", ["deprecation_date"], [was.deprecation_date ?? "", day], `${when} deprecated on ${day}`);
  }
  return found;
};

/** Assumed: the first number in the name of a quantization is its bits: `int4`, `bf16`, `nvfp4`, `fp8_e4m3`. */
const quantizationBits = (quantization = ""): number => Number(/\d{1,3}/.exec(quantization)?.[0] ?? Number.NaN);

const hasRisen = (was: Decimal, is: Decimal, maxRise: Decimal): boolean =>
  compareDecimals(multiplyDecimals(is, hundred), multiplyDecimals(was, addDecimals(hundred, maxRise))) > 0;

/** By how many percent, to a tenth, rounded up: a rise that failed never looks like one that was allowed. */
const percentRisen = (was: Decimal, is: Decimal): string => {
  const places = Math.max(was.places, is.places);
  const [before, after] = [shiftDigits(was, places).digits, shiftDigits(is, places).digits];
  const digits = before === 0n ? 0n : ((after - before) * 1000n + before - 1n) / before;
  return before === 0n ? "" : ` by ${formatDecimal({ digits, places: 1 })}%`;
};

/** The model of the examples. */
const exampleModel: LockedModel = {
  ...{ catalog: "router", id: "maker/large", quantization: "fp8", context_length: 131_072, max_output_length: 65_536 },
  pricing: { prompt: "3e-7", completion: "1.2e-6" },
  ...{ input_modalities: ["image", "text"], output_modalities: ["text"], supported_features: ["tools"] },
  ...{ supported_sampling_parameters: ["seed"], countries: ["FI", "US"], deprecation_date: "2027-12-01" },
};

/** A page of `explain` for each rule, with the message of its example and the line of it in a lock file. */
export const lockRulePages = () => {
  const lock = parseLock("rollcall.lock.json", Buffer.from(formatLock([exampleModel])));
  const policy = { maxRise: zero, withinMs: 30 * 86_400_000, now: Date.UTC(2026, 10, 15) };
  return Object.entries(rules).flatMap(([rule, { example, ...page }]) => {
    const now = { ...exampleModel, ...example };
    const [found] = findRegressions(exampleModel, now.id === "" ? undefined : now, policy);
    if (found === undefined) return [];
    return [{ rule, ...page, message: found.message, line: lock.positionOf(0, found.path).line }];
  });
};

/** A fact that got worse, its position in the lock file, and a model that could be used instead. */
export interface VerifiedFact {
  readonly locked: LockedModel;
  readonly finding: Regression;
  readonly problem: Problem;
  /** The cheapest model that would do; undefined if there is none, or none is needed. */
  readonly replacement: Replacement | undefined;
}

/** The advice if nothing fails. */
export const acceptAdvice =
  "if that is right, `rollcall catalog lock` writes what is stated now; --allow <rule> leaves the rule out";

/** Compares the models of a lock file with the catalogs as they are now, in the order of the lock file. */
export const verifyLock = (
  lock: LockFile,
  catalogs: ReadonlyMap<CatalogName, Iterable<CatalogModel>>,
  policy: LockPolicy,
): readonly VerifiedFact[] => {
  const served = new Map(Array.from(catalogs, ([name, models]) => [name, openServedModels(name, models, policy)]));
  return lock.models.flatMap((locked, at): readonly VerifiedFact[] => {
    const models = served.get(locked.catalog);
    const findings = closestRegressions(locked, models?.byId.get(locked.id) ?? [], policy);
    const errors = findings.filter(({ rule }) => rules[rule].severity === "error");
    // If only a price is wrong, only a cheaper model helps.
    const cheaper = errors.every(({ rule }) => rule === "price-increased");
    const replacement = errors.length > 0 ? models?.replacement(locked, cheaper) : undefined;
    const { id, prompt, completion } = replacement ?? {};
    const advice =
      replacement === undefined
        ? `no other model of the ${locked.catalog} catalog can do the same${cheaper ? " for less" : ""}`
        : `the cheapest that can do the same is ${id}: ${prompt} $/M in, ${completion} $/M out`;
    return findings
      .map((finding) => {
        const { rule, path, message } = finding;
        const where = { file: lock.file, ...lock.positionOf(at, path), path: ["models", at, ...path] };
        const said = { message: `${locked.id} ${message}`, advice: errors.length > 0 ? advice : acceptAdvice };
        return { locked, finding, problem: { ...where, rule, severity: rules[rule].severity, ...said }, replacement };
      })
      .sort((a, b) => a.problem.line - b.problem.line);
  });
};

/** The findings of the model that has the fewest differences. A near end counts only if all else is equal. */
const closestRegressions = (
  locked: LockedModel,
  served: readonly LockedModel[],
  policy: LockPolicy,
): readonly Regression[] => {
  const count = (findings: readonly Regression[]): number =>
    findings.filter(({ rule }) => rule !== "deprecation-near").length;
  const [fewest = findRegressions(locked, undefined, policy)] = served
    .map((one) => findRegressions(locked, one, policy))
    .sort((a, b) => count(a) - count(b) || a.length - b.length);
  return fewest;
};

/** A model that could be used instead of another; prices in US dollars per million tokens. */
interface Replacement {
  readonly id: string;
  readonly prompt: string;
  readonly completion: string;
}

/** The models of a catalog as they are now. */
const openServedModels = (catalog: CatalogName, models: Iterable<CatalogModel>, policy: LockPolicy) => {
  const all = Array.from(models).flatMap((entry) => {
    const id = typedValue(entry.id);
    const [prompt, completion] = [readPrice(entry.pricing, "prompt"), readPrice(entry.pricing, "completion")];
    const price = prompt && completion && { prompt, completion, both: addDecimals(prompt, completion) };
    return id === undefined ? [] : [{ id, model: toLockedModel(catalog, id, entry), price }];
  });
  const byId = new Map<string, LockedModel[]>();
  for (const { id, model } of all) byId.set(id, [...(byId.get(id) ?? []), model]);
  const priced = all
    .flatMap(({ id, model, price }) => (price === undefined ? [] : [{ id, model, price }]))
    .sort((a, b) => compareDecimals(a.price.both, b.price.both));
  return {
    byId,
    /**
     * The cheapest model, by its prompt and completion prices together, that has all that the locked one had and lasts as
     * long as the policy asks; with `cheaper`, only one that costs less than the locked one does now.
     */
    replacement: (locked: LockedModel, cheaper: boolean): Replacement | undefined => {
      const own = cheaper ? priced.findLast(({ id }) => id === locked.id) : undefined;
      const found = priced.find(
        ({ id, model }) =>
          id !== locked.id && findRegressions(locked, model, policy).every(({ rule }) => replaceable.has(rule)),
      );
      if (found === undefined || (own !== undefined && compareDecimals(found.price.both, own.price.both) >= 0))
        return undefined;
      const perMillion = (price: Decimal): string => formatDecimal(shiftDigits(price, 6));
      return { id: found.id, prompt: perMillion(found.price.prompt), completion: perMillion(found.price.completion) };
    },
  };
};

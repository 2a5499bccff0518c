/** Compares locked models with catalogs, and finds replacements. */
import * as decimals from "../decimal.ts";
import { type CatalogName, catalogNames } from "./catalog-files.ts";
import {
  formatPercentChange,
  formatPrice,
  knownPriceNames,
  listStatedPrices,
  listTerms,
  parsePrice,
  utcDay,
} from "./fields.ts";
import { type LockedModel, type LockFile, type LockPath, toLockedModel } from "./lock-file.ts";
import { acceptAdvice, acceptWay, isAcceptable, type LockRuleName, lockRules } from "./lock-rules.ts";
import { findPrice, listUnknownConditions, readOverrides } from "./price.ts";
import { type CatalogEntry, groupById } from "./rows.ts";

/** `maxRise` is in percent, and `now` is in ms since 1970. */
type LockPolicy = Readonly<{
  maxRise: decimals.Decimal;
  withinMs: number;
  now: number;
  /** The catalogs of which the service sent only a part. Default: none. */
  partial?: ReadonlySet<CatalogName>;
  /** Options for the service in the advised commands. Default: none. */
  serviceArgs?: readonly string[];
}>;

/** `path` begins at the model in the lock file. `words` replace the braces in the message. */
const toRegression = (rule: LockRuleName, path: LockPath, values: readonly unknown[], words = values) => {
  const [locked = "", current = ""] = values.map((value) => String(value ?? ""));
  const rest = words.values();
  const { severity, message: template } = lockRules[rule];
  const message = template.replaceAll(/\{.*?\}/g, () => String(rest.next().value));
  return { rule, severity, path, locked, current, message };
};

type Regression = ReturnType<typeof toRegression>;

const findRegressions = (was: LockedModel, is: LockedModel, policy: LockPolicy) => [
  ...compareQuantizations(was.quantization, is.quantization),
  ...compareLimits(was, is),
  ...comparePrices(was, is, policy),
  ...compareLists(was, is),
  ...checkDeprecation(was, is, policy),
];

const compareQuantizations = (was?: string, is?: string) => {
  const addedBits = countBits(is) - countBits(was);
  if (was === undefined || was === is || addedBits > 0) return [];
  const rule = addedBits < 0 ? "quantization-decreased" : "quantization-changed";
  return [toRegression(rule, ["quantization"], [was, is], [was, is ?? "an unknown format"])];
};

/** Assumed: the first number in the name counts the bits, as in `nvfp4` and `fp8_e4m3`. */
const countBits = (quantization = "") => Number(/\d{1,3}/.exec(quantization)?.[0] ?? Number.NaN);

const limits = [
  ["context_length", "context-decreased", "context-unknown"],
  ["max_output_length", "max-output-decreased", undefined],
] as const;

const compareLimits = (was: LockedModel, is: LockedModel) =>
  limits.flatMap(([field, decreased, unknown]) => {
    const [before, after] = [was[field], is[field]];
    if (before === undefined) return [];
    const rule = after === undefined ? unknown : after < before ? decreased : undefined;
    return rule === undefined ? [] : toRegression(rule, [field], [before, after]);
  });

const comparePrices = (was: LockedModel, is: LockedModel, policy: LockPolicy) => {
  const conditions = [describeConditions(was), describeConditions(is)];
  if (conditions[0] !== conditions[1]) return [toRegression("price-condition-changed", ["pricing"], conditions)];
  const overrides = readOverrides(was.pricing);
  const all = [...overrides, ...readOverrides(is.pricing)];
  const isNew = (name: string) => knownPriceNames.includes(name);
  const added = [listStatedPrices(is.pricing), ...all.map(({ prices }) => new Map(Object.entries(prices)))];
  const names = [
    ...listStatedPrices(was.pricing).keys(),
    ...added.flatMap((prices) => [...prices.keys()].filter(isNew)),
  ];
  return [...new Set(names)].flatMap((name) => {
    const tiers = all.flatMap(({ moreThan, prices }) => (moreThan !== undefined && name in prices ? moreThan : []));
    return [0, ...new Set(tiers)].flatMap((tier) => {
      const locked = overrides.find(({ moreThan, prices }) => moreThan === tier && name in prices);
      const path = ["pricing", ...(locked ? ["overrides", locked.index] : []), name];
      return comparePrice({ was, is, name, tier, path }, policy);
    });
  });
};

/** Describes all conditions but numbers of prompt tokens. */
const describeConditions = ({ pricing }: LockedModel) => {
  const others = readOverrides(pricing).flatMap(({ others: names, prices }) => (names.length > 0 ? prices : []));
  const unknown = listUnknownConditions(pricing).map(([name, value]) =>
    typeof value === "object" ? `${name} ${JSON.stringify(value)}` : name,
  );
  const all = [...listTerms({ pricing }), ...unknown, ...others.map((prices) => JSON.stringify(prices))];
  return all.length === 0 ? "none" : all.join(", ");
};

type PricePair = Readonly<{ was: LockedModel; is: LockedModel; name: string; tier: number; path: LockPath }>;

const comparePrice = ({ was, is, name, tier, path }: PricePair, { maxRise }: LockPolicy) => {
  const size = { tokens: tier === 0 ? 0 : tier + 1, most: tier + 1 };
  const [before, after] = [was, is].map(({ pricing }) => findPrice(pricing, name, size).price);
  // Without a price of its own, a part of the prompt or of the completion has the price of the whole.
  const whole = name.startsWith("input_cache") ? "prompt" : name === "internal_reasoning" ? "completion" : undefined;
  const isFree = name === "image" || name === "request";
  const base = whole ? findPrice(was.pricing, whole, size).price : isFree ? decimals.zero : undefined;
  const old = before ?? base ?? decimals.zero;
  const current = after ? decimals.formatDecimal(after) : (listStatedPrices(is.pricing).get(name) ?? "");
  const hasUsualTerms = listTerms({ pricing: was.pricing }).length === 0;
  const values = [decimals.formatDecimal(old), current].map((price) =>
    hasUsualTerms ? formatPrice(name, price) : String(price),
  );
  const part = tier === 0 ? `${name} price` : `${name} price over ${tier} prompt tokens`;
  if (!before) {
    if (!after || after.digits === 0n || decimals.compareDecimals(after, old) === 0) return [];
    const [from, to] = [`${values[0]} (the price of ${whole})`, values[1]];
    if (!base || !hasRisen(base, after, maxRise)) return toRegression("price-added", path, ["", to], [part, to]);
    return toRegression("price-increased", path, ["", to], [part, whole ? from : "not stated", to]);
  }
  if (!after) return toRegression("price-unknown", path, values, [part.replace(" price", ""), values[0]]);
  if (!hasRisen(before, after, maxRise)) return [];
  const percent = formatPercentChange(before, after, true).replace("+", " by ");
  const rise = `${part}${percent && `${percent}%,`}`;
  return toRegression("price-increased", path, values, [rise, ...values]);
};

const hasRisen = (was: decimals.Decimal, is: decimals.Decimal, maxRise: decimals.Decimal) => {
  const percent = decimals.addDecimals({ digits: 100n, places: 0 }, maxRise);
  return decimals.compareDecimals(decimals.shiftDecimal(is, 2), decimals.multiplyDecimals(was, percent)) > 0;
};

const listRules = [
  ["input_modalities", "modality-removed", (word: string) => `accepts ${word} input`],
  ["output_modalities", "modality-removed", (word: string) => `returns ${word} output`],
  ["supported_features", "feature-removed", undefined],
  ["supported_sampling_parameters", "parameter-removed", undefined],
  ["countries", "country-removed", undefined],
] as const;

const compareLists = (was: LockedModel, is: LockedModel) =>
  listRules.flatMap(([field, rule, describe]) => {
    const [before = [], after = []] = [was[field], is[field]];
    if (field === "countries" && before.length > 0 && after.length === 0)
      return toRegression("countries-unknown", [field, 0], [before.join(", ")]);
    return before.flatMap((word, at) =>
      after.includes(word) ? [] : toRegression(rule, [field, at], [word, after.join(", ")], [describe?.(word) ?? word]),
    );
  });

const checkDeprecation = (was: LockedModel, is: LockedModel, { now, withinMs }: LockPolicy) => {
  const day = /^\d{4}-\d\d-\d\d/.exec(is.deprecation_date ?? "")?.[0];
  if (day === undefined || day > utcDay(now + withinMs)) return [];
  const rule = day <= utcDay(now) ? "model-deprecated" : "deprecation-near";
  return [toRegression(rule, ["deprecation_date"], [was.deprecation_date, day], [day])];
};

export type LockDifference = ReturnType<typeof verifyLock>[number];

/** Sorts the differences by their lines in the lock file. */
export const verifyLock = (lock: LockFile, listed: readonly CatalogEntry[], policy: LockPolicy) => {
  const served = listed.flatMap((one) => toLockedModel(one) ?? []);
  const byName = groupById(served, ({ catalog, id }) => `${catalog} ${id}`);
  const replacements = new Map(
    catalogNames.map((name) => [
      name,
      openReplacements(
        served.filter(({ catalog }) => catalog === name),
        policy,
      ),
    ]),
  );
  return lock.models.flatMap((locked, at) => {
    const { catalog, id } = locked;
    const missingRule = policy.partial?.has(catalog) ? "partial-list" : "model-removed";
    // If several entries share the id, the entry with the fewest changes counts. Deprecations decide ties.
    const [regressions = [toRegression(missingRule, ["id"], [], [catalog])]] = (byName.get(`${catalog} ${id}`) ?? [])
      .map((model) => findRegressions(locked, model, policy))
      .sort((a, b) => countChanges(a) - countChanges(b) || a.length - b.length);
    const errors = regressions.filter(({ severity }) => severity === "error");
    const needsCheaper = errors.every(({ rule }) => rule === "price-increased");
    const replacement = errors.length > 0 ? replacements.get(catalog)?.(locked, needsCheaper) : undefined;
    const adviceFor = (rule: LockRuleName) => {
      if (errors.length === 0) return acceptAdvice(rule, lock.file, policy.serviceArgs);
      if (replacement) {
        const { prompt, completion } = replacement;
        return `use ${replacement.id}, the cheapest replacement: ${prompt} $/M in, ${completion} $/M out`;
      }
      const way = isAcceptable(rule) ? acceptWay(lock.file, policy.serviceArgs) : `pass --allow ${rule}`;
      const price = needsCheaper ? " at a lower price" : "";
      return `${way}, because no other model in the ${catalog} catalog can replace ${id}${price}`;
    };
    const differences = regressions.map((regression) => {
      const { rule, severity, message } = regression;
      const path = ["models", at, ...regression.path];
      const facts = { path, rule, severity, message: `${id} ${message}`, advice: adviceFor(rule) };
      const problem = { ...lock.positionOf(path), ...facts };
      return { locked, regression, problem, replacement };
    });
    return differences.sort((a, b) => a.problem.line - b.problem.line);
  });
};

const countChanges = (regressions: readonly Regression[]) =>
  regressions.filter(({ path }) => path[0] !== "deprecation_date").length;

type PricedModel = ReturnType<typeof sortByPrice>[number];

const sortByPrice = (models: readonly LockedModel[]) => {
  const priced = models.flatMap((model) => {
    const prices = listStatedPrices(model.pricing);
    const [prompt, completion] = [parsePrice(prices.get("prompt")), parsePrice(prices.get("completion"))];
    if (!prompt || !completion || describeConditions(model) !== "none") return [];
    return [{ model, prompt, completion, sum: decimals.addDecimals(prompt, completion) }];
  });
  return priced.sort((a, b) => decimals.compareDecimals(a.sum, b.sum));
};

/**
 * All of 30,000 models can have an error. So models whose locked facts differ only in prices, lengths and dates share a
 * search, which compares each candidate once.
 */
const openReplacements = (models: readonly LockedModel[], policy: LockPolicy) => {
  const priced = sortByPrice(models);
  const byId = new Map(priced.map((one) => [one.model.id, one]));
  const findByWords = indexWords(priced.filter(({ model }) => checkDeprecation(model, model, policy).length === 0));
  const searches = new Map<string, ReturnType<typeof openSearch>>();
  const searchFor = (locked: LockedModel) => {
    const [bits, words] = [countBits(locked.quantization), listWords(locked)];
    const facts = JSON.stringify([bits, words]);
    const search = searches.get(facts) ?? openSearch(findByWords(words), bits);
    searches.set(facts, search);
    return search;
  };
  /** Returns prices in US dollars per million tokens. */
  return (locked: LockedModel, needsCheaper: boolean) => {
    const cheapest = searchFor(locked)(locked);
    const current = needsCheaper ? byId.get(locked.id) : undefined;
    if (!cheapest || (current && decimals.compareDecimals(cheapest.sum, current.sum) >= 0)) return undefined;
    const perMillion = (price: decimals.Decimal) => decimals.formatDecimal(decimals.shiftDecimal(price, 6));
    return { id: cheapest.model.id, prompt: perMillion(cheapest.prompt), completion: perMillion(cheapest.completion) };
  };
};

const listWords = (model: LockedModel) =>
  listRules.flatMap(([field]) => (model[field] ?? []).map((word) => `${field} ${word}`));

/** The returned function yields the models that have all words. Each number of the index has a bit for 32 models. */
const indexWords = (models: readonly PricedModel[]) => {
  const index = new Map<string, Map<number, number>>();
  for (const [at, { model }] of models.entries()) {
    const block = at >>> 5;
    for (const word of [anyWord, ...listWords(model)]) {
      const blocks = index.get(word) ?? new Map<number, number>();
      index.set(word, blocks.set(block, (blocks.get(block) ?? 0) | (1 << (at & 31))));
    }
  }
  return function* (words: readonly string[]) {
    const all = [anyWord, ...words].map((word) => index.get(word) ?? new Map<number, number>());
    const [rarest, ...others] = all.sort((a, b) => a.size - b.size);
    for (const [block, ofRarest] of rarest ?? []) {
      let bits = ofRarest;
      for (let at = 0; at < others.length && bits !== 0; at++) bits &= others[at]?.get(block) ?? 0;
      for (; bits !== 0; bits &= bits - 1) {
        const model = models[32 * block + 31 - Math.clz32(bits & -bits)];
        if (model) yield model;
      }
    }
  };
};

const anyWord = "";

/**
 * The returned function finds the cheapest other model that has the context of the given model. A replacement may have
 * another format of numbers, any price and any maximum output.
 */
const openSearch = (candidates: Iterator<PricedModel, void>, bits: number) => {
  const fitting: PricedModel[] = [];
  /** The longest context up to each fitting model. */
  const longest: number[] = [];
  const addNext = () => {
    const { value: one, done = false } = candidates.next();
    if (one && !(countBits(one.model.quantization) < bits)) {
      fitting.push(one);
      longest.push(Math.max(longest.at(-1) ?? -1, contextOf(one.model)));
    }
    return !done;
  };
  return (locked: LockedModel) => {
    const context = contextOf(locked);
    let [at, end] = [0, longest.length];
    while (at < end) {
      const middle = (at + end) >>> 1;
      if ((longest[middle] ?? 0) < context) at = middle + 1;
      else end = middle;
    }
    for (; ; at++) {
      while (at >= fitting.length && addNext());
      const one = fitting[at];
      if (!one || (one.model.id !== locked.id && contextOf(one.model) >= context)) return one;
    }
  };
};

const contextOf = ({ context_length: length = -1 }: LockedModel) => length;

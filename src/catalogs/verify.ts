/** Compares locked models with the catalogs, and finds replacements. */
import type { CatalogModel } from "../contract/catalog.ts";
import * as decimals from "../decimal.ts";
import type { Severity } from "../failure.ts";
import type { CatalogName } from "./catalog-files.ts";
import { lockCommand } from "./failures.ts";
import { formatPercentChange, formatPrice, parsePrice, utcDay } from "./fields.ts";
import { type LockedModel, type LockFile, type LockPath, toLockedModel } from "./lock.ts";

/** `maxRise` is in percent of the price. `now` is in ms since 1970. */
type LockPolicy = Readonly<{ maxRise: decimals.Decimal; withinMs: number; now: number }>;

/** @param example a message of the rule, without the model's id */
const defineRule = (severity: Severity) => (why: string, example: string) => ({ severity, why, example });
const error = defineRule("error");
const warning = defineRule("warning");

/** Users pass the names to `--allow`. */
export const lockRules = {
  "model-removed": error("A locked model is missing from its catalog.", "is no longer in the router catalog"),
  "price-increased": error(
    "A price rose by more than `--max-rise`.",
    "raised its prompt price by 33.4%, from 0.3 $/M to 0.4 $/M",
  ),
  "price-unknown": warning(
    "The catalog no longer states a price. An unknown price is neither zero nor unchanged.",
    "no longer states its prompt price (was 0.3 $/M)",
  ),
  "quantization-decreased": error(
    "A model that is stored in fewer bits gives other answers.",
    "changed its quantization from fp8 to int4",
  ),
  "quantization-changed": warning(
    "A model in another number format, or in an unknown format, can give other answers.",
    "changed its quantization from fp8 to int8",
  ),
  "context-decreased": error(
    "Input that fitted into the context may no longer fit.",
    "reduced its context from 131072 to 32768 tokens",
  ),
  "context-unknown": warning(
    "The catalog no longer states how much input fits into the context.",
    "no longer states its context (was 131072 tokens)",
  ),
  "max-output-decreased": warning(
    "Long answers may be cut off.",
    "reduced its maximum output from 65536 to 8192 tokens",
  ),
  "country-removed": error(
    "A country no longer has a data center of the model. Contracts and laws can require that country.",
    "no longer has a data center in FI",
  ),
  "countries-unknown": warning(
    "The catalog no longer states the countries of the data centers. They may have changed.",
    "no longer states the countries of its data centers (were FI, US)",
  ),
  "model-deprecated": error(
    "The deprecation date of a model is in the past, or today.",
    "was deprecated on 2026-10-01",
  ),
  "deprecation-near": error(
    "A model will be deprecated within the time in `--within`.",
    "will be deprecated on 2026-12-01",
  ),
  "modality-removed": warning("A model no longer accepts or returns a modality.", "no longer accepts image input"),
  "feature-removed": warning("A model lost a feature.", "no longer has the feature tools"),
  "parameter-removed": warning(
    "A model no longer accepts a sampling parameter.",
    "no longer accepts the parameter seed",
  ),
};

type RuleName = keyof typeof lockRules;
const deprecationRules: readonly RuleName[] = ["model-deprecated", "deprecation-near"];
const toleratedRules: readonly RuleName[] = [
  "price-increased",
  "price-unknown",
  "quantization-changed",
  "max-output-decreased",
];

/** `path` starts at the model. `locked` and `current` are empty if not stated. `message` comes after the model's id. */
type Regression = Readonly<{ rule: RuleName; path: LockPath; locked: string; current: string; message: string }>;

const listedFacts = [
  ["input_modalities", "modality-removed", (value: string) => `accepts ${value} input`],
  ["output_modalities", "modality-removed", (value: string) => `returns ${value} output`],
  ["supported_features", "feature-removed", (value: string) => `has the feature ${value}`],
  ["supported_sampling_parameters", "parameter-removed", (value: string) => `accepts the parameter ${value}`],
  ["countries", "country-removed", (value: string) => `has a data center in ${value}`],
] as const;

const findRegressions = (was: LockedModel, is: LockedModel | undefined, policy: LockPolicy): readonly Regression[] => {
  if (is === undefined) {
    return [createRegression("model-removed", ["id"], [], `is no longer in the ${was.catalog} catalog`)];
  }
  return [
    ...comparePrices(was, is, policy),
    ...compareQuantizations(was, is),
    ...compareLimits(was, is),
    ...compareLists(was, is),
    ...checkDeprecation(was, is, policy),
  ];
};

const createRegression = (rule: RuleName, path: LockPath, values: readonly unknown[], message: string): Regression => {
  const [locked = "", current = ""] = values;
  return { rule, path, locked: String(locked), current: String(current), message };
};

const comparePrices = (was: LockedModel, is: LockedModel, { maxRise }: LockPolicy) => {
  const prices = new Map(Object.entries(is.pricing ?? {}));
  return Object.entries(was.pricing ?? {}).flatMap(([name, text]) => {
    const currentText = prices.get(name) ?? "";
    const [before, after] = [parsePrice(text), parsePrice(currentText)];
    if (before === undefined) return [];
    const path = ["pricing", name];
    const values = [formatPrice(name, text), formatPrice(name, currentText)];
    if (after === undefined) {
      const message = `no longer states its ${name} price (was ${values[0]})`;
      return createRegression("price-unknown", path, values, message);
    }
    if (!hasRisen(before, after, maxRise)) return [];
    const percent = formatPercentChange(before, after, true).replace("+", " by ");
    const rise = `${percent === "" ? "" : `${percent}%,`} from ${values.join(" to ")}`;
    return createRegression("price-increased", path, values, `raised its ${name} price${rise}`);
  });
};

const compareQuantizations = (was: LockedModel, is: LockedModel) => {
  const addedBits = countBits(is.quantization) - countBits(was.quantization);
  if (was.quantization === undefined || was.quantization === is.quantization || addedBits > 0) return [];
  const values = [was.quantization, is.quantization];
  const change = `changed its quantization from ${values.join(" to ")}`;
  const message = is.quantization ? change : `no longer states its quantization (was ${was.quantization})`;
  const rule = addedBits < 0 ? "quantization-decreased" : "quantization-changed";
  return [createRegression(rule, ["quantization"], values, message)];
};

const tokenLimits = [
  ["context_length", "context", "context-decreased"],
  ["max_output_length", "maximum output", "max-output-decreased"],
] as const;

const compareLimits = (was: LockedModel, is: LockedModel) =>
  tokenLimits.flatMap(([field, name, rule]) => {
    const [before, after] = [was[field], is[field]];
    if (before === undefined) return [];
    if (after !== undefined && after < before) {
      const message = `reduced its ${name} from ${before} to ${after} tokens`;
      return createRegression(rule, [field], [before, after], message);
    }
    if (after !== undefined || field !== "context_length") return [];
    return createRegression(
      "context-unknown",
      [field],
      [before],
      `no longer states its context (was ${before} tokens)`,
    );
  });

const compareLists = (was: LockedModel, is: LockedModel) =>
  listedFacts.flatMap(([field, rule, describe]) => {
    const [before = [], after = []] = [was[field], is[field]];
    const words = before.join(", ");
    if (field === "countries" && words !== "" && after.length === 0) {
      const message = `no longer states the countries of its data centers (were ${words})`;
      return createRegression("countries-unknown", [field, 0], [words], message);
    }
    return before.flatMap((word, at) => {
      if (after.includes(word)) return [];
      return createRegression(rule, [field, at], [word, after.join(", ")], `no longer ${describe(word)}`);
    });
  });

const checkDeprecation = (was: LockedModel, is: LockedModel, { now, withinMs }: LockPolicy) => {
  const day = /^\d{4}-\d\d-\d\d/.exec(is.deprecation_date ?? "")?.[0];
  if (day === undefined || day > utcDay(now + withinMs)) return [];
  const isPast = day <= utcDay(now);
  const message = `${isPast ? "was" : "will be"} deprecated on ${day}`;
  const rule = isPast ? "model-deprecated" : "deprecation-near";
  return [createRegression(rule, ["deprecation_date"], [was.deprecation_date, day], message)];
};

/** Assumed: the first number in a quantization's name is its number of bits, as in `int4`, `nvfp4`, `fp8_e4m3`. */
const countBits = (quantization = "") => Number(/\d{1,3}/.exec(quantization)?.[0] ?? Number.NaN);

const hasRisen = (was: decimals.Decimal, is: decimals.Decimal, maxRise: decimals.Decimal) => {
  const percent = decimals.addDecimals({ digits: 100n, places: 0 }, maxRise);
  return decimals.compareDecimals(decimals.shiftDecimal(is, 2), decimals.multiplyDecimals(was, percent)) > 0;
};

const acceptWay = (file: string) => `accept the change with \`${lockCommand(file)}\``;
export const acceptAdvice = (file: string) => `${acceptWay(file)}, or silence the rule with --allow <rule>`;

/** True if `catalog lock` can accept a regression. */
export const isAcceptable = (rule: RuleName) => rule !== "model-removed" && !deprecationRules.includes(rule);

export type LockDifference = ReturnType<typeof verifyLock>[number];

type Catalogs = ReadonlyMap<CatalogName, readonly CatalogModel[]>;

/** Returns the differences in the order of the lock file. */
export const verifyLock = (lock: LockFile, catalogs: Catalogs, policy: LockPolicy) => {
  const served = new Map(
    Array.from(catalogs, ([name, models]) => [name, models.flatMap((model) => toLockedModel(name, model) ?? [])]),
  );
  return lock.models.flatMap((locked, at) => {
    const models = served.get(locked.catalog) ?? [];
    // Of several entries with this id, the entry with the fewest changes counts. Deprecations only break a tie.
    const [regressions = findRegressions(locked, undefined, policy)] = models
      .filter(({ id }) => id === locked.id)
      .map((model) => findRegressions(locked, model, policy))
      .sort((a, b) => countChanges(a) - countChanges(b) || a.length - b.length);
    const errors = regressions.filter(({ rule }) => lockRules[rule].severity === "error");
    // If only prices rose, only a cheaper model helps.
    const needsCheaper = errors.every(({ rule }) => rule === "price-increased");
    const replacement = errors.length > 0 ? findReplacement(locked, models, { policy, needsCheaper }) : undefined;
    const { id, prompt, completion } = replacement ?? {};
    const why = `because no other model in the ${locked.catalog} catalog can replace ${locked.id}`;
    const adviceFor = (rule: RuleName) => {
      if (errors.length === 0) return acceptAdvice(lock.file);
      if (id !== undefined) return `use ${id}, the cheapest replacement: ${prompt} $/M in, ${completion} $/M out`;
      const way = isAcceptable(rule) ? acceptWay(lock.file) : `pass --allow ${rule}`;
      return `${way}, ${why}${needsCheaper ? " at a lower price" : ""}`;
    };
    const differences = regressions.map((regression) => {
      const { rule } = regression;
      const path = ["models", at, ...regression.path];
      const message = `${locked.id} ${regression.message}`;
      const facts = { path, rule, severity: lockRules[rule].severity, message, advice: adviceFor(rule) };
      const problem = { ...lock.positionOf(path), ...facts };
      return { locked, regression, problem, replacement };
    });
    return differences.sort((a, b) => a.problem.line - b.problem.line);
  });
};

const countChanges = (regressions: readonly Regression[]) =>
  regressions.filter(({ rule }) => !deprecationRules.includes(rule)).length;

/** Returned prices are in US dollars per million tokens. */
const findReplacement = (
  locked: LockedModel,
  models: readonly LockedModel[],
  { policy, needsCheaper }: { readonly policy: LockPolicy; readonly needsCheaper: boolean },
) => {
  const priced = models.flatMap((model) => {
    const [prompt, completion] = [parsePrice(model.pricing?.prompt), parsePrice(model.pricing?.completion)];
    return prompt && completion ? [{ model, prompt, completion, sum: decimals.addDecimals(prompt, completion) }] : [];
  });
  priced.sort((a, b) => decimals.compareDecimals(a.sum, b.sum));
  const current = needsCheaper ? priced.findLast(({ model }) => model.id === locked.id) : undefined;
  const canReplace = (model: LockedModel) =>
    findRegressions(locked, model, policy).every(({ rule }) => toleratedRules.includes(rule));
  const cheapest = priced.find(({ model }) => model.id !== locked.id && canReplace(model));
  if (cheapest === undefined) return undefined;
  if (current !== undefined && decimals.compareDecimals(cheapest.sum, current.sum) >= 0) return undefined;
  const perMillion = (price: decimals.Decimal) => decimals.formatDecimal(decimals.shiftDecimal(price, 6));
  return { id: cheapest.model.id, prompt: perMillion(cheapest.prompt), completion: perMillion(cheapest.completion) };
};

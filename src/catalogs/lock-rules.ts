/** The rules of `catalog verify`: what may be worse about a model than it was when it was locked. */
import { compareDecimals, type Decimal, formatDecimal, multiplyDecimals, shifted } from "../decimal.ts";
import type { Severity } from "../failure.ts";
import { dayOf } from "./deprecation.ts";
import type { LockedModel, LockPath } from "./lock.ts";
import { priceText } from "./price-text.ts";
import { amountOf } from "./prices.ts";

/** What is allowed to get worse. */
export interface LockPolicy {
  /** A price may rise by so many percent of what it was. */
  readonly maxRise: Decimal;
  /** A deprecation nearer than this fails: milliseconds. */
  readonly withinMs: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Something that got worse. */
export interface LockFinding {
  readonly rule: string;
  /** Below the model in the lock file. */
  readonly path: LockPath;
  /** The values for a person; empty if there is none. */
  readonly locked: string;
  readonly now: string;
  /** A clause after the model's name. */
  readonly message: string;
}

/** What a rule found: the data of its message, and where. */
type Found<Data> = Pick<LockFinding, "path" | "locked" | "now"> & { readonly data: Data };

interface RuleRecord<Data> {
  /** Errors fail `catalog verify`; warnings do with `--strict`. */
  readonly severity: Severity;
  readonly says: (data: Data) => string;
  /** Why it is a rule, for `explain`. */
  readonly why: string;
  /** What its page has a message of, and the line of a lock file that this is on. */
  readonly example: Data;
  readonly line: number;
  /** True if a model of which it is found cannot take the place of the locked one. */
  readonly hinders?: boolean;
  readonly find: (locked: LockedModel, now: LockedModel, policy: LockPolicy) => readonly Found<Data>[];
}

/** A rule. */
interface LockRule extends Pick<RuleRecord<unknown>, "severity" | "why" | "line" | "hinders"> {
  /** The message of its example. */
  readonly message: string;
  readonly find: (locked: LockedModel, now: LockedModel, policy: LockPolicy) => readonly Omit<LockFinding, "rule">[];
}

const rule = <Data>({ says, example, find, ...record }: RuleRecord<Data>): LockRule => ({
  ...record,
  message: says(example),
  find: (...compared) => find(...compared).map(({ data, ...where }) => ({ ...where, message: says(data) })),
});

type Lists =
  | "countries"
  | "input_modalities"
  | "output_modalities"
  | "supported_features"
  | "supported_sampling_parameters";

/** The words of a list that a model has no longer. */
const wordsLeft = (field: Lists, locked: LockedModel, now: LockedModel): readonly Found<{ word: string }>[] => {
  const [was, is] = [locked[field] ?? [], now[field] ?? []];
  return was.flatMap((word, at) =>
    is.includes(word) ? [] : [{ data: { word }, path: [field, at], locked: word, now: is.join(", ") }],
  );
};

const statesNoCountry = ({ countries = [] }: LockedModel): boolean => countries.length === 0;

type Quantizations = { was: string; is: string | undefined };

/** A quantization that is another one of not more bits, `fell` if they are known to be fewer. */
const quantizationFound = (
  { quantization: was }: LockedModel,
  { quantization: is }: LockedModel,
  fell: boolean,
): readonly Found<Quantizations>[] => {
  if (was === undefined || was === is) return [];
  const [before, after] = [bitsOf(was), bitsOf(is ?? "")];
  const difference = before === undefined || after === undefined ? Number.NaN : after - before;
  if (difference > 0 || difference < 0 !== fell) return [];
  return [{ data: { was, is }, path: ["quantization"], locked: was, now: is ?? "" }];
};

/** Assumed: the first number in the name of a quantization is its bits: `int4`, `bf16`, `nvfp4`, `fp8_e4m3`. */
const bitsOf = (quantization: string): number | undefined => {
  const digits = /\d{1,3}/.exec(quantization)?.[0];
  return digits === undefined ? undefined : Number(digits);
};

/** A number of tokens that fell. */
const tokensFell = (
  field: "context_length" | "max_output_length",
  { [field]: was }: LockedModel,
  { [field]: is }: LockedModel,
): readonly Found<{ was: number; is: number }>[] =>
  was === undefined || is === undefined || is >= was
    ? []
    : [{ data: { was, is }, path: [field], locked: String(was), now: String(is) }];

/** A price that was stated when it was locked, and what it is now, if it is stated. */
interface ComparedPrice {
  readonly name: string;
  readonly was: Decimal;
  readonly is: Decimal | undefined;
  readonly shown: Pick<LockFinding, "path" | "locked" | "now">;
}

const pricesCompared = ({ pricing = {} }: LockedModel, now: LockedModel): readonly ComparedPrice[] =>
  Object.entries(pricing).flatMap(([name, text]): readonly ComparedPrice[] => {
    const found = now.pricing !== undefined && Object.hasOwn(now.pricing, name) ? (now.pricing[name] ?? "") : "";
    const [was, is] = [priceOf(text), priceOf(found)];
    const shown = { path: ["pricing", name], locked: priceText(name, text), now: priceText(name, found) };
    return was === undefined ? [] : [{ name, was, is, shown }];
  });

/** An amount that is not below zero. */
const priceOf = (text: string): Decimal | undefined => {
  const amount = amountOf(text);
  return amount === undefined || amount.digits < 0n ? undefined : amount;
};

const hundred: Decimal = { digits: 100n, places: 0 };

const roseBeyond = (was: Decimal, is: Decimal, percent: Decimal): boolean => {
  const allowed = multiplyDecimals(was, {
    digits: hundred.digits * 10n ** BigInt(percent.places) + percent.digits,
    places: percent.places,
  });
  return compareDecimals(multiplyDecimals(is, hundred), allowed) > 0;
};

/** By how many percent, to a tenth, rounded up: a rise that failed is never told as one that was allowed. */
const risePercent = (was: Decimal, is: Decimal): string => {
  const places = Math.max(was.places, is.places);
  const [before, after] = [shifted(was, places).digits, shifted(is, places).digits];
  return formatDecimal({ digits: ((after - before) * 1000n + before - 1n) / before, places: 1 });
};

const notServedText = ({ catalog }: { catalog: string }): string => `is not in the ${catalog} catalog any more`;

/** Every rule by its name, which is a promise to users. */
export const lockRules: Readonly<Record<string, LockRule>> = {
  "model-not-served": rule<{ catalog: string }>({
    severity: "error",
    says: notServedText,
    why: "A model that was locked is no longer in its catalog.",
    example: { catalog: "router" },
    line: 6,
    // Nothing is compared with a model that is not there.
    find: () => [],
  }),
  "price-rose": rule<{ name: string; by: string | undefined; was: string; is: string }>({
    severity: "error",
    says: ({ name, by, was, is }) =>
      `has a ${name} price that rose${by === undefined ? "" : ` by ${by}%`}, from ${was} to ${is}`,
    why: "A price rose by more than `--max-rise` of what it was when it was locked.",
    example: { name: "prompt", by: "33.4", was: "0.3 $/M", is: "0.4 $/M" },
    line: 11,
    find: (locked, now, { maxRise }) =>
      pricesCompared(locked, now).flatMap(({ name, was, is, shown }) => {
        if (is === undefined || !roseBeyond(was, is, maxRise)) return [];
        const by = was.digits === 0n ? undefined : risePercent(was, is);
        return [{ ...shown, data: { name, by, was: shown.locked, is: shown.now } }];
      }),
  }),
  "price-unstated": rule<{ name: string; was: string }>({
    severity: "warning",
    says: ({ name, was }) => `had a ${name} price of ${was}, which is not stated any more`,
    why: "What a model costs is not known any more; unknown is not zero, and not the same either.",
    example: { name: "prompt", was: "0.3 $/M" },
    line: 11,
    find: (locked, now) =>
      pricesCompared(locked, now).flatMap(({ name, is, shown }) =>
        is === undefined ? [{ ...shown, data: { name, was: shown.locked } }] : [],
      ),
  }),
  "quantization-fell": rule<Quantizations>({
    severity: "error",
    says: ({ was, is }) => `ran in ${was}, and its quantization is ${is}`,
    why: "A model that runs in fewer bits than it was locked with answers otherwise.",
    example: { was: "fp8", is: "int4" },
    line: 7,
    hinders: true,
    find: (locked, now) => quantizationFound(locked, now, true),
  }),
  "quantization-changed": rule<Quantizations>({
    severity: "warning",
    says: ({ was, is }) =>
      `ran in ${was}, and its quantization ${is === undefined ? "is not stated any more" : `is ${is}`}`,
    why: "A model runs in another format of as many bits, or in one that is not known.",
    example: { was: "fp8", is: "int8" },
    line: 7,
    find: (locked, now) => quantizationFound(locked, now, false),
  }),
  "context-fell": rule<{ was: number; is: number }>({
    severity: "error",
    says: ({ was, is }) => `has a context of ${is} tokens; it had ${was}`,
    why: "What fitted into the context when the model was locked may not fit any more.",
    example: { was: 131072, is: 32768 },
    line: 8,
    hinders: true,
    find: (locked, now) => tokensFell("context_length", locked, now),
  }),
  "context-unstated": rule<{ was: number }>({
    severity: "warning",
    says: ({ was }) => `had a context of ${was} tokens, which is not stated any more`,
    why: "How much fits into the context is not known any more.",
    example: { was: 131072 },
    line: 8,
    hinders: true,
    find: ({ context_length: was }, { context_length: is }) =>
      was === undefined || is !== undefined
        ? []
        : [{ data: { was }, path: ["context_length"], locked: String(was), now: "" }],
  }),
  "output-fell": rule<{ was: number; is: number }>({
    severity: "warning",
    says: ({ was, is }) => `gives at most ${is} tokens; it gave ${was}`,
    why: "An answer that fitted when the model was locked may be cut off now.",
    example: { was: 65536, is: 8192 },
    line: 9,
    find: (locked, now) => tokensFell("max_output_length", locked, now),
  }),
  "country-left": rule<{ word: string }>({
    severity: "error",
    says: ({ word }) => `has no data centre in ${word} any more`,
    why: "No data centre is left in a country that had one: where data may be kept may depend on it.",
    example: { word: "FI" },
    line: 18,
    hinders: true,
    find: (locked, now) => (statesNoCountry(now) ? [] : wordsLeft("countries", locked, now)),
  }),
  "countries-unstated": rule<{ was: readonly string[] }>({
    severity: "warning",
    says: ({ was }) => `had data centres in ${was.join(", ")}, and none is stated any more`,
    why: "Where a model runs is not known any more; unknown is not elsewhere, and not the same either.",
    example: { was: ["FI", "US"] },
    line: 18,
    hinders: true,
    find: ({ countries: was = [] }, now) =>
      was.length > 0 && statesNoCountry(now)
        ? [{ data: { was }, path: ["countries", 0], locked: was.join(", "), now: "" }]
        : [],
  }),
  "deprecation-near": rule<{ day: string; isOver: boolean }>({
    severity: "error",
    says: ({ day, isOver }) => (isOver ? `was deprecated on ${day}` : `will be deprecated on ${day}`),
    why: "A model's deprecation has come, or is nearer than `--within`.",
    example: { day: "2026-12-01", isOver: false },
    line: 19,
    hinders: true,
    find: ({ deprecation_date: locked = "" }, now, { withinMs, now: ms }) => {
      const day = /^\d{4}-\d\d-\d\d/.exec(now.deprecation_date ?? "")?.[0];
      if (day === undefined || day > dayOf(ms + withinMs)) return [];
      return [{ data: { day, isOver: day <= dayOf(ms) }, path: ["deprecation_date"], locked, now: day }];
    },
  }),
  "modality-left": rule<{ word: string; way?: "take" | "give" }>({
    severity: "warning",
    says: ({ word, way = "take" }) => `does not ${way} ${word} any more`,
    why: "A model does not take, or give, something any more that it did when it was locked.",
    example: { word: "image" },
    line: 14,
    hinders: true,
    find: (locked, now) => [
      ...wordsLeft("input_modalities", locked, now),
      ...wordsLeft("output_modalities", locked, now).map(({ data, ...where }) => {
        return { ...where, data: { ...data, way: "give" as const } };
      }),
    ],
  }),
  "feature-left": rule<{ word: string }>({
    severity: "warning",
    says: ({ word }) => `does not have ${word} any more`,
    why: "A model lost a feature that it had when it was locked.",
    example: { word: "tools" },
    line: 16,
    hinders: true,
    find: (locked, now) => wordsLeft("supported_features", locked, now),
  }),
  "parameter-left": rule<{ word: string }>({
    severity: "warning",
    says: ({ word }) => `does not take ${word} any more`,
    why: "A model does not take a sampling parameter any more that it did when it was locked.",
    example: { word: "seed" },
    line: 17,
    hinders: true,
    find: (locked, now) => wordsLeft("supported_sampling_parameters", locked, now),
  }),
};

/** Names of all rules. */
export const lockRuleNames: readonly string[] = Object.keys(lockRules);

/** What got worse about a model. */
export const findingsOf = (locked: LockedModel, now: LockedModel, policy: LockPolicy): readonly LockFinding[] =>
  Object.entries(lockRules).flatMap(([rule, { find }]) =>
    find(locked, now, policy).map((found) => ({ rule, ...found })),
  );

/** True if a model can do what the locked one could, whatever it costs. */
export const canReplace = (locked: LockedModel, model: LockedModel, policy: LockPolicy): boolean =>
  Object.values(lockRules).every(({ hinders, find }) => hinders !== true || find(locked, model, policy).length === 0);

/** The finding of a model that is no longer in its catalog. */
export const notServed = ({ catalog }: LockedModel): LockFinding => ({
  ...{ rule: "model-not-served", path: ["id"], locked: "", now: "" },
  message: notServedText({ catalog }),
});

/** Holds a model against the facts it was locked with: what got worse, by how much, and where in the lock that stands. */
import { compareDecimals, type Decimal, formatDecimal, multiplyDecimals, shifted } from "../../decimal.ts";
import { dayOf } from "../deprecation.ts";
import { priceText } from "../price-text.ts";
import { amountOf } from "../prices.ts";
import type { LockedModel } from "./facts.ts";
import type { LockPath } from "./file.ts";
import { type LockRule, type LockRuleData, lockMessage } from "./rules.ts";

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
  readonly rule: LockRule;
  /** Below the model in the lock file. */
  readonly path: LockPath;
  /** The values for a person; empty where there is none. */
  readonly locked: string;
  readonly now: string;
  /** A clause that goes on with the model's name. */
  readonly message: string;
}

const finding = <Name extends LockRule>(
  rule: Name,
  data: LockRuleData<Name>,
  where: Pick<LockFinding, "path" | "locked" | "now">,
): LockFinding => ({ rule, ...where, message: lockMessage(rule, data) });

/** What got worse; the model as it is now is undefined where it is not served. */
export const findingsOf = (
  locked: LockedModel,
  now: LockedModel | undefined,
  policy: LockPolicy,
): readonly LockFinding[] => {
  if (now === undefined) {
    return [finding("model-not-served", { catalog: locked.catalog }, { path: ["id"], locked: "", now: "" })];
  }
  return [...abilityFindings(locked, now, policy), ...priceFindings(locked, now, policy)];
};

/** What got worse but prices. */
export const abilityFindings = (locked: LockedModel, now: LockedModel, policy: LockPolicy): readonly LockFinding[] => [
  ...quantizationFindings(locked, now),
  ...contextFindings(locked, now),
  ...outputFindings(locked, now),
  ...wordFindings(locked, now),
  ...deprecationFindings(locked, now, policy),
];

const quantizationFindings = (
  { quantization: was }: LockedModel,
  { quantization: is }: LockedModel,
): readonly LockFinding[] => {
  if (was === undefined || was === is) return [];
  const [before, after] = [bitsOf(was), bitsOf(is ?? "")];
  if (before !== undefined && after !== undefined && after > before) return [];
  const shown = { path: ["quantization"], locked: was, now: is ?? "" };
  return is !== undefined && before !== undefined && after !== undefined && after < before
    ? [finding("quantization-fell", { was, is }, shown)]
    : [finding("quantization-changed", { was, is }, shown)];
};

/** Assumed: the first number in the name of a quantization is its bits: `int4`, `bf16`, `nvfp4`, `fp8_e4m3`. */
const bitsOf = (quantization: string): number | undefined => {
  const digits = /\d{1,3}/.exec(quantization)?.[0];
  return digits === undefined ? undefined : Number(digits);
};

const contextFindings = (
  { context_length: was }: LockedModel,
  { context_length: is }: LockedModel,
): readonly LockFinding[] => {
  if (was === undefined || (is !== undefined && is >= was)) return [];
  const shown = { path: ["context_length"], locked: String(was), now: is === undefined ? "" : String(is) };
  return is === undefined
    ? [finding("context-unstated", { was }, shown)]
    : [finding("context-fell", { was, is }, shown)];
};

const outputFindings = (
  { max_output_length: was }: LockedModel,
  { max_output_length: is }: LockedModel,
): readonly LockFinding[] => {
  if (was === undefined || is === undefined || is >= was) return [];
  return [finding("output-fell", { was, is }, { path: ["max_output_length"], locked: String(was), now: String(is) })];
};

const priceFindings = (locked: LockedModel, now: LockedModel, { maxRise }: LockPolicy): readonly LockFinding[] =>
  Object.entries(locked.pricing ?? {}).flatMap(([name, text]): readonly LockFinding[] => {
    const found = now.pricing !== undefined && Object.hasOwn(now.pricing, name) ? now.pricing[name] : undefined;
    const [was, is] = [priceOf(text), priceOf(found ?? "")];
    if (was === undefined) return [];
    const [before, after] = [priceText(name, text), priceText(name, found ?? "")];
    const shown = { path: ["pricing", name], locked: before, now: after };
    if (is === undefined) return [finding("price-unstated", { name, was: before }, shown)];
    if (!roseBeyond(was, is, maxRise)) return [];
    const by = was.digits === 0n ? undefined : risePercent(was, is);
    return [finding("price-rose", { name, by, was: before, is: after }, shown)];
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

/** The lists whose words a model may lose, and the rule of each. */
const lists = [
  { rule: "country-left", field: "countries", way: {} },
  { rule: "modality-left", field: "input_modalities", way: { way: "take" } },
  { rule: "modality-left", field: "output_modalities", way: { way: "give" } },
  { rule: "feature-left", field: "supported_features", way: {} },
  { rule: "parameter-left", field: "supported_sampling_parameters", way: {} },
] as const;

const wordFindings = (locked: LockedModel, now: LockedModel): readonly LockFinding[] =>
  lists.flatMap(({ rule, field, way }): readonly LockFinding[] => {
    const [was, is] = [locked[field] ?? [], now[field] ?? []];
    if (field === "countries" && was.length > 0 && is.length === 0) {
      return [finding("countries-unstated", { was }, { path: [field, 0], locked: was.join(", "), now: "" })];
    }
    return was.flatMap((word, at) =>
      is.includes(word) ? [] : finding(rule, { word, ...way }, { path: [field, at], locked: word, now: is.join(", ") }),
    );
  });

const deprecationFindings = (
  { deprecation_date: was = "" }: LockedModel,
  now: LockedModel,
  { withinMs, now: ms }: LockPolicy,
): readonly LockFinding[] => {
  const day = /^\d{4}-\d\d-\d\d/.exec(now.deprecation_date ?? "")?.[0];
  if (day === undefined || day > dayOf(ms + withinMs)) return [];
  const where = { path: ["deprecation_date"], locked: was, now: day };
  return [finding("deprecation-near", { day, isOver: day <= dayOf(ms) }, where)];
};

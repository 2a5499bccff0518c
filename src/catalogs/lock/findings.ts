/** Holds a model against the facts it was locked with: what got worse, by how much, and where in the lock that stands. */
import {
  compareDecimals,
  type Decimal,
  formatDecimal,
  multiplyDecimals,
  parseDecimal,
  shifted,
} from "../../decimal.ts";
import { dayOf } from "../deprecation.ts";
import { placesFor } from "../prices.ts";
import type { LockRule } from "../verify-rules.ts";
import type { LockedModel } from "./facts.ts";
import type { LockPath } from "./file.ts";

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

/** What got worse; the model as it is now is undefined where it is not served. */
export const findingsOf = (
  locked: LockedModel,
  now: LockedModel | undefined,
  policy: LockPolicy,
): readonly LockFinding[] => {
  if (now === undefined) {
    const message = `is not in the ${locked.catalog} catalog any more`;
    return [{ rule: "model-not-served", path: ["id"], locked: "", now: "", message }];
  }
  return [...abilityFindings(locked, now, policy), ...priceFindings(locked, now, policy)];
};

/** What got worse but prices. */
export const abilityFindings = (locked: LockedModel, now: LockedModel, policy: LockPolicy): readonly LockFinding[] => [
  ...quantizationFindings(locked, now),
  ...countFindings(locked, now),
  ...wordFindings(locked, now),
  ...deprecationFindings(locked, now, policy),
];

const quantizationFindings = (
  { quantization: was }: LockedModel,
  { quantization: is }: LockedModel,
): readonly LockFinding[] => {
  if (was === undefined || was === is) return [];
  const [before, after] = [bitsOf(was), bitsOf(is ?? "")];
  const fell = before !== undefined && after !== undefined && after < before;
  if (before !== undefined && after !== undefined && after > before) return [];
  const said = is === undefined ? "is not stated any more" : `is ${is}`;
  const message = `ran in ${was}, and its quantization ${said}`;
  return [
    {
      rule: fell ? "quantization-fell" : "quantization-changed",
      path: ["quantization"],
      locked: was,
      now: is ?? "",
      message,
    },
  ];
};

/** Assumed: the first number in the name of a quantization is its bits: `int4`, `bf16`, `nvfp4`, `fp8_e4m3`. */
const bitsOf = (quantization: string): number | undefined => {
  const digits = /\d{1,3}/.exec(quantization)?.[0];
  return digits === undefined ? undefined : Number(digits);
};

const countFindings = (locked: LockedModel, now: LockedModel): readonly LockFinding[] => {
  const [was, is] = [locked.context_length, now.context_length];
  const [wasOut, isOut] = [locked.max_output_length, now.max_output_length];
  const finding = (rule: LockRule, field: string, from: number, to: number | undefined, message: string) => {
    return { rule, path: [field], locked: String(from), now: to === undefined ? "" : String(to), message };
  };
  return [
    ...(was === undefined || (is !== undefined && is >= was)
      ? []
      : is === undefined
        ? [
            finding(
              "context-unstated",
              "context_length",
              was,
              is,
              `had a context of ${was} tokens, which is not stated any more`,
            ),
          ]
        : [finding("context-fell", "context_length", was, is, `has a context of ${is} tokens; it had ${was}`)]),
    ...(wasOut === undefined || isOut === undefined || isOut >= wasOut
      ? []
      : [
          finding(
            "output-fell",
            "max_output_length",
            wasOut,
            isOut,
            `gives at most ${isOut} tokens; it gave ${wasOut}`,
          ),
        ]),
  ];
};

const priceFindings = (locked: LockedModel, now: LockedModel, { maxRise }: LockPolicy): readonly LockFinding[] =>
  Object.entries(locked.pricing ?? {}).flatMap(([name, text]): readonly LockFinding[] => {
    const found = now.pricing !== undefined && Object.hasOwn(now.pricing, name) ? now.pricing[name] : undefined;
    const [was, is] = [amountOf(text), amountOf(found ?? "")];
    const path = ["pricing", name];
    const [wasText, isText] = [priceText(name, text), priceText(name, found ?? "")];
    const shown = { path, locked: wasText, now: isText };
    if (was === undefined) return [];
    if (is === undefined) {
      const message = `had a ${name} price of ${wasText}, which is not stated any more`;
      return [{ rule: "price-unstated", ...shown, message }];
    }
    if (!roseBeyond(was, is, maxRise)) return [];
    const by = was.digits === 0n ? "" : ` by ${risePercent(was, is)}%`;
    return [
      { rule: "price-rose", ...shown, message: `has a ${name} price that rose${by}, from ${wasText} to ${isText}` },
    ];
  });

const amountOf = (text: string): Decimal | undefined => {
  const amount = parseDecimal(text.trim());
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

/** A price for a person, with its unit. */
const priceText = (name: string, text: string): string => {
  const amount = amountOf(text);
  if (amount === undefined) return text;
  const places = placesFor(name);
  return `${formatDecimal(shifted(amount, places))} ${places === 6 ? "$/M" : "$"}`;
};

const wordFindings = (locked: LockedModel, now: LockedModel): readonly LockFinding[] => {
  const left = (
    rule: LockRule,
    field:
      | "countries"
      | "input_modalities"
      | "output_modalities"
      | "supported_features"
      | "supported_sampling_parameters",
    clause: (words: string) => string,
  ): readonly LockFinding[] => {
    const [was, is] = [locked[field] ?? [], now[field] ?? []];
    const gone = was.flatMap((word, at) => (is.includes(word) ? [] : [{ word, at }]));
    return gone.map(({ word, at }) => ({
      rule,
      path: [field, at],
      locked: word,
      now: is.join(", "),
      message: clause(word),
    }));
  };
  return [
    ...left("country-left", "countries", (country) => `has no data centre in ${country} any more`),
    ...left("modality-left", "input_modalities", (word) => `does not take ${word} any more`),
    ...left("modality-left", "output_modalities", (word) => `does not give ${word} any more`),
    ...left("feature-left", "supported_features", (word) => `does not have ${word} any more`),
    ...left("parameter-left", "supported_sampling_parameters", (word) => `does not take ${word} any more`),
  ];
};

const deprecationFindings = (
  { deprecation_date: was = "" }: LockedModel,
  now: LockedModel,
  { withinMs, now: ms }: LockPolicy,
): readonly LockFinding[] => {
  const day = /^\d{4}-\d\d-\d\d/.exec(now.deprecation_date ?? "")?.[0];
  if (day === undefined || day > dayOf(ms + withinMs)) return [];
  const message = day <= dayOf(ms) ? `was deprecated on ${day}` : `will be deprecated on ${day}`;
  return [{ rule: "deprecation-near", path: ["deprecation_date"], locked: was, now: day, message }];
};

/** Finds the differences between two catalogs by walking both, and which of them can break a user. */

import { getValue, isObject } from "../json/json-bytes.ts";
import { ignoreErrors } from "../system/files.ts";
import * as decimals from "../text/decimal.ts";
import { listByKey } from "../text/lists.ts";
import { utcDay } from "../text/units.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { toText } from "../wire/contract/replies.ts";
import * as fields from "./fields.ts";
import * as prices from "./prices.ts";

type FactKind =
  | ("price" | "context" | "output" | "quantization" | "modalities" | "features")
  | ("parameters" | "countries" | "deprecation" | "other");

/** If only one catalog has the model, `change` is `added` or `gone`, and `field` is null. */
export type Change = Readonly<
  Record<"name" | "field", string | null> &
    Record<"from" | "to", unknown> & {
      id: string;
      change: "added" | "gone" | FactKind;
      worse: boolean;
      /** True if the later catalog no longer states the fact, or states it in a form that cannot be compared. */
      isUnknown?: boolean;
    }
>;

/** `maxRise` is in percent, and `now` is in ms since 1970. */
export type DiffPolicy = Readonly<{ maxRise: decimals.Decimal; withinMs: number; now: number }>;

type Models = readonly CatalogModel[];
type Sides<Value> = Readonly<{ from: Value; to: Value }>;

/** Pairs models with the same id. A part of a catalog does not prove that a model is missing. */
export const diffCatalogs = ({ from, to }: Sides<Models>, isPartial: Sides<boolean>, policy: DiffPolicy) => {
  const idOf = ({ id }: CatalogModel) => toText(id);
  const [before, after] = [listByKey(from, idOf), listByKey(to, idOf)];
  const ids = [...new Set([...before.keys(), ...after.keys()])].filter((id) => id !== undefined).sort();
  const pairs = ids.flatMap((id) => pairModels(id, [before.get(id) ?? [], after.get(id) ?? []], policy));
  const unchecked = isPartial.to ? ids.filter((id) => !after.has(id)) : [];
  const isProven = ({ change }: Change) =>
    !(isPartial.to && change === "gone") && !(isPartial.from && change === "added");
  const same = pairs.filter((changes) => !changes.some(isDifference)).length;
  const without_id = [...from, ...to].filter(({ id }) => toText(id) === undefined).length;
  const models = { from: from.length, to: to.length, same, without_id };
  return { changes: pairs.flat().filter(isProven), models, unchecked };
};

/** False for a date that did not change, and that is only near. */
export const isDifference = ({ from, to, field }: Change) => field === null || toKey(from) !== toKey(to);

const maxCompared = 8;

/** Of entries with the same id, those with the fewest changes are compared. */
const pairModels = (id: string, [older, newer]: readonly [Models, Models], policy: DiffPolicy) => {
  // The next entries are at the end, because removing the first of many takes long.
  const rest = newer.toReversed();
  const compared = older.map((from) => {
    const compare = (to: CatalogModel, at: number) => {
      const changes = compareModels(id, { from, to }, policy);
      const differences = changes.filter(isDifference);
      return { at, changes, worse: differences.filter(({ worse }) => worse).length, count: differences.length };
    };
    const [first] = rest.slice(-1).map(compare);
    const candidates = first?.count === 0 ? [first] : rest.slice(-maxCompared).reverse().map(compare);
    const [best] = candidates.sort((a, b) => a.worse - b.worse || a.count - b.count);
    if (best) rest.splice(rest.length - 1 - best.at, 1);
    return best?.changes ?? [toPresence(id, from, "gone", newer.length === 0)];
  });
  return [...compared, ...rest.reverse().map((model) => [toPresence(id, model, "added", false)])];
};

const toPresence = (id: string, { name }: CatalogModel, change: "added" | "gone", worse: boolean): Change => {
  return { id, name: toText(name) ?? null, change, field: null, from: null, to: null, worse };
};

/** A fact of both entries. */
type Fact = Sides<unknown> & Readonly<{ path: readonly string[] }>;

const maxLevels = 8;

/** These members identify and describe a model. */
const ignoredKeys: ReadonlySet<string> = new Set(["id", "name", "description", "created"]);

const compareModels = (id: string, { from, to }: Sides<CatalogModel>, policy: DiffPolicy): readonly Change[] => {
  const name = toText(to.name) ?? toText(from.name) ?? null;
  const facts = [...walk({ path: [], from: toFacts(from), to: toFacts(to) })];
  const read = { from: prices.readPrices(from), to: prices.readPrices(to) };
  return [...facts, ...compareOverrides(read)].flatMap((fact): readonly Change[] => {
    const kind = kindOf(fact, policy);
    const [older, newer] = [fact.from, fact.to].map((value) => toStated(kind, value));
    const isAmount = kind === "price" || kind === "context" || kind === "output";
    const isSame = toKey(older, isAmount) === toKey(newer, isAmount);
    const known = { path: fact.path, from: older, to: newer };
    const worse = kind === "price" ? isDearer(known, read, policy) : isWorse(known, kind, policy);
    if (isSame && !(kind === "deprecation" && worse)) return [];
    const sides = { from: toWritable(older), to: toWritable(newer) };
    const isFact = kind === "price" ? fact.path.length === 1 : kind !== "deprecation";
    const isReadable = kind === "price" || areAlike(older, newer, isLimit(kind, fact.path));
    const isUnknown = isFact && !worse && older !== undefined && (newer === undefined || !isReadable);
    return [{ id, name, change: kind, field: formatPath(fact.path), ...sides, worse, isUnknown }];
  });
};

/** Renames keys of prices that services spell differently, and lists countries. */
const toFacts = (entry: CatalogModel) => {
  const { pricing, datacenters, ...others } = entry;
  const { overrides, ...stated } = Object.fromEntries(
    Array.from(prices.readPrices(entry).stated, ([name, price]) => [prices.toUsualName(name), price] as const),
  );
  const base = Array.isArray(overrides) ? stated : { ...stated, overrides };
  return {
    ...others,
    // Null means no limits.
    per_request_limits: entry.per_request_limits ?? {},
    pricing: pricing === undefined || pricing === null ? undefined : base,
    datacenters: fields.listCountries(datacenters) ?? datacenters,
    "datacenters' other members": fields.listDatacenterMembers(datacenters),
  };
};

function* walk(fact: Fact, levels = maxLevels): Generator<Fact> {
  const { path, from, to } = fact;
  if (levels === 0 || !isObject(from) || !isObject(to)) return yield fact;
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    if (path.length === 0 && ignoredKeys.has(key)) continue;
    yield* walk({ path: [...path, key], from: getValue(from, [key]), to: getValue(to, [key]) }, levels - 1);
  }
}

const kindsByKey: ReadonlyMap<string, FactKind> = new Map([
  ["context_length", "context"],
  ["max_output_length", "output"],
  ["quantization", "quantization"],
  ["input_modalities", "modalities"],
  ["output_modalities", "modalities"],
  ["supported_features", "features"],
  ["supported_sampling_parameters", "parameters"],
  ["datacenters", "countries"],
]);

/** Any other date of the future can be the end of a model. */
const otherDate = /creat|updat|releas|launch|start|since|added|cutoff/;

const kindOf = ({ path, to }: Fact, { now }: DiffPolicy): FactKind => {
  const [root = ""] = path;
  const key = path.at(-1) ?? "";
  if (root === "pricing" || prices.besideKey.test(root)) return "price";
  const day = typeof to === "string" ? fields.readDay(to) : undefined;
  const canBeEnd = day !== undefined && day >= utcDay(now) && !otherDate.test(key);
  const isEnd = fields.isEndKey(key) || [fields.readyKey, fields.endWord].some((end) => end.test(key));
  if (canBeEnd || isEnd || fields.endWord.test(toText(to) ?? "")) return "deprecation";
  return kindsByKey.get(key) ?? "other";
};

const formatPath = (path: readonly string[]) => (path[0] === "datacenters" ? fields.countryField : path.join("."));

/** Assumed: null and "" mean "not stated", and so do a limit of 0 and OpenRouter's quantization `unknown`. */
const toStated = (kind: FactKind, value: unknown) => {
  const isLimit = kind === "context" || kind === "output";
  if (kind === "quantization" && value === "unknown") return undefined;
  return value === null || value === "" || (isLimit && fields.parseAmount(value)?.digits === 0n) ? undefined : value;
};

/** Other numbers, such as a score, are no limits. */
const limitPath = /length|tokens|limit|max|context|quota|_per_|(?:^|[._])[rt]p[ms](?:[._]|$)/;

const isLimit = (kind: FactKind, path: Fact["path"]) =>
  kind === "context" || kind === "output" || (kind === "other" && limitPath.test(path.join(".")));

/** True if the later value can be compared with the earlier one. */
const areAlike = (from: unknown, to: unknown, isAmount: boolean) => {
  if (isAmount && fields.parseAmount(from)) return fields.parseAmount(to) !== undefined;
  return !Array.isArray(from) || Array.isArray(to);
};

const isWorse = ({ path, from, to }: Fact, kind: FactKind, policy: DiffPolicy) => {
  if (kind === "deprecation") return isEnding(path.at(-1) ?? "", to, policy);
  if (to === undefined) return false;
  if (from === undefined) return path[0] === "per_request_limits" && fields.parseAmount(to) !== undefined;
  if (kind === "quantization") return countBits(to) < countBits(from);
  const [before, after] = [fields.parseAmount(from), fields.parseAmount(to)];
  if (before && after) return (kind !== "other" || isLimit(kind, path)) && decimals.compareDecimals(after, before) < 0;
  // Its name does not say which value is worse.
  if (typeof from === "boolean" && typeof to === "boolean") return true;
  if (!Array.isArray(from) || !Array.isArray(to)) return false;
  const words = new Set(to.map((word) => toKey(word)));
  return from.some((word) => !words.has(toKey(word)));
};

/** A price of other conditions, such as a unit, cannot be compared. */
const isDearer = ({ path, from, to }: Fact, read: Sides<prices.Prices>, { maxRise }: DiffPolicy) => {
  const name = path.at(-1) ?? "";
  if (path[0] === "pricing" && path.length === 1) return from !== undefined && to !== undefined;
  const [stated, current] = [prices.parsePrice(from), prices.parsePrice(to)];
  const isTerm = prices.isTerm(name) || path[0] !== "pricing";
  if (isTerm) return !(prices.isUsualTerm(name, from) && prices.isUsualTerm(name, to));
  if (to !== undefined && !current) return true;
  if (from !== undefined && !stated) return !prices.isKnownPrice(name);
  const [was, is] = [stated ?? prices.impliedPrice(read.from, name), current ?? prices.impliedPrice(read.to, name)];
  if (!was) return !prices.isKnownPrice(name) && is?.digits !== 0n;
  if (!is) return true;
  const percent = decimals.addDecimals({ digits: 100n, places: 0 }, maxRise);
  return decimals.compareDecimals(decimals.shiftDecimal(is, 2), decimals.multiplyDecimals(was, percent)) > 0;
};

/** Assumed: the first number in the name counts the bits, as in `nvfp4` and `fp8_e4m3`. */
const countBits = (quantization: unknown) => Number(/\d{1,3}/.exec(toText(quantization) ?? "")?.[0] ?? Number.NaN);

/** True for a date that cannot be read, or that is past or near. */
const isEnding = (key: string, value: unknown, { now, withinMs }: DiffPolicy) => {
  if (fields.readyKey.test(key)) return value === false;
  if (value === undefined || fields.statesNoEnd(value)) return false;
  const day = fields.readDay(value);
  return day === undefined || day <= utcDay(now + withinMs);
};

const toWritable = (value: unknown = null) =>
  ignoreErrors(() => JSON.stringify(value)) === undefined ? "(nested too deeply)" : value;

/** Equal for other spellings of a number, for lists in another order, and without case. */
const toKey = (value: unknown = null, isAmount = false): string => {
  const amount = typeof value === "number" || isAmount ? fields.parseAmount(value) : undefined;
  if (amount) return decimals.formatDecimal(amount);
  return ignoreErrors(() => toCanonical(value)) ?? "(nested too deeply)";
};

/** Writes lists as sets, and objects with sorted keys, without escaping nested texts again. */
const toCanonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${[...new Set(value.map(toCanonical))].sort().join(",")}]`;
  if (!isObject(value)) return String(JSON.stringify(value)).toLowerCase();
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key).toLowerCase()}:${toCanonical(value[key])}`).join(",")}}`;
};

/** Compares the prices of each condition. Without a price of its own, a condition has the price without it. */
const compareOverrides = ({ from, to }: Sides<prices.Prices>) => {
  const [older, newer] = [from, to].map(indexOverrides);
  const keys = [...new Set([...(older?.keys() ?? []), ...(newer?.keys() ?? [])])];
  return keys.flatMap((key) => {
    const sides = [older?.get(key), newer?.get(key)];
    const names = new Set(sides.flatMap((side) => Object.keys(side?.prices ?? {})));
    const tokens = sides.map((side) => side?.moreThan).find((count) => count !== undefined) ?? -1;
    const size = { tokens: tokens + 1, most: tokens + 1 };
    return Array.from(names, (name) => {
      const [before, after] = [from, to].map((read, at) => {
        const stated = sides[at]?.prices ?? {};
        if (Object.hasOwn(stated, name)) return stated[name];
        const { price } = prices.findPrice(read, name, size);
        return price ? decimals.formatDecimal(price) : read.stated.get(name);
      });
      return { path: ["pricing", `overrides[${key}]`, name], from: before, to: after };
    });
  });
};

const indexOverrides = ({ overrides }: prices.Prices) =>
  new Map(
    overrides.map(({ moreThan, others, prices: members }) => {
      const isPrice = (name: string) =>
        prices.isKnownPrice(name) || (others.includes(name) && isOtherPrice(name, members[name]));
      const entries = Object.entries(members).filter(([name]) => name !== prices.tokenCondition);
      const conditions = entries.filter(([name, value]) => !isPrice(name) && value !== null);
      const labels = conditions.map(([name, value]) => `${name}=${JSON.stringify(value)}`).sort();
      const key = [...(moreThan === undefined ? [] : [`${prices.tokenCondition}=${moreThan}`]), ...labels].join(",");
      return [key, { moreThan, prices: Object.fromEntries(entries.filter(([name]) => isPrice(name))) }] as const;
    }),
  );

const isOtherPrice = (name: string, value: unknown) =>
  prices.parsePrice(value) !== undefined && !/^(?:min|max)_|^utc_|_(?:start|end)$/.test(name);

/** The fields of models and catalog entries. */
import type { CatalogModel } from "../contract/models.ts";
import { type ServiceObject, toText, toTexts } from "../contract/replies.ts";
import { type Decimal, formatDecimal, parseDecimal, shiftDecimal } from "../decimal.ts";
import { isObject, type JsonObject } from "../json/json-bytes.ts";

/** An inference model (interface 2.3), a catalog entry (2.5), or both with the same id. */
type FieldRow = Readonly<{ model?: { value: ServiceObject }; entry?: CatalogModel }>;

type FieldOptions = Readonly<{
  rank: number;
  heading?: string;
  align?: "right" | "decimal";
  /** The kind of change in `catalog diff`. Without a kind, `catalog diff` ignores the field. */
  change?: string;
  read?: (row: FieldRow) => unknown;
  /** `spelled` returns the unchanged JSON of the value. */
  text?: (value: unknown, spelled: () => string, row: FieldRow) => string;
}>;

export type FieldColumn = ReturnType<typeof field>;

const field = (name: string, options: FieldOptions) => {
  const {
    read = ({ entry }) => entry?.[name],
    heading = name,
    text = (found, spelled) => toText(found) ?? spelled(),
    ...display
  } = options;
  const value = (row: FieldRow): unknown => read(row) ?? undefined;
  const cell = (row: FieldRow, spelled: () => string) => {
    const found = value(row);
    return found === undefined ? "" : text(found, spelled, row);
  };
  return { name, heading, ...display, cell, value };
};

const modelField = (name: string, options: FieldOptions): FieldColumn =>
  field(name, { ...options, read: ({ model }) => model?.value[name] });

export const formatPlain = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

const wordList: Pick<FieldOptions, "text"> = {
  text: (value, spelled) => toTexts(value)?.join(", ") ?? spelled(),
};

/** Values are Unix seconds. Services send 0 for an unknown time. */
const unixTime: Pick<FieldOptions, "text"> = {
  text: (value, spelled) => {
    if (value === 0) return "";
    return typeof value === "number" && value > 0 && value * 1000 <= maxMs ? utcDay(value * 1000) : spelled();
  },
};

/** The last millisecond of the year 9999. */
const maxMs = Date.UTC(10_000, 0) - 1;
export const dayMs = 86_400_000;
export const utcDay = (ms: number) => new Date(Math.min(ms, maxMs)).toISOString().slice(0, 10);

/** The fields of interface 2.3, in the order of output.md. */
export const modelFields: readonly [FieldColumn, ...FieldColumn[]] = [
  modelField("id", { rank: 0 }),
  modelField("created", { ...unixTime, rank: 2 }),
  modelField("owned_by", { heading: "owned by", rank: 1 }),
  modelField("root", { rank: 3 }),
  modelField("object", { rank: 4 }),
];

export const priceNames = ["prompt", "completion", "image", "request", "input_cache_read"] as const;

/** Assumed: prices are in US dollars. */
export const knownPriceNames: readonly string[] = [
  ...priceNames,
  ...["input_cache_reads", "input_cache_write", "input_cache_writes", "internal_reasoning"],
];

const isPerToken = (name: string) => knownPriceNames.includes(name) && name !== "image" && name !== "request";

/** Returns US dollars per million tokens, image or request. */
export const toShownPrice = (name: string, price: Decimal) => shiftDecimal(price, isPerToken(name) ? 6 : 0);

export const parseAmount = (value: unknown) =>
  typeof value === "string" || typeof value === "number" ? parseDecimal(String(value).trim()) : undefined;

/** A JSON number of 2^53 or more is invalid, because digits may be lost. */
export const parsePrice = (value: unknown) => {
  const amount = typeof value === "number" && value > Number.MAX_SAFE_INTEGER ? undefined : parseAmount(value);
  return !amount || amount.digits < 0n ? undefined : amount;
};

/** Returns the stated members of `pricing`. A list of tiers with `min_context` becomes `overrides`. */
export const listStatedPrices = (pricing: unknown): ReadonlyMap<string, unknown> => {
  const members = Array.isArray(pricing) ? mergeTiers(pricing) : isObject(pricing) ? pricing : {};
  return new Map(Object.entries(members).filter(([, price]) => price !== null));
};

/** Assumed (the older format of OpenRouter's providers): each tier states all its prices. */
const mergeTiers = (tiers: readonly unknown[]): JsonObject => {
  const isTier = (tier: unknown): tier is JsonObject => isObject(tier) && "prompt" in tier;
  const [base, ...others] = tiers.filter(isTier).toSorted((a, b) => Number(minContext(a)) - Number(minContext(b)));
  if (!base || others.length + 1 < tiers.length || minContext(base) !== 0) return { tiers };
  const unstated = Object.fromEntries(Object.keys(base).map((name) => [name, null]));
  const overrides = others.map(({ min_context, ...prices }) => {
    return { min_prompt_tokens: min_context, ...unstated, ...prices };
  });
  return { ...withoutKey(base, "min_context"), ...(overrides.length > 0 && { overrides }) };
};

const minContext = ({ min_context = 0 }: JsonObject) => min_context ?? 0;

const withoutKey = (object: JsonObject, key: string) =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));

/** Matches keys that change the meaning of all prices. */
const termKey =
  /unit|currency|discount|denominat|multipl|scale|surcharge|minimum|min_charge|(?:^|_)(?:per|fees?)(?:_|$)|^is_free$/i;

/** Matches `USD`, `per_token`, `1 token` and so on, which are the terms of interface 2.5. */
const usualTerm =
  /^(?:us\$|\$|usd|(?:(?:us\$|\$|usd)[ _/]*)?(?:per[ _-]?)?(?:1[ _-]?)?tokens?|none|false|0(?:\.0+)?|1)$/i;

/** Selects terms next to `pricing`, such as `discount_to_user`. */
export const listEntryTerms = (entry: CatalogModel) =>
  Object.entries(entry).filter(([key]) => /^(?:pric\w*_)?(?:unit|currency)$|^discount|^is_free$/i.test(key));

/** Returns the unusual terms of all prices, such as `unit per_1m_tokens`. */
export const listTerms = (entry: CatalogModel) => {
  const stated = [...listStatedPrices(entry.pricing)].filter(([key]) => termKey.test(key));
  return [...listEntryTerms(entry), ...stated].flatMap(([key, value]) => {
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return value === null || usualTerm.test(text) ? [] : `${key} ${text}`;
  });
};

/** Returns US dollars per token, image or request, or undefined if the price has another unit or currency. */
export const readPrice = (entry: CatalogModel, name: string) =>
  listTerms(entry).length > 0 ? undefined : parsePrice(listStatedPrices(entry.pricing).get(name));

/** Returns a text such as `0.3 $/M`. An invalid price stays unchanged. */
export const formatPrice = (name: string, value: unknown) => {
  const price = parsePrice(value);
  return price ? `${formatDecimal(toShownPrice(name, price))} ${isPerToken(name) ? "$/M" : "$"}` : formatPlain(value);
};

/** Returns percent, such as `-33.3`. With `roundUp`, 5.01 becomes `+5.1`, because 5.01 exceeds a limit of 5. */
export const formatPercentChange = (from: Decimal, to: Decimal, roundUp = false) => {
  const [was, is] = [shiftDecimal(from, to.places).digits, shiftDecimal(to, from.places).digits];
  if (was === 0n) return "";
  const change = is > was ? is - was : was - is;
  const tenths = roundUp ? (change * 1000n + was - 1n) / was : (change * 2000n + was) / (2n * was);
  return `${is < was ? "-" : "+"}${formatDecimal({ digits: tenths, places: 1 })}`;
};

export const priceField = (name: string, rank: number, title = name) =>
  field(`pricing.${name}`, {
    heading: `${title}\n${isPerToken(name) ? "$/M" : "$"}`,
    rank,
    align: "decimal",
    read: ({ entry }) => listStatedPrices(entry?.pricing).get(name),
    // Marks an invalid price with digits, because users could take it for a valid price.
    text: (value, spelled, { entry = {} }) => {
      const text = toText(value) ?? spelled();
      const price = typeof value === "object" || listTerms(entry).length > 0 ? undefined : parsePrice(text);
      if (price) return formatDecimal(toShownPrice(name, price));
      return /\d/.test(text) ? `${text} (as given)` : text;
    },
    change: "price",
  });

/** The fields of interface 2.5, in the order of output.md. */
export const catalogFields: readonly [FieldColumn, ...FieldColumn[]] = [
  field("id", { rank: 0 }),
  field("name", { rank: 10 }),
  field("context_length", { align: "right", heading: "context\ntokens", rank: 4, change: "context" }),
  field("max_output_length", { align: "right", heading: "max output\ntokens", rank: 6, change: "output" }),
  priceField("prompt", 0),
  priceField("completion", 2),
  priceField("input_cache_read", 7, "cache read"),
  priceField("image", 13),
  priceField("request", 14),
  field("quantization", { rank: 5, change: "quantization" }),
  field("input_modalities", { ...wordList, heading: "input", rank: 11, change: "modalities" }),
  field("output_modalities", { ...wordList, heading: "output", rank: 12, change: "modalities" }),
  field("supported_features", { ...wordList, heading: "features", rank: 8, change: "features" }),
  field("supported_sampling_parameters", { ...wordList, heading: "parameters", rank: 16, change: "parameters" }),
  field("datacenters.country_code", {
    ...wordList,
    heading: "countries",
    rank: 9,
    read: ({ entry }) => listCountries(entry?.datacenters) ?? entry?.datacenters,
    change: "countries",
  }),
  field("deprecation_date", { heading: "deprecation", rank: 3, change: "deprecation" }),
  field("created", { ...unixTime, rank: 15 }),
];

export const listDatacenters = (datacenters: unknown): readonly JsonObject[] | undefined =>
  Array.isArray(datacenters) && datacenters.every(isObject) ? datacenters : undefined;

export const listCountries = (datacenters: unknown) =>
  listDatacenters(datacenters)?.flatMap(({ country_code: code = null }) => (code === null ? [] : formatPlain(code)));

/** Assumed: null, 0, "" and [] mean "not stated". */
export const toStatedFact = (fact: unknown): unknown => {
  if (Array.isArray(fact)) return fact.length === 0 ? undefined : [...new Set(fact)].sort();
  return fact !== 0 && fact !== "" && fact !== null ? fact : undefined;
};

/** Returns null for a missing date, and undefined for an unreadable date. Assumed: dates start with `YYYY-MM-DD`. */
export const deprecationDay = ({ deprecation_date: date }: CatalogModel) => {
  if (date === undefined || date === null || date === "") return null;
  const day = /^\d{4}-\d\d-\d\d(?!\d)/.exec(toText(date) ?? "")?.[0];
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && utcDay(ms) === day ? day : undefined;
};

/** Each word is a part of the id or name, or a glob for the id. */
export const compilePattern = (pattern = "") => {
  const words = pattern.toLowerCase().split(/\s+/).filter(Boolean);
  return (id = "", name = "") => {
    const names = [id.toLowerCase(), name.toLowerCase()] as const;
    return words.every((word) =>
      /[*?]/.test(word) ? matchesGlob(Array.from(names[0]), word) : names.some((one) => one.includes(word)),
    );
  };
};

/** Matches the whole text. */
export const compileGlob = (glob: string) => {
  const pattern = glob.toLowerCase();
  return (text = "") => matchesGlob(Array.from(text.toLowerCase()), pattern);
};

/** A regular expression could backtrack for a long time. */
const matchesGlob = (text: readonly string[], glob: string) => {
  const all = [...text.keys(), text.length];
  /** The positions up to which `text` matches the processed part of `glob`. */
  let ends = [0];
  for (const char of glob) {
    if (char === "*") ends = all.slice(ends[0] ?? all.length);
    else ends = ends.flatMap((at) => (char === text[at] || (char === "?" && at < text.length) ? at + 1 : []));
  }
  return ends.at(-1) === text.length;
};

/** Compares UTF-16 units. */
export const compareTexts = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

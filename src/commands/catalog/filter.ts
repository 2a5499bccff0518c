/** Reads numbers, prices and dates of catalog entries (interface 2.5), and filters models. */

import { compareDecimals, type Decimal, formatUnixDay, parseDecimal, shiftDecimal, utcDay } from "../../text/units.ts";
import type { CatalogModel } from "../../wire/contract/reads.ts";

/** Returns a decimal of at least 0. */
export const parseAmount = (value: unknown) => {
  const canBeNumber = typeof value === "string" || typeof value === "number";
  const amount = canBeNumber ? parseDecimal(String(value).trim()) : undefined;
  return amount && amount.digits >= 0n ? amount : undefined;
};

const isPerToken = (name: string) => name !== "image" && name !== "request";

/** Assumed: prices are in US dollars. */
export const priceUnit = (name: string) => (isPerToken(name) ? "$/M" : "$");

/** Returns US dollars per million tokens, image or request. */
export const toShownPrice = (name: string, price: Decimal) => shiftDecimal(price, isPerToken(name) ? 6 : 0);

/** Undefined if unreadable. Assumed: dates start with `YYYY-MM-DD`, or are Unix seconds. */
export const readDay = (date: string | number = "") => {
  if (typeof date === "number") return formatUnixDay(date);
  const day = /^\d{4}-\d\d-\d\d(?!\d)/.exec(date)?.[0];
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && utcDay(ms) === day ? day : undefined;
};

type WordsName = (typeof wordFilters)[number]["name"];

export type Filter = Readonly<
  Partial<
    Record<WordsName, readonly string[]> & {
      pattern: string | undefined;
      minContext: number | undefined;
      /** Limits in US dollars per million tokens, image or request. */
      maxPrice: readonly (readonly [name: string, limit: Decimal])[];
    }
  >
>;

const wordFilters = [
  { name: "inputModality", column: "input_modalities" },
  { name: "outputModality", column: "output_modalities" },
  { name: "feature", column: "supported_features" },
] as const;

/** `matches` returns undefined for a model without a readable value. */
type Criterion = Readonly<{ column: string; matches: (model: CatalogModel) => boolean | undefined }>;

const normalizeWord = (word: string) => word.trim().toLowerCase();

const toCriteria = (filter: Filter): readonly Criterion[] => {
  const { minContext, maxPrice = [] } = filter;
  const ofWords = wordFilters.map(({ name, column }): Criterion | undefined => {
    const wanted = filter[name]?.map(normalizeWord) ?? [];
    const matches = (model: CatalogModel) => {
      const words = model[column]?.map(normalizeWord);
      return words && wanted.every((word) => words.includes(word));
    };
    return wanted.length > 0 ? { column, matches } : undefined;
  });
  const ofContext = minContext !== undefined && {
    column: "context_length",
    // Assumed: 0 means "not stated".
    matches: ({ context_length: tokens }: CatalogModel) =>
      parseAmount(tokens)?.digits ? Number(tokens) >= minContext : undefined,
  };
  const ofPrices = maxPrice.map(([name, limit]): Criterion => {
    const matches = (model: CatalogModel) => {
      const price = parseAmount(model.pricing?.[name]);
      return price && compareDecimals(toShownPrice(name, price), limit) <= 0;
    };
    return { column: `pricing.${name}`, matches };
  });
  return [...ofWords, ofContext, ...ofPrices].flatMap((criterion) => criterion || []);
};

/** `unreadable` counts models by the column that could not be compared. `columns` are those of the filter. */
export const filterModels = <Row extends { readonly model: CatalogModel }>(rows: readonly Row[], filter: Filter) => {
  const matchesPattern = compilePattern(filter.pattern);
  const criteria = toCriteria(filter);
  const unreadable = new Map<string, number>();
  const matching = rows.filter(({ model }) => {
    if (!matchesPattern(model.id, model.name)) return false;
    const results = criteria.map(({ column, matches }) => ({ column, isMatch: matches(model) }));
    if (results.some(({ isMatch }) => isMatch === false)) return false;
    const unread = results.find(({ isMatch }) => isMatch === undefined);
    if (unread) unreadable.set(unread.column, (unreadable.get(unread.column) ?? 0) + 1);
    return !unread;
  });
  return { matching, unreadable, columns: criteria.map(({ column }) => column) };
};

/** Each word is a part of the id or name, or a glob for the id. */
const compilePattern = (pattern = "") => {
  const words = pattern.toLowerCase().split(/\s+/).filter(Boolean);
  return (id = "", name = "") => {
    const names = [id.toLowerCase(), name.toLowerCase()] as const;
    return words.every((word) =>
      /[*?]/.test(word) ? matchesGlob(Array.from(names[0]), word) : names.some((one) => one.includes(word)),
    );
  };
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

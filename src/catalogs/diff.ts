/** Finds models in only one of two catalogs, and facts that differ. */
import type { CatalogModel } from "../contract/catalog.ts";
import { textOf } from "../contract/replies.ts";
import { compareDecimals } from "../decimal.ts";
import { isObject } from "../json/walk.ts";
import { catalogFields, parseAmount, priceNames } from "./fields.ts";
import { groupById } from "./rows.ts";

export interface Change {
  readonly id: string;
  readonly name: string | undefined;
  /** `added` or `gone` for a model in only one catalog, else the kind of the changed fact. */
  readonly change: string;
  /** The name of the fact on the wire; null for a whole model. */
  readonly field: string | null;
  /** The old value on the wire; null if absent. */
  readonly from: unknown;
  readonly to: unknown;
}

/** Compares models by id, in the order of ids. If models share an id, compares the n-th one of each catalog. */
export const diffCatalogs = (from: readonly CatalogModel[], to: readonly CatalogModel[]) => {
  const [before, after] = [groupById(from, ({ id }) => id), groupById(to, ({ id }) => id)];
  const changes: Change[] = [];
  let same = 0;
  for (const id of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [older, newer] = [before.get(id) ?? [], after.get(id) ?? []];
    for (let at = 0; at < Math.max(older.length, newer.length); at++) {
      const modelChanges = compareModels(id, older[at], newer[at]);
      if (modelChanges.length === 0) same++;
      changes.push(...modelChanges);
    }
  }
  const without_id = [...from, ...to].filter(({ id }) => textOf(id) === undefined).length;
  return { changes, models: { from: from.length, to: to.length, same, without_id } };
};

const compareModels = (id: string, older?: CatalogModel, newer?: CatalogModel): readonly Change[] => {
  const name = textOf(newer?.name) ?? textOf(older?.name);
  if (older === undefined || newer === undefined) {
    return [{ id, name, change: older === undefined ? "added" : "gone", field: null, from: null, to: null }];
  }
  const [before, after] = [readFacts(older), readFacts(newer)];
  const rank = (field: string): number => (field.startsWith("pricing") ? 0 : 1);
  return [...new Set([...before.keys(), ...after.keys()])]
    .sort((a, b) => rank(a) - rank(b))
    .flatMap((field): readonly Change[] => {
      const change = changesByField.get(field) ?? "price";
      const [was, is] = [before.get(field) ?? null, after.get(field) ?? null];
      return isSameFact(change, was, is) ? [] : [{ id, name, change, field, from: was, to: is }];
    });
};

const changesByField = new Map(catalogFields.map(({ name, change }) => [name, change]));

const readFacts = (model: CatalogModel): ReadonlyMap<string, unknown> => {
  const facts = new Map<string, unknown>();
  const add = (field: string, value: unknown) => facts.set(field, toWritable(value));
  const { pricing = null } = model;
  if (pricing !== null && !isObject(pricing)) add("pricing", pricing);
  const prices = new Map(Object.entries(isObject(pricing) ? pricing : {}));
  for (const name of new Set([...priceNames, ...prices.keys()])) {
    if (prices.has(name)) add(`pricing.${name}`, prices.get(name));
  }
  for (const { name, change, value: read } of catalogFields) {
    if (change === undefined || change === "price") continue;
    const value = read({ catalogEntry: { entry: model } });
    const fact = change === "countries" && Array.isArray(value) ? [...new Set(value)] : value;
    // Assumed: 0 and "" mean "not stated".
    const isStated = fact !== 0 && fact !== "" && !(change === "countries" && Array.isArray(fact) && fact.length === 0);
    add(name, isStated ? fact : null);
  }
  return facts;
};

/** Replaces a value that is nested too deeply for JSON. */
const toWritable = (value: unknown): unknown => {
  try {
    JSON.stringify(value);
    return value ?? null;
  } catch {
    return "(nested too deeply)";
  }
};

const isSameFact = (change: string, a: unknown, b: unknown): boolean => {
  const [amountA, amountB] = change === "price" ? [parseAmount(a), parseAmount(b)] : [];
  if (amountA !== undefined && amountB !== undefined) return compareDecimals(amountA, amountB) === 0;
  return toSortedJson(a) === toSortedJson(b);
};

const toSortedJson = (value: unknown): string =>
  Array.isArray(value) ? JSON.stringify(value.map((item) => JSON.stringify(item)).sort()) : JSON.stringify(value);

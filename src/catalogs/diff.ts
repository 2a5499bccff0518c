/** What is different between two catalogs: models that came or went, and facts that are others. */
import type { CatalogModel } from "../contract/catalog.ts";
import { type FactKind, factKinds, factsOf, namesOf, sameFact } from "./facts.ts";

/** One difference. */
export interface Change {
  readonly id: string;
  readonly name: string | undefined;
  /** `added`: only the second catalog has it; `gone`: only the first one has. */
  readonly change: "added" | "gone" | FactKind;
  /** The fact's name on the wire; null for a whole model. */
  readonly field: string | null;
  /** The wire's own values; null where absent. */
  readonly from: unknown;
  readonly to: unknown;
}

/** How two catalogs compare. */
export interface Difference {
  readonly changes: readonly Change[];
  readonly models: {
    readonly from: number;
    readonly to: number;
    /** In both of them, with the same facts. */
    readonly same: number;
    /** Entries of either that have no id, and so nothing to be compared with. */
    readonly without_id: number;
  };
}

/** Compares models by their exact ids; the second of an id in one catalog with the second in the other. In the order of ids. */
export const diffCatalogs = (from: readonly CatalogModel[], to: readonly CatalogModel[]): Difference => {
  const [before, after] = [byId(from), byId(to)];
  const changes: Change[] = [];
  let same = 0;
  for (const id of [...new Set([...before.keys(), ...after.keys()])].sort(byCodePoint)) {
    const [older, newer] = [before.get(id) ?? [], after.get(id) ?? []];
    for (let at = 0; at < Math.max(older.length, newer.length); at++) {
      const own = changesOf(id, older[at], newer[at]);
      if (own.length === 0) same++;
      changes.push(...own);
    }
  }
  const count = (models: ReadonlyMap<string, readonly CatalogModel[]>): number =>
    Array.from(models.values(), ({ length }) => length).reduce((sum, length) => sum + length, 0);
  const without_id = from.length + to.length - count(before) - count(after);
  return { changes, models: { from: from.length, to: to.length, same, without_id } };
};

const byCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const byId = (models: readonly CatalogModel[]): ReadonlyMap<string, readonly CatalogModel[]> => {
  const found = new Map<string, CatalogModel[]>();
  for (const model of models) {
    const { id } = namesOf(model);
    const before = id === undefined ? undefined : found.get(id);
    if (before !== undefined) before.push(model);
    else if (id !== undefined) found.set(id, [model]);
  }
  return found;
};

const changesOf = (id: string, older: CatalogModel | undefined, newer: CatalogModel | undefined): readonly Change[] => {
  const name = namesOf(newer ?? older ?? {}).name ?? namesOf(older ?? {}).name;
  if (older === undefined || newer === undefined) {
    return [{ id, name, change: older === undefined ? "added" : "gone", field: null, from: null, to: null }];
  }
  const before = new Map(factsOf(older).map((fact) => [fact.field, fact]));
  const after = new Map(factsOf(newer).map((fact) => [fact.field, fact]));
  const all = [...before.values(), ...Array.from(after.values()).filter(({ field }) => !before.has(field))];
  const inOrder = factKinds.flatMap((kind) => all.filter((one) => one.kind === kind));
  return inOrder.flatMap(({ kind: change, field }): readonly Change[] => {
    const [from, to] = [before.get(field)?.value ?? null, after.get(field)?.value ?? null];
    return sameFact(change, from, to) ? [] : [{ id, name, change, field, from, to }];
  });
};

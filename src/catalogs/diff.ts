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
export const diffCatalogs = (from: Iterable<CatalogModel>, to: Iterable<CatalogModel>): Difference => {
  const [before, after] = [sortedOut(from), sortedOut(to)];
  const changes: Change[] = [];
  let same = 0;
  for (const id of [...new Set([...before.byId.keys(), ...after.byId.keys()])].sort(byCodePoint)) {
    const [older, newer] = [before.byId.get(id) ?? [], after.byId.get(id) ?? []];
    for (let at = 0; at < Math.max(older.length, newer.length); at++) {
      const own = changesOf(id, older[at], newer[at]);
      if (own.length === 0) same++;
      changes.push(...own);
    }
  }
  const without_id = before.withoutId + after.withoutId;
  return { changes, models: { from: before.count, to: after.count, same, without_id } };
};

const byCodePoint = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The models of a catalog by their ids. */
interface SortedOut {
  readonly byId: ReadonlyMap<string, readonly CatalogModel[]>;
  readonly count: number;
  readonly withoutId: number;
}

const sortedOut = (models: Iterable<CatalogModel>): SortedOut => {
  const byId = new Map<string, CatalogModel[]>();
  let [count, withoutId] = [0, 0];
  for (const model of models) {
    const { id } = namesOf(model);
    count++;
    const before = id === undefined ? undefined : byId.get(id);
    if (before !== undefined) before.push(model);
    else if (id !== undefined) byId.set(id, [model]);
    else withoutId++;
  }
  return { byId, count, withoutId };
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

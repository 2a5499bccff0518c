/** Folds what a service says of every branch of a union to the one that was meant: the one of the message's role. */

import { suggestedRole } from "../check/roles.ts";
import type { Path } from "../check/rules/places.ts";
import { isObject, valueAt } from "../json/walk.ts";

/** An item of a refusal, in the value it is about. */
export interface Complaint {
  /** Tells values apart. */
  readonly key: string;
  readonly value: unknown;
  /** Path in the value, with names of branches between its keys. */
  readonly path: Path;
}

/** A union that a complaint is about, and the branch it is from. */
interface Union {
  readonly key: string;
  readonly holder: unknown;
  readonly branch: string;
}

/** The complaints worth reading: of each union, those of one branch. */
export const foldUnions = <Item extends Complaint>(complaints: readonly Item[]): readonly Item[] => {
  const unions = complaints.map(unionOf);
  const branches = new Map<string, { readonly holder: unknown; readonly counts: Map<string, number> }>();
  for (const union of unions) {
    if (union === undefined) continue;
    const known = branches.get(union.key) ?? { holder: union.holder, counts: new Map<string, number>() };
    known.counts.set(union.branch, (known.counts.get(union.branch) ?? 0) + 1);
    branches.set(union.key, known);
  }
  const meant = new Map(Array.from(branches, ([key, { holder, counts }]) => [key, branchOf(holder, counts)]));
  return complaints.filter((_, at) => {
    const union = unions[at];
    return union === undefined || meant.get(union.key) === union.branch;
  });
};

/** The first step of a path that is no key of the value it stands at: the name of a branch, unless it ends the path. */
const unionOf = ({ key, value, path }: Complaint): Union | undefined => {
  const way: (string | number)[] = [];
  for (const [at, step] of path.entries()) {
    if (valueAt(value, [...way, step]) !== undefined) {
      way.push(step);
      continue;
    }
    if (typeof step !== "string" || (at === path.length - 1 && !/[A-Z([]/.test(step))) return undefined;
    return { key: JSON.stringify([key, way]), holder: valueAt(value, way), branch: step };
  }
  return undefined;
};

/** The branch that was meant: by the role, by what it was probably meant to be, else the one that complains least. */
const branchOf = (holder: unknown, counts: ReadonlyMap<string, number>): string | undefined => {
  const names = [...counts.keys()];
  const named = (word: string): string | undefined => names.find((name) => name.toLowerCase().includes(word));
  if (isObject(holder)) {
    const { role } = holder;
    if (role === undefined && isObject(holder.message)) return named("choice") ?? fewest(counts);
    if (typeof role === "string") {
      const meant = named(role.toLowerCase().slice(0, 40)) ?? named(suggestedRole(role) ?? "\n");
      if (meant !== undefined) return meant;
    }
  }
  return fewest(counts);
};

const fewest = (counts: ReadonlyMap<string, number>): string | undefined =>
  [...counts].sort(([, a], [, b]) => a - b)[0]?.[0];

/** Reduces what a service says of each branch of a union to the branch that was meant, by the role of the message. */

import { suggestedRole } from "../check/hints.ts";
import { isObject } from "../json/walk.ts";

/** A union that an item of a refusal is about, and the branch of the item. */
export interface Union {
  /** Identifies the value that the union is of. */
  readonly key: string;
  /** That value. */
  readonly holder: unknown;
  readonly branch: string;
}

/** The items worth reading: of each union, those of one branch. */
export const foldUnions = <Item extends { readonly union: Union | undefined }>(
  items: readonly Item[],
): readonly Item[] => {
  const unions = new Map<string, { readonly holder: unknown; readonly counts: Map<string, number> }>();
  for (const { union } of items) {
    if (union === undefined) continue;
    const { counts } = unions.get(union.key) ?? { counts: new Map<string, number>() };
    counts.set(union.branch, (counts.get(union.branch) ?? 0) + 1);
    unions.set(union.key, { holder: union.holder, counts });
  }
  const meant = new Map(Array.from(unions, ([key, { holder, counts }]) => [key, branchOf(holder, counts)]));
  return items.filter(({ union }) => union === undefined || meant.get(union.key) === union.branch);
};

/** The branch that was meant: by the role, by the role that was probably meant, or the one with the fewest items. */
const branchOf = (holder: unknown, counts: ReadonlyMap<string, number>): string | undefined => {
  const names = [...counts.keys()];
  const named = (word: string): string | undefined => names.find((name) => name.toLowerCase().includes(word));
  const [fewest] = [...names].sort((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0));
  if (!isObject(holder)) return fewest;
  const { role, message } = holder;
  if (role === undefined && isObject(message)) return named("choice") ?? fewest;
  if (typeof role !== "string") return fewest;
  return named(role.toLowerCase().slice(0, 40)) ?? named(suggestedRole(role) ?? "\n") ?? fewest;
};

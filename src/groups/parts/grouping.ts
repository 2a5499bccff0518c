/** Puts parts into groups as they come: adjacent trajectories with one `group_id`, or all with one value of a key. */
import type { Found } from "./found.ts";
import type { Groups } from "./groups.ts";

/** A part whose group had already ended. */
export interface Scattered {
  readonly part: number;
  /** First part of its group. */
  readonly first: number;
  readonly key: string;
}

/** What is grouped, and how. */
export interface GroupingOptions {
  readonly found: Pick<Found, "parts">;
  readonly groups: Groups;
  /** True if trajectories belong together wherever they are, false if they have to be adjacent. */
  readonly byKey: boolean;
}

/** A part in its group. */
export interface Grouped {
  readonly part: number;
  readonly group: number;
  /** Key of the group; undefined for a part that is a group alone. */
  readonly key: string | undefined;
  readonly isNew: boolean;
  /** True if the part before has the same key, or need not have it. */
  readonly isAdjacent: boolean;
}

/** What is called for each part, before it is grouped and after. */
interface GroupingHooks {
  readonly onPart?: (part: number, how: { readonly endsGroups: boolean }) => void;
  readonly onGrouped?: (grouped: Grouped) => void;
}

/** Opens the grouping of one input; by a key, of all inputs. */
export const openGrouping = ({ found: { parts }, groups, byKey }: GroupingOptions, hooks: GroupingHooks = {}) => {
  /** Groups that trajectories may still be added to, by their keys. */
  const open = new Map<string, number>();
  /** Parts that are not adjacent to their groups, which are invalid. */
  const scattered: Scattered[] = [];
  /** Key of the part before; undefined for a group alone. */
  let before: string | undefined;
  const takePart = (part: number): void => {
    const key = parts.keyOf(part);
    // What can't be read may have belonged to the group it is in: it ends none.
    const isUnreadable = parts.kindOf(part) === "unreadable";
    const isAdjacent = byKey || key === before;
    hooks.onPart?.(part, { endsGroups: !isAdjacent && !isUnreadable });
    const known = key === undefined ? undefined : open.get(key);
    const group = known ?? groups.begin(part, { isKeyed: key !== undefined });
    if (known !== undefined) groups.add(known, part);
    if (known !== undefined && key !== undefined && !isAdjacent) {
      scattered.push({ part, first: groups.firstOf(known), key });
      groups.reject(known);
    }
    if (known === undefined && key !== undefined) open.set(key, group);
    if (!isUnreadable) before = key;
    hooks.onGrouped?.({ part, group, key, isNew: known === undefined, isAdjacent });
  };
  return {
    open,
    scattered,
    /** Takes the parts from one on: all of them, or those on lines before one. Their keys are not needed any more. */
    take(first: number, beforeLine = Number.POSITIVE_INFINITY): void {
      const { line } = parts.columns;
      for (let at = first; at < parts.count && line.at(at) < beforeLine; at++) takePart(at);
      parts.forgetKeys();
    },
  };
};

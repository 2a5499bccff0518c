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

/** The groups of one input; by a key, those of all inputs. */
export class Grouping<Options extends GroupingOptions = GroupingOptions> {
  protected readonly options: Options;
  /** Groups that trajectories may still be added to, by their keys. */
  protected readonly open = new Map<string, number>();
  /** Parts that are not adjacent to their groups, which are invalid. */
  readonly scattered: Scattered[] = [];
  /** Key of the part before; undefined for a group alone. */
  #before: string | undefined;

  constructor(options: Options) {
    this.options = options;
  }

  /** Takes the parts from one on: all of them, or those on lines before one. Their keys are not needed any more. */
  take(first: number, before = Number.POSITIVE_INFINITY): void {
    const { parts } = this.options.found;
    const { line } = parts.columns;
    for (let at = first; at < parts.count && line.at(at) < before; at++) this.#take(at, parts.keyOf(at));
    parts.forgetKeys();
  }

  #take(part: number, key: string | undefined): void {
    const { groups, found, byKey } = this.options;
    // What can't be read may have belonged to the group it is in: it ends none.
    const isUnreadable = found.parts.kindOf(part) === "unreadable";
    const isAdjacent = byKey || key === this.#before;
    this.onPart?.(part, { endsGroups: !isAdjacent && !isUnreadable });
    const known = key === undefined ? undefined : this.open.get(key);
    const group = known ?? groups.begin(part, { isKeyed: key !== undefined });
    if (known !== undefined) groups.add(known, part);
    if (known !== undefined && key !== undefined && !isAdjacent) {
      this.scattered.push({ part, first: groups.firstOf(known), key });
      groups.reject(known);
    }
    if (known === undefined && key !== undefined) this.open.set(key, group);
    if (!isUnreadable) this.#before = key;
    this.onGrouped?.({ part, group, key, isNew: known === undefined, isAdjacent });
  }

  /** Called before a part is grouped. */
  protected onPart?(part: number, how: { readonly endsGroups: boolean }): void;

  /** Called when a part is grouped. */
  protected onGrouped?(grouped: Grouped): void;
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

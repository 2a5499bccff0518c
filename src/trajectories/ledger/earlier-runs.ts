/** Holds a run's groups against what the ledger has of them. */

import { type Marks, markBytes } from "../read/parts/marks.ts";
import type { Fates } from "../send/group-outcomes.ts";
import type { Entry, EntryState } from "./entries.ts";

/** What the ledger knows of each group of a run's input. */
export interface Known {
  /** For each group: 0 where it is new or free to be sent, 1 where it is logged, 2 where it is unknown. */
  readonly states: Uint8Array;
  /** Whether all are 0. */
  readonly areFree: boolean;
  /** Requests with an unknown outcome that hold any of the groups. */
  readonly unknown: readonly Entry[];
  /** Groups that were logged from an input of another name, and the last time that happened; 0 and 0 where none was. */
  readonly otherInput: { readonly groups: number; readonly at: number };
}

/** States of a group, as `Known.states` has them. */
export const groupState = { free: 0, logged: 1, unknown: 2 } as const;

/** Holds a run's groups against entries, one entry at a time, so that memory goes by the input and not by the ledger. */
export const knownOf = (entries: Iterable<Entry>, marks: Marks, input: string): Known => {
  const known = new Uint8Array(marks.count);
  const unknown: Entry[] = [];
  const other = new Uint8Array(marks.count);
  let otherAt = 0;
  let areFree = true;
  for (const entry of entries) {
    const found = stateThatCounts(entry.state);
    if (found === groupState.free) continue;
    let any = false;
    for (let offset = 0; offset < entry.marks.length; offset += markBytes) {
      const group = marks.find(entry.marks, offset);
      if (group < 0) continue;
      any = true;
      areFree = false;
      // A group that was logged and then sent again on purpose is not known to be logged twice until that is settled.
      if (known[group] !== groupState.unknown) known[group] = found;
      if (found === groupState.logged && entry.input !== input) other[group] = 1;
    }
    if (any && found === groupState.unknown) unknown.push(entry);
    if (any && found === groupState.logged && entry.input !== input) otherAt = Math.max(otherAt, entry.lastTried);
  }
  return {
    states: known,
    areFree,
    unknown,
    otherInput: { groups: other.reduce((sum, one) => sum + one, 0), at: otherAt },
  };
};

/** Takes over what became of groups before, but for those that are rejected. */
export const takeStates = (
  { states, areFree }: Pick<Known, "states" | "areFree">,
  { fates, resendLogged }: { readonly fates: Fates; readonly resendLogged: boolean },
): void => {
  if (areFree) return;
  for (let group = 0; group < states.length; group++) {
    const state = states[group];
    if (state === groupState.free || fates.of(group) === "rejected") continue;
    if (state === groupState.unknown) fates.set(group, "unknown");
    else if (!resendLogged) fates.set(group, "already_logged");
  }
};

/** `trying` counts as unknown for whoever looks without the lock; with it, `recover` has made it so. */
export const stateThatCounts = (state: EntryState): number => {
  if (state === "logged" || state === "assumed_logged") return groupState.logged;
  return state === "unknown" || state === "trying" ? groupState.unknown : groupState.free;
};

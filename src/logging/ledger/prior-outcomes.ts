/** Collects the prior outcomes of a run's groups. */
import { NumberColumn } from "../../rollouts/index/column.ts";
import { contentBytes, dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import { type Entry, findGroups, isLogged, isUnknown } from "./entries.ts";

/** The digests of files that rollcall wrote and may replace. */
export type WrittenFiles = ReturnType<typeof openWrittenFiles>;

export const openWrittenFiles = () => {
  const digests = new Map<string, string>();
  return {
    readDigest: async (path: string) => digests.get(path),
    async recordDigest(path: string, digest: string) {
      digests.set(path, digest);
    },
  };
};

const loggedBit = 1;
const unknownBit = 2;
const loggedElsewhereBit = 4;
const loggedDifferentlyBit = 8;

export type PriorOutcomes = ReturnType<typeof openPriorOutcomes>;

export const openPriorOutcomes = (options: {
  /** Returns the group with the dedup key at byte `offset`, or a negative number. */
  numberOf: (dedupKeys: Uint8Array, offset: number) => number;
  input: string;
  resendLogged: boolean;
  /** `earlier` is an element of `Entry.contents`. */
  hasOtherContent?: ((group: number, earlier: Uint8Array) => boolean) | undefined;
}) => {
  const { numberOf, input: ownInput, resendLogged, hasOtherContent = () => false } = options;
  const facts = new NumberColumn("u8");
  let unknownEntries: Entry[] = [];
  let loggedElsewhereAt = 0;
  const set = (group: number, fact: number) => {
    facts.length = Math.max(facts.length, group + 1);
    facts.set(group, fact);
  };
  const setLoggedContent = (group: number, earlier: Uint8Array) => {
    const others = facts.at(group) & ~loggedDifferentlyBit;
    set(group, hasOtherContent(group, earlier) ? others | loggedDifferentlyBit : others);
  };
  /** Unknown overrides logged, because a later run may have resent the group. */
  const outcomeOf = (group: number) => {
    if ((facts.at(group) & unknownBit) !== 0) return "unknown";
    return (facts.at(group) & loggedBit) !== 0 && !resendLogged ? "already_logged" : "not_sent";
  };
  return {
    outcomeOf,
    /** The oldest entry is first. */
    unknownEntries: () => unknownEntries,
    /** Returns when a run with another first input last logged a group, in ms since 1970. */
    loggedElsewhereAt: () => loggedElsewhereAt,
    isEmpty: () => facts.length === 0,
    /** `entries` must include all unknown requests, and all requests that changed since the last call. */
    async addEntries(entries: AsyncIterable<Entry>) {
      for (const { dedupKeys } of unknownEntries)
        for (const group of findGroups(dedupKeys, numberOf)) set(group, facts.at(group) & ~unknownBit);
      unknownEntries = [];
      for await (const entry of entries) {
        const { state, dedupKeys, contents } = entry;
        if (!isUnknown(state) && !isLogged(state)) continue;
        const isElsewhere = entry.input !== ownInput;
        const fact = isUnknown(state) ? unknownBit : isElsewhere ? loggedBit | loggedElsewhereBit : loggedBit;
        let hasGroups = false;
        for (let at = 0; at * dedupKeyBytes < dedupKeys.length; at++) {
          const group = numberOf(dedupKeys, at * dedupKeyBytes);
          if (group < 0) continue;
          hasGroups = true;
          set(group, facts.at(group) | fact);
          // The last logged request decides.
          if (isLogged(state)) setLoggedContent(group, contents.subarray(at * contentBytes, (at + 1) * contentBytes));
        }
        if (!hasGroups) continue;
        if (fact === unknownBit) unknownEntries.push(entry);
        else if (isElsewhere) loggedElsewhereAt = Math.max(loggedElsewhereAt, entry.lastTried);
      }
    },
    wasLoggedElsewhere: (group: number) => (facts.at(group) & loggedElsewhereBit) !== 0 && !resendLogged,
    wasLoggedDifferently: (group: number) =>
      (facts.at(group) & loggedDifferentlyBit) !== 0 && outcomeOf(group) === "already_logged",
    recordOutcome(group: number, outcome: "logged" | "unknown") {
      set(group, (facts.at(group) & loggedElsewhereBit) | (outcome === "logged" ? loggedBit : unknownBit));
    },
  };
};

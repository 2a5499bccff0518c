/** Collects the prior outcomes of a run's groups. */
import { NumberColumn } from "../groups/index.ts";
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

export type PriorOutcomes = ReturnType<typeof openPriorOutcomes>;

export const openPriorOutcomes = (options: {
  /** Returns the group with the dedup key at byte `offset`, or a negative number. */
  numberOf: (dedupKeys: Uint8Array, offset: number) => number;
  input: string;
  resendLogged: boolean;
}) => {
  const { numberOf, input: ownInput, resendLogged } = options;
  const facts = new NumberColumn("u8");
  let unknownEntries: Entry[] = [];
  let loggedElsewhereAt = 0;
  const set = (group: number, fact: number) => {
    facts.length = Math.max(facts.length, group + 1);
    facts.set(group, fact);
  };
  return {
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
        const { state, dedupKeys } = entry;
        if (!isUnknown(state) && !isLogged(state)) continue;
        const isElsewhere = entry.input !== ownInput;
        const fact = isUnknown(state) ? unknownBit : isElsewhere ? loggedBit | loggedElsewhereBit : loggedBit;
        const groups = findGroups(dedupKeys, numberOf);
        for (const group of groups) set(group, facts.at(group) | fact);
        if (groups.length === 0) continue;
        if (fact === unknownBit) unknownEntries.push(entry);
        else if (isElsewhere) loggedElsewhereAt = Math.max(loggedElsewhereAt, entry.lastTried);
      }
    },
    /** Unknown overrides logged, because a later run may have resent the group. */
    outcomeOf(group: number) {
      if ((facts.at(group) & unknownBit) !== 0) return "unknown";
      return (facts.at(group) & loggedBit) !== 0 && !resendLogged ? "already_logged" : "not_sent";
    },
    wasLoggedElsewhere: (group: number) => (facts.at(group) & loggedElsewhereBit) !== 0 && !resendLogged,
    recordOutcome(group: number, outcome: "logged" | "unknown") {
      set(group, (facts.at(group) & loggedElsewhereBit) | (outcome === "logged" ? loggedBit : unknownBit));
    },
  };
};

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

type PriorOptions = Readonly<{
  /** Returns the group with the dedup key at byte `offset`, or a negative number. */
  numberOf: (dedupKeys: Uint8Array, offset: number) => number;
  input: string;
  resendLogged: boolean;
  /** `earlier` is an element of `Entry.contents`. */
  hasOtherContent?: ((group: number, earlier: Uint8Array) => boolean) | undefined;
}>;

export class PriorOutcomes {
  readonly #options: PriorOptions;
  readonly #facts = new NumberColumn("u8");
  #unknownEntries: Entry[] = [];
  #loggedElsewhereAt = 0;

  constructor(options: PriorOptions) {
    this.#options = options;
  }

  /** Unknown overrides logged, because a later run may have resent the group. */
  outcomeOf(group: number) {
    if (this.#has(group, unknownBit)) return "unknown";
    return this.#has(group, loggedBit) && !this.#options.resendLogged ? "already_logged" : "not_sent";
  }

  wasLoggedElsewhere = (group: number) => this.#has(group, loggedElsewhereBit) && !this.#options.resendLogged;
  wasLoggedDifferently = (group: number) =>
    this.#has(group, loggedDifferentlyBit) && this.outcomeOf(group) === "already_logged";
  /** The oldest entry is first. */
  unknownEntries = (): readonly Entry[] => this.#unknownEntries;
  /** Returns when a run with another first input last logged a group, in ms since 1970. */
  loggedElsewhereAt = () => this.#loggedElsewhereAt;
  isEmpty = () => this.#facts.length === 0;

  recordOutcome(group: number, outcome: "logged" | "unknown") {
    this.#set(group, (this.#facts.at(group) & loggedElsewhereBit) | (outcome === "logged" ? loggedBit : unknownBit));
  }

  /** `entries` must include all unknown requests, and all requests that changed since the last call. */
  async addEntries(entries: AsyncIterable<Entry>) {
    for (const { dedupKeys } of this.#unknownEntries)
      for (const group of findGroups(dedupKeys, this.#options.numberOf))
        this.#set(group, this.#facts.at(group) & ~unknownBit);
    this.#unknownEntries = [];
    for await (const entry of entries) if (isUnknown(entry.state) || isLogged(entry.state)) this.#addEntry(entry);
  }

  #addEntry(entry: Entry) {
    const { state, dedupKeys, contents } = entry;
    const { numberOf, input, hasOtherContent } = this.#options;
    const isElsewhere = entry.input !== input;
    const fact = isUnknown(state) ? unknownBit : isElsewhere ? loggedBit | loggedElsewhereBit : loggedBit;
    let hasGroups = false;
    for (let at = 0; at * dedupKeyBytes < dedupKeys.length; at++) {
      const group = numberOf(dedupKeys, at * dedupKeyBytes);
      if (group < 0) continue;
      hasGroups = true;
      this.#set(group, this.#facts.at(group) | fact);
      if (!isLogged(state)) continue;
      // The last logged request decides.
      const isOther = hasOtherContent?.(group, contents.subarray(at * contentBytes, (at + 1) * contentBytes));
      const others = this.#facts.at(group) & ~loggedDifferentlyBit;
      this.#set(group, isOther ? others | loggedDifferentlyBit : others);
    }
    if (!hasGroups) return;
    if (fact === unknownBit) this.#unknownEntries.push(entry);
    else if (isElsewhere) this.#loggedElsewhereAt = Math.max(this.#loggedElsewhereAt, entry.lastTried);
  }

  #has = (group: number, fact: number) => (this.#facts.at(group) & fact) !== 0;

  #set(group: number, fact: number) {
    this.#facts.length = Math.max(this.#facts.length, group + 1);
    this.#facts.set(group, fact);
  }
}

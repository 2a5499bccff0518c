/** Collects the prior outcomes of a run's groups. */
import { NumberColumn } from "../../rollouts/index/column.ts";
import { type DedupKeys, dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import { Digests, DigestTable } from "../../rollouts/index/digests.ts";
import { type Entry, findGroups, isLogged, isUnknown } from "./entries.ts";

const loggedBit = 1;
const unknownBit = 2;
const loggedElsewhereBit = 4;

type PriorOptions = Readonly<{
  dedupKeys: DedupKeys;
  /** True if groups are added later, so that keys without a group also have outcomes. */
  isGrowing: boolean;
  input: string;
  resendLogged: boolean;
}>;

export class PriorOutcomes {
  readonly #options: PriorOptions;
  readonly #facts = new NumberColumn();
  /** The keys of a growing input. */
  readonly #table = new DigestTable(new Digests());
  #unknownEntries: Entry[] = [];
  #loggedElsewhereAt = 0;

  constructor(options: PriorOptions) {
    this.#options = options;
  }

  outcomeOf = (group: number) => this.#outcomeAt(this.numberOf(group));
  /** Expects a growing input, whose groups may lack the key. */
  wasSent = (key: Uint8Array) => this.#outcomeAt(this.#table.find(key) ?? -1) !== "not_sent";
  wasLoggedElsewhere = (group: number) =>
    this.#has(this.numberOf(group), loggedElsewhereBit) && !this.#options.resendLogged;
  /** The oldest entry is first. */
  unknownEntries = (): readonly Entry[] => this.#unknownEntries;
  /** Returns when a run with another first input last logged a group, in ms since 1970. */
  loggedElsewhereAt = () => this.#loggedElsewhereAt;
  isEmpty = () => this.#facts.length === 0;

  recordOutcome(group: number, outcome: "logged" | "unknown") {
    const number = this.numberOf(group);
    this.#set(number, (this.#facts.at(number) & loggedElsewhereBit) | (outcome === "logged" ? loggedBit : unknownBit));
  }

  /** Returns the same number for groups with the same dedup key. */
  numberOf(group: number) {
    const { dedupKeys, isGrowing } = this.#options;
    return isGrowing ? this.#numberOfKey(dedupKeys.pick([group]), 0) : group;
  }

  /** Returns -1 if no group can have the key at byte `offset`. */
  readonly #numberOfKey = (keys: Uint8Array, offset: number) => {
    const { dedupKeys, isGrowing } = this.#options;
    return isGrowing ? this.#addKey(keys, offset) : dedupKeys.find(keys, offset);
  };

  #addKey(keys: Uint8Array, offset: number) {
    return this.#table.findOrAppend(keys.subarray(offset, offset + dedupKeyBytes));
  }

  /** Unknown overrides logged, because a later run may have resent the group. */
  #outcomeAt(number: number) {
    if (this.#has(number, unknownBit)) return "unknown";
    return this.#has(number, loggedBit) && !this.#options.resendLogged ? "already_logged" : "not_sent";
  }

  /** `entries` must include all unknown requests, and all requests that changed since the last call. */
  async addEntries(entries: AsyncIterable<Entry>) {
    for (const { dedupKeys } of this.#unknownEntries)
      for (const number of findGroups(dedupKeys, this.#numberOfKey))
        this.#set(number, this.#facts.at(number) & ~unknownBit);
    this.#unknownEntries = [];
    for await (const entry of entries) if (isUnknown(entry.state) || isLogged(entry.state)) this.#addEntry(entry);
  }

  #addEntry(entry: Entry) {
    const { state, dedupKeys } = entry;
    const isElsewhere = entry.input !== this.#options.input;
    const fact = isUnknown(state) ? unknownBit : isElsewhere ? loggedBit | loggedElsewhereBit : loggedBit;
    const groups = findGroups(dedupKeys, this.#numberOfKey);
    for (const group of groups) this.#set(group, this.#facts.at(group) | fact);
    if (groups.length === 0) return;
    if (fact === unknownBit) this.#unknownEntries.push(entry);
    else if (isElsewhere) this.#loggedElsewhereAt = Math.max(this.#loggedElsewhereAt, entry.lastTried);
  }

  #has = (group: number, fact: number) => (this.#facts.at(group) & fact) !== 0;

  #set(group: number, fact: number) {
    this.#facts.length = Math.max(this.#facts.length, group + 1);
    this.#facts.set(group, fact);
  }
}

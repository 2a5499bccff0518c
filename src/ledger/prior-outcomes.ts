/** The outcomes of a run's groups in earlier runs, for complete and for growing files. */
import { Column } from "../groups/index.ts";
import { type Entry, findGroups, isLogged, isUnknown } from "./entries.ts";

/** The digests of files that rollcall wrote, by path, so that it may replace them. */
export interface WrittenFiles {
  readDigest(path: string): Promise<string | undefined>;
  recordDigest(path: string, digest: string): Promise<void>;
}

export const openWrittenFiles = (): WrittenFiles => {
  const digests = new Map<string, string>();
  return {
    readDigest: async (path) => digests.get(path),
    recordDigest: async (path, digest) => void digests.set(path, digest),
  };
};

type PriorOutcome = "not_sent" | "already_logged" | "unknown";

const loggedBit = 1;
const unknownBit = 2;
const loggedElsewhereBit = 4;

interface PriorOutcomesOptions {
  /** Returns the number of the group with the dedup key at `offset`; negative if the run has no such group. */
  readonly numberOf: (dedupKeys: Uint8Array, offset: number) => number;
  readonly input: string;
  readonly resendLogged: boolean;
}

/** Outcomes of groups by number. */
export class PriorOutcomes {
  readonly #options: PriorOutcomesOptions;
  readonly #facts = new Column("u8");
  /** Requests with an unknown outcome, oldest first. */
  unknownEntries: readonly Entry[] = [];
  /** The last time that a group was logged from an input with another name, in milliseconds since 1970; 0 if none. */
  loggedElsewhereAt = 0;

  constructor(options: PriorOutcomesOptions) {
    this.#options = options;
  }

  /** Adds requests. They must include all that are unknown, new, or possibly changed since the last call. */
  async addEntries(entries: AsyncIterable<Entry>): Promise<void> {
    const { numberOf, input: ownInput } = this.#options;
    for (const { dedupKeys } of this.unknownEntries) {
      for (const group of findGroups(dedupKeys, numberOf)) this.#set(group, this.#facts.at(group) & ~unknownBit);
    }
    const unknownEntries: Entry[] = [];
    this.unknownEntries = unknownEntries;
    for await (const entry of entries) {
      const { state, input, dedupKeys } = entry;
      const isElsewhere = input !== ownInput;
      const facts = isUnknown(state) ? unknownBit : isElsewhere ? loggedBit | loggedElsewhereBit : loggedBit;
      const groups = isUnknown(state) || isLogged(state) ? findGroups(dedupKeys, numberOf) : [];
      for (const group of groups) this.#set(group, this.#facts.at(group) | facts);
      if (groups.length === 0) continue;
      if (facts === unknownBit) unknownEntries.push(entry);
      else if (isElsewhere) this.loggedElsewhereAt = Math.max(this.loggedElsewhereAt, entry.lastTried);
    }
  }

  get isEmpty(): boolean {
    return this.#facts.length === 0;
  }

  /** Unknown overrides logged, because a resent logged group may be logged twice until the resend is resolved. */
  outcomeOf(group: number): PriorOutcome {
    const facts = this.#facts.at(group);
    if ((facts & unknownBit) !== 0) return "unknown";
    return (facts & loggedBit) !== 0 && !this.#options.resendLogged ? "already_logged" : "not_sent";
  }

  /** True if a group that is not sent again was logged from an input with another name. */
  wasLoggedElsewhere(group: number): boolean {
    return (this.#facts.at(group) & loggedElsewhereBit) !== 0 && !this.#options.resendLogged;
  }

  /** Records an outcome of this run, which overrides earlier outcomes. */
  recordOutcome(group: number, outcome: "logged" | "unknown"): void {
    this.#set(group, (this.#facts.at(group) & loggedElsewhereBit) | (outcome === "logged" ? loggedBit : unknownBit));
  }

  #set(group: number, facts: number): void {
    this.#facts.length = Math.max(this.#facts.length, group + 1);
    this.#facts.set(group, facts);
  }
}

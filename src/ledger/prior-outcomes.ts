/** The outcomes of a run's groups in earlier runs, and what follows, for complete and for growing files. */
import { Column, dedupKeyBytes } from "../groups/index.ts";
import { type Entry, isLogged, isUnknown } from "./entries.ts";

/** What rollcall remembers of the files it wrote: the digest of each by its path. */
export interface WrittenFiles {
  readDigest(path: string): Promise<string | undefined>;
  recordDigest(path: string, digest: string): Promise<void>;
}

/** Remembers nothing: for a run without a ledger. */
export const noWrittenFiles: WrittenFiles = { readDigest: async () => undefined, recordDigest: async () => undefined };

/** The state of a group before a run sends anything. */
export type PriorOutcome = "not_sent" | "already_logged" | "unknown";

/** Bits of the facts that are known of a group. */
const loggedBit = 1;
const unknownBit = 2;
const loggedElsewhereBit = 4;

/** How groups are identified, and whether logged groups are sent again. */
interface PriorOutcomesOptions {
  /** Returns the number of the group with the dedup key at `offset`; negative if the group does not matter. */
  readonly numberOf: (marks: Uint8Array, offset: number) => number;
  /** The last name of the run's input. */
  readonly input: string;
  readonly resendLogged: boolean;
}

/** Outcomes of groups, by their numbers. Memory depends on the groups, not on the ledger. */
export class PriorOutcomes {
  readonly #options: PriorOutcomesOptions;
  readonly #facts = new Column("u8");
  /** Requests whose outcome is unknown, oldest first. */
  unknownEntries: readonly Entry[] = [];
  /** When a group was last logged from an input of another name, in milliseconds since 1970; 0 if none was. */
  loggedElsewhereAt = 0;

  constructor(options: PriorOutcomesOptions) {
    this.#options = options;
  }

  /** Adds requests that are new or may have changed: all that were unknown, unless they were forgotten. */
  async addEntries(entries: AsyncIterable<Entry>): Promise<void> {
    for (const { marks } of this.unknownEntries) {
      for (const group of this.#findGroups(marks)) this.#set(group, this.#facts.at(group) & ~unknownBit);
    }
    const unknownEntries: Entry[] = [];
    this.unknownEntries = unknownEntries;
    for await (const entry of entries) {
      const { state, input, marks } = entry;
      const isElsewhere = input !== this.#options.input;
      const facts = isUnknown(state) ? unknownBit : isElsewhere ? loggedBit | loggedElsewhereBit : loggedBit;
      const groups = isUnknown(state) || isLogged(state) ? this.#findGroups(marks) : [];
      for (const group of groups) this.#set(group, this.#facts.at(group) | facts);
      if (groups.length === 0) continue;
      if (facts === unknownBit) unknownEntries.push(entry);
      else if (isElsewhere) this.loggedElsewhereAt = Math.max(this.loggedElsewhereAt, entry.lastTried);
    }
  }

  /** The numbers of the groups that matter. */
  #findGroups(marks: Uint8Array): readonly number[] {
    const groups: number[] = [];
    for (let offset = 0; offset < marks.length; offset += dedupKeyBytes) {
      const group = this.#options.numberOf(marks, offset);
      if (group >= 0) groups.push(group);
    }
    return groups;
  }

  /** True if nothing is known of any group. */
  get isEmpty(): boolean {
    return this.#facts.length === 0;
  }

  /**
   * The outcome of a group. Unknown overrides logged: if a logged group was sent again on purpose, nobody knows whether it
   * is logged twice until that request is resolved.
   */
  outcomeOf(group: number): PriorOutcome {
    const facts = this.#facts.at(group);
    if ((facts & unknownBit) !== 0) return "unknown";
    return (facts & loggedBit) !== 0 && !this.#options.resendLogged ? "already_logged" : "not_sent";
  }

  /** True if a group that is not sent again was logged from an input of another name. */
  wasLoggedElsewhere(group: number): boolean {
    return (this.#facts.at(group) & loggedElsewhereBit) !== 0 && !this.#options.resendLogged;
  }

  /** Records the outcome of a group in this run, which overrides earlier outcomes. */
  recordOutcome(group: number, outcome: "logged" | "unknown"): void {
    this.#set(group, (this.#facts.at(group) & loggedElsewhereBit) | (outcome === "logged" ? loggedBit : unknownBit));
  }

  #set(group: number, facts: number): void {
    this.#facts.length = Math.max(this.#facts.length, group + 1);
    this.#facts.set(group, facts);
  }
}

/** What earlier runs made of a run's groups, and what follows for each: one decision, for files that are whole and for those that grow. */

import { Column, dedupKeyBytes } from "../groups/index.ts";
import { type Entry, type EntryState, isUnknown } from "./entries.ts";

/** What a run has to take a group for because of earlier ones. */
export type EarlierOutcome = "not_sent" | "already_logged" | "unknown";

/** Bits of what is known of a group. */
const logged = 1;
const unknown = 2;
const loggedElsewhere = 4;

/** How groups are told apart, and what is made of those that were logged. */
interface EarlierOptions {
  /** Gives the number of the group whose mark stands in `marks` at `offset`; negative where it does not matter. */
  readonly numberOf: (marks: Uint8Array, offset: number) => number;
  /** Name of the run's own input. */
  readonly input: string;
  /** Whether what was logged is sent again. */
  readonly resendLogged: boolean;
}

/** What earlier runs made of groups, which are told apart by numbers. Memory goes by the groups, not by the ledger. */
export class EarlierRuns {
  readonly #options: EarlierOptions;
  readonly #facts = new Column("u8");
  #unknownEntries: Entry[] = [];
  #isEmpty = true;
  #loggedElsewhereAt = 0;

  constructor(options: EarlierOptions) {
    this.#options = options;
  }

  /** Takes requests over that are new or may have changed: all that were unknown are among them again, unless they are forgotten. */
  async take(entries: AsyncIterable<Entry>): Promise<void> {
    for (const { marks } of this.#unknownEntries) {
      for (const group of this.#groupsOf(marks)) this.#set(group, this.#facts.at(group) & ~unknown);
    }
    this.#unknownEntries = [];
    for await (const entry of entries) {
      const isElsewhere = entry.input !== this.#options.input;
      const facts = factsOf(entry.state) === logged && isElsewhere ? logged | loggedElsewhere : factsOf(entry.state);
      if (facts === 0) continue;
      const groups = this.#groupsOf(entry.marks);
      for (const group of groups) this.#set(group, this.#facts.at(group) | facts);
      if (groups.length === 0) continue;
      if (facts === unknown) this.#unknownEntries.push(entry);
      else if (isElsewhere) this.#loggedElsewhereAt = Math.max(this.#loggedElsewhereAt, entry.lastTried);
    }
  }

  /** The groups that matter of those whose marks these are. */
  #groupsOf(marks: Uint8Array): readonly number[] {
    const groups: number[] = [];
    for (let offset = 0; offset < marks.length; offset += dedupKeyBytes) {
      const group = this.#options.numberOf(marks, offset);
      if (group >= 0) groups.push(group);
    }
    return groups;
  }

  /** Whether nothing is known of any group. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Requests whose outcome is unknown, oldest first. */
  get unknownEntries(): readonly Entry[] {
    return this.#unknownEntries;
  }

  /** When a group was last logged from an input of another name, in milliseconds since 1970; 0 where none was. */
  get loggedElsewhereAt(): number {
    return this.#loggedElsewhereAt;
  }

  /**
   * What a group is to be taken for. Unknown goes first: a group that was logged and then sent again on purpose is not
   * known to be logged twice until that is settled.
   */
  outcomeOf(group: number): EarlierOutcome {
    const facts = this.#facts.at(group);
    if ((facts & unknown) !== 0) return "unknown";
    return (facts & logged) !== 0 && !this.#options.resendLogged ? "already_logged" : "not_sent";
  }

  /** Whether a group that is not sent again was logged from an input of another name. */
  wasLoggedElsewhere(group: number): boolean {
    return (this.#facts.at(group) & loggedElsewhere) !== 0 && !this.#options.resendLogged;
  }

  /** Takes over what this run made of a group: that settles what was known of it before. */
  settle(group: number, outcome: "logged" | "unknown"): void {
    this.#set(group, (this.#facts.at(group) & loggedElsewhere) | (outcome === "logged" ? logged : unknown));
  }

  #set(group: number, facts: number): void {
    if (group >= this.#facts.length) this.#facts.append(new Uint8Array(group + 1 - this.#facts.length));
    this.#facts.set(group, facts);
    this.#isEmpty = false;
  }
}

const factsOf = (state: EntryState): number => {
  if (state === "logged" || state === "assumed_logged") return logged;
  return isUnknown(state) ? unknown : 0;
};

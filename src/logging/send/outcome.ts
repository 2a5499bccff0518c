/** Defines the outcomes of attempts, requests, groups and runs, and stores those of groups. */

import type { FailureCode } from "../../failure.ts";
import { NumberColumn } from "../../rollouts/index/column.ts";
import type { Groups } from "../../rollouts/index/groups.ts";
import type { Attempt } from "../../wire/client/client.ts";
import { type EntryState, isLogged, isUnknown } from "../ledger/entries.ts";
import type { RecordedOutcome } from "../ledger/file-writer.ts";

interface OutcomeRecord {
  /** `joinOutcomes` keeps the higher rank. */
  readonly rank: number;
  /** The state of the request in the ledger. */
  readonly state: RecordedOutcome["state"];
  /** The text for a request. */
  readonly text: string;
  /** The text for a number of groups. */
  readonly groupText: string;
  /** The code of a failed run that has such groups; undefined for the code of the cause. */
  readonly code: FailureCode | undefined;
}

const notLogged = { groupText: "not logged", code: undefined };

export const outcomeFacts = {
  not_sent: { rank: 0, state: "not_sent", text: "not sent", ...notLogged },
  not_processed: { rank: 0, state: "not_sent", text: "not processed", ...notLogged },
  too_large: { rank: 1, state: "refused", text: "too large", ...notLogged },
  refused: { rank: 1, state: "refused", text: "refused", ...notLogged },
  rejected: { rank: 1, state: "refused", text: "refused", groupText: "rejected", code: "partial" },
  unknown: { rank: 2, state: "unknown", text: "outcome unknown", groupText: "unknown", code: "unknown_outcome" },
  logged: { rank: 3, state: "logged", text: "logged", groupText: "logged", code: "partial" },
  already_logged: { rank: 3, state: "logged", text: "logged", groupText: "already logged", code: "partial" },
  repeated: { rank: 4, state: "logged", text: "logged", groupText: "logged twice", code: "partial" },
} as const satisfies Readonly<Record<string, OutcomeRecord>>;

export type Outcome = keyof typeof outcomeFacts;

/** The outcomes of a group in the order of the result document. `not_sent` includes refused groups. */
export const groupOutcomes = ["logged", "already_logged", "rejected", "unknown", "not_sent"] as const;
export type GroupOutcome = (typeof groupOutcomes)[number];

/** The status of a run. A run is `partial` if a failure ended it after some groups had an outcome. */
export type RunStatus = Extract<Outcome, "logged" | "already_logged" | "not_sent" | "unknown"> | "planned" | "partial";

/** Returns the outcome after both. An unknown outcome stays unknown until an attempt succeeds. */
export const joinOutcomes = <Name extends Outcome>(earlier: Name, later: Name): Name =>
  outcomeFacts[later].rank >= outcomeFacts[earlier].rank ? later : earlier;

/** Applies the table of outcomes in guarantees.md. */
export const classifyAttempt = (attempt: Attempt): Outcome => {
  if (attempt.kind === "broken") return attempt.isBodySent ? "unknown" : "not_sent";
  const { status, isBodySent, hasRetryAfter } = attempt;
  if (status >= 200 && status < 300) return attempt.failure ? "unknown" : "logged";
  if (status === 413) return "too_large";
  // Assumed: a 503 with Retry-After says that the request was not processed.
  if (status === 429 || status === 408 || (status === 503 && hasRetryAfter)) return "not_processed";
  if (status >= 500) return isBodySent ? "unknown" : "not_processed";
  // A 303 follows a processed request. Other unlisted redirects say nothing about it.
  const isUnlisted = status === 409 || (status < 400 && ![301, 302, 307, 308].includes(status));
  return isUnlisted && (isBodySent || status === 409) ? "unknown" : "refused";
};

/** True if no retry can change the outcome of the attempt. */
export const isFinal = (outcome: Outcome) => outcome !== "unknown" && outcomeFacts[outcome].rank > 0;

/** Returns the outcome of a request in the ledger. */
export const toOutcome = (state: EntryState) => {
  if (isLogged(state)) return "logged";
  if (isUnknown(state)) return "unknown";
  return state === "refused" ? "refused" : "not_sent";
};

/** Stores the outcome of each group in one byte. */
export class OutcomeColumn<Name extends Outcome> {
  readonly #codes = new NumberColumn();
  readonly #names: readonly [Name, ...Name[]];

  /** @param names the possible outcomes. The first name is the outcome of a group until `set`. */
  constructor(names: readonly [Name, ...Name[]], groups: number) {
    this.#names = names;
    this.#codes.length = groups;
  }

  outcomeOf(group: number): Name {
    return this.#names[this.#codes.at(group)] ?? this.#names[0];
  }

  set(group: number, outcome: Name) {
    this.#codes.set(group, this.#names.indexOf(outcome));
  }

  setAll(groups: Uint32Array, outcome: Name) {
    for (const group of groups) this.set(group, outcome);
  }

  extendTo(groups: number) {
    this.#codes.length = Math.max(this.#codes.length, groups);
  }

  groupsWith(outcome: Name) {
    const code = this.#names.indexOf(outcome);
    const groups = new Uint32Array(this.#codes.length);
    let count = 0;
    for (let group = 0; group < groups.length; group++) if (this.#codes.at(group) === code) groups[count++] = group;
    return groups.subarray(0, count);
  }
}

export type GroupOutcomes = OutcomeColumn<GroupOutcome>;
export type OutcomeCounts = Record<GroupOutcome | "read", number>;

export const openGroupOutcomes = (groups: number): GroupOutcomes =>
  new OutcomeColumn(["not_sent", ...groupOutcomes], groups);

const zeroCounts = (): OutcomeCounts => {
  return { read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };
};

export const countByOutcome = (outcomes: GroupOutcomes, groups: Groups) => {
  const counts = { groups: zeroCounts(), trajectories: zeroCounts() };
  for (let group = 0; group < groups.count; group++) {
    const outcome = outcomes.outcomeOf(group);
    const trajectories = groups.trajectoriesOf(group);
    counts.groups.read++;
    counts.groups[outcome]++;
    counts.trajectories.read += trajectories;
    counts.trajectories[outcome] += trajectories;
  }
  return counts;
};

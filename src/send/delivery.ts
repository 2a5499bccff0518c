/** Delivers groups of a reading, as often as it is asked to: by the ledger, request by request, with a rejects file. */

import { isFailure } from "../failure.ts";
import { type Reading, takeBackGroups } from "../groups/index.ts";
import { isRemote } from "../input/index.ts";
import { rejectsNeeded } from "./failures.ts";
import type { DeliverOptions, DeliveryState } from "./options.ts";
import { type Frame, frameOf, type Limit } from "./plan.ts";
import { noRejects, type Rejected } from "./reject/rejected-lines.ts";
import { checkRejectsFree, writeRejects } from "./reject/rejects-file.ts";
import type { SendResult } from "./send-result.ts";
import { dedupKeysOf, openSender, type Sender } from "./sender.ts";
import { type Job, jobOfEntry, mayResend } from "./unknown.ts";

/** The groups of a reading on their way to the service. */
export class Delivery {
  readonly options: DeliverOptions & DeliveryState;
  readonly #reading: Reading;
  /** Path of the rejects file; undefined if nothing is rejected. */
  readonly rejectsFile: string | undefined;
  readonly #rejects = noRejects();
  #sender: Sender | undefined;

  /** @throws Failure `rejects-needed` */
  constructor(reading: Reading, options: DeliverOptions & DeliveryState) {
    this.#reading = reading;
    this.options = options;
    this.rejectsFile = rejectsPath(options.file, options);
  }

  /** What sending came to so far; undefined if nothing was sent. */
  get sent(): SendResult | undefined {
    return this.#sender?.result();
  }

  /** Lines of the rejects file so far. */
  get rejectedLines(): number {
    return this.#rejects.lines;
  }

  get frame(): Frame {
    return frameOf(this.#reading, this.options.split);
  }

  /** The largest body: the given size, or what the address was found to take. */
  get limit(): Limit {
    const { maxRequestBytes, runLedger } = this.options;
    const { maxBytes = maxRequestBytes } = runLedger;
    return { bytes: Math.min(maxRequestBytes, maxBytes), isFound: maxBytes < maxRequestBytes };
  }

  /** Takes over what other runs did since it was last asked. */
  async takeEarlier(): Promise<void> {
    await this.options.earlier.take(this.options.runLedger.entries());
  }

  /** Compares groups with other runs; returns those to be sent, and those with an unknown outcome. */
  compare(groups: Iterable<number>): { readonly unsent: readonly number[]; readonly unknown: readonly number[] } {
    const { earlier, outcomes, numberOf } = this.options;
    const unsent: number[] = [];
    const unknown: number[] = [];
    for (const group of groups) {
      const outcome = earlier.outcomeOf(numberOf(group));
      outcomes.set(group, outcome);
      if (outcome === "not_sent") unsent.push(group);
      if (outcome === "unknown") unknown.push(group);
    }
    return { unsent, unknown };
  }

  /** Requests of other runs with an unknown outcome: those that are sent again, and those that cannot be. */
  unknownRequests(): { readonly jobs: readonly Job[]; readonly broken: ReadonlyMap<string, "groups" | "keys"> } {
    const { earlier, dedupKeys } = this.options;
    const { frame } = this;
    const jobs: Job[] = [];
    const broken = new Map<string, "groups" | "keys">();
    for (const entry of earlier.unknownEntries) {
      if (!mayResend(entry, this.options)) continue;
      const job = jobOfEntry(this.#reading, { frame, dedupKeys, entry });
      if ("request" in job) jobs.push(job);
      else broken.set(entry.id, job.lacks);
    }
    return { jobs, broken };
  }

  /** The key that a request would have; null if it has none, or another in every run. */
  keyOf({ request, recorded }: Job): string | null {
    return recorded?.key ?? this.options.runLedger.keyFor(dedupKeysOf(request, this.options.dedupKeys));
  }

  /**
   * Sends requests, after those that earlier runs left. After a stop nothing is sent, unless it was a signal.
   * @param isLast whether a signal left these to do: each is tried once, and the next signal ends it
   */
  async send(jobs: readonly Job[], { isLast = false }: { readonly isLast?: boolean } = {}): Promise<Sender> {
    this.#sender ??= openSender(this.#reading, {
      ...this.options,
      client: await this.options.client(),
      frame: this.frame,
    });
    await this.#sender.send(jobs, isLast);
    return this.#sender;
  }

  /**
   * Checks that the rejects file can be written.
   * @param isNeeded whether something will be rejected, as far as is known
   * @throws Failure `rejects-exist`, `rejects-unwritable`
   */
  async checkRejects(isNeeded: boolean): Promise<void> {
    const { written } = this.options.runLedger;
    if (this.rejectsFile !== undefined) await checkRejectsFree(this.rejectsFile, { written, needed: isNeeded });
  }

  /** Adds groups to the rejects file; returns its lines. @throws Failure `rejects-exist`, `rejects-unwritable` */
  async reject(rejected: readonly Rejected[]): Promise<number> {
    const { rejectsFile: path, options } = this;
    if (path === undefined || rejected.length === 0) return this.#rejects.lines;
    const { redact, runLedger } = options;
    return await writeRejects(this.#reading, {
      path,
      rejected,
      written: runLedger.written,
      redact,
      soFar: this.#rejects,
    });
  }

  /** Takes what the service refused out of the metrics; what cannot be read again stays in them. */
  async takeBackRefused(): Promise<void> {
    const refused = this.sent?.refused ?? [];
    await takeBackGroups(
      this.#reading,
      refused.map(({ group }) => group),
    ).catch((thrown: unknown) => {
      if (!isFailure(thrown, "input-changed") && !isFailure(thrown, "input-unreadable")) throw thrown;
    });
  }

  /** Reports groups that were logged from an input of another name, and a ledger that knows of no earlier run. */
  reportEarlier(isCounted: (group: number) => boolean): void {
    const { earlier, numberOf, outcomes, batch, runLedger, host } = this.options;
    const { problems } = this.#reading;
    let elsewhere = 0;
    for (let group = 0; group < outcomes.count && !earlier.isEmpty; group++) {
      if (isCounted(group) && earlier.wasLoggedElsewhere(numberOf(group))) elsewhere++;
    }
    if (elsewhere > 0 && batch === undefined) {
      const at = new Date(earlier.loggedElsewhereAt).toISOString();
      problems.report("logged-before", { groups: elsewhere, at }, () => ({}));
    }
    const { facts } = runLedger;
    if (facts?.created === true && host.env.CI) problems.report("ledger-new", { path: facts.path }, () => ({}));
  }
}

/**
 * Returns where rejected lines go; undefined if nothing is rejected.
 * @param input the first file, `-` for standard input
 * @throws Failure `rejects-needed`
 */
export const rejectsPath = (
  input: string,
  { rejects, onInvalid, onRefused }: Pick<DeliverOptions, "rejects" | "onInvalid" | "onRefused">,
): string | undefined => {
  if (onInvalid === "stop" && onRefused === "stop") return undefined;
  const remote = isRemote(input);
  if (rejects === undefined && (input === "-" || remote)) throw rejectsNeeded(remote);
  return rejects ?? `${input}.rejected`;
};

/** The run of `rollcall call read`: shows traced calls in the order given (interface 4.3). */
import { inOrder, openWaiting } from "../../calls/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import type { Failure, Problem } from "../../failure.ts";
import { type CallsUnread, callsMissing, callsRunning, callsUnread } from "../failures.ts";
import type { TypedRead } from "./command.ts";
import { callIds, idTyped, once } from "./ids.ts";
import { type CallForm, choiceMeant, formMeant, usualConcurrency } from "./options.ts";
import {
  type CallOutcome,
  type CallReader,
  type FailedCall,
  type MissingCall,
  openCallReader,
  openPatience,
} from "./reader.ts";
import { type CallResults, openCallResults } from "./results.ts";

/** Reads calls and prints them. @throws Failure what could not be read or done, once the rest was printed */
export const run = async (context: Context, typed: TypedRead): Promise<void> => {
  const ids = typed.callId.map(idTyped);
  const shown = { ...typed, content: !typed.noContent };
  const form = formMeant(context, typed);
  const settings = await settingsInForce(context);
  const [project, vendorPrefix] = [settings.require("project"), settings.require("vendor_prefix")];
  const boundMs = settings.require("max_wait");
  const isMeant = choiceMeant(typed, vendorPrefix);
  const read = await openCallReader(context, settings, shown);
  const results = openCallResults(context, { form, shown, vendorPrefix });
  const seen: Seen = {
    asked: 0,
    leftOut: 0,
    missing: [],
    failed: [],
    stopped: undefined,
    running: [],
    mistyped: new Map(),
  };
  if (!(await takeAll(context, { typed, ids, form, read, results, seen, boundMs, isMeant }))) return;
  const { asked, missing, leftOut, running } = seen;
  const chosen = isMeant === undefined ? undefined : leftOut;
  const unmade = await results.end({ asked, missing: missing.length, chosen });
  if (asked === 0) context.screen.notice("standard input held no call id");
  saySeen(seen, context);
  const isLate = typed.wait && running.length > 0;
  const [first, ...others] = [
    ...unreadFailures(seen),
    ...missingFailure(seen, project),
    ...(unmade === undefined ? [] : [unmade]),
    ...(isLate ? [callsRunning(running, asked, boundMs)] : []),
  ];
  if (first !== undefined) throw first.also({ problems: others.map(problemOf) });
};

/** What a run of `call read` is made of. */
interface Run {
  readonly typed: TypedRead;
  readonly ids: readonly string[];
  readonly form: CallForm;
  readonly read: CallReader;
  readonly results: CallResults;
  readonly seen: Seen;
  /** Bound of waiting for running calls. */
  readonly boundMs: number;
  /** Undefined if all calls are meant. */
  readonly isMeant: ReturnType<typeof choiceMeant>;
}

/** What was seen so far. */
interface Seen {
  /** Ids that were asked for. */
  asked: number;
  /** Calls that are not of those that are meant. */
  leftOut: number;
  readonly missing: MissingCall[];
  readonly failed: FailedCall[];
  /** Why no more was asked for, if so: one after the other failed, or one in a way that all would. */
  stopped: CallsUnread["stopped"] | undefined;
  readonly running: string[];
  /** How many calls have a field of another type than the interface says. */
  readonly mistyped: Map<string, number>;
}

/** Hands each call to the results in its turn. False if nobody reads the output any more. */
const takeAll = async (
  { host, screen }: Context,
  { typed, ids: words, form, read, results, seen, boundMs, isMeant }: Run,
): Promise<boolean> => {
  const progress = screen.progress("reading calls");
  const isRunning = (id: string) => progress.update(`reading calls: ${seen.asked} done, ${id} is still running`);
  const following = typed.wait ? { waiting: openWaiting(host, boundMs), isRunning } : undefined;
  const stop = new AbortController();
  const isTrouble = openPatience();
  const reading = {
    run: async (id: string) => await read(id, following),
    atOnce: typed.concurrency ?? usualConcurrency,
    endsAll: (outcome: CallOutcome) => outcome.kind === "failed" && outcome.endsAll,
  };
  try {
    const isSummary = form.kind === "summary";
    const ids = callIds(host, { words, mayBeEmpty: isSummary || isMeant !== undefined }, stop.signal);
    for await (const outcome of inOrder(isSummary ? once(ids) : ids, reading)) {
      progress.update(`reading calls: ${++seen.asked} done`);
      note(seen, outcome);
      if (isTrouble(outcome)) seen.stopped ??= "in-a-row";
      if (seen.stopped === "in-a-row") break;
      if (outcome.kind === "found" && isMeant?.(outcome.bytes) !== false) await results.take(outcome);
      else if (outcome.kind === "found") seen.leftOut++;
      if (screen.readerGone) return false;
    }
    return true;
  } catch (thrown) {
    if (!host.signal.aborted) await results.cut?.();
    throw thrown;
  } finally {
    stop.abort();
    progress.stop();
  }
};

const note = (seen: Seen, outcome: CallOutcome): void => {
  if (outcome.kind === "missing") seen.missing.push(outcome);
  else if (outcome.kind === "failed") {
    seen.failed.push(outcome);
    if (outcome.endsAll) seen.stopped ??= "at-once";
  } else {
    for (const field of outcome.mistyped) seen.mistyped.set(field, (seen.mistyped.get(field) ?? 0) + 1);
    if (outcome.running) seen.running.push(outcome.id);
  }
};

/** Says what was left out, and which fields were mistyped. */
const saySeen = ({ asked, leftOut, mistyped, missing, failed }: Seen, { screen }: Context): void => {
  const found = asked - missing.length - failed.length;
  if (leftOut > 0 && leftOut === found) screen.notice(`none of ${counted(found, "call")} is one of those asked for`);
  else if (leftOut > 0) screen.notice(`${leftOut} of ${counted(found, "call")} left out: not one of those asked for`);
  if (mistyped.size === 0) return;
  const fields = Array.from(mistyped, ([field, calls]) =>
    asked === 1 ? field : `${field} (${calls} of ${asked} calls)`,
  );
  screen.notice(`not of the interface's type, and shown as it came: ${fields.join(", ")}`);
};

const idsOf = (calls: readonly { readonly id: string }[]): readonly string[] => [...new Set(calls.map(({ id }) => id))];

const missingFailure = ({ missing, asked }: Seen, project: string): readonly Failure[] => {
  if (missing.length === 0) return [];
  const http = missing.find((one) => one.http !== undefined)?.http;
  return [callsMissing({ ids: idsOf(missing), asked, project }, http === undefined ? {} : { http })];
};

/** Calls that could not be read: first those that the same command would not read either. */
const unreadFailures = ({ failed, asked, stopped }: Seen): readonly Failure[] => {
  const [only] = failed;
  // What no call came through has nothing to do with any of them.
  if (only !== undefined && (asked === 1 || (only.endsAll && asked === failed.length))) return [only.failure];
  const failures: Failure[] = [];
  for (const code of ["auth", "refused", "unavailable"] as const) {
    const own = failed.filter(({ failure }) => failure.code === code);
    const [first] = own;
    if (first === undefined) continue;
    const { message: why, about: known } = first.failure;
    const { http, hint: advice } = known;
    const about = { ...(http === undefined ? {} : { http }), cause: first.failure };
    failures.push(callsUnread(code, { ids: idsOf(own), why, advice, asked, stopped }, about));
  }
  return failures;
};

/** A further failure, as a problem of the one that ends the run. */
const problemOf = ({ kind, message, about: { hint } }: Failure): Problem => ({
  rule: kind,
  severity: "error",
  message,
  ...(hint === undefined ? {} : { advice: hint }),
});

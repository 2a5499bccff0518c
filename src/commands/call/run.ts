/** The run of `rollcall call read`: shows traced calls in the order given (interface 4.3). */
import { addAbortSignal } from "node:stream";
import { idsOfLines, inOrder, isGoingOn, openWaiting } from "../../calls/index.ts";
import { wrongValue } from "../../cli/index.ts";
import { openClient, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { readCall } from "../../contract/call.ts";
import { Failure, type HttpFacts, isFailure, type Problem } from "../../failure.ts";
import { codeOf } from "../../files.ts";
import type { Host } from "../../host.ts";
import { readSpelled } from "../../json/spelled.ts";
import { textOf, wholeOf } from "../../json/walk.ts";
import { counted } from "../../sentences.ts";
import type { Settings } from "../../settings/index.ts";
import { type CallsUnread, callIdsUnreadable, callsMissing, callsRunning, callsUnread } from "../failures.ts";
import type { TypedRead } from "./command.ts";
import { choiceMeant, formMeant, type ReadCall } from "./forms.ts";

/** Enough to hide the latency, few enough for any service. */
const usualConcurrency = 8;

/** So many calls in a row that can't be read, none refused alone, are the service's own trouble. */
const maxFailedInARow = 8;

/** Reads calls and prints them. @throws Failure what could not be read or done, once the rest was printed */
export const run = async (context: Context, typed: TypedRead): Promise<void> => {
  const { host, screen } = context;
  const words = typed.callId.map(idTyped);
  const openResults = formMeant(context, typed);
  const settings = await settingsInForce(context);
  const [project, prefix] = [settings.require("project"), settings.require("vendor_prefix")];
  const boundMs = settings.require("max_wait");
  const isMeant = choiceMeant(typed, prefix);
  const read = await openReader(context, settings, typed);
  const results = openResults(context, typed, prefix);
  const lists = { missing: [], failed: [], running: [], mistyped: new Map() };
  const seen: Seen = { asked: 0, leftOut: 0, failedInARow: 0, stopped: undefined, ...lists };
  const progress = screen.progress("reading calls");
  const tell = (more = "") => progress.update(`reading calls: ${seen.asked} done${more}`);
  const waiting = typed.wait ? openWaiting(host, boundMs) : undefined;
  const isRunning = (outcome: Outcome): boolean => {
    const isFound = outcome.kind === "found" && isGoingOn(outcome.call);
    if (isFound) tell(`, ${outcome.id} is still running`);
    return isFound;
  };
  const reading = {
    run: async (id: string) => (waiting === undefined ? await read(id) : await waiting(() => read(id), isRunning)),
    atOnce: typed.concurrency ?? usualConcurrency,
    endsAll: (outcome: Outcome) => outcome.kind === "failed" && outcome.endsAll,
  };
  const stop = new AbortController();
  try {
    const ids = idsIn(host, { words, mayBeEmpty: typed.summary || isMeant !== undefined }, stop.signal);
    for await (const outcome of inOrder(typed.summary ? once(ids) : ids, reading)) {
      note(seen, outcome);
      tell();
      if (seen.stopped === "in-a-row") break;
      if (outcome.kind === "found" && isMeant?.(outcome.call) !== false) await results.take(outcome);
      else if (outcome.kind === "found") seen.leftOut++;
      if (screen.readerGone) return;
    }
  } catch (thrown) {
    if (!host.signal.aborted) await results.cut?.();
    throw thrown;
  } finally {
    stop.abort();
    progress.stop();
  }
  const { asked, missing, leftOut, running } = seen;
  const unmade = await results.end({ asked, missing: missing.length, chosen: isMeant && leftOut });
  if (asked === 0) screen.notice("standard input held no call id");
  saySeen(seen, context);
  const [first, ...others] = [
    ...unreadFailures(seen),
    ...missingFailure(seen, project),
    ...(unmade === undefined ? [] : [unmade]),
    ...(waiting === undefined || running.length === 0 ? [] : [callsRunning(running, asked, boundMs)]),
  ];
  if (first !== undefined) throw first.also({ problems: others.map(problemOf) });
};

/** @throws Failure `option-value-wrong` */
const idTyped = (word: string): string => {
  const id = word.trim();
  if (id === "") throw wrongValue("<call-id>", word, "the id of a call");
  return id;
};

/** The ids in the order given; `-` stands for those of standard input. @throws Failure `call-ids-unreadable`, the signal's reason */
async function* idsIn(
  host: Host,
  { words, mayBeEmpty }: { readonly words: readonly string[]; readonly mayBeEmpty: boolean },
  stop: AbortSignal,
): AsyncGenerator<string, void> {
  const input = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      const signal = AbortSignal.any([host.signal, stop]);
      for await (const chunk of addAbortSignal(signal, host.stdin)) yield Buffer.from(chunk);
    } catch (thrown) {
      host.signal.throwIfAborted();
      throw callIdsUnreadable(codeOf(thrown), thrown);
    }
  };
  for (const [at, word] of words.entries()) {
    if (word !== "-") yield word;
    else if (words.indexOf("-") === at) yield* idsOfLines(input(), { mayBeEmpty });
  }
}

/** Every id at its first place. */
async function* once(ids: AsyncIterable<string>): AsyncGenerator<string, void> {
  const known = new Set<string>();
  for await (const id of ids) {
    if (!known.has(id)) yield id;
    known.add(id);
  }
}

/** What became of one id: its call, no call, or the reason why it could not be read. */
type Outcome =
  | (ReadCall & {
      readonly kind: "found";
      /** The fields that are not of the interface's types. */
      readonly mistyped: readonly string[];
    })
  | MissingCall
  | FailedCall;

interface MissingCall {
  readonly kind: "missing";
  readonly id: string;
  /** Of a 404; undefined if the service answered that there is no such call. */
  readonly http: HttpFacts | undefined;
}

interface FailedCall {
  readonly kind: "failed";
  readonly id: string;
  readonly failure: Failure;
  /** True if the next would end the same way: no further one is asked for. */
  readonly endsAll: boolean;
}

/** Opens the reader of a project's calls (interface 4.3). */
const openReader = async (context: Context, settings: Settings, typed: TypedRead) => {
  const client = await openClient(context, settings);
  const request = {
    project_id: settings.require("project"),
    include_costs: typed.costs,
    include_storage_size: typed.storageSize,
    include_total_storage_size: typed.totalStorageSize,
  };
  return async (id: string): Promise<Outcome> => {
    try {
      const { value, bytes } = await client.send(readCall, { parameters: {}, body: { ...request, id } });
      if (value === null) return { kind: "missing", id, http: undefined };
      const call = readSpelled(textOf(value.bytes, wholeOf(value.bytes)));
      return { kind: "found", id, call, reply: bytes, mistyped: value.mistyped };
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      if (thrown.code === "not_found") return { kind: "missing", id, http: thrown.about.http };
      // Anything else than a request can end with is the run's own end.
      if (!unreadCodes.some((code) => code === thrown.code)) throw thrown;
      return { kind: "failed", id, failure: thrown, endsAll: !isOfOneCall(thrown) };
    }
  };
};

const unreadCodes = ["auth", "refused", "unavailable"] as const;

/** How a request can end that says nothing of the next: keys, addresses and settings are the same for all of them. */
const ofOneCall = ["request-refused", "service-unavailable", "reply-unreadable", "reply-too-long"];

/** Codes of a connection that broke over the answer. */
const broken = ["SILENT", "ENDLESS", "CUT", "CUT_HEADERS", "ECONNRESET", "EPIPE", "ETIMEDOUT"];

const isOfOneCall = (failure: Failure): boolean =>
  ofOneCall.includes(failure.kind) ||
  (isFailure(failure, "no-connection") && broken.includes(failure.about.systemCode ?? "")) ||
  // A key that is known may be kept from one call: 403.
  (isFailure(failure, "credential-refused") && failure.about.http?.status !== 401);

interface Seen {
  /** Ids that were asked for, and calls that are not of those that are meant. */
  asked: number;
  leftOut: number;
  readonly missing: MissingCall[];
  readonly failed: FailedCall[];
  failedInARow: number;
  stopped: CallsUnread["stopped"];
  readonly running: string[];
  /** How many calls have a field of another type than the interface says. */
  readonly mistyped: Map<string, number>;
}

const note = (seen: Seen, outcome: Outcome): void => {
  seen.asked++;
  const isTrouble = outcome.kind === "failed" && outcome.failure.kind !== "request-refused";
  seen.failedInARow = isTrouble ? seen.failedInARow + 1 : 0;
  if (outcome.kind === "missing") seen.missing.push(outcome);
  else if (outcome.kind === "failed") {
    seen.failed.push(outcome);
    if (outcome.endsAll) seen.stopped ??= "at-once";
    if (seen.failedInARow >= maxFailedInARow) seen.stopped ??= "in-a-row";
  } else {
    for (const field of outcome.mistyped) seen.mistyped.set(field, (seen.mistyped.get(field) ?? 0) + 1);
    if (isGoingOn(outcome.call)) seen.running.push(outcome.id);
  }
};

/** Says what was left out, and which fields were mistyped. */
const saySeen = ({ asked, leftOut, mistyped, missing, failed }: Seen, { screen }: Context): void => {
  const found = counted(asked - missing.length - failed.length, "call");
  if (leftOut > 0 && leftOut === asked - missing.length - failed.length) {
    screen.notice(`none of ${found} is one of those asked for`);
  } else if (leftOut > 0) screen.notice(`${leftOut} of ${found} left out: not one of those asked for`);
  if (mistyped.size === 0) return;
  const text = ([field, calls]: [string, number]) => (asked === 1 ? field : `${field} (${calls} of ${asked} calls)`);
  screen.notice(`not of the interface's type, and shown as it came: ${[...mistyped].map(text).join(", ")}`);
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
  // A failure that no call came through has nothing to do with any of them.
  if (only !== undefined && (asked === 1 || (only.endsAll && asked === failed.length))) return [only.failure];
  return unreadCodes.flatMap((code) => {
    const own = failed.filter(({ failure }) => failure.code === code);
    const [first] = own;
    if (first === undefined) return [];
    const { message: why, about } = first.failure;
    const { http, hint: advice } = about;
    const more = { ...(http === undefined ? {} : { http }), cause: first.failure };
    return [callsUnread(code, { ids: idsOf(own), why, advice, asked, stopped }, more)];
  });
};

/** A further failure, as a problem of the one that ends the run. */
const problemOf = ({ kind, message, about: { hint } }: Failure): Problem => ({
  rule: kind,
  severity: "error",
  message,
  ...(hint === undefined ? {} : { advice: hint }),
});

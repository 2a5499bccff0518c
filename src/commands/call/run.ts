/** The run of `rollcall call read`: shows traced calls in the order given (interface 4.3). */
import { addAbortSignal } from "node:stream";
import { isRunning, openPolling, parseCallIds, runInOrder } from "../../calls/index.ts";
import { wrongValue } from "../../cli/index.ts";
import { effectiveSettings, openClient } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { readCall } from "../../contract/call.ts";
import { Failure, type HttpFacts, isFailure, type Problem } from "../../failure.ts";
import { getErrorCode } from "../../files.ts";
import type { Host } from "../../host.ts";
import { parseRawJson } from "../../json/raw-json.ts";
import { rootSpan, sliceText } from "../../json/walk.ts";
import { pluralize } from "../../sentences.ts";
import type { Settings } from "../../settings/index.ts";
import { callIdsUnreadable, callsMissing, callsRunning, callsUnreadable, type UnreadableCalls } from "../failures.ts";
import type { CallReadOptions } from "./command.ts";
import { createCallFilter, type ReadCall, selectForm } from "./forms.ts";

/** Requests in flight: enough to hide the latency, few enough for any service. */
const defaultConcurrency = 8;

/** Consecutive failures that end the run, because the service is probably the cause. */
const maxFailedInARow = 8;

/** Reads calls and prints them. @throws Failure for unreadable or missing calls, after the other calls were printed */
export const run = async (context: Context, typed: CallReadOptions): Promise<void> => {
  const { host, screen } = context;
  const words = typed.callId.map(parseCallId);
  const openResults = selectForm(context, typed);
  const settings = await effectiveSettings(context);
  const [project, prefix] = [settings.require("project"), settings.require("vendor_prefix")];
  const maxWaitMs = settings.require("max_wait");
  const isSelected = createCallFilter(typed, prefix);
  const read = await openReader(context, settings, typed);
  const results = openResults(context, typed, prefix);
  const lists = { missing: [], failed: [], running: [], mistyped: new Map() };
  const state: ReadState = { requested: 0, filteredOut: 0, failedInARow: 0, stopped: undefined, ...lists };
  const progress = screen.startProgress("reading calls");
  const showProgress = (more = "") => progress.update(`reading calls: ${state.requested} done${more}`);
  const waiting = typed.wait ? openPolling(host, maxWaitMs) : undefined;
  const isStillRunning = (outcome: Outcome): boolean => {
    const isFound = outcome.kind === "found" && isRunning(outcome.call);
    if (isFound) showProgress(`, ${outcome.id} is still running`);
    return isFound;
  };
  const reading = {
    run: async (id: string) => (waiting === undefined ? await read(id) : await waiting(() => read(id), isStillRunning)),
    concurrency: typed.concurrency ?? defaultConcurrency,
    shouldStop: (outcome: Outcome) => outcome.kind === "failed" && outcome.isFatal,
  };
  const stop = new AbortController();
  try {
    const ids = readCallIds(host, { words, canBeEmpty: typed.summary || isSelected !== undefined }, stop.signal);
    for await (const outcome of runInOrder(typed.summary ? distinctIds(ids) : ids, reading)) {
      recordOutcome(state, outcome);
      showProgress();
      if (state.stopped === "in-a-row") break;
      if (outcome.kind === "found" && isSelected?.(outcome.call) !== false) await results.add(outcome);
      else if (outcome.kind === "found") state.filteredOut++;
      if (screen.isReaderGone) return;
    }
  } catch (thrown) {
    if (!host.signal.aborted) await results.interrupt?.();
    throw thrown;
  } finally {
    stop.abort();
    progress.stop();
  }
  const { requested, missing, running } = state;
  const filteredOut = isSelected && state.filteredOut;
  const conversionFailure = await results.finish({ requested, missing: missing.length, filteredOut });
  if (requested === 0) screen.notice("stdin contains no call id");
  printOutcomes(state, context);
  const [first, ...others] = [
    ...toReadFailures(state),
    ...toMissingFailure(state, project),
    ...(conversionFailure === undefined ? [] : [conversionFailure]),
    ...(waiting === undefined || running.length === 0 ? [] : [callsRunning(running, requested, maxWaitMs)]),
  ];
  if (first !== undefined) throw first.withDetails({ problems: others.map(toProblem) });
};

/** @throws Failure `invalid-option-value` */
const parseCallId = (word: string): string => {
  const id = word.trim();
  if (id === "") throw wrongValue("<call-id>", word, "a call id");
  return id;
};

/** Yields the ids in order. `-` means the ids from stdin. @throws Failure `call-ids-unreadable`, the signal's reason */
async function* readCallIds(
  host: Host,
  { words, canBeEmpty }: { readonly words: readonly string[]; readonly canBeEmpty: boolean },
  stop: AbortSignal,
): AsyncGenerator<string, void> {
  const input = async function* (): AsyncGenerator<Uint8Array, void> {
    try {
      const signal = AbortSignal.any([host.signal, stop]);
      for await (const chunk of addAbortSignal(signal, host.stdin)) yield Buffer.from(chunk);
    } catch (thrown) {
      host.signal.throwIfAborted();
      throw callIdsUnreadable(getErrorCode(thrown), thrown);
    }
  };
  for (const [at, word] of words.entries()) {
    if (word !== "-") yield word;
    else if (words.indexOf("-") === at) yield* parseCallIds(input(), { canBeEmpty });
  }
}

async function* distinctIds(ids: AsyncIterable<string>): AsyncGenerator<string, void> {
  const known = new Set<string>();
  for await (const id of ids) {
    if (!known.has(id)) yield id;
    known.add(id);
  }
}

type Outcome =
  | (ReadCall & {
      readonly kind: "found";
      /** Fields with another type than in the interface. */
      readonly mistyped: readonly string[];
    })
  | MissingCall
  | FailedCall;

interface MissingCall {
  readonly kind: "missing";
  readonly id: string;
  /** The 404; undefined if the service answered with a null call. */
  readonly http: HttpFacts | undefined;
}

interface FailedCall {
  readonly kind: "failed";
  readonly id: string;
  readonly failure: Failure;
  /** True if the next request would fail in the same way. */
  readonly isFatal: boolean;
}

/** Opens the reader of a project's calls (interface 4.3). */
const openReader = async (context: Context, settings: Settings, typed: CallReadOptions) => {
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
      const call = parseRawJson(sliceText(value.bytes, rootSpan(value.bytes)));
      return { kind: "found", id, call, reply: bytes, mistyped: value.mistyped };
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      if (thrown.code === "not_found") return { kind: "missing", id, http: thrown.details.http };
      // Other failures are not about a call and end the run.
      if (!readFailureCodes.some((code) => code === thrown.code)) throw thrown;
      return { kind: "failed", id, failure: thrown, isFatal: !isCallSpecific(thrown) };
    }
  };
};

const readFailureCodes = ["auth", "refused", "unavailable"] as const;

/** Failures that concern one call. Failures of keys, URLs and settings would repeat for every call. */
const callSpecificKinds = ["request-refused", "service-unavailable", "invalid-reply", "reply-too-large"];

/** Codes of a connection that broke during the answer. */
const brokenConnectionCodes = ["SILENT", "ENDLESS", "CUT", "CUT_HEADERS", "ECONNRESET", "EPIPE", "ETIMEDOUT"];

const isCallSpecific = (failure: Failure): boolean =>
  callSpecificKinds.includes(failure.kind) ||
  (isFailure(failure, "connection-failed") && brokenConnectionCodes.includes(failure.details.systemCode ?? "")) ||
  // 403: a valid key without access to this call.
  (isFailure(failure, "credential-refused") && failure.details.http?.status !== 401);

interface ReadState {
  requested: number;
  filteredOut: number;
  readonly missing: MissingCall[];
  readonly failed: FailedCall[];
  failedInARow: number;
  stopped: UnreadableCalls["stopped"];
  readonly running: string[];
  /** Number of calls by their fields with another type than in the interface. */
  readonly mistyped: Map<string, number>;
}

const recordOutcome = (state: ReadState, outcome: Outcome): void => {
  state.requested++;
  const isServiceFailure = outcome.kind === "failed" && outcome.failure.kind !== "request-refused";
  state.failedInARow = isServiceFailure ? state.failedInARow + 1 : 0;
  if (outcome.kind === "missing") state.missing.push(outcome);
  else if (outcome.kind === "failed") {
    state.failed.push(outcome);
    if (outcome.isFatal) state.stopped ??= "at-once";
    if (state.failedInARow >= maxFailedInARow) state.stopped ??= "in-a-row";
  } else {
    for (const field of outcome.mistyped) state.mistyped.set(field, (state.mistyped.get(field) ?? 0) + 1);
    if (isRunning(outcome.call)) state.running.push(outcome.id);
  }
};

/** Prints how many calls were filtered out, and which fields have another type. */
const printOutcomes = (state: ReadState, { screen }: Context): void => {
  const { requested, filteredOut, mistyped, missing, failed } = state;
  const found = requested - missing.length - failed.length;
  const calls = pluralize(found, "call");
  if (filteredOut > 0 && filteredOut === found) screen.notice(`the filters match none of ${calls}`);
  else if (filteredOut > 0) screen.notice(`filtered out ${filteredOut} of ${calls}`);
  if (mistyped.size === 0) return;
  const fields = Array.from(mistyped, ([field, count]) =>
    requested === 1 ? field : `${field} (${count} of ${requested} calls)`,
  );
  screen.notice(`printed fields of unexpected types as received: ${fields.join(", ")}`);
};

const idsOf = (calls: readonly { readonly id: string }[]): readonly string[] => [...new Set(calls.map(({ id }) => id))];

const toMissingFailure = ({ missing, requested }: ReadState, project: string): readonly Failure[] => {
  if (missing.length === 0) return [];
  const http = missing.find((one) => one.http !== undefined)?.http;
  return [callsMissing({ ids: idsOf(missing), asked: requested, project }, http && { http })];
};

/** The failures of unreadable calls, one per code. */
const toReadFailures = ({ failed, requested, stopped }: ReadState): readonly Failure[] => {
  const [only] = failed;
  // A fatal failure of all calls is not about any of them.
  if (only !== undefined && (requested === 1 || (only.isFatal && requested === failed.length))) return [only.failure];
  return readFailureCodes.flatMap((code) => {
    const own = failed.filter(({ failure }) => failure.code === code);
    const [first] = own;
    if (first === undefined) return [];
    const { message: why, details } = first.failure;
    const { http, hint: advice } = details;
    const unreadable = { ids: idsOf(own), why, advice, requested, stopped };
    return [callsUnreadable(code, unreadable, { ...(http && { http }), cause: first.failure })];
  });
};

/** Another failure, as a problem of the failure that ends the run. */
const toProblem = ({ kind, message, details: { hint } }: Failure): Problem => ({
  rule: kind,
  severity: "error",
  message,
  ...(hint === undefined ? {} : { advice: hint }),
});

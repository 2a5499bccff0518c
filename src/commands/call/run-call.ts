/** Runs `rollcall call read` (interface 4.3). */

import { addAbortSignal, Readable } from "node:stream";
import { type CallReference, parseCallIds, parseReference } from "../../calls/parse-ids.ts";
import { Failure } from "../../failure.ts";
import { findValue } from "../../json/raw-json.ts";
import { checkRequest, listCallArgs, openServiceClient, readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import type { Settings } from "../../settings/read.ts";
import { invalidOptionValue } from "../../system/failures.ts";
import { getErrorCode } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { describeSystemCode, formatList } from "../../text/sentences.ts";
import { formatOwnCommand } from "../../text/shell-words.ts";
import { readCall } from "../../wire/contract/reads.ts";
import type { CallReadOptions } from "./command.ts";
import { callsMissing, type ReadCall, selectPrinter } from "./print-calls.ts";

/** After so many consecutive failures, the service is probably the cause. */
const maxFailedInARow = 8;

const requestsInFlight = 8;

export const readCalls = async (context: Context, typed: CallReadOptions) => {
  const { screen } = context;
  const typedIds = typed.callId.map(parseCallId);
  const print = selectPrinter(screen, typed.path);
  const settings = await readEffectiveSettings(context);
  settings.requireAll(["base_url", "project"]);
  await checkRequest(context, settings, readCall, { parameters: {} });
  const tally: ReadTally = { requested: 0, failedInARow: 0, failed: [], hasStopped: false };
  const read = await openReader(context, settings, { typed, tally });
  const calls = readInOrder(context, typedIds, read, tally);
  const vendorPrefix = settings.require("vendor_prefix");
  const missing = await print({ calls, requested: () => tally.requested }, { ...typed, vendorPrefix });
  if (screen.isReaderGone) return;
  const [first, ...others] = [...toFailures(tally, context.flags), ...(missing ? [missing] : [])];
  if (!first) return;
  throw first.withDetails({
    problems: others.map(({ code: rule, message, details: { hint: advice } }) => {
      return { rule, severity: "error", message, advice };
    }),
  });
};

const parseCallId = (word: string) => {
  const reference = parseReference(word.trim());
  const wanted = "a call id, or a URL or reference that ends with /call/<id>";
  if (!reference?.id) throw invalidOptionValue("<call-id>", word, wanted);
  return reference;
};

/** Returns undefined if no more calls are read. */
type CallReader = (reference: CallReference) => Promise<ReadCall | UnreadableCall | undefined>;

async function* readInOrder(
  { host, screen }: Context,
  typedIds: readonly CallReference[],
  read: CallReader,
  tally: ReadTally,
): AsyncIterable<ReadCall> {
  const stop = new AbortController();
  const progress = screen.startProgress("reading calls");
  try {
    const ids = readCallIds(host, typedIds, AbortSignal.any([host.signal, stop.signal]));
    for await (const result of Readable.from(ids).map(read, { concurrency: requestsInFlight })) {
      if (result === undefined) return;
      countResult(tally, result);
      progress.update(`reading calls: ${tally.requested} done`);
      if ("call" in result) yield result;
      if (screen.isReaderGone) return;
    }
  } finally {
    stop.abort();
    progress.stop();
  }
}

/** Reads ids from stdin in place of the first `-`. @throws Failure `call-ids-…`, `invalid-call-id`, `interrupted` */
async function* readCallIds(host: Host, typedIds: readonly CallReference[], signal: AbortSignal) {
  const input = async function* () {
    try {
      for await (const chunk of addAbortSignal(signal, host.stdin)) yield Buffer.from(chunk);
    } catch (thrown) {
      host.signal.throwIfAborted();
      const message = `cannot read call ids from standard input: ${describeSystemCode(getErrorCode(thrown))}`;
      const hint = "pass the ids as arguments, or run `rollcall call read - < ids.txt`";
      throw new Failure("invalid_input", "call-ids-unreadable", message, { hint, cause: thrown });
    }
  };
  const firstInput = typedIds.findIndex(({ id }) => id === "-");
  for (const [at, typed] of typedIds.entries()) {
    if (typed.id !== "-") yield typed;
    else if (firstInput === at) yield* parseCallIds(input());
  }
}

type UnreadableCall = { id: string; project: string; failure: Failure };

/** The returned function reads nothing after the tally has stopped. */
const openReader = async (
  context: Context,
  settings: Settings,
  { typed, tally }: { typed: CallReadOptions; tally: ReadTally },
): Promise<CallReader> => {
  const client = await openServiceClient(context, settings);
  const request = {
    include_costs: typed.costs,
    include_storage_size: typed.storageSize,
    include_total_storage_size: typed.totalStorageSize,
  };
  return async ({ id, project = settings.require("project") }) => {
    if (tally.hasStopped) return undefined;
    try {
      const reply = await client.send(readCall, { parameters: {}, body: { ...request, project_id: project, id } });
      const call = findValue(reply, "call");
      if (!call) throw callsMissing({ ids: [id], requested: 1, project });
      return { id, call, reply };
    } catch (thrown) {
      // A failure with a code outside `readFailureCodes` concerns all calls.
      if (!(thrown instanceof Failure) || !readFailureCodes.some((code) => code === thrown.code)) throw thrown;
      tally.hasStopped ||= thrown.details.http?.status === 401;
      return { id, project, failure: thrown };
    }
  };
};

const readFailureCodes = ["auth", "refused", "unavailable", "not_found"] as const;

type ReadTally = Record<"requested" | "failedInARow", number> & {
  readonly failed: UnreadableCall[];
  /** True after status 401 or `maxFailedInARow` consecutive failures. */
  hasStopped: boolean;
};

const countResult = (tally: ReadTally, result: ReadCall | UnreadableCall) => {
  tally.requested++;
  if ("failure" in result) tally.failed.push(result);
  const isServiceFailure =
    "failure" in result && result.failure.code !== "not_found" && result.failure.kind !== "request-refused";
  tally.failedInARow = isServiceFailure ? tally.failedInARow + 1 : 0;
  tally.hasStopped ||= tally.failedInARow >= maxFailedInARow;
};

const toFailures = (tally: ReadTally, flags: Context["flags"]) => {
  const { failed, requested, failedInARow, hasStopped } = tally;
  const cause = failed[0]?.failure;
  const isOnlyCause = failed.length === requested && failed.every(({ failure }) => failure.message === cause?.message);
  if (cause && isOnlyCause && failedInARow < maxFailedInARow && cause.code !== "not_found") return [cause];
  return readFailureCodes.flatMap((code) => {
    const ofCode = failed.filter(({ failure }) => failure.code === code);
    const failures = ofCode.map(({ failure }) => failure);
    const [{ id: firstId, failure: first } = {}] = ofCode;
    if (firstId === undefined || !first) return [];
    const ids = ofCode.map(({ id }) => id);
    const http = failures.find(({ details }) => details.http)?.details.http;
    const project = formatList([...new Set(ofCode.map((each) => each.project))]);
    if (code === "not_found") return callsMissing({ ids, requested, project }, http && { http });
    const from = ids.length === 1 ? "" : `${ids[0]}: `;
    const [which, end] = hasStopped ? ["the first ", ", so rollcall stopped"] : ["", ""];
    const message = `cannot read ${ids.length} of ${which}${requested} calls: ${formatList([...new Set(ids)])} (${from}${first.message})${end}`;
    const isRefused = code === "refused";
    const hint = isRefused
      ? `examine one of these calls: \`${formatOwnCommand([...listCallArgs(firstId, flags), "--debug"])}\``
      : first.details.hint;
    return new Failure(code, `calls-${code}`, message, { hint, http, cause: first });
  });
};

/** Runs `rollcall call read` (interface 4.3). */

import { addAbortSignal, Readable } from "node:stream";
import { type CallReference, parseCallIds, parseReference } from "../../calls/parse-ids.ts";
import { Failure } from "../../failure.ts";
import { findValue } from "../../json/raw-json.ts";
import { checkRequest, openServiceClient, readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import type { Settings } from "../../settings/read.ts";
import { invalidOptionValue } from "../../system/failures.ts";
import { getErrorCode } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { describeSystemCode, formatList } from "../../text/sentences.ts";
import { readCall } from "../../wire/contract/reads.ts";
import type { CallReadOptions } from "./command.ts";
import { callsMissing, type ReadCall, selectPrinter } from "./print-calls.ts";

const requestsInFlight = 8;

export const readCalls = async (context: Context, typed: CallReadOptions) => {
  const { screen } = context;
  const typedIds = typed.callId.map(parseCallId);
  const print = selectPrinter(screen, typed.path);
  const settings = await readEffectiveSettings(context);
  settings.requireAll(["base_url", "project"]);
  await checkRequest(context, settings, readCall, { parameters: {} });
  const tally: ReadTally = { requested: 0, missing: [] };
  const read = await openReader(context, settings, typed);
  const calls = readInOrder(context, typedIds, read, tally);
  const vendorPrefix = settings.require("vendor_prefix");
  const missing = await print({ calls, requested: () => tally.requested }, { ...typed, vendorPrefix });
  if (screen.isReaderGone) return;
  const [first, ...others] = [...toFailures(tally), ...(missing ? [missing] : [])];
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

/** Without a failure, the call does not exist. */
type UnreadableCall = Readonly<{ id: string; project: string; failure?: Failure }>;
type CallReader = (reference: CallReference) => Promise<ReadCall | UnreadableCall>;

type ReadTally = { requested: number; readonly missing: UnreadableCall[]; stoppedBy?: Failure };

async function* readInOrder(
  { host, screen }: Context,
  typedIds: readonly CallReference[],
  read: CallReader,
  tally: ReadTally,
): AsyncIterable<ReadCall> {
  const stop = new AbortController();
  const progress = screen.startProgress("reading calls");
  const isOnlyId = typedIds.length === 1 && typedIds[0]?.id !== "-";
  try {
    const ids = readCallIds(host, typedIds, AbortSignal.any([host.signal, stop.signal]));
    for await (const result of Readable.from(ids).map(read, { concurrency: requestsInFlight })) {
      tally.requested++;
      progress.update(`reading calls: ${tally.requested} done`);
      if ("call" in result) yield result;
      else if (!result.failure || result.failure.code === "not_found") tally.missing.push(result);
      else tally.stoppedBy = isOnlyId ? result.failure : nameCall(result.failure, result.id);
      if (tally.stoppedBy || screen.isReaderGone) return;
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

const openReader = async (context: Context, settings: Settings, typed: CallReadOptions): Promise<CallReader> => {
  const client = await openServiceClient(context, settings);
  const request = {
    include_costs: typed.costs,
    include_storage_size: typed.storageSize,
    include_total_storage_size: typed.totalStorageSize,
  };
  return async ({ id, project = settings.require("project") }) => {
    try {
      const reply = await client.send(readCall, { parameters: {}, body: { ...request, project_id: project, id } });
      const call = findValue(reply, "call");
      return call ? { id, call, reply } : { id, project };
    } catch (thrown) {
      context.host.signal.throwIfAborted();
      if (!(thrown instanceof Failure)) throw thrown;
      return { id, project, failure: thrown };
    }
  };
};

const nameCall = (failure: Failure, id: string) => {
  const { code, kind, message, details } = failure;
  return new Failure(code, kind, `cannot read call \`${id}\`: ${message}`, { ...details, cause: failure });
};

const toFailures = ({ requested, missing, stoppedBy }: ReadTally) => {
  if (missing.length === 0) return stoppedBy ? [stoppedBy] : [];
  const ids = missing.map(({ id }) => id);
  const project = formatList([...new Set(missing.map((each) => each.project))]);
  const http = missing.find(({ failure }) => failure)?.failure?.details.http;
  return [...(stoppedBy ? [stoppedBy] : []), callsMissing({ ids, requested, project }, http && { http })];
};

/** Reads one call after another for `call read`: what the service has by an id, or why it could not be read. */
import { isGoingOn, readHead, type Waiting } from "../../calls/index.ts";
import { openClient } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { readCall } from "../../contract/call.ts";
import { mistypedNames } from "../../contract/fields.ts";
import { Failure, type FailureCode, type HttpFacts, isFailure } from "../../failure.ts";
import { spanAt } from "../../json/walk.ts";
import type { Settings } from "../../settings/index.ts";
import type { CallShown } from "./options.ts";

/** What became of one id: the call's own JSON, nothing by that id, or what keeps it from being read. */
export type CallOutcome = FoundCall | MissingCall | FailedCall;

/** A call. */
export interface FoundCall {
  readonly kind: "found";
  /** As it was asked for. */
  readonly id: string;
  /** As the service wrote it: one JSON object. */
  readonly bytes: Uint8Array;
  /** The whole reply, which holds it under `call`. */
  readonly reply: Uint8Array;
  /** Whether it was still running when it was read last; only looked at where running calls are followed. */
  readonly running: boolean;
  /** The fields that are not of the interface's types. */
  readonly mistyped: readonly string[];
}

/** No call. */
export interface MissingCall {
  readonly kind: "missing";
  readonly id: string;
  /** What a 404 said; undefined where the service answered that there is no such call. */
  readonly http: HttpFacts | undefined;
}

/** A call that could not be read, though others may be. */
export interface FailedCall {
  readonly kind: "failed";
  readonly id: string;
  readonly failure: Failure;
  /** Whether the next would end the same way: no further one is asked for. */
  readonly endsAll: boolean;
}

/** Gives the call of an id; `waiting` follows one that is running, and `isRunning` is told each time it was still. */
export type CallReader = (
  id: string,
  following?: { readonly waiting: Waiting; readonly isRunning: (id: string) => void },
) => Promise<CallOutcome>;

/** Opens the reader of a project's calls (interface 4.3). */
export const openCallReader = async (
  context: Context,
  settings: Settings,
  { costs, storageSize, totalStorageSize }: CallShown,
): Promise<CallReader> => {
  const client = await openClient(context, settings);
  const request = {
    project_id: settings.require("project"),
    include_costs: costs,
    include_storage_size: storageSize,
    include_total_storage_size: totalStorageSize,
  };
  const readOnce = async (id: string, mayRun: boolean): Promise<CallOutcome> => {
    try {
      const reply = await client.send(readCall, { parameters: {}, body: { ...request, id } });
      const { call } = reply.value;
      if (call === null) return { kind: "missing", id, http: undefined };
      const span = spanAt(reply.bytes, ["call"]);
      const bytes = reply.bytes.subarray(span?.start, span?.end);
      const running = mayRun && isGoingOn(readHead(bytes));
      return { kind: "found", id, bytes, reply: reply.bytes, running, mistyped: mistypedNames(call) };
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      if (thrown.code === "not_found") return { kind: "missing", id, http: thrown.about.http };
      if (!endings.has(thrown.code)) throw thrown;
      return { kind: "failed", id, failure: thrown, endsAll: !isOfOneCall(thrown) };
    }
  };
  return async (id, following) => {
    if (following === undefined) return await readOnce(id, false);
    return await following.waiting.until(
      () => readOnce(id, true),
      (outcome) => {
        const running = outcome.kind === "found" && outcome.running;
        if (running) following.isRunning(id);
        return running;
      },
    );
  };
};

/** So many calls in a row that can't be read, none refused by itself, are the service's own trouble. */
const mostInARow = 8;

/** Is told one outcome after the other: whether no further call is worth asking for, since too many could not be read. */
export const openPatience = (): ((outcome: CallOutcome) => boolean) => {
  let inARow = 0;
  return (outcome) => {
    inARow = outcome.kind === "failed" && outcome.failure.kind !== "request-refused" ? inARow + 1 : 0;
    return inARow >= mostInARow;
  };
};

/** What a request can end with; anything else is the run's own end. */
const endings: ReadonlySet<FailureCode> = new Set(["auth", "refused", "unavailable"]);

/** How a request can end that says nothing of the next: keys, addresses and settings are the same for all of them. */
const ofOneCall: ReadonlySet<string> = new Set([
  "request-refused",
  "service-unavailable",
  "reply-unreadable",
  "reply-too-long",
]);

/** Codes of a connection that stood, and broke over the answer. */
const broken: ReadonlySet<string> = new Set([
  "SILENT",
  "ENDLESS",
  "CUT",
  "CUT_HEADERS",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
]);

const isOfOneCall = (failure: Failure): boolean =>
  ofOneCall.has(failure.kind) ||
  (isFailure(failure, "no-connection") && broken.has(failure.about.systemCode ?? "")) ||
  // A key that is known may be kept from one call: 403.
  (isFailure(failure, "credential-refused") && failure.about.http?.status !== 401);

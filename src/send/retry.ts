/** Tries one request until it has an outcome that another try can't, or may not, change, and writes each try down. */
import type { Attempt, Client, Patience } from "../client/index.ts";
import { logTrajectories } from "../contract/log.ts";
import type { Failure } from "../failure.ts";
import type { Reading } from "../groups/index.ts";
import type { Host } from "../host.ts";
import type { RecordedRequest, RunLedger, Settlement } from "../ledger/index.ts";
import { callsTextOf, noCalls } from "./answers.ts";
import { bodyOf, chunksOf } from "./body.ts";
import { type Compression, packed, packedBody } from "./packed.ts";
import type { Frame, PlannedRequest } from "./plan.ts";
import { type Outcome, outcomeOf } from "./requests.ts";
import { isHonoured, type KeyFacts, type OnUnknown } from "./unknown.ts";

/** How requests are tried. */
export interface TryOptions extends KeyFacts {
  readonly client: Client;
  readonly modelId: string;
  readonly frame: Frame;
  readonly runLedger: RunLedger;
  readonly onUnknown: OnUnknown;
  /** Undefined where requests go as they are. */
  readonly compress: Compression | undefined;
  /** How long one request is tried again. */
  readonly maxWaitMs: number;
}

/** What a try stands in: the run that it is part of. */
interface TryRun {
  /** What ends waiting, and what ends a request that is on its way at once. */
  readonly until: Pick<Host, "signal" | "urgent">;
  readonly patience: Patience;
  /** Whether something else has ended the run meanwhile. */
  readonly isOver: () => boolean;
  /** Told that another try will be made, and why, before it is waited for. */
  readonly onAgain: (attempt: Attempt, outcome: Outcome) => void;
  /** Told of bytes of the body that were handed over, and, as a negative number, of those that no longer count. */
  readonly onBytes: (bytes: number) => void;
}

/** A request that is being tried. */
export interface TriedRequest {
  readonly request: PlannedRequest;
  /** The how-manieth of the run it is, from 1. */
  readonly number: number;
  readonly recorded: RecordedRequest;
  /** Whether one of its tries may have been logged: then nothing but a success says what became of it. */
  uncertain: boolean;
  /** What that try ended with, where it was one of this run. */
  doubt?: Failure | undefined;
  /** What came of the last try. */
  last: Omit<Settlement, "state">;
}

/** Outcomes after which another try is made. */
export const retried: ReadonlySet<Outcome> = new Set(["not-sent", "not-processed"]);

/**
 * Tries a request; the ledger has what became of it, unless that is the end of it: logged, refused or too large.
 * @throws Failure of a body that changed, a credential, the ledger, or a signal between two tries
 */
export const tryUntilKnown = async (
  reading: Reading,
  tried: TriedRequest,
  options: TryOptions & TryRun,
): Promise<Attempt> => {
  const { host, runLedger, patience, isOver, onAgain, frame, compress } = options;
  const { request } = tried;
  const pieces = compress === undefined ? undefined : await packed(chunksOf(reading, { frame, request }), compress);
  let firstEndMs: number | undefined;
  for (;;) {
    const attempt = await tryOnce(reading, tried, { ...options, pieces });
    const outcome = outcomeOf(attempt);
    tried.last = settlementOf(attempt);
    if (outcome === "unknown") {
      tried.uncertain = true;
      tried.doubt = attempt.failure;
    }
    if (outcome !== "unknown" && !retried.has(outcome)) return attempt;
    await writeDown(tried, attempt, { runLedger, state: tried.uncertain ? "unknown" : "not_sent" });
    firstEndMs ??= host.elapsed();
    const may = outcome !== "unknown" || options.onUnknown === "resend" || isHonoured(tried.recorded, options);
    const isLate = isOver() || host.signal.aborted || host.elapsed() - firstEndMs > options.maxWaitMs;
    const askedMs = attempt.kind === "answered" ? attempt.retryAfterMs : undefined;
    if (!may || isLate || !(await patience.wait(askedMs, () => onAgain(attempt, outcome)))) return attempt;
    if (!(await runLedger.again(tried.recorded))) return attempt;
  }
};

/** Writes down what became of a request, and what its answer tells of the service. */
export const writeDown = async (
  { recorded, last }: TriedRequest,
  attempt: Attempt,
  { runLedger, state }: { readonly runLedger: RunLedger; readonly state: Settlement["state"] },
): Promise<void> => {
  await runLedger.settle(recorded, { ...last, state });
  const echoes = attempt.kind === "answered" && recorded.key !== "" && attempt.idempotencyKey === recorded.key;
  if (echoes && !runLedger.echoesKey) await runLedger.rememberEcho();
};

const tryOnce = async (
  reading: Reading,
  { request, recorded }: TriedRequest,
  {
    client,
    modelId,
    frame,
    idempotency,
    until,
    onBytes,
    compress,
    pieces,
    runLedger,
  }: TryOptions & TryRun & { readonly pieces: readonly Buffer[] | undefined },
): Promise<Attempt> => {
  const grace = openGrace(until);
  let flown = 0;
  const tell = (bytes: number) => {
    flown += bytes;
    onBytes(bytes);
  };
  const told = { onBytes: tell, beforeBytes: () => runLedger.requireLease() };
  const body =
    pieces === undefined
      ? bodyOf(reading, { frame, request, ...told })
      : packedBody(pieces, { of: request.bytes, ...told });
  return await client
    .attempt(logTrajectories, {
      parameters: { model_id: modelId },
      body,
      headers: {
        ...(compress === undefined ? {} : { "Content-Encoding": compress }),
        ...(idempotency && recorded.key !== "" ? { "Idempotency-Key": recorded.key } : {}),
      },
      signal: grace.signal,
    })
    .finally(() => {
      grace.end();
      onBytes(-flown);
    });
};

/** After a signal the request in flight has this long (promises.md, "What the ledger promises"). */
export const graceMs = 5000;

/** A signal that aborts some time after the host's, or at once where the run was told to stop a second time. */
const openGrace = ({
  signal,
  urgent,
}: Pick<Host, "signal" | "urgent">): { readonly signal: AbortSignal; end(): void } => {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const stop = () => abort.abort(signal.reason);
  const start = () => {
    timer ??= setTimeout(stop, graceMs);
  };
  signal.addEventListener("abort", start, { once: true });
  urgent.addEventListener("abort", stop, { once: true });
  if (signal.aborted) start();
  if (urgent.aborted) stop();
  return {
    signal: abort.signal,
    end: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", start);
      urgent.removeEventListener("abort", stop);
    },
  };
};

const settlementOf = (attempt: Attempt): Omit<Settlement, "state"> =>
  attempt.kind === "answered"
    ? {
        status: attempt.status,
        cause: null,
        calls: attempt.failure === undefined ? callsTextOf(attempt.body) : noCalls,
      }
    : { status: null, cause: attempt.code, calls: noCalls };

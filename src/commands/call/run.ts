/** `rollcall call read`: shows traced calls in the order given (interface 4.3). */
import { addAbortSignal } from "node:stream";
import { idsOfLines, inOrder, openWaiting } from "../../calls/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { codeOf } from "../../files.ts";
import type { Host } from "../../host.ts";
import { type ReadOptions, readMeant, type TypedRead } from "./options.ts";
import { type CallOutcome, type CallReader, type MissingCall, openCallReader } from "./reader.ts";
import { type CallResults, openCallResults } from "./results.ts";

/** Reads calls and prints them. @throws Failure what could not be read or done, once the rest was printed */
export const run = async (context: Context, words: readonly string[], typed: TypedRead): Promise<void> => {
  const options = readMeant(context, words, typed);
  const { form, shown, wait } = options;
  const settings = await settingsInForce(context);
  const [project, vendorPrefix] = [settings.require("project"), settings.require("vendor_prefix")];
  const boundMs = settings.require("max_wait");
  const read = await openCallReader(context, settings, shown);
  const results = await openCallResults(context, { form, shown, vendorPrefix });
  const seen = openSeen();
  const isWhole = await takeAll(context, { options, read, results, seen, boundMs });
  if (!isWhole) return;
  const failure = await results.end({ asked: seen.asked, missing: seen.missing.length });
  seen.say(context);
  seen.fail({ failure, project, waitedMs: wait ? boundMs : undefined, context });
};

/** Everything that a run of `call read` is made of. */
interface Run {
  readonly options: ReadOptions;
  readonly read: CallReader;
  readonly results: CallResults;
  readonly seen: Seen;
  /** Bound of waiting for running calls. */
  readonly boundMs: number;
}

/** Hands every call to the results as its turn comes. False where nobody reads what is printed any more. */
const takeAll = async (context: Context, { options, read, results, seen, boundMs }: Run): Promise<boolean> => {
  const { host, screen } = context;
  const { words, form, wait, concurrency } = options;
  const progress = screen.progress("reading calls");
  const isRunning = (id: string) => progress.update(`reading calls: ${seen.asked} done, ${id} is still running`);
  const following = wait ? { waiting: openWaiting(host, boundMs), isRunning } : undefined;
  const stop = new AbortController();
  try {
    const ids = callIds(host, words, stop.signal);
    const asked = form.kind === "summary" ? once(ids) : ids;
    for await (const outcome of inOrder(asked, (id) => read(id, following), concurrency)) {
      progress.update(`reading calls: ${++seen.asked} done`);
      seen.note(outcome);
      if (outcome.kind === "found") await results.take(outcome);
      if (screen.readerGone) return false;
    }
    return true;
  } catch (thrown) {
    if (!host.signal.aborted) await results.cut();
    throw thrown;
  } finally {
    stop.abort();
    progress.stop();
  }
};

/** The ids in the order given; `-` stands for those of standard input. */
async function* callIds(host: Host, words: readonly string[], stop: AbortSignal): AsyncGenerator<string, void> {
  let taken = false;
  for (const word of words) {
    if (word !== "-") yield word;
    else if (!taken) {
      taken = true;
      yield* idsOfLines(chunksOf(host, stop));
    }
  }
}

/** Every id at its first place. */
async function* once(ids: AsyncIterable<string>): AsyncGenerator<string, void> {
  const known = new Set<string>();
  for await (const id of ids) {
    if (known.has(id)) continue;
    known.add(id);
    yield id;
  }
}

/** Standard input, until the run is interrupted or over. @throws Failure `call-ids-unreadable`, the signal's reason */
async function* chunksOf({ stdin, signal }: Host, stop: AbortSignal): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of addAbortSignal(AbortSignal.any([signal, stop]), stdin)) yield Buffer.from(chunk);
  } catch (thrown) {
    signal.throwIfAborted();
    throw new Failure("call-ids-unreadable", { from: "standard input", code: codeOf(thrown) }, { cause: thrown });
  }
}

/** What was seen so far. */
interface Seen {
  /** Ids that were asked for. */
  asked: number;
  readonly missing: MissingCall[];
  /** Takes note of the mistyped fields of a call, or that there is none. */
  note(outcome: CallOutcome): void;
  /** Says which fields were mistyped, once. */
  say(context: Context): void;
  /** @throws Failure where something is missing, could not be done, or did not end; what goes first is in the table of exit codes */
  fail(about: EndOf): void;
}

/** How a run ended. */
interface EndOf {
  /** What could not be made of the calls. */
  readonly failure: Failure | undefined;
  readonly project: string;
  /** How long running calls were waited for; undefined where nobody asked to. */
  readonly waitedMs: number | undefined;
  readonly context: Context;
}

/** Nothing seen yet. */
const openSeen = (): Seen => {
  const mistyped = new Map<string, number>();
  const running: string[] = [];
  const seen: Seen = {
    asked: 0,
    missing: [],
    note(call) {
      if (call.kind === "missing") {
        seen.missing.push(call);
        return;
      }
      for (const field of call.mistyped) mistyped.set(field, (mistyped.get(field) ?? 0) + 1);
      if (call.running) running.push(call.id);
    },
    say({ screen }) {
      if (mistyped.size === 0) return;
      const fields = Array.from(mistyped, ([field, calls]) =>
        seen.asked === 1 ? field : `${field} (${calls} of ${seen.asked} calls)`,
      );
      screen.notice(`not of the interface's type, and shown as it came: ${fields.join(", ")}`);
    },
    fail({ failure, project, waitedMs, context }) {
      const late = waitedMs === undefined || running.length === 0 ? undefined : lateFailure(waitedMs);
      const failures = [missingFailure(seen, project), failure, late].filter((one) => one !== undefined);
      const [first, ...others] = failures;
      for (const other of others) context.screen.notice(`also: ${said(other)}`);
      if (first !== undefined) throw first;
    },
  };
  const lateFailure = (waitedMs: number): Failure =>
    new Failure("calls-running", { ids: running, asked: seen.asked, waitedMs });
  return seen;
};

const missingFailure = ({ missing, asked }: Seen, project: string): Failure | undefined => {
  if (missing.length === 0) return undefined;
  const http = missing.find((one) => one.http !== undefined)?.http;
  const ids = [...new Set(missing.map(({ id }) => id))];
  return new Failure("calls-missing", { ids, asked, project }, http === undefined ? {} : { http });
};

/** What another failure than the one that ends the run says, in a word. */
const said = ({ reason }: Failure): string =>
  reason === "calls-unfit"
    ? "some calls can't be turned into what was asked for"
    : reason === "calls-running"
      ? "some calls are still running"
      : "some calls have nothing at that path";

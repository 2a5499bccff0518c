/** `rollcall call`: traced calls of a project. */
import { addAbortSignal } from "node:stream";
import type { Command } from "commander";
import type { Context, Start } from "../../context.ts";
import { Failure } from "../../failure.ts";
import type { Host } from "../../host.ts";
import { examples } from "../help.ts";
import { type ReadOptions, readMeant, readOptions, type TypedRead } from "./options.ts";
import { type CallReader, openCallReader } from "./reader.ts";
import { type CallResults, openCallResults } from "./results.ts";
import { openSeen, type Seen } from "./seen.ts";

/** Declares `call read` (interface 4.3). */
export const declareCall = (parent: Command, start: Start): void => {
  const group = parent.command("call").description("read traced calls");
  const command = readOptions(
    group
      .command("read")
      .description("show one or more traced calls")
      .argument("<call-id...>", "ids of calls; - takes them from standard input: a line, or the id of a JSON line"),
  ).action(async (words: string[], typed: TypedRead, own: Command) => {
    const context = start(own);
    await readCalls(context, await readMeant(context, words, typed));
  });
  const lines = [
    "rollcall call read 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11 --costs",
    "rollcall ledger calls --since 1d | rollcall call read - --costs --summary",
  ];
  examples(group, lines);
  examples(command, lines);
};

/** Reads calls and prints them in the order given. @throws Failure what could not be read or done, once the rest was printed */
const readCalls = async (context: Context, options: ReadOptions): Promise<void> => {
  const { form, shown, wait } = options;
  const settings = await context.settings();
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
  const { inOrder, openWaiting } = await context.calls();
  const progress = screen.progress("reading calls");
  const isRunning = (id: string) => progress.update(`reading calls: ${seen.asked} done, ${id} is still running`);
  const following = wait ? { waiting: openWaiting(host, boundMs), isRunning } : undefined;
  const stop = new AbortController();
  try {
    const ids = callIds(context, words, stop.signal);
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
async function* callIds(context: Context, words: readonly string[], stop: AbortSignal): AsyncGenerator<string, void> {
  const { idsOfLines } = await context.calls();
  let taken = false;
  for (const word of words) {
    if (word !== "-") yield word;
    else if (!taken) {
      taken = true;
      yield* idsOfLines(chunksOf(context.host, stop));
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
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown";
    throw new Failure("call-ids-unreadable", { from: "standard input", code }, { cause: thrown });
  }
}

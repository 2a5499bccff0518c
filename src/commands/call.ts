/** `rollcall call`: traced calls of a project. */
import { addAbortSignal } from "node:stream";
import type { Command } from "commander";
import type { Context, Start } from "../context.ts";
import { Failure, type HttpFacts } from "../failure.ts";
import type { Host } from "../host.ts";
import { members, skipWhite } from "../json.ts";
import { printCalls } from "../output/index.ts";
import type { Settings } from "../settings/index.ts";
import { examples } from "./help.ts";

/** What `call read` was asked for. */
interface ReadOptions {
  readonly ids: AsyncIterable<string>;
  readonly asked: Asked;
}

interface Asked {
  readonly costs: boolean;
  readonly storageSize: boolean;
  readonly totalStorageSize: boolean;
}

interface TypedRead {
  readonly costs?: boolean;
  readonly storageSize?: boolean;
  readonly totalStorageSize?: boolean;
}

/** Calls that are read at the same time: enough to hide the way there and back, few enough for any service. */
const readAtOnce = 4;

/** Declares `call read` (service-interface 4.3). */
export const declareCall = (parent: Command, start: Start): void => {
  const group = parent.command("call").description("read traced calls");
  const command = group
    .command("read")
    .description("show one or more traced calls")
    .argument("<call-id...>", "ids of calls; - takes them from standard input")
    .option("--costs", "ask for the costs too")
    .option("--storage-size", "ask for the size of each call too")
    .option("--total-storage-size", "ask for the size of each call's whole trace too")
    .action(async (words: string[], typed: TypedRead, own: Command) => {
      const context = start(own);
      const asked = {
        costs: typed.costs === true,
        storageSize: typed.storageSize === true,
        totalStorageSize: typed.totalStorageSize === true,
      };
      await readCalls(context, { ids: callIds(words, context.host), asked });
    });
  const lines = [
    "rollcall call read 019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11 --costs",
    "rollcall call read - -o jsonl < ids.txt",
  ];
  examples(group, lines);
  examples(command, lines);
};

/** Reads calls and prints them in the order given. @throws Failure `calls-missing` once the others were printed */
const readCalls = async (context: Context, { ids, asked }: ReadOptions): Promise<void> => {
  const settings = await context.settings();
  const vendorPrefix = settings.require("vendor_prefix");
  const read = await openReader(context, settings, asked);
  const printer = await printCalls({ screen: context.screen, asked: { ...asked, vendorPrefix } });
  const progress = context.screen.progress("reading calls");
  const missing: Missing[] = [];
  let count = 0;
  try {
    for await (const outcome of inOrder(ids, read)) {
      count++;
      progress.update(`reading calls: ${count} done`);
      if (outcome.kind === "missing") missing.push(outcome);
      else await printer.print(outcome.bytes);
      if (context.screen.readerGone) return;
    }
  } catch (thrown) {
    if (!context.host.signal.aborted) await printer.cut();
    throw thrown;
  } finally {
    progress.stop();
  }
  await printer.end({ several: count > 1 });
  if (missing.length > 0) throw missingFailure(missing, { asked: count, project: settings.require("project") });
};

/** What became of one id: the call's own JSON, or nothing by that id. */
type Outcome = { readonly kind: "found"; readonly bytes: Uint8Array } | Missing;

interface Missing {
  readonly kind: "missing";
  readonly id: string;
  /** What a 404 said; undefined where the service answered that there is no such call. */
  readonly http: HttpFacts | undefined;
}

const openReader = async (
  context: Context,
  settings: Settings,
  asked: Asked,
): Promise<(id: string) => Promise<Outcome>> => {
  const { readCall } = await context.contract.call();
  const client = await context.client(settings);
  const request = {
    project_id: settings.require("project"),
    include_costs: asked.costs,
    include_storage_size: asked.storageSize,
    include_total_storage_size: asked.totalStorageSize,
  };
  return async (id) => {
    try {
      const reply = await client.send(readCall, { parameters: {}, body: { ...request, id } });
      if (reply.value.call === null) return { kind: "missing", id, http: undefined };
      return { kind: "found", bytes: callBytes(reply.bytes) };
    } catch (thrown) {
      if (!(thrown instanceof Failure) || thrown.code !== "not_found") throw thrown;
      return { kind: "missing", id, http: thrown.about.http };
    }
  };
};

/** The call as the service wrote it. */
const callBytes = (reply: Uint8Array): Uint8Array => {
  const call = [...members(reply, skipWhite(reply, 0))].findLast(({ key }) => key === "call");
  return call === undefined ? reply : reply.subarray(call.value.start, call.value.end);
};

const missingFailure = (
  missing: readonly Missing[],
  about: { readonly asked: number; readonly project: string },
): Failure => {
  const http = missing.find((one) => one.http !== undefined)?.http;
  const ids = [...new Set(missing.map(({ id }) => id))];
  return new Failure("calls-missing", { ids, ...about }, http === undefined ? {} : { http });
};

/** Runs a few at a time and gives what became of each in the order of the inputs. */
async function* inOrder<Input, Output>(
  inputs: AsyncIterable<Input>,
  run: (input: Input) => Promise<Output>,
): AsyncGenerator<Output, void> {
  const running: Promise<Output>[] = [];
  for await (const input of inputs) {
    const started = run(input);
    // One that fails is noticed when its turn comes; another may end the run before.
    started.catch(() => undefined);
    running.push(started);
    if (running.length >= readAtOnce) yield* settle(running.splice(0, 1));
  }
  yield* settle(running);
}

async function* settle<Output>(running: readonly Promise<Output>[]): AsyncGenerator<Output, void> {
  for (const one of running) yield await one;
}

/** Longest line that can be an id: what is longer is some other file. */
const longestId = 1024;

/** The ids in the order given; `-` stands for those of standard input, one a line, blank lines skipped. */
async function* callIds(words: readonly string[], host: Host): AsyncGenerator<string, void> {
  let taken = false;
  for (const word of words) {
    if (word !== "-") yield typedId(word);
    else if (!taken) {
      taken = true;
      yield* idsOf(host);
    }
  }
}

const typedId = (word: string): string => {
  const id = word.trim();
  if (id !== "") return id;
  throw new Failure("option-value-wrong", { option: "<call-id>", value: word, wanted: "the id of a call" });
};

/** @throws Failure `call-id-unreadable`, `call-ids-unreadable`, `call-ids-missing`, the signal's reason */
async function* idsOf(host: Host): AsyncGenerator<string, void> {
  let number = 0;
  let found = 0;
  for await (const bytes of linesOf(chunksOf(host))) {
    number++;
    const id = lineText(bytes, number).trim();
    if (id === "") continue;
    found++;
    yield id;
  }
  if (found === 0) throw new Failure("call-ids-missing", { from: "standard input" });
}

const lineText = (bytes: Uint8Array, line: number): string => {
  if (bytes.length > longestId) throw new Failure("call-id-unreadable", { line, why: "too long" });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Failure("call-id-unreadable", { line, why: "not UTF-8" });
  }
};

/** Lines without their line feed. A line longer than any id is given as soon as that is known. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of chunks) {
    let from = 0;
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(0x0a); end >= 0; end = rest.indexOf(0x0a, from)) {
      yield rest.subarray(from, end);
      from = end + 1;
    }
    rest = rest.subarray(from);
    if (rest.length > longestId) yield rest;
  }
  if (rest.length > 0) yield rest;
}

/** Standard input, until the run is interrupted. */
async function* chunksOf({ stdin, signal }: Host): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const chunk of addAbortSignal(signal, stdin)) yield Buffer.from(chunk);
  } catch (thrown) {
    signal.throwIfAborted();
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "unknown";
    throw new Failure("call-ids-unreadable", { from: "standard input", code }, { cause: thrown });
  }
}

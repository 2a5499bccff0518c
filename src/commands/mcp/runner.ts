/** Runs verbs of the command tree for an agent: on a screen of their own, as `--json` prints them. */
import { Readable, Writable } from "node:stream";
import { type Context, openContext, type Tree } from "../../context.ts";
import { exitCodeOf, Failure, failureOf, isFailure } from "../../failure.ts";
import { withSignal } from "../../host.ts";
import { failureDocument, openScreen, type Screen, screenWords } from "../../output/index.ts";

/** What a verb did. */
export interface Ran {
  /** What it printed: one JSON document, or nothing. */
  readonly printed: Uint8Array;
  /** What it ended with, where that is not success. */
  readonly failure: Failure | undefined;
  readonly context: Context;
}

/** Runs a verb by its words, as `--json` prints it. A list that was read serves the pages after its first. */
export interface Runner {
  run(words: readonly string[], signal: AbortSignal): Promise<Ran>;
  /** What a verb printed that lists; kept for a while. @throws Told */
  list(words: readonly string[], names: Names): Promise<Uint8Array>;
}

/** The names of parameters by the options that they stand for. */
export type Names = ReadonlyMap<string, string>;

/** A failure as a client is told it: the screen that knows the run's secrets has blotted them out. */
export class Told extends Error {
  readonly document: unknown;
  constructor(document: unknown) {
    super("told");
    this.document = document;
  }
}

/** The document of a failure, its secrets blotted out. */
export const documentOf = async (screen: Screen, failure: Failure): Promise<unknown> =>
  await failureDocument(screen, { failure, exitCode: exitCodeOf(failure) });

/** What a run failed with, in the words of the tool that asked for it. */
export const told = async ({ context }: Ran, failure: Failure, names: Names): Promise<Error> =>
  new Told(await documentOf(context.screen, inParameters(failure, names)));

/** An option that is wrong, under the parameter's name. */
const inParameters = (failure: Failure, names: Names): Failure => {
  for (const reason of ["option-value-wrong", "option-needs"] as const) {
    if (!isFailure(failure, reason)) continue;
    const { data, about } = failure;
    return new Failure(reason, { ...data, option: names.get(data.option) ?? data.option }, about);
  }
  return failure;
};

/** How long a list that was read serves the pages after its first. */
const freshMs = 30_000;

/** Opens what runs verbs. */
export const openRunner = (context: Context, tree: Tree): Runner => {
  const { signal, elapsed } = context.host;
  const lists = new Map<string, { readonly until: number; readonly ran: Promise<Ran> }>();
  const runner: Runner = {
    run: async (words, stop) => await runVerb(context, tree, words, stop),
    list: async (words, names) => {
      for (const [key, { until }] of lists) if (until < elapsed()) lists.delete(key);
      const key = words.join("\0");
      const list = lists.get(key) ?? { until: elapsed() + freshMs, ran: runner.run(words, signal) };
      lists.set(key, list);
      const ran = await list.ran;
      if (ran.failure === undefined) return ran.printed;
      if (lists.get(key) === list) lists.delete(key);
      throw await told(ran, ran.failure, names);
    },
  };
  return runner;
};

/** How long a service that is down is tried where nobody says: an agent gives up after a minute, and can try again itself. */
const defaults = { max_wait: "10s" };

const noTerminal = { stdin: false, stdout: false, stderr: false, columns: 80, rows: 24 };

const runVerb = async (server: Context, tree: Tree, words: readonly string[], signal: AbortSignal): Promise<Ran> => {
  const printed: Buffer[] = [];
  const stdout = new Writable({
    write: (chunk: Buffer, _, done) => {
      printed.push(chunk);
      done();
    },
  });
  // One for each run, since each screen listens to its streams for good.
  const stderr = new Writable({ write: (chunk, _, done) => void server.host.stderr.write(chunk, done) });
  // Standard input is the client's: no verb reads it.
  const streams = { stdin: Readable.from([]), stdout, stderr };
  const host = { ...withSignal(server.host, signal), ...streams, terminal: noTerminal };
  const screen = openScreen({ host, words: screenWords({ json: true }) });
  // What a command keeps for the next one is not kept: a tool only reads.
  const context = { ...openContext({ host, screen, flags: server.flags }), afterwards: () => undefined, defaults };
  try {
    await tree.obey(words, () => context);
    return { printed: Buffer.concat(printed), failure: undefined, context };
  } catch (thrown) {
    return { printed: Buffer.concat(printed), failure: failureOf(thrown), context };
  } finally {
    await context.close();
  }
};

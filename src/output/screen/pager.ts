/** Shows what is longer than the terminal through a pager, as git does. */
import { type ChildProcess, spawn } from "node:child_process";
import { type Host, withoutSecrets } from "../../host.ts";
import { splitCommandLine } from "../../shell-words.ts";
import { openSink, type Sink } from "./sink.ts";

/** What is wanted of a pager. */
export interface Paging {
  readonly host: Host;
  /** What is printed so far, and what is still to come. */
  readonly pieces: Iterable<string> | AsyncIterable<string>;
  /** Where it goes where no pager can be had. */
  readonly direct: Sink;
  /** Told the command that can't be started, where a person named it. */
  readonly missing: (command: string) => void;
}

/**
 * Prints through the pager once more has come than the terminal has room for; straight away where it has not. False where
 * whoever read left before the end.
 */
export const printPaged = async ({ host, pieces, direct, missing }: Paging): Promise<boolean> => {
  const rest = Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  const [first, isLong] = await untilFull(rest, host);
  const pager = isLong ? await startPager(host, missing) : undefined;
  if (pager === undefined) return await writeAll(direct, first, rest);
  let whole = false;
  const giveBack = host.lendTerminal();
  const end = () => pager.kill("SIGTERM");
  host.signal.addEventListener("abort", end, { once: true });
  const ended = new Promise<void>((resolve) => pager.once("close", () => resolve()));
  try {
    if (pager.stdin !== null) {
      whole = await writeAll(openSink({ stream: pager.stdin, signal: host.signal }), first, rest);
    }
  } finally {
    pager.stdin?.end();
    await ended;
    host.signal.removeEventListener("abort", end);
    giveBack();
  }
  host.signal.throwIfAborted();
  return whole;
};

type Pieces = Iterator<string> | AsyncIterator<string>;

/** False where the reader left. */
const writeAll = async (sink: Sink, first: readonly string[], rest: Pieces): Promise<boolean> => {
  for (const piece of first) await sink.write(piece);
  for (let next = await rest.next(); next.done !== true && !sink.gone; next = await rest.next()) {
    await sink.write(next.value);
  }
  return !sink.gone;
};

/** Takes pieces until they fill the terminal; whether they do. */
const untilFull = async (
  pieces: Pieces,
  { terminal }: Host,
): Promise<readonly [taken: readonly string[], isLong: boolean]> => {
  const taken: string[] = [];
  let lines = 0;
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    taken.push(next.value);
    lines += linesOf(next.value, terminal.columns || 80);
    // The prompt takes a line of its own.
    if (lines >= (terminal.rows || 24)) return [taken, true];
  }
  return [taken, false];
};

const escapes = /\u001b\[[0-9;]*m/g;

const linesOf = (text: string, columns: number): number =>
  text
    .replace(/\n$/, "")
    .split("\n")
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.replace(escapes, "").length / columns)), 0);

/** The pager, running; undefined where there is none, or none is wanted. */
const startPager = async (host: Host, missing: (command: string) => void): Promise<ChildProcess | undefined> => {
  const asked = host.env.PAGER;
  const [command, ...args] = asked === undefined ? ["less"] : (splitCommandLine(asked, { windows: false }) ?? [asked]);
  if (command === undefined || command === "cat" || host.env.TERM === "dumb") return undefined;
  const { LESS = "FRX", LV = "-c" } = host.env;
  const pager = spawn(command, args, {
    stdio: ["pipe", "inherit", "inherit"],
    // What is shown comes from a service: the pager must not run commands or write files for it.
    env: { ...withoutSecrets(host.env), LESS, LV, LESSSECURE: "1" },
  });
  const started = await new Promise<boolean>((resolve) => {
    pager.once("spawn", () => resolve(true));
    pager.on("error", () => resolve(false));
  });
  if (started) return pager;
  if (asked !== undefined) missing(command);
  return undefined;
};

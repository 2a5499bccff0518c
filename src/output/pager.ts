/** Prints long output in a pager. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Host, removeSecrets } from "../system/host.ts";
import { splitCommandLine } from "../text/shell-words.ts";
import { Sink, writePieces } from "./sink.ts";

type PagedOutput = Readonly<{ host: Host; pieces: AsyncGenerator<string, void>; fallback: Sink }>;

export const printPaged = async ({ host, pieces, fallback }: PagedOutput) => {
  const taken: string[] = [];
  const isLong = await collectScreenful(taken, pieces, host).catch(async (thrown) => {
    await writePieces(fallback, taken);
    throw thrown;
  });
  /** The pieces that a failed pager may not have shown; undefined if there are too many. */
  let sent: string[] | undefined = [];
  let length = 0;
  const allPieces = async function* () {
    yield* taken.splice(0);
    // `yield*` would end `pieces` together with this generator.
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
  };
  const sendPieces = async function* () {
    for await (const piece of allPieces()) {
      length += piece.length;
      if (length > maxResentLength) sent = undefined;
      sent?.push(piece);
      yield piece;
    }
  };
  const pager = isLong ? await startPager(host) : undefined;
  if (!pager) return await writePieces(fallback, allPieces());
  const { isComplete, hasFailed } = await writeToPager(pager, sendPieces(), host);
  host.signal.throwIfAborted();
  if (!hasFailed || !sent) return isComplete;
  await writePieces(fallback, sent);
  return await writePieces(fallback, allPieces());
};

type Pager = NonNullable<Awaited<ReturnType<typeof startPager>>>;

const writeToPager = async (pager: Pager, pieces: AsyncIterable<string>, { signal, lendTerminal }: Host) => {
  const restoreTerminal = lendTerminal();
  const killPager = () => pager.kill("SIGTERM");
  signal.addEventListener("abort", killPager, { once: true });
  // `once` from node:events would reject at an error of the pager.
  const ended = new Promise<boolean>((resolve) =>
    pager.once("close", (code, signal) => resolve(isFailure(code, signal))),
  );
  let hasFailed: boolean;
  let isComplete: boolean;
  try {
    isComplete = await writePieces(new Sink(pager.stdin, signal), pieces);
  } finally {
    pager.stdin.end();
    hasFailed = await ended;
    signal.removeEventListener("abort", killPager);
    restoreTerminal();
  }
  return { isComplete, hasFailed };
};

/** A person can end a pager with Ctrl-C, and a shell reports this as 130. */
const isFailure = (code: number | null, signal: NodeJS.Signals | null) =>
  signal === null ? ![0, 130].includes(code ?? 0) : !["SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE"].includes(signal);

/** A pipe takes at most a few hundred kilobytes that the pager does not read. */
const maxResentLength = 2 ** 20;

const collectScreenful = async (taken: string[], pieces: PagedOutput["pieces"], { terminal }: Host) => {
  let lines = 0;
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    taken.push(next.value);
    lines += countLines(next.value, terminal.columns);
    if (lines >= terminal.rows) return true;
  }
  return false;
};

const countLines = (text: string, columns: number) => {
  const lines = text.replace(/\u001b\[[0-9;]*m|\n$/g, "").split("\n");
  return lines.reduce((sum, { length }) => sum + Math.max(1, Math.ceil(length / columns)), 0);
};

const startPager = async (host: Host) => {
  const { PAGER: commandLine = "less", TERM, LESS = "FRX", LV = "-c" } = host.env;
  const [command, ...args] = splitCommandLine(commandLine, { windows: false }) ?? [commandLine];
  if (!command || command === "cat" || TERM === "dumb") return undefined;
  const pager = spawn(command, args, {
    stdio: ["pipe", "inherit", "inherit"],
    // With LESSSECURE, `less` runs no commands and writes no files.
    env: { ...removeSecrets(host.env), LESS, LV, LESSSECURE: "1" },
  });
  pager.on("error", () => undefined);
  return await once(pager, "spawn").then(
    () => pager,
    () => undefined,
  );
};

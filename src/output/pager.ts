/** Prints long output in a pager. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Host, removeSecrets } from "../host.ts";
import { splitCommandLine } from "../shell-words.ts";
import { openSink, type Sink, writePieces } from "./sink.ts";

type PagedOutput = Readonly<{ host: Host; pieces: AsyncGenerator<string, void>; fallback: Sink }>;

export const printPaged = async ({ host, pieces, fallback }: PagedOutput) => {
  const taken: string[] = [];
  const isLong = await collectScreenful(taken, pieces, host).catch(async (thrown) => {
    await writePieces(fallback, taken);
    throw thrown;
  });
  const allPieces = async function* () {
    yield* taken;
    yield* pieces;
  };
  const pager = isLong ? await startPager(host) : undefined;
  if (!pager) return await writePieces(fallback, allPieces());
  let isComplete: boolean;
  const restoreTerminal = host.lendTerminal();
  const killPager = () => pager.kill("SIGTERM");
  host.signal.addEventListener("abort", killPager, { once: true });
  // `once` from node:events would reject at an error of the pager.
  const ended = new Promise((resolve) => pager.once("close", resolve));
  try {
    isComplete = await writePieces(openSink(pager.stdin, host.signal), allPieces());
  } finally {
    pager.stdin.end();
    await ended;
    host.signal.removeEventListener("abort", killPager);
    restoreTerminal();
  }
  host.signal.throwIfAborted();
  return isComplete;
};

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

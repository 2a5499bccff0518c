/** Runs a `credential_command`: without a shell, bounded in time, its first line is the key, and nothing it says is ever shown. */

import { type ChildProcess, spawn } from "node:child_process";
import type { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { type Host, withoutSecrets } from "../host.ts";
import { splitCommandLine } from "../shell-words.ts";
import { type CommandEnd, credentialCommandFailed } from "./failures.ts";
import { type CommandUse, secretFault } from "./secrets.ts";

/** How long a command may take: long enough for a person to touch a security key. */
const longestMs = 60_000;

/** How long a killed command has to end by itself, and an ended one to hand over what it wrote. */
const graceMs = 1000;

/** More than any key has; what comes after it is not read. */
const longestBytes = 64 * 1024;

interface CommandOptions {
  readonly host: Host;
  readonly use: CommandUse;
  /** Where the key goes: an origin, or the address of a database. */
  readonly origin: string;
  /** Told the key before anything is said of it. */
  readonly hide: (key: string) => void;
}

/** Runs the command and gives the first line that it prints. @throws Failure `credential-command-failed` */
export const runCredentialCommand = async (
  line: string,
  { host, use, origin, hide }: CommandOptions,
): Promise<string> => {
  const [program = "", ...args] = splitCommandLine(line, { windows: host.platform === "win32" }) ?? [];
  const failed = (end: CommandEnd): Failure => credentialCommandFailed(program, end);
  host.signal.throwIfAborted();
  const child = spawn(program, args, {
    // Standard input may hold trajectories, and standard error may hold secrets.
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...withoutSecrets(host.env), ROLLCALL_USE: use, ROLLCALL_ORIGIN: origin },
    windowsHide: true,
  });
  const settled = new AbortController();
  const limit = host.sleep(longestMs, AbortSignal.any([host.signal, settled.signal])).catch(() => undefined);
  try {
    const end = await Promise.race([outcome(child, host), limit]);
    host.signal.throwIfAborted();
    if (end === undefined) throw failed({ kind: "time-out" });
    if (end.kind !== "printed") throw failed(end);
    const [key = ""] = end.text.split(/\r?\n/, 1);
    hide(key);
    const wrong = secretFault(key, [use]);
    if (wrong !== undefined) throw failed({ kind: "unusable", wrong });
    return key;
  } finally {
    settled.abort();
    await stop(child, host);
  }
};

const outcome = (
  child: ChildProcess,
  host: Host,
): Promise<CommandEnd | { readonly kind: "printed"; readonly text: string }> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    child.stdout?.on("data", (chunk: Buffer) => {
      if (length < longestBytes) chunks.push(chunk);
      length += chunk.length;
    });
    const end = (status: number | null, signal: string | null): void => {
      if (signal !== null) resolve({ kind: "signal", signal });
      else if (status !== 0) resolve({ kind: "status", status: status ?? -1 });
      else resolve({ kind: "printed", text: Buffer.concat(chunks).toString("utf8") });
    };
    child.once("error", (cause) => resolve({ kind: "not-started", code: codeOf(cause) }));
    child.once("close", end);
    // A program that it left running may hold its output open.
    child.once("exit", async (status, signal) => {
      if (!chunks.some((chunk) => chunk.includes("\n"))) await host.sleep(graceMs);
      end(status, signal);
    });
  });

/** Ends a command that still runs, and leaves nothing of it to wait for. */
const stop = async (child: ChildProcess, host: Host): Promise<void> => {
  child.stdout?.destroy();
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  await Promise.race([gone, host.sleep(graceMs)]);
  child.kill("SIGKILL");
};

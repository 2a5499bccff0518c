/** Reads secrets from variables, files and the output of a command, and checks that they can be sent. */
import { type ChildProcess, spawn } from "node:child_process";
import type { CredentialUse } from "../contract/endpoint.ts";
import type { Where } from "../failure.ts";
import { codeOf } from "../files.ts";
import { type Host, withoutSecrets } from "../host.ts";
import { systemWords } from "../sentences.ts";
import { splitCommandLine } from "../shell-words.ts";
import {
  credentialCommandFailed,
  credentialFileUnreadable,
  credentialTwice,
  credentialUnusable,
  type SecretFault,
  secretFaults,
} from "./failures.ts";
import type { SettingsSources } from "./layers.ts";

/** The variables that have a secret. Each has a `…_FILE`, which names a file with the secret instead. */
export const secretVariables = ["ROLLCALL_API_KEY", "ROLLCALL_TOKEN", "ROLLCALL_PASSWORD"] as const;

export type SecretVariable = (typeof secretVariables)[number];

/** A secret, and its source in words that have nothing of it. */
export interface Secret {
  readonly text: string;
  readonly from: string;
  readonly where: Where;
}

/** No secret is longer; a larger file was named by mistake. */
export const maxSecretBytes = 64 * 1024;

/** Reads the secret of a variable or of the file that its `…_FILE` names, unchecked. An empty variable has none. */
export const readSecret = async (
  variable: SecretVariable,
  { host, hide }: SettingsSources,
): Promise<Secret | undefined> => {
  const fileVariable = `${variable}_FILE`;
  const { [variable]: value, [fileVariable]: file } = host.env;
  if (value && file) throw credentialTwice(variable, fileVariable);
  if (value) {
    hide(value);
    return { text: value, from: variable, where: { environment: variable } };
  }
  if (!file) return undefined;
  const where = { environment: fileVariable, file };
  const from = `the file that ${fileVariable} names`;
  const bytes = await readBounded(file, maxSecretBytes, host).catch((cause: unknown) => {
    host.signal.throwIfAborted();
    throw credentialFileUnreadable({ variable: fileVariable, file, code: codeOf(cause) }, { where, cause });
  });
  if (bytes === undefined) throw credentialUnusable({ from, wrong: "long" }, { where });
  const text = withoutLineEnd(bytes.toString("utf8"));
  hide(text);
  return { text, from, where };
};

/** Removes one line end, which `echo` and editors put after a key. */
export const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, "");

/** Checks that a secret can be sent for some uses. @throws Failure `credential-unusable`, without its content */
export const checkSecret = ({ text, from, where }: Secret, some: readonly CredentialUse[]): void => {
  const wrong = secretFault(text, some);
  if (wrong !== undefined) throw credentialUnusable({ from, wrong }, { where });
};

/** A key is visible ASCII in one piece. The password of a call read or a database has no line ends (interface 5). */
const secretFault = (text: string, some: readonly string[]): SecretFault | undefined => {
  if (text.trim() === "") return "empty";
  if (/[\r\n]/.test(text)) return "line-end";
  if (!some.includes("log") && !some.includes("inference")) return undefined;
  if (/\p{Cc}/u.test(text)) return "control";
  if (text.includes(" ")) return "white-space";
  return /[^\x21-\x7e]/.test(text) ? "not-ascii" : undefined;
};

/** The pause before a pipe without new bytes is read again. */
const pipePauseMs = 5;

/** Reads a file, a pipe or a device; undefined for more than `maxBytes`. @throws the system's errors */
export const readBounded = async (
  file: string,
  maxBytes: number,
  { sleep, signal }: Pick<Host, "sleep" | "signal">,
): Promise<Buffer | undefined> => {
  const { constants, open } = await import("node:fs/promises");
  // A pipe without a writer is empty, and does not block.
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const buffer = Buffer.alloc(maxBytes + 1);
    for (let length = 0; length <= maxBytes; ) {
      const count = await handle.read(buffer, length).then(
        ({ bytesRead }) => bytesRead,
        async (thrown: unknown) => {
          if (codeOf(thrown) !== "EAGAIN") throw thrown;
          await sleep(pipePauseMs, signal);
        },
      );
      if (count === 0) return buffer.subarray(0, length);
      length += count ?? 0;
    }
    return undefined;
  } finally {
    await handle.close();
  }
};

/** The time for a command: a person may have to touch a security key. */
const maxCommandMs = 60_000;

/** The time for a killed command to end, and for an ended one to deliver its output. */
const graceMs = 1000;

/**
 * Runs a `credential_command` without a shell, and returns the first line that it prints. Its output is never shown.
 * @throws Failure `credential-command-failed`
 */
export const runCredentialCommand = async (
  line: string,
  {
    host,
    hide,
    use,
    origin,
  }: {
    readonly host: Host;
    readonly hide: (key: string) => void;
    /** Databases have passwords too. */
    readonly use: CredentialUse | "ledger" | "store";
    /** Where the key goes: an origin, or the address of a database. */
    readonly origin: string;
  },
): Promise<string> => {
  const [program = "", ...args] = splitCommandLine(line, { windows: host.platform === "win32" }) ?? [];
  host.signal.throwIfAborted();
  const child = spawn(program, args, {
    // Standard input may have trajectories, and standard error may have secrets.
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...withoutSecrets(host.env), ROLLCALL_USE: use, ROLLCALL_ORIGIN: origin },
    windowsHide: true,
  });
  const settled = new AbortController();
  const limit = host.sleep(maxCommandMs, AbortSignal.any([host.signal, settled.signal])).catch(() => undefined);
  try {
    const end = await Promise.race([endOf(child, host), limit]);
    host.signal.throwIfAborted();
    if (end === undefined) throw credentialCommandFailed(program, "it took more than 60 seconds");
    if (end.failed !== undefined) throw credentialCommandFailed(program, end.failed);
    const [key = ""] = end.printed.split(/\r?\n/, 1);
    hide(key);
    const wrong = secretFault(key, [use]);
    if (wrong === undefined) return key;
    throw credentialCommandFailed(program, `what it printed is no key: ${secretFaults[wrong]}`);
  } finally {
    settled.abort();
    await stop(child, host);
  }
};

/** What a command printed, or why it failed. */
type CommandEnd = { readonly printed: string; readonly failed: undefined } | { readonly failed: string };

const endOf = (child: ChildProcess, host: Host): Promise<CommandEnd> =>
  new Promise((settle) => {
    const chunks: Buffer[] = [];
    let length = 0;
    child.stdout?.on("data", (chunk: Buffer) => {
      if (length < maxSecretBytes) chunks.push(chunk);
      length += chunk.length;
    });
    const end = (status: number | null, signal: string | null): void => {
      if (signal !== null) settle({ failed: `it was ended by ${signal}` });
      else if (status !== 0) settle({ failed: `it ended with exit status ${status}` });
      else settle({ printed: Buffer.concat(chunks).toString("utf8"), failed: undefined });
    };
    child.once("error", (cause) => settle({ failed: `it could not be started (${systemWords(codeOf(cause))})` }));
    child.once("close", end);
    // A program that it started may keep its output open.
    child.once("exit", async (status, signal) => {
      if (!chunks.some((chunk) => chunk.includes("\n"))) await host.sleep(graceMs);
      end(status, signal);
    });
  });

/** Ends a command that still runs, and leaves nothing of it to wait for. */
const stop = async (child: ChildProcess, host: Host): Promise<void> => {
  child.stdout?.destroy();
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await Promise.race([gone, host.sleep(graceMs)]);
  child.kill("SIGKILL");
};

/** Reads secrets from variables, files and the output of a command, and checks that they can be sent. */
import { spawn } from "node:child_process";
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
  secretFaults,
} from "./failures.ts";
import type { SettingsSources } from "./layers.ts";

/** The variables that have a secret. Each has a `…_FILE`, which names a file with the secret instead. */
export type SecretVariable = "ROLLCALL_API_KEY" | "ROLLCALL_TOKEN" | "ROLLCALL_PASSWORD";

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
  const from = `the file that ${fileVariable} names`;
  const where = { environment: fileVariable, file };
  const bytes = await readBounded(file, maxSecretBytes, host).catch((cause: unknown) => {
    host.signal.throwIfAborted();
    throw credentialFileUnreadable(fileVariable, file, codeOf(cause), { where, cause });
  });
  if (bytes === undefined) throw credentialUnusable(from, "long", where);
  const text = withoutLineEnd(bytes.toString("utf8"));
  hide(text);
  return { text, from, where };
};

/** Removes one line end, which `echo` and editors put after a key. */
export const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, "");

/** Checks that a secret can be sent for some uses. @throws Failure `credential-unusable`, without its content */
export const checkSecret = ({ text, from, where }: Secret, some: readonly CredentialUse[]): void => {
  const wrong = secretFault(text, some);
  if (wrong !== undefined) throw credentialUnusable(from, wrong, where);
};

/** A key is visible ASCII in one piece. The password of a call read or a database has no line ends (interface 5). */
const secretFault = (text: string, some: readonly string[]): keyof typeof secretFaults | undefined => {
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
  const buffer = Buffer.alloc(maxBytes + 1);
  try {
    for (let length = 0; length <= maxBytes; ) {
      const read = await handle.read(buffer, length).catch((thrown: unknown) => {
        if (codeOf(thrown) !== "EAGAIN") throw thrown;
      });
      if (read?.bytesRead === 0) return buffer.subarray(0, length);
      if (read === undefined) await sleep(pipePauseMs, signal);
      else length += read.bytesRead;
    }
    return undefined;
  } finally {
    await handle.close();
  }
};

/** The time for a command: a person may have to touch a security key. */
const maxCommandMs = 60_000;

/** The time for an ended command to deliver its output: a program that it started may keep that open. */
const graceMs = 1000;

/**
 * Runs a `credential_command` without a shell, and returns the first line that it prints. Its output is never shown.
 * @param use databases have passwords too
 * @param origin where the key goes: an origin, or the address of a database
 * @throws Failure `credential-command-failed`
 */
export const runCredentialCommand = async (
  line: string,
  {
    host,
    hide,
    use,
    origin,
  }: Pick<SettingsSources, "host" | "hide"> & {
    readonly use: CredentialUse | "ledger" | "store";
    readonly origin: string;
  },
): Promise<string> => {
  const [program = "", ...args] = splitCommandLine(line, { windows: host.platform === "win32" }) ?? [];
  host.signal.throwIfAborted();
  const over = new AbortController();
  const child = spawn(program, args, {
    // Standard input may have trajectories, and standard error may have secrets.
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...withoutSecrets(host.env), ROLLCALL_USE: use, ROLLCALL_ORIGIN: origin },
    windowsHide: true,
    signal: AbortSignal.any([host.signal, over.signal]),
    killSignal: "SIGKILL",
  });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (printed.length < maxSecretBytes) printed += text;
  });
  try {
    const failed = await new Promise<string | undefined>((settle) => {
      const end = (status: number | null, signal: string | null): void => {
        if (signal !== null) settle(`it was ended by ${signal}`);
        else settle(status === 0 ? undefined : `it ended with exit status ${status}`);
      };
      child.once("error", (cause) => settle(`it could not be started (${systemWords(codeOf(cause))})`));
      child.once("close", end);
      child.once("exit", async (status, signal) => {
        if (!printed.includes("\n")) await host.sleep(graceMs);
        end(status, signal);
      });
      const tooLong = () => settle("it took more than 60 seconds");
      host.sleep(maxCommandMs, over.signal).then(tooLong, () => undefined);
    });
    host.signal.throwIfAborted();
    const [key = ""] = printed.split(/\r?\n/, 1);
    hide(key);
    const wrong = failed === undefined ? secretFault(key, [use]) : undefined;
    if (failed === undefined && wrong === undefined) return key;
    throw credentialCommandFailed(
      program,
      wrong ? `what it printed is no key: ${secretFaults[wrong]}` : (failed ?? ""),
    );
  } finally {
    over.abort();
    child.stdout.destroy();
  }
};

/** Secrets from outside: what is accepted as one, where they are read from, and every form of them that is kept off the screen. */

import type { FileHandle } from "node:fs/promises";
import type { CredentialUse } from "../contract/endpoint.ts";
import type { Where } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import type { SecretFault } from "./failures.ts";
import { credentialFileUnreadable, credentialTwice, credentialUnusable } from "./failures.ts";

/** Told every secret as soon as it is known, so that none is ever printed. */
export type Hide = (secret: string) => void;

/** A secret and where it came from, in words that hold nothing of it. */
export interface Secret {
  readonly text: string;
  readonly from: string;
  readonly where: Where;
}

/** What a command is asked for a key for: databases have passwords too. */
export type CommandUse = CredentialUse | "ledger" | "store";

/** The variables that hold a secret, each with a `…_FILE` beside it. */
export const secretVariables = ["ROLLCALL_API_KEY", "ROLLCALL_TOKEN", "ROLLCALL_PASSWORD"] as const;

/** Name of a variable that holds a secret. */
export type SecretVariable = (typeof secretVariables)[number];

/** No key is longer; a file that is was named by mistake. */
const longestBytes = 64 * 1024;

/** Hides what stands in the environment, whether or not it will be used. */
export const hideEnvironment = (env: Host["env"], hide: Hide): void => {
  for (const variable of [...secretVariables, "ROLLCALL_LOCAL_KEY"]) hide(env[variable] ?? "");
};

/** The secret in the environment, not checked yet, in the variable or in the file that its `…_FILE` names. An empty variable is none. */
export const readSecret = async (
  variable: SecretVariable,
  { host, hide }: { readonly host: Host; readonly hide: Hide },
): Promise<Secret | undefined> => {
  const fileVariable = `${variable}_FILE`;
  const value = host.env[variable];
  const file = host.env[fileVariable];
  if (value && file) throw credentialTwice({ variable, fileVariable });
  if (value) return { text: value, from: variable, where: { environment: variable } };
  if (!file) return undefined;
  const where = { environment: fileVariable, file };
  const text = withoutLastLineEnd(await readSecretFile(file, { host, variable: fileVariable, where }));
  hide(text);
  const from = `the file that ${fileVariable} names`;
  return { text, from, where };
};

/** Leaves away one line end, as `echo` and editors put one behind a key. */
export const withoutLastLineEnd = (text: string): string => text.replace(/\r?\n$/, "");

/**
 * A secret that can be sent for some uses.
 * @throws Failure `credential-unusable`, which names where it came from and never its content
 */
export const checkSecret = ({ text, from, where }: Secret, uses: readonly CredentialUse[]): Secret => {
  const wrong = secretFault(text, uses);
  if (wrong !== undefined) throw credentialUnusable({ from, wrong }, { where });
  return { text, from, where };
};

/**
 * Why a text can't be sent as a secret for some uses; undefined where it can. A key is visible ASCII in one piece; the
 * password of call read, or of a database, may hold all but line ends (interface 5).
 */
export const secretFault = (text: string, uses: readonly CommandUse[]): SecretFault | undefined => {
  if (text.trim() === "") return "empty";
  if (/[\r\n]/.test(text)) return "line-end";
  if (!uses.some((use) => use === "log" || use === "inference")) return undefined;
  if (/\p{Cc}/u.test(text)) return "control";
  if (text.includes(" ")) return "white-space";
  return /[^\x21-\x7e]/.test(text) ? "not-ascii" : undefined;
};

const readSecretFile = async (
  file: string,
  { host, variable, where }: { readonly host: Host; readonly variable: string; readonly where: Where },
): Promise<string> => {
  const bytes = await readBounded(file, { host, longest: longestBytes }).catch((cause: unknown) => {
    host.signal.throwIfAborted();
    throw credentialFileUnreadable({ variable, file, code: codeOf(cause) }, { where, cause });
  });
  if (bytes !== undefined) return bytes.toString("utf8");
  throw credentialUnusable({ from: `the file that ${variable} names`, wrong: "long" }, { where });
};

/** How long to wait before looking again whether a pipe has something. */
const pipePauseMs = 5;

/** All that can be read from a file, a pipe or a device; undefined where that is more than `longest` bytes. @throws the system's errors */
export const readBounded = async (
  file: string,
  { host, longest }: { readonly host: Pick<Host, "sleep" | "signal">; readonly longest: number },
): Promise<Buffer | undefined> => {
  // A pipe that nobody writes to must not hold up the run: it is empty, and an interrupt ends the waiting for a slow one.
  const { constants, open } = await import("node:fs/promises");
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const buffer = Buffer.alloc(longest + 1);
    let length = 0;
    while (length <= longest) {
      const count = await readSome(handle, buffer.subarray(length));
      if (count === 0) return buffer.subarray(0, length);
      if (count === undefined) await host.sleep(pipePauseMs, host.signal);
      else length += count;
    }
    return undefined;
  } finally {
    await handle.close();
  }
};

/** How much was read, 0 at the end; undefined where there is nothing yet. */
const readSome = async (handle: FileHandle, into: Buffer): Promise<number | undefined> => {
  try {
    return (await handle.read(into)).bytesRead;
  } catch (thrown) {
    if (codeOf(thrown) === "EAGAIN") return undefined;
    throw thrown;
  }
};

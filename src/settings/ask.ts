/** Asks the person at the terminal, and reads what a program hands over on standard input. */

import { addAbortSignal, type Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { interrupted } from "../failures.ts";
import type { Host } from "../host.ts";
import { loginKeyMissing } from "./failures.ts";

/** All of standard input; undefined where that is more than `longest` bytes. */
export const readStdin = async (host: Host, longest: number): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of addAbortSignal(host.signal, host.stdin)) {
      const piece: unknown = chunk;
      const bytes = bytesOf(piece);
      length += bytes.length;
      if (length > longest) return undefined;
      chunks.push(bytes);
    }
  } catch (thrown) {
    host.signal.throwIfAborted();
    throw thrown;
  }
  return Buffer.concat(chunks);
};

const bytesOf = (piece: unknown): Buffer =>
  piece instanceof Uint8Array ? Buffer.from(piece) : Buffer.from(typeof piece === "string" ? piece : "");

/** Whether somebody can be asked. */
export const canAsk = (host: Host): boolean => host.terminal.stdin;

/** Asks for a line, which the terminal shows as it is typed; undefined where the person ended the input (Ctrl-D). */
export const askLine = async (host: Host, label: string): Promise<string | undefined> => {
  host.stderr.write(label);
  let text = "";
  let line: string | undefined;
  try {
    line = await listen(host, (piece) => {
      text += piece;
      return /\r?\n/.test(text) ? { done: text.replace(/\r?\n.*/s, "") } : undefined;
    });
  } finally {
    // Whatever comes next begins on a line of its own.
    if (line === undefined) host.stderr.write("\n");
  }
  return line?.trim();
};

/** A terminal whose keys can be read one by one, unseen. */
interface RawTerminal {
  setRawMode(on: boolean): unknown;
}

const isRawTerminal = (stream: Readable): stream is Readable & RawTerminal =>
  "setRawMode" in stream && typeof stream.setRawMode === "function";

/**
 * Asks for a secret; nothing of it is shown. Undefined where the person ended the input.
 * @throws Failure `interrupted` at Ctrl-C; the terminal is then as it was
 */
export const askHidden = async (host: Host, label: string): Promise<string | undefined> => {
  const { stdin } = host;
  if (!isRawTerminal(stdin)) throw loginKeyMissing("no-terminal");
  // Unseen before it is asked for: a fast typist's first key is not shown either.
  stdin.setRawMode(true);
  try {
    host.stderr.write(label);
    const keys = openKeys();
    return await listen(host, keys);
  } finally {
    stdin.setRawMode(false);
    host.stderr.write("\n");
  }
};

/** What typing came to, once it has come to an end. */
type Typed = { readonly done: string | undefined };

/** Hands over what is typed until the typing has come to an end. */
const listen = (host: Host, take: (piece: string) => Typed | undefined): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const { stdin, signal } = host;
    const decoder = new StringDecoder("utf8");
    const stop = (): void => {
      stdin.pause();
      stdin.off("data", onData).off("end", onEnd).off("error", onError);
      signal.removeEventListener("abort", onAbort);
    };
    const onData = (chunk: unknown): void => {
      try {
        const typed = take(decoder.write(bytesOf(chunk)));
        if (typed === undefined) return;
        stop();
        resolve(typed.done);
      } catch (thrown) {
        onError(thrown);
      }
    };
    const onEnd = (): void => {
      stop();
      resolve(undefined);
    };
    const onError = (thrown: unknown): void => {
      stop();
      reject(thrown);
    };
    const onAbort = (): void => onError(signal.reason);
    if (signal.aborted) return onAbort();
    if (stdin.readableEnded) return onEnd();
    stdin.on("data", onData).on("end", onEnd).on("error", onError);
    signal.addEventListener("abort", onAbort, { once: true });
    stdin.resume();
  });

/** Reads keys as a terminal in raw mode sends them: one line, with its editing keys. */
const openKeys = (): ((piece: string) => Typed | undefined) => {
  let characters: string[] = [];
  let rest = "";
  return (piece) => {
    rest += piece;
    for (;;) {
      const [key] = keyPattern.exec(rest) ?? [];
      if (key === undefined) return undefined;
      rest = rest.slice(key.length);
      if (key === "\x03") throw interrupted({ signal: "SIGINT" });
      if (key === "\x04" && characters.length === 0) return { done: undefined };
      if (key === "\r" || key === "\n" || key === "\x04") return { done: withWhatFollows(characters.join(""), rest) };
      if (key === "\x7f" || key === "\b") characters.pop();
      else if (key === "\x15" || key === "\x17") characters = [];
      else if (key === "\t" || !/\p{Cc}/u.test(key)) characters.push(key);
    }
  };
};

/** One key: an escape sequence (arrows, the marks around what is pasted), or a character. */
const keyPattern = /^(?:\x1b\[[0-9;?]*[ -/]*[@-~]|\x1bO.|\x1b(?=[\r\n\x03])|\x1b[^[O]|[^\x1b])/su;

/** What was pasted behind the end of the line belongs to it: a key of two lines is no key, and not its first line. */
const withWhatFollows = (line: string, rest: string): string => {
  const following = rest.replace(/\x1b\[[0-9;?]*[@-~]/g, "").trim();
  return following === "" ? line : `${line}\n${following}`;
};

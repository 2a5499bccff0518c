/** Asks the person at the terminal, and reads what a program writes to standard input. */
import { addAbortSignal, Writable } from "node:stream";
import { interrupted } from "../failures.ts";
import type { Host } from "../host.ts";
import { loginKeyMissing } from "./failures.ts";

/** Reads all of standard input; undefined for more than `maxBytes`. */
export const readStdin = async ({ stdin, signal }: Host, maxBytes: number): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of addAbortSignal(signal, stdin)) {
      const piece: unknown = chunk;
      const bytes = piece instanceof Uint8Array ? Buffer.from(piece) : Buffer.from(String(piece));
      length += bytes.length;
      if (length > maxBytes) return undefined;
      chunks.push(bytes);
    }
  } catch (thrown) {
    signal.throwIfAborted();
    throw thrown;
  }
  return Buffer.concat(chunks);
};

/** True if a person can be asked. */
export const canAsk = (host: Host): boolean => host.terminal.stdin;

/** Asks for a line, which the terminal shows; undefined if the person ended the input (Ctrl-D). */
export const askLine = async (host: Host, label: string): Promise<string | undefined> => {
  let lines: readonly string[] | undefined;
  try {
    lines = await readLines(host, label, { isHidden: false });
  } finally {
    // The next output starts on its own line.
    if (lines === undefined) host.stderr.write("\n");
  }
  return lines?.[0]?.trim();
};

/** Asks for a secret, and shows nothing of it; undefined if the person ended the input. @throws Failure `interrupted` */
export const askHidden = async (host: Host, label: string): Promise<string | undefined> => {
  if (!("setRawMode" in host.stdin)) throw loginKeyMissing("no-terminal");
  try {
    // Pasted lines stay together: a key of two lines is refused, and not its first line taken.
    return (await readLines(host, label, { isHidden: true }))?.join("\n");
  } finally {
    host.stderr.write("\n");
  }
};

/** Reads a line, and the lines that were pasted with it. */
const readLines = async (
  { stdin, stderr, signal }: Host,
  label: string,
  { isHidden }: { readonly isHidden: boolean },
): Promise<readonly string[] | undefined> => {
  signal.throwIfAborted();
  if (stdin.readableEnded) return undefined;
  const { createInterface } = await import("node:readline");
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The terminal is silent before the label appears, so that it does not show the first key of a fast typist.
  const reader = createInterface({ input: stdin, output, terminal: isHidden, historySize: 0, signal });
  stderr.write(label);
  try {
    const lines: string[] = [];
    await new Promise<void>((resolve, reject) => {
      reader.on("line", (line) => {
        lines.push(line);
        setImmediate(resolve);
      });
      reader.on("close", resolve);
      reader.on("SIGINT", () => reject(interrupted({ signal: "SIGINT" })));
    });
    signal.throwIfAborted();
    const others = [...lines.slice(1), reader.line].filter((line) => line.trim() !== "");
    return lines.length === 0 ? undefined : [...lines.slice(0, 1), ...others];
  } finally {
    reader.close();
  }
};

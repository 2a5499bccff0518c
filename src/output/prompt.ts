/** Asks questions at a terminal. */
import { Writable } from "node:stream";
import { Failure } from "../failure.ts";
import { interrupted } from "../system/failures.ts";
import type { Host } from "../system/host.ts";
import type { Screen } from "./screen.ts";

/** Asks at a terminal. Returns all lines that were pasted together; undefined at the end of input. */
export const askForLines = async (host: Host, label: string, isHidden: boolean) => {
  const { stdin, stderr, signal } = host;
  const lines: string[] = [];
  try {
    signal.throwIfAborted();
    if (stdin.readableEnded) return undefined;
    const { createInterface } = await import("node:readline");
    const output = new Writable({ write: (_chunk, _encoding, done) => done() });
    // The reader must hide text that people type before the label appears.
    const reader = createInterface({ input: stdin, output, terminal: isHidden, historySize: 0, signal });
    stderr.write(label);
    try {
      await new Promise<void>((resolve, reject) => {
        reader.on("line", (line) => {
          lines.push(line);
          // Pasted lines arrive in the same turn of the event loop.
          setImmediate(resolve);
        });
        reader.on("close", resolve);
        reader.on("SIGINT", () => reject(interrupted({ signal: "SIGINT" })));
      });
      signal.throwIfAborted();
    } finally {
      reader.close();
    }
    const [first, ...others] = lines;
    return first === undefined ? undefined : [first, ...[...others, reader.line].filter((line) => line.trim() !== "")];
  } finally {
    // The cursor is still on the line of the prompt.
    if (isHidden || lines.length === 0) stderr.write("\n");
  }
};

/** @param action such as "delete the profile work". @throws Failure `not-confirmed` */
export const requireConfirmation = async (
  { host, screen }: { host: Host; screen: Screen },
  { action, option, yes }: { action: string; option: string; yes: boolean },
) => {
  if (yes) return;
  let reason = "rollcall cannot ask for confirmation without a terminal";
  if (host.terminal.stdin) {
    await screen.flushErrors();
    if (/^y(es)?$/i.test((await askForLines(host, `${action}? [y/N] `, false))?.[0]?.trim() ?? "")) return;
    reason = "you did not confirm";
  }
  throw new Failure("usage", "not-confirmed", `cannot ${action}: ${reason}`, {
    hint: `pass ${option}`,
  });
};

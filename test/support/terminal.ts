/** Runs a shell line on a pseudo-terminal; returns the visible text. */
import { spawn } from "@lydell/node-pty";
import { onTestFinished } from "vitest";

export interface LineOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly columns?: number;
  readonly rows?: number;
  /**
   * Keys to type when the output after the last match contains `when`, and a callback for that time, which gets the id
   * of the process group. All keys must be typed before the end.
   */
  readonly typed?: readonly {
    readonly when: RegExp | string;
    readonly keys: string;
    readonly meanwhile?: (group: number) => void;
  }[];
}

/** The final lines of the terminal, and the exit code. */
export interface TerminalResult {
  readonly code: number;
  readonly lines: readonly string[];
  /** All output to the terminal. */
  readonly written: string;
}

/** Runs a line, or several, with `sh` and waits for the end. */
export const runOnTerminal = async (
  line: string,
  { env, cwd = ".", columns = 100, rows = 200, typed = [] }: LineOptions,
): Promise<TerminalResult> => {
  // A terminal may lose text that a program wrote just before its end. So the shell, which Ctrl-C does not end,
  // writes a mark after all output and waits until the mark was read.
  const marked = `trap : INT\n${line}\ncode=$?; printf '\\033]end\\007'; read -r seen; exit $code`;
  const terminal = spawn("/bin/sh", ["-c", marked], {
    cols: columns,
    rows,
    cwd,
    env: { ...env, TERM: "xterm-256color" },
  });
  onTestFinished(() => terminal.kill());
  let printed = "";
  const waiting = [...typed];
  let seen = 0;
  let isEnded = false;
  let tail = "";
  terminal.onData((text) => {
    printed += text;
    const recent = tail + text;
    tail = recent.slice(-endMark.length);
    if (!isEnded && recent.includes(endMark)) {
      isEnded = true;
      terminal.write("\n");
    }
    for (let next = waiting[0]; next !== undefined; [next] = waiting) {
      const end = endOf(next.when, printed.slice(seen));
      if (end === undefined) return;
      seen += end;
      waiting.shift();
      terminal.write(next.keys);
      next.meanwhile?.(terminal.pid);
    }
  });
  const code = await new Promise<number>((settle) => terminal.onExit(({ exitCode }) => settle(exitCode)));
  if (waiting.length > 0) throw new Error(`never printed: ${waiting[0]?.when}, but ${JSON.stringify(printed)}`);
  const [written = ""] = printed.split(endMark, 1);
  return { code, lines: screenOf(written), written };
};

/** The position after the first match. */
const endOf = (pattern: RegExp | string, text: string): number | undefined => {
  if (typeof pattern === "string") return text.includes(pattern) ? text.indexOf(pattern) + pattern.length : undefined;
  const match = pattern.exec(text);
  return match === null ? undefined : match.index + match[0].length;
};

/** Printed after all output. */
const endMark = "\u001b]end\u0007";

/** Returns the lines on a screen after all output, without colors and cursor styles. */
export const screenOf = (printed: string): readonly string[] => {
  const lines: string[] = [""];
  let [row, column] = [0, 0];
  const put = (text: string): void => {
    const line = (lines[row] ?? "").padEnd(column);
    lines[row] = line.slice(0, column) + text + line.slice(column + text.length);
    column += text.length;
  };
  for (const [part, count, action] of printed.matchAll(controlOrText)) {
    if (part === "\r") column = 0;
    else if (part === "\n") row++;
    else if (action === "K") lines[row] = count === "2" ? "" : (lines[row] ?? "").slice(0, column);
    else if (action === "J") lines.splice(row + 1);
    else if (action === "G") column = Number(count || 1) - 1;
    else if (action === "A") row = Math.max(0, row - Number(count || 1));
    else if (!part.startsWith("\x1b")) put(part);
  }
  return Array.from(lines, (line = "") => line.trimEnd())
    .join("\n")
    .trimEnd()
    .split("\n");
};

// Text in pieces, because a match of 5 MB can exceed the stack of the regular expression.
const controlOrText = /\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07]*\x07|\r|\n|[^\x1b\r\n]{1,100000}|\x1b/g;

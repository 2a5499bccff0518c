/** Types into real shells on pseudo-terminals, and reads the command line after a Tab. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import { onTestFinished } from "vitest";
import { writeQuickProgram } from "./program.ts";

/** A shell that words are completed in. */
export type Shell = "bash" | "zsh" | "fish";

export const hasShell = (shell: Shell): boolean => spawnSync(shell, ["--version"], { stdio: "ignore" }).status === 0;

const [, jqMajor = 0, jqMinor = 0] =
  /^jq-(\d+)\.(\d+)/.exec(spawnSync("jq", ["--version"], { encoding: "utf8" }).stdout ?? "") ?? [];

/** True if jq is on the path and keeps the digits of large integers, as jq does since 1.7. */
export const hasJq = Number(jqMajor) > 1 || Number(jqMinor) >= 7;

export interface DeskOptions {
  /** The typed command that loads the completion. */
  readonly load: string;
  /** Names of files in the working folder; names of folders end in a slash. */
  readonly files?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A shell in a new folder, with `rollcall` on its path. */
export interface Desk {
  /** Types keys; returns the command line, and empties it. */
  type(keys: string): Promise<string>;
  printed(): string;
  files(): readonly string[];
}

/** Makes Ctrl-X print the command line between marks. */
const showLine: Readonly<Record<Shell, string>> = {
  bash: `bind -x '"\\C-x": printf "\\n<%s>\\n" "$READLINE_LINE"'`,
  zsh: `show() { print -r -- $'\\n'"<$BUFFER>" }; zle -N show; bindkey '^X' show`,
  fish: `function show; printf '\\n<%s>\\n' (commandline | string collect); end; bind \\cx show`,
};

const starts: Readonly<Record<Shell, readonly string[]>> = {
  bash: ["--norc", "--noprofile", "-i"],
  zsh: ["-f", "-i"],
  fish: ["--no-config", "-i"],
};

/** Opens a shell until the test is finished. */
export const openDesk = async (shell: Shell, { load, files = [], env = {} }: DeskOptions): Promise<Desk> => {
  const home = mkdtempSync(join(tmpdir(), "desk-"));
  const [bin, folder] = [join(home, "bin"), join(home, "folder")];
  for (const path of [bin, folder]) mkdirSync(path, { recursive: true });
  for (const name of files) {
    if (name.endsWith("/")) mkdirSync(join(folder, name));
    else writeFileSync(join(folder, name), "");
  }
  await writeQuickProgram(bin);
  const terminal = spawn(shell, [...starts[shell]], {
    cols: 200,
    rows: 50,
    cwd: folder,
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: home,
      TERM: "xterm",
      LC_ALL: "C.UTF-8",
      ...env,
    },
  });
  onTestFinished(() => terminal.kill("SIGKILL"));
  let printed = "";
  terminal.onData((text) => {
    printed += text;
  });
  const after = async (from: number, pattern: RegExp): Promise<string> => {
    for (let waited = 0; waited < 60_000; waited += 10) {
      const [, found] = pattern.exec(printed.slice(from)) ?? [];
      if (found !== undefined) return found;
      await new Promise((settle) => setTimeout(settle, 10));
    }
    throw new Error(`${shell} never printed ${pattern}: ${JSON.stringify(printed.slice(from))}`);
  };
  terminal.write(`${load}; ${showLine[shell]}; echo re''ady\r`);
  await after(0, /[\r\n](ready)\r?\n/);
  return {
    printed: () => printed,
    files: () => readdirSync(folder).sort(),
    async type(keys) {
      const from = printed.length;
      terminal.write(`${keys}\x18`);
      const line = await after(from, /[\r\n]<([^\r\n]*)>\r?\n/);
      terminal.write("\x15");
      return line;
    },
  };
};

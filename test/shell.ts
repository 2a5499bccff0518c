/** Types into real shells on terminals of their own, and reads what stands on their command line after a Tab. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { spawn } from "@lydell/node-pty";

/** A shell that words are completed in. */
export type Shell = "bash" | "zsh" | "fish";

/** Whether a shell is there. */
export const hasShell = (shell: Shell): boolean => spawnSync(shell, ["--version"], { stdio: "ignore" }).status === 0;

/** A folder to type in, with `rollcall` on the path and settings of its own. */
export interface Desk {
  /** What stands on the command line after the keys were typed. */
  type(keys: string): Promise<string>;
  /** Names in the folder. */
  files(): readonly string[];
}

/** The script that is loaded, and what makes Control-X print the command line between marks. */
const setUp: Readonly<Record<Shell, (script: string) => string>> = {
  bash: (script) => `source ${script}; source ${script}; bind -x '"\\C-x": printf "\\n<%s>\\n" "$READLINE_LINE"'`,
  zsh: (script) =>
    `autoload -U compinit; compinit -u -D; source ${script}; source ${script}; show() { print -r -- "\n<$BUFFER>" }; zle -N show; bindkey '^X' show`,
  fish: (script) =>
    `source ${script}; source ${script}; function show; printf '\\n<%s>\\n' (commandline | string collect); end; bind \\cx show`,
};

const starts: Readonly<Record<Shell, readonly string[]>> = {
  bash: ["--norc", "--noprofile", "-i"],
  zsh: ["-f", "-i"],
  fish: ["--no-config", "-i"],
};

/** Opens a desk. `files` are put into its folder, `settings` into its home. */
export const openDesk = (
  shell: Shell,
  {
    script,
    files = [],
    settings = {},
  }: { readonly script: string; readonly files?: readonly string[]; readonly settings?: unknown },
): Desk => {
  const home = mkdtempSync(join(tmpdir(), "desk-"));
  const bin = join(home, "bin");
  const folder = join(home, "folder");
  const config = join(home, "config");
  for (const path of [bin, folder, join(config, "rollcall")]) mkdirSync(path, { recursive: true });
  for (const name of files) writeFileSync(join(folder, name), "");
  writeFileSync(join(config, "rollcall", "settings.json"), JSON.stringify(settings), { mode: 0o600 });
  const program = join(bin, "rollcall");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${resolve("bin/rollcall.js")}" "$@"\n`);
  chmodSync(program, 0o755);
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home,
    XDG_CONFIG_HOME: config,
    TERM: "xterm",
    LC_ALL: "C.UTF-8",
  };
  return {
    files: () => readdirSync(folder),
    type: async (keys) => await typed({ shell, script: resolve(script), cwd: folder, env, keys }),
  };
};

const typed = async (on: {
  readonly shell: Shell;
  readonly script: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly keys: string;
}): Promise<string> => {
  const terminal = spawn(on.shell, [...starts[on.shell]], { cols: 200, rows: 50, cwd: on.cwd, env: on.env });
  let printed = "";
  terminal.onData((text) => {
    printed += text;
  });
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (let waited = 0; waited < 10_000; waited += 20) {
      const match = pattern.exec(printed);
      if (match !== null) return match;
      await new Promise((settle) => setTimeout(settle, 20));
    }
    throw new Error(`${on.shell} never printed ${pattern}: ${JSON.stringify(printed)}`);
  };
  try {
    terminal.write(`${setUp[on.shell](on.script)}; echo re''ady\r`);
    await until(/[\r\n]ready\r?\n/);
    terminal.write(`${on.keys}\x18`);
    const [, line = ""] = await until(/[\r\n]<([^\r\n]*)>\r?\n/);
    return line;
  } finally {
    terminal.kill("SIGKILL");
  }
};

/** Puts `rollcall` on the path of shells. */
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { endOf, startInTurn } from "./run.ts";
import { portOf } from "./server.ts";

/** Links the built program, so that it prints its name as an installed one. Returns the path. */
export const linkProgram = (folder = mkdtempSync(join(tmpdir(), "bin-"))): string => {
  const path = join(folder, "rollcall");
  symlinkSync(resolve("bin/rollcall.js"), path);
  return path;
};

/**
 * Writes a program that runs each command line in a reused process, because a start takes longer than most runs. A
 * command that has no end, or runs in a deleted folder, is started. Outputs arrive at the end of a run.
 */
export const writeQuickProgram = async (folder: string): Promise<void> => {
  listening ??= listen();
  const port = await listening;
  writeFileSync(join(folder, "rollcall"), quickProgram(port), { mode: 0o755 });
};

const quickProgram = (port: number): string => `#!/bin/bash
[[ "$1$2" == serve-* || ! -e "$PWD" ]] && exec -a rollcall '${process.execPath}' '${resolve("bin/rollcall.js")}' "$@"
run="\${0%/*}/$BASHPID-$RANDOM"
printf '%s\\0' "$@" > "$run.args"
env -0 > "$run.env"
cat > "$run.stdin"
exec 3<> /dev/tcp/127.0.0.1/${port}
printf '%s\\n%s\\n' "$run" "$PWD" >&3
read -r code <&3
cat "$run.stderr" >&2
cat "$run.stdout"
exit "$code"
`;

let listening: Promise<number> | undefined;

const listen = async (): Promise<number> => {
  const server = createServer((socket) => {
    // The shell may have ended the program.
    socket.on("error", () => undefined);
    let told = "";
    socket.on("data", (bytes) => {
      told += String(bytes);
      const [run, cwd, end] = told.split("\n");
      if (run !== undefined && cwd !== undefined && end !== undefined) void answer(socket, run, cwd);
    });
  });
  const port = await portOf(server);
  server.unref();
  return port;
};

const answer = async (socket: Socket, run: string, cwd: string): Promise<void> => {
  const read = (name: string) => readFileSync(`${run}.${name}`);
  const words = (name: string) => read(name).toString().split("\0").slice(0, -1);
  const env = Object.fromEntries(
    words("env").map((pair) => [pair.split("=", 1)[0], pair.slice(pair.indexOf("=") + 1)]),
  );
  const ran = await endOf(startInTurn(words("args"), { cwd, env, stdin: read("stdin") }));
  writeFileSync(`${run}.stdout`, ran.stdout);
  writeFileSync(`${run}.stderr`, ran.stderr);
  socket.end(`${ran.code ?? 137}\n`);
};

/** A build's program in a process that runs one command line after another. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A run that takes longer is killed and counts as hanging. */
const longestRunMs = 60_000;

/** What goes with a run has this time to end after the run. */
const longestRestMs = 1000;

/** Opens the program of a build. */
export const openProgram = (build) => {
  let child;
  const start = () => {
    const runner = fileURLToPath(new URL("runner.js", import.meta.url));
    child = fork(runner, [`${build}/dist/main.cjs`], {
      serialization: "advanced",
      // Node reads these when a process starts.
      env: { PATH: process.env.PATH, TZ: "UTC", LANG: "C.UTF-8" },
      execArgv: ["--expose-gc", "--no-warnings"],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
  };
  return {
    /**
     * Runs a command line: `args`, `env`, `stdin`, `cwd`, `columns`, `now` and `seed`.
     * `meanwhile` is called with the run while it runs, for runs that end only when they are told to.
     * @returns `code`, `stdout` and `stderr`; `code` is a text if the process ended or hung
     */
    async run(asked, meanwhile) {
      if (child === undefined || !child.connected) start();
      const own = child;
      const printed = { stdout: [], stderr: [] };
      const text = (stream) => Buffer.concat(printed[stream]).toString("utf8");
      let onPrinted = () => undefined;
      let hung = false;
      const ended = new Promise((resolve) => {
        const onExit = (code, signal) => resolve(hung ? "hung" : `process ended with ${code ?? signal}`);
        const onMessage = (message) => {
          if (message.stream !== undefined) {
            printed[message.stream].push(Buffer.from(message.chunk));
            return onPrinted();
          }
          own.off("exit", onExit).off("message", onMessage);
          resolve(message.code);
        };
        own.on("exit", onExit).on("message", onMessage);
      });
      const timer = setTimeout(() => {
        hung = true;
        own.kill("SIGKILL");
      }, longestRunMs);
      own.send({ stdin: Buffer.alloc(0), ...asked });
      const running = {
        signal: (name) => void (own.connected && own.send({ signal: name })),
        /** Waits for a text in standard output or standard error. Gives undefined if the run ends before. */
        printed: async (pattern) => {
          const found = new Promise((resolve) => {
            onPrinted = () => {
              const match = pattern.exec(text("stdout")) ?? pattern.exec(text("stderr"));
              if (match !== null) resolve(match);
            };
            onPrinted();
          });
          return await Promise.race([found, ended.then(() => undefined)]);
        },
        ended,
      };
      // What goes with a run fails, or waits forever, if the run ends too early: its output says why.
      const besides = meanwhile?.(running).catch(() => undefined);
      const code = await ended;
      clearTimeout(timer);
      await Promise.race([besides, new Promise((resolve) => setTimeout(resolve, longestRestMs))]);
      return { code, stdout: text("stdout"), stderr: text("stderr") };
    },
    async close() {
      if (child === undefined || !child.connected) return;
      const exit = once(child, "exit");
      child.disconnect();
      await exit;
    },
  };
};

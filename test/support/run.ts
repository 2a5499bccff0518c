/** Runs rollcall with a clean environment, with the clock, signals and waits of a program. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, fork, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { run } from "../../src/run.ts";

/** The exit code and output of a run. */
export interface RunResult {
  /** The exit code; null if a signal ended the process. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Added to a clean environment; undefined removes a variable. Pass `newHome()` to runs that share a home. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: empty. */
  readonly stdin?: string | Uint8Array;
  /** Runs the built program in a reused process with this working folder. */
  readonly cwd?: string;
  /** Folder of the program. Default: the checkout. */
  readonly program?: string;
  /** True if the run needs a separate process, as in a terminal. */
  readonly ownProcess?: boolean;
}

/** Creates an environment with a new home folder. */
export const newHome = (): Readonly<Record<"HOME" | "XDG_CONFIG_HOME" | "XDG_DATA_HOME", string>> => {
  const home = mkdtempSync(join(tmpdir(), "home-"));
  return { HOME: home, XDG_CONFIG_HOME: join(home, "config"), XDG_DATA_HOME: join(home, "data") };
};

/** Runs `rollcall` to its end, in a reused process, or in a separate one if the run needs it. */
export const runRollcall = async (args: readonly string[], options: RunOptions = {}): Promise<RunResult> =>
  await (needsProcess(options) ? runAlone(args, options) : runInTurn(args, options));

const needsProcess = ({ env = {}, program, ownProcess = false }: RunOptions): boolean =>
  ownProcess || program !== undefined || Object.keys(env).some((name) => readOnce.test(name));

/** Variables that Node and packages read only when a process starts or when they are loaded. */
const readOnce = /^(?:NODE_.*|LANG|LC_.*|TZ|TERM|COLORTERM|FORCE_COLOR|NO_COLOR)$/;

const runAlone = async (args: readonly string[], options: RunOptions): Promise<RunResult> => {
  const child = startRollcall(args, options);
  child.stdin.on("error", () => undefined).end(options.stdin ?? "");
  return await endOf(child);
};

const runInTurn = async (args: readonly string[], options: RunOptions): Promise<RunResult> => {
  const ran = await endOf(startInTurn(args, options));
  if (ran.code === null) throw new Error(`the process of ${args.join(" ")} ended`);
  return ran;
};

/** A message of a reused process, with output of a run or its exit code. */
interface RunnerMessage {
  readonly code?: number;
  /** A signal that the run has received. */
  readonly received?: NodeJS.Signals;
  readonly stdout?: Uint8Array;
  readonly stderr?: Uint8Array;
}

/** Processes without a run. */
const idle: ChildProcess[] = [];
const maxIdle = 8;

const startRunner = (): ChildProcess =>
  fork("test/support/runner.js", {
    serialization: "advanced",
    execArgv: ["--expose-gc"],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });

/** The peak memory of a run, in bytes. */
export const peakOf = async (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<number> => {
  const child = spawn(process.execPath, ["-r", "./bench/peak.cjs", "bin/rollcall.js", ...args], {
    env: { ...newHome(), ...env, BENCH_TELLS: "memory" },
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  let told = "";
  child.stdio[3]?.on("data", (text) => {
    told += text;
  });
  await new Promise((resolve) => child.on("close", resolve));
  return Number(told) * 1024;
};

/** Waits for the end of a run; returns its output since the call. */
export const endOf = async (child: StartedRun): Promise<RunResult> => {
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  const code = await new Promise<number | null>((settle) => void child.on("close", settle));
  return { code, stdout: await stdout, stderr: await stderr };
};

/**
 * Interrupts runs that wait for an event that never happens. A wait can't be seen from outside, so the first run is
 * interrupted soon after its start, and each next one later, until `until` is true of a run's result.
 */
export const interruptWaiting = async (
  start: () => ChildProcessWithoutNullStreams,
  {
    signal = "SIGINT",
    firstAge = 50,
    until = ({ code }) => code !== null,
  }: {
    readonly signal?: NodeJS.Signals;
    readonly firstAge?: number;
    readonly until?: (ran: RunResult) => boolean;
  } = {},
): Promise<RunResult> => {
  for (let age = firstAge; ; age *= 2) {
    const child = start();
    const ended = endOf(child);
    await new Promise((settle) => setTimeout(settle, age));
    child.kill(signal);
    const ran = await ended;
    if (until(ran) || age > oldestMs) return ran;
  }
};

/** The age at which a run receives signals on any machine. */
const oldestMs = 30_000;

/** A started run, with the members of a child process that tests use. */
export interface StartedRun {
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Sends a signal. SIGKILL ends the process that the run is in. */
  kill(signal?: NodeJS.Signals): boolean;
  on(event: "close", listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
}

export interface ReusedRun extends StartedRun {
  /** Sends SIGINT, SIGTERM or SIGHUP. Resolves once the run has received it, or is over. */
  signal(name: NodeJS.Signals): Promise<void>;
}

/**
 * Starts `rollcall` in this process, or in a reused process if it has a working folder, without an open standard
 * input. Use `startRollcall` to test a third signal, a pipe or a terminal.
 */
export const startInTurn = (args: readonly string[], options: RunOptions = {}): ReusedRun =>
  options.cwd === undefined ? startInside(args, options) : startReused(args, options);

const startInside = (args: readonly string[], { env = {}, stdin = "" }: RunOptions): ReusedRun => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const events = new EventEmitter();
  const node: NodeJS.Process = Object.create(process, {
    argv: { value: [process.execPath, "rollcall", ...args] },
    env: { value: environmentWith(env) },
    stdin: { value: Readable.from([Buffer.from(stdin)], { objectMode: false }) },
    stdout: { value: stdout },
    stderr: { value: stderr },
    on: { value: events.on.bind(events) },
    off: { value: events.off.bind(events) },
    once: { value: events.once.bind(events) },
  });
  let isOver = false;
  void run(node).then((code) => {
    isOver = true;
    stdout.end();
    stderr.end();
    // Like a process, the run ends after its output.
    setImmediate(() => events.emit("close", code, null));
  });
  const kill = (signal: NodeJS.Signals = "SIGTERM") => {
    if (signal === "SIGKILL") throw new Error("only a run in its own process can be killed");
    return !isOver && events.emit(signal, signal);
  };
  return {
    ...{ stdout, stderr, kill },
    signal: async (name) => void kill(name),
    on: (event, listener) => events.on(event, listener),
  };
};

const startReused = (args: readonly string[], { env = {}, stdin = "", cwd = "." }: RunOptions): ReusedRun => {
  const runner = idle.pop() ?? startRunner();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const events = new EventEmitter();
  let isOver = false;
  const end = (code: number | null, signal: NodeJS.Signals | null) => {
    isOver = true;
    runner.off("message", take).off("exit", end);
    stdout.end();
    stderr.end();
    events.emit("close", code, signal);
  };
  const take = ({ code, received, stdout: out, stderr: err }: RunnerMessage) => {
    if (out !== undefined) stdout.write(out);
    if (err !== undefined) stderr.write(err);
    if (received !== undefined) events.emit("received");
    if (code === undefined) return;
    end(code, null);
    runner.unref();
    if (idle.length < maxIdle) idle.push(runner);
    else runner.disconnect();
  };
  runner.ref();
  runner.on("message", take).on("exit", end);
  runner.send({ args, env: environmentWith(env), stdin: Buffer.from(stdin), cwd: resolve(cwd) });
  return {
    stdout,
    stderr,
    kill: (signal = "SIGTERM") => {
      if (isOver) return false;
      return signal === "SIGKILL" ? runner.kill(signal) : runner.send({ signal });
    },
    signal: async (name) => {
      if (isOver) return;
      const received = new Promise<void>((settle) => void events.once("received", settle).once("close", settle));
      runner.send({ signal: name });
      await received;
    },
    on: (event, listener) => events.on(event, listener),
  };
};

/** Ends a run after its test with SIGTERM, so that its process stays for the next run. */
export const endAfterTest = (child: StartedRun): void => {
  const closed = new Promise((settle) => void child.on("close", settle));
  onTestFinished(async () => {
    child.kill();
    await closed;
  });
};

/** Starts `rollcall` in its own process, such as `serve` or a run to interrupt. */
export const startRollcall = (
  args: readonly string[],
  { env = {}, cwd, program = "." }: RunOptions = {},
): ChildProcessWithoutNullStreams =>
  spawn(process.execPath, [resolve(program, "bin/rollcall.js"), ...args], {
    env: environmentWith(env),
    ...(cwd === undefined ? {} : { cwd }),
  });

const environmentWith = (env: NonNullable<RunOptions["env"]>): NodeJS.ProcessEnv => {
  const all = { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...newHome(), ...env };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
};

/** Starts `rollcall serve` with the options `args`. The caller stops the service. */
export const startLocalService = async (args: readonly string[] = []) => {
  const key = "key-of-the-service-1234";
  const child = startRollcall(["serve", "--port", "0", ...args], { env: { ROLLCALL_LOCAL_KEY: key } });
  const url = await new Promise<string>((settle) => {
    let printed = "";
    child.stderr.on("data", (chunk) => {
      printed += String(chunk);
      const [found] = /http:\/\/[\d.:]+/.exec(printed) ?? [];
      if (found !== undefined) settle(found);
    });
  });
  return { url, key, stop: (): void => void child.kill() };
};

export type LocalService = Awaited<ReturnType<typeof startLocalService>>;

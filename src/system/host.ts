/** Gives a run its environment, streams, signals and clock. */
import { once, setMaxListeners } from "node:events";
import type { Readable, Writable } from "node:stream";
import { nameProgramAfter } from "../text/shell-words.ts";
import { interrupted } from "./failures.ts";

/** No other module uses the global `process`, the clock or `Math.random`. */
export type Host = Readonly<{
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  argv: readonly string[];
  nodeVersion: string;
  stdin: Readable;
  stdout: Writable;
  stderr: Writable;
  terminal: Readonly<{
    stdin: boolean;
    stdout: boolean;
    stderr: boolean;
    columns: number;
    /** True if standard error is a terminal of unknown width. */
    isSizeUnknown: boolean;
  }>;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Milliseconds of a monotonic clock. */
  elapsed: () => number;
  /** Rejects with the signal's reason when the signal aborts. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  random: () => number;
  /** Node would print its warnings beside a JSON document. */
  ignoreWarnings: () => void;
  /** Aborts with a `Failure` at SIGINT, SIGTERM and SIGHUP. */
  signal: AbortSignal;
  /** Aborts at a second signal, so that the run abandons its requests. */
  urgent: AbortSignal;
}>;

export const decodePercent = (text: string) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export const isLoopback = (hostname: string) => /^(?:localhost\.?|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(hostname);

/** True for the location of a ledger or store on a database server. */
export const isDatabaseUrl = (location: string) => /^postgres(ql)?:\/\//i.test(location);

const secretVariable = /^(?:ROLLCALL_(?:API_KEY|TOKEN|PASSWORD|LOCAL_KEY)(?:_FILE)?|PGPASSWORD)$/i;

export const isSecretVariable = (name: string) =>
  name === "WANDB_API_KEY" || (secretVariable.test(name) && !/_FILE$/i.test(name));

const urlVariable = /^ROLLCALL_(?:LEDGER|STORE)$/i;

export const removeSecrets = (env: Host["env"]) => {
  const hasSecret = (name: string, value = "") =>
    secretVariable.test(name) || (urlVariable.test(name) && value.includes("://"));
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => !hasSecret(name, value)));
};

/** Finds a function that some versions of Node lack. The bundle has only the functions of the Node that built it. */
export const findZlibFunction = (name: string): unknown => Reflect.get(process.getBuiltinModule("node:zlib"), name);

export const currentUser = () => process.geteuid?.();

export const waitForAbort = async (signal: AbortSignal) => {
  if (!signal.aborted) await once(signal, "abort");
};

/** True if `nohup` or the parent ignores SIGHUP. Node itself resets an inherited disposition. */
const isHangupIgnored = ({ env, ppid, getBuiltinModule }: NodeJS.Process) => {
  if (env._?.endsWith("/nohup")) return true;
  try {
    const status = getBuiltinModule("node:fs").readFileSync(`/proc/${ppid}/status`, "latin1");
    return /^SigIgn:\s*[\da-f]*[13579bdf]$/m.test(status);
  } catch {
    return false;
  }
};

const signalNames = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

/** The first signal aborts `signal`, and the second signal aborts `urgent`. */
const listenForSignals = (process: NodeJS.Process) => {
  const [abort, urgentAbort] = [new AbortController(), new AbortController()];
  // Each request in flight adds a listener.
  setMaxListeners(0, abort.signal, urgentAbort.signal);
  const listeners = signalNames.map((name) => {
    const isIgnored = name === "SIGHUP" && isHangupIgnored(process);
    const listener = () => {
      if (isIgnored) return;
      if (!abort.signal.aborted) return abort.abort(interrupted({ signal: name }));
      process.off(name, listener);
      urgentAbort.abort(abort.signal.reason);
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  return {
    signal: abort.signal,
    urgent: urgentAbort.signal,
    close: () => {
      for (const removeListener of listeners) removeListener();
    },
  };
};

/** These getters open only the streams that the run uses. */
const openTerminal = (process: NodeJS.Process): Host["terminal"] => ({
  get stdin() {
    return process.getBuiltinModule("node:tty").isatty(0);
  },
  get stdout() {
    return process.stdout.isTTY === true;
  },
  get stderr() {
    return process.stderr.isTTY === true;
  },
  get columns() {
    // A terminal of unknown width has 0 columns.
    return process.stdout.columns || process.stderr.columns || 80;
  },
  get isSizeUnknown() {
    return process.stderr.columns === 0;
  },
});

export const openHost = (process: NodeJS.Process): Host & { close(): void } => {
  try {
    nameProgramAfter(process.argv[1] ?? "rollcall", process.cwd());
  } catch {
    // The current folder was deleted, so the program keeps its usual name.
  }
  return {
    ...listenForSignals(process),
    env: process.env,
    platform: process.platform,
    argv: process.argv.slice(2),
    nodeVersion: process.versions.node,
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    terminal: openTerminal(process),
    now: Date.now,
    // Loading `performance` would take a millisecond.
    elapsed: () => Number(process.hrtime.bigint()) / 1e6,
    sleep: async (ms, signal) => {
      const { setTimeout: wait } = process.getBuiltinModule("node:timers/promises");
      await wait(ms, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
    },
    random: Math.random,
    ignoreWarnings: () => void process.removeAllListeners("warning"),
  };
};

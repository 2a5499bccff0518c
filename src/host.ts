/** What the machine gives a run: environment, streams, terminal, clock, chance, signals. */

import { setMaxListeners } from "node:events";
import type { Readable, Writable } from "node:stream";
import { interrupted } from "./failures.ts";

/** Nothing below reaches for `process`, the clock or chance by itself. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The words typed behind the program's name. */
  readonly argv: readonly string[];
  /** Version of Node, without the `v`. */
  readonly nodeVersion: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly terminal: Terminal;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** From 0 to 1, as `Math.random`. */
  readonly random: () => number;
  /** Aborts, with a `Failure` as its reason, at SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Aborts at the second of these signals: what is still in flight is given up. A third ends the process. */
  readonly urgent: AbortSignal;
  /** Lends the terminal to another program, such as a pager: Ctrl-C is that program's until the returned function is called. */
  readonly lendTerminal: () => () => void;
}

/** Which streams are terminals, and how large the terminal is. */
export interface Terminal {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly columns: number;
  readonly rows: number;
  /** Whether nobody told the terminal of standard error how wide it is: what stands there can't be drawn anew in its place. */
  readonly sizeless: boolean;
}

/** Whether a host is this machine, which only it can reach: 127.0.0.0/8, ::1 (in brackets or not) and `localhost`. */
export const isLoopback = (hostname: string): boolean =>
  /^(?:localhost\.?|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(hostname);

/** What the percent escapes of an address stand for; a text with a stray `%`, as in a password, stands for itself. */
export const decodePercent = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Variables that hold a key of rollcall's, or say in which file one is. */
const secretVariable = /^ROLLCALL_(?:API_KEY|TOKEN|PASSWORD|LOCAL_KEY)(?:_FILE)?$/i;

/** The keys that an environment holds: rollcall's own, and that of Weights & Biases, which nothing else tells from the id of a commit. */
export const listSecrets = (env: Host["env"]): readonly string[] =>
  Object.entries(env).flatMap(([name, value]) => {
    const isKey = name === "WANDB_API_KEY" || (secretVariable.test(name) && !/_FILE$/i.test(name));
    return isKey && value !== undefined ? [value] : [];
  });

/** Variables that may hold an address with its password. */
const urlVariable = /^ROLLCALL_(?:LEDGER|STORE)$/i;

/** An environment for other programs: rollcall's keys, and the passwords of its databases, are none of theirs. */
export const removeSecrets = (env: Host["env"]): Host["env"] =>
  Object.fromEntries(
    Object.entries(env).filter(
      ([name, value]) => !secretVariable.test(name) && !(urlVariable.test(name) && value?.includes("://")),
    ),
  );

/** The number of the user that this process acts as; undefined on Windows, which has none. */
export const currentUser = (): number | undefined => process.geteuid?.();

/** Waits until a signal aborts. */
export const waitForAbort = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** A host whose work another signal ends too. */
export const withSignal = (host: Host, signal: AbortSignal): Host => {
  const either = AbortSignal.any([host.signal, signal]);
  setMaxListeners(0, either);
  return { ...host, signal: either };
};

const signalNames = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

const nsPerMs = 1e6;

/** Reads the host from Node's process. Signals abort the host's signal once; what then happens is the run's. */
export const openHost = (process: NodeJS.Process): Host & { close(): void } => {
  const abort = new AbortController();
  const urgentAbort = new AbortController();
  // Every request in flight listens: there is no number of them that is a leak.
  setMaxListeners(0, abort.signal, urgentAbort.signal);
  let lentCount = 0;
  const listeners = signalNames.map((name) => {
    const listener = () => {
      if (name === "SIGINT" && lentCount > 0) return;
      if (!abort.signal.aborted) {
        abort.abort(interrupted({ signal: name }));
        return;
      }
      // A third signal ends the process at once: the system's default action is back.
      process.off(name, listener);
      urgentAbort.abort(abort.signal.reason);
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  return {
    env: process.env,
    platform: process.platform,
    argv: process.argv.slice(2),
    nodeVersion: process.versions.node,
    get stdin() {
      return process.stdin;
    },
    // A stream is opened, and what it stands on looked up, when somebody asks: most runs need one of the three.
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    terminal: {
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
        // A terminal that nobody told its size has none.
        return process.stdout.columns || process.stderr.columns || 80;
      },
      get rows() {
        return process.stdout.rows || process.stderr.rows || 24;
      },
      get sizeless() {
        return process.stderr.columns === 0;
      },
    },
    now: Date.now,
    // Node loads `performance` when somebody asks for it, and takes a millisecond for that.
    elapsed: () => Number(process.hrtime.bigint()) / nsPerMs,
    sleep: async (ms, signal) => {
      const { setTimeout: wait } = process.getBuiltinModule("node:timers/promises");
      await wait(ms, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
    },
    random: Math.random,
    signal: abort.signal,
    urgent: urgentAbort.signal,
    lendTerminal: () => {
      lentCount++;
      return () => void lentCount--;
    },
    close: () => {
      for (const off of listeners) off();
    },
  };
};

/** What the machine gives a run: environment, streams, terminal, clock, chance, signals. Types only; `context` opens it. */
import type { Readable, Writable } from "node:stream";
import type { Ahead } from "./ahead.ts";

/** What the machine gives a run. Nothing below reaches for `process`, the clock or chance by itself. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** The words typed behind the program's name. */
  readonly words: readonly string[];
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
  /** Hands over a thread that was started ahead to help with reading; whoever takes it ends it. Undefined where there is none. */
  readonly helper?: Ahead["take"];
}

/** Which streams are terminals, and how large the terminal is. */
export interface Terminal {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly columns: number;
  readonly rows: number;
}

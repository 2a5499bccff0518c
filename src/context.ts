/** The corridor: what the machine gives a run (host), and the doors to the rooms, each opened when it is used. */
import type { Readable, Writable } from "node:stream";
import { isatty } from "node:tty";
import type { Client } from "./client/index.ts";
import { Failure } from "./failure.ts";
import type { Screen } from "./output/index.ts";
import type { Service, ServiceOptions } from "./service/index.ts";
import type { SettingFlags, Settings } from "./settings/index.ts";

/** What the machine gives a run. Nothing below reaches for `process`, the clock or chance by itself. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
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
}

/** Which streams are terminals, and how large the terminal is. */
export interface Terminal {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly columns: number;
  readonly rows: number;
}

/** Global options, as far as they choose settings: raw words, given their meaning by the settings room. */
export interface GlobalFlags extends SettingFlags {
  readonly profile?: string;
  readonly local: boolean;
  readonly debug: boolean;
}

/** Global options as typed, the way commander gives them. */
export interface TypedOptions {
  readonly profile?: string;
  readonly local?: boolean;
  readonly baseUrl?: string;
  readonly inferenceBaseUrl?: string;
  readonly logBaseUrl?: string;
  readonly project?: string;
  readonly json?: boolean;
  readonly output?: string;
  readonly fields?: string;
  readonly header?: boolean;
  readonly quiet?: boolean;
  readonly color?: boolean;
  readonly pager?: boolean;
  readonly debug?: boolean;
  readonly timeout?: string;
  readonly maxWait?: string;
  readonly insecureHttp?: boolean;
}

/** The global options that choose settings, under the settings' own names. */
export const globalFlags = (typed: TypedOptions): GlobalFlags => ({
  local: typed.local === true,
  debug: typed.debug === true,
  ...(typed.profile === undefined ? {} : { profile: typed.profile }),
  ...(typed.baseUrl === undefined ? {} : { base_url: typed.baseUrl }),
  ...(typed.inferenceBaseUrl === undefined ? {} : { inference_base_url: typed.inferenceBaseUrl }),
  ...(typed.logBaseUrl === undefined ? {} : { log_base_url: typed.logBaseUrl }),
  ...(typed.project === undefined ? {} : { project: typed.project }),
  ...(typed.timeout === undefined ? {} : { timeout: typed.timeout }),
  ...(typed.maxWait === undefined ? {} : { max_wait: typed.maxWait }),
  ...(typed.insecureHttp === undefined ? {} : { insecure_http: typed.insecureHttp }),
});

/** Gives a command its context: the global options are known once the command's action runs. */
export type Start = (command: { optsWithGlobals(): TypedOptions }) => Context;

/** One run: the host, the screen, and the doors to the rooms. */
export interface Context {
  readonly host: Host;
  readonly screen: Screen;
  readonly flags: GlobalFlags;
  /** Settings in force. `flags` are a command's own options that are settings too, such as `--split`. */
  settings(flags?: SettingFlags): Promise<Settings>;
  /** The service's client: of a deployed service, or of one inside this process where the profile is `local`. */
  client(settings: Settings): Promise<Client>;
  /** The room of trajectories. */
  trajectories(): Promise<typeof import("./trajectories/index.ts")>;
  /** The settings room itself, for the commands that change what is saved. */
  settingsRoom(): Promise<typeof import("./settings/index.ts")>;
  /** The local service. */
  service(options: ServiceOptions): Promise<Service>;
  /** Closes what was opened, last first. */
  close(): Promise<void>;
}

/** Opens a run's context; nothing is loaded or read before a door is used. */
export const openContext = ({
  host,
  screen,
  flags,
}: {
  readonly host: Host;
  readonly screen: Screen;
  readonly flags: GlobalFlags;
}): Context => {
  const opened: { close(): Promise<void> }[] = [];
  const keep = <Opened extends { close(): Promise<void> }>(value: Opened): Opened => {
    opened.push(value);
    return value;
  };
  const context: Context = {
    host,
    screen,
    flags,
    async settings(own = {}) {
      const { readSettings } = await context.settingsRoom();
      return await readSettings({ host, flags: { ...flags, ...own }, hide: screen.hide, notice: screen.notice });
    },
    async client(settings) {
      const local = settings.local ? await context.service(settings.localService()) : undefined;
      const { openClient } = await import("./client/index.ts");
      return keep(openClient({ host, settings, local, trace: flags.debug ? screen.trace : undefined }));
    },
    async trajectories() {
      return await import("./trajectories/index.ts");
    },
    async settingsRoom() {
      return await import("./settings/index.ts");
    },
    async service(options) {
      const { openService } = await import("./service/index.ts");
      return keep(await openService(options));
    },
    async close() {
      for (const one of opened.splice(0).reverse()) await one.close();
    },
  };
  return context;
};

const signalNames = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

/** Reads the host from Node's process. Signals abort the host's signal once; what then happens is the run's. */
export const openHost = (process: NodeJS.Process): Host & { close(): void } => {
  const abort = new AbortController();
  const listeners = signalNames.map((name) => {
    // A second signal of the same name ends the process at once: the system's default action is back.
    const listener = () => abort.abort(new Failure("interrupted", { signal: name }));
    process.once(name, listener);
    return () => process.off(name, listener);
  });
  return {
    env: process.env,
    platform: process.platform,
    nodeVersion: process.versions.node,
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    terminal: {
      stdin: isatty(0),
      stdout: isatty(1),
      stderr: isatty(2),
      columns: process.stdout.columns ?? process.stderr.columns ?? 80,
      rows: process.stdout.rows ?? process.stderr.rows ?? 24,
    },
    now: Date.now,
    elapsed: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const timer = setTimeout(() => {
          signal?.removeEventListener("abort", stop);
          resolve();
        }, ms);
        const stop = () => {
          clearTimeout(timer);
          reject(signal?.reason);
        };
        signal?.addEventListener("abort", stop, { once: true });
      }),
    random: Math.random,
    signal: abort.signal,
    close: () => {
      for (const off of listeners) off();
    },
  };
};

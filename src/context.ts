/** The corridor: what the machine gives a run (host), and the doors to the rooms, each opened when it is used. */
import { setMaxListeners } from "node:events";
import type { Ahead } from "./ahead.ts";
import type { Client } from "./client/index.ts";
import type { Credential, CredentialUse } from "./contract/endpoint.ts";
import { Failure } from "./failure.ts";
import type { Host } from "./host.ts";
import type { Screen, TypedScreen } from "./output/index.ts";
import type { Service, ServiceOptions } from "./service/index.ts";
import type { SettingFlags, Settings } from "./settings/index.ts";

/** Global options, as far as they choose settings: raw words, given their meaning by the settings room. */
export interface GlobalFlags extends SettingFlags {
  readonly profile?: string;
  readonly local: boolean;
  readonly debug: boolean;
}

/** The global options that are settings or choose them, as commander gives them. */
export interface TypedFlags {
  readonly profile?: string;
  readonly local?: boolean;
  readonly baseUrl?: string;
  readonly inferenceBaseUrl?: string;
  readonly logBaseUrl?: string;
  readonly project?: string;
  readonly debug?: boolean;
  readonly timeout?: string;
  readonly maxWait?: string;
  readonly insecureHttp?: boolean;
}

/** All global options as typed. */
export type TypedOptions = TypedFlags & TypedScreen;

/** The global options that choose settings, under the settings' own names. */
export const globalFlags = (typed: TypedFlags): GlobalFlags => ({
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
  /** The contract's files. They need zod, so each is opened when it is used. */
  readonly contract: {
    call(): Promise<typeof import("./contract/call.ts")>;
    catalog(): Promise<typeof import("./contract/catalog.ts")>;
    models(): Promise<typeof import("./contract/models.ts")>;
  };
  /** What tells the place that a model's trajectories are logged to from others: its address, or the local store. */
  logDestination(settings: Settings, modelId: string): Promise<string>;
  /** The room of trajectories. */
  trajectories(): Promise<typeof import("./trajectories/index.ts")>;
  /** The room of catalogs: filters, prices, and what becomes of them. */
  catalogs(): Promise<typeof import("./catalogs/index.ts")>;
  /** What is said of codes, reasons and rules. */
  pages(): Promise<typeof import("./commands/explain/pages.ts")>;
  /** The JSON Schemas of what is printed. */
  schemas(): Promise<typeof import("./commands/schema/schemas.ts")>;
  /** The room that serves tools to agents. */
  mcp(): Promise<typeof import("./mcp/index.ts")>;
  /** The room of calls: their facts, summaries, and what they can be turned into. */
  calls(): Promise<typeof import("./calls/index.ts")>;
  /** The client's room itself, for who looks at addresses without a request. */
  clientRoom(): Promise<typeof import("./client/index.ts")>;
  /** The local service's room itself, for who looks at its store without starting it. */
  serviceRoom(): Promise<typeof import("./service/index.ts")>;
  /** The settings room itself, for the commands that change what is saved. */
  settingsRoom(): Promise<typeof import("./settings/index.ts")>;
  /** The local service, listening where `options` say. */
  service(options: Omit<ServiceOptions, "host" | "trace">): Promise<Service>;
  /** The local service, for this run alone: on a free loopback port, with the data folder in force. */
  localService(settings: Settings): Promise<Service>;
  /** Does something when the run is over, its output out and its doors still open; that it fails is no failure of the run. */
  afterwards(work: () => Promise<void>): void;
  /** Does what was left for afterwards, then closes what was opened, last first. */
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
  let local: Promise<Service> | undefined;
  const opened: { close(): Promise<unknown> }[] = [];
  const left: (() => Promise<void>)[] = [];
  const keep = <Opened extends { close(): Promise<unknown> }>(value: Opened): Opened => {
    opened.push(value);
    return value;
  };
  const openLocal = async (settings: Settings): Promise<Service> => {
    const { openService } = await import("./service/index.ts");
    const silent = { warn: () => undefined, trace: undefined };
    const service = keep(await openService({ ...settings.service, ...silent, host, address: "127.0.0.1", port: 0 }));
    screen.hide(service.key);
    return service;
  };
  const context: Context = {
    host,
    screen,
    flags,
    async settings(own = {}) {
      const { readSettings } = await context.settingsRoom();
      return await readSettings({
        host,
        flags: { ...flags, ...own },
        hide: screen.hide,
        notice: screen.notice,
        warn: screen.warn,
      });
    },
    async client(settings) {
      const { openClient } = await import("./client/index.ts");
      const own = settings.local ? await context.localService(settings) : undefined;
      const project = settings.get("project");
      const client = keep(
        openClient({
          host,
          address: (of) => own?.url ?? settings.address(of),
          credential: async (use, about) =>
            own === undefined ? await settings.credential(use, about) : localCredential(use, own.key),
          project: project === undefined ? undefined : { header: settings.require("project_header"), value: project },
          timeoutMs: settings.get("timeout"),
          // What is in this process does not come back by waiting for it.
          maxWaitMs: own === undefined ? settings.require("max_wait") : 0,
          insecureHttp: settings.get("insecure_http") === true,
          notice: screen.notice,
          trace: flags.debug ? screen.trace : undefined,
        }),
      );
      return own === undefined ? client : withOwnTrouble(client, own);
    },
    async logDestination(settings, modelId) {
      if (settings.local) return `store ${(await context.localService(settings)).store}`;
      const { logTrajectories } = await import("./contract/log.ts");
      const { fillPath } = await import("./contract/endpoint.ts");
      return `${settings.address(logTrajectories.host)}${fillPath(logTrajectories.path, { model_id: modelId })}`;
    },
    async localService(settings) {
      // Two that ask at once get the same one.
      local ??= openLocal(settings);
      return await local;
    },
    contract: {
      call: () => import("./contract/call.ts"),
      catalog: () => import("./contract/catalog.ts"),
      models: () => import("./contract/models.ts"),
    },
    async trajectories() {
      return await import("./trajectories/index.ts");
    },
    async catalogs() {
      return await import("./catalogs/index.ts");
    },
    async pages() {
      return await import("./commands/explain/pages.ts");
    },
    async schemas() {
      return await import("./commands/schema/schemas.ts");
    },
    async mcp() {
      return await import("./mcp/index.ts");
    },
    async calls() {
      return await import("./calls/index.ts");
    },
    async clientRoom() {
      return await import("./client/index.ts");
    },
    async serviceRoom() {
      return await import("./service/index.ts");
    },
    async settingsRoom() {
      return await import("./settings/index.ts");
    },
    async service(options) {
      const { openService } = await import("./service/index.ts");
      const service = keep(await openService({ ...options, host, trace: flags.debug ? screen.trace : undefined }));
      screen.hide(service.key);
      return service;
    },
    afterwards(work) {
      left.push(work);
    },
    async close() {
      for (const work of left.splice(0)) {
        await work().catch((thrown: unknown) => {
          if (flags.debug) screen.trace(`* not kept: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
        });
      }
      local = undefined;
      for (const one of opened.splice(0).reverse()) await one.close();
    },
  };
  return context;
};

/** A client whose service is in this process: what that can't do is the run's own failure, not an answer. */
const withOwnTrouble = (client: Client, own: Service): Client => ({
  ...client,
  async send(endpoint, request) {
    return await client.send(endpoint, request).catch((thrown: unknown) => {
      throw own.trouble ?? thrown;
    });
  },
  async attempt(endpoint, request) {
    const attempt = await client.attempt(endpoint, request);
    if (own.trouble !== undefined) throw own.trouble;
    return attempt;
  },
});

/** The credential that the service inside this process asks for. */
const localCredential = (use: CredentialUse, key: string): Credential =>
  use === "calls"
    ? { scheme: "basic", username: "api", password: key, from: "the local service" }
    : { scheme: "bearer", token: key, from: "the local service" };

/** A host whose work another signal ends too. */
export const withSignal = (host: Host, signal: AbortSignal): Host => {
  const either = AbortSignal.any([host.signal, signal]);
  setMaxListeners(0, either);
  return { ...host, signal: either };
};

const signalNames = ["SIGHUP", "SIGINT", "SIGTERM"] as const;

const nsPerMs = 1e6;

/** Reads the host from Node's process. Signals abort the host's signal once; what then happens is the run's. */
export const openHost = (process: NodeJS.Process, ahead: Ahead): Host & { close(): void } => {
  const abort = new AbortController();
  const hurry = new AbortController();
  // Every request in flight listens: there is no number of them that is a leak.
  setMaxListeners(0, abort.signal, hurry.signal);
  let lent = 0;
  const listeners = signalNames.map((name) => {
    const listener = () => {
      if (name === "SIGINT" && lent > 0) return;
      if (!abort.signal.aborted) {
        abort.abort(new Failure("interrupted", { signal: name }));
        return;
      }
      // A third signal ends the process at once: the system's default action is back.
      process.off(name, listener);
      hurry.abort(abort.signal.reason);
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  return {
    env: process.env,
    platform: process.platform,
    words: process.argv.slice(2),
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
        return process.stdout.columns ?? process.stderr.columns ?? 80;
      },
      get rows() {
        return process.stdout.rows ?? process.stderr.rows ?? 24;
      },
    },
    now: Date.now,
    // Node loads `performance` when somebody asks for it, and takes a millisecond for that.
    elapsed: () => Number(process.hrtime.bigint()) / nsPerMs,
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
    urgent: hurry.signal,
    lendTerminal: () => {
      lent++;
      return () => void lent--;
    },
    helper: ahead.take,
    close: () => {
      ahead.close();
      for (const off of listeners) off();
    },
  };
};

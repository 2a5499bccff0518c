/** One run: what the machine gives it, its screen, the global options, and what is closed when it is over. */
import type { Command } from "commander";
import type { Client } from "./client/index.ts";
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

/** What can be closed. */
export interface Closable {
  close(): Promise<unknown>;
}

/** The command tree, for a command that runs others. */
export interface Tree {
  /** The tree with all that one noun has. */
  open(noun: string): Promise<Command>;
  /** Does what words ask for. @throws Failure what the command ends with */
  obey(words: readonly string[], start: Start): Promise<unknown>;
}

/** One run. */
export interface Context {
  readonly host: Host;
  readonly screen: Screen;
  readonly flags: GlobalFlags;
  /** What settings are where nobody said, in place of their own defaults. */
  readonly defaults?: { readonly max_wait: string };
  /** Has what was opened closed when the run is over, last first. */
  keep<Opened extends Closable>(opened: Opened): Opened;
  /** Does something when the run is over, its output out and all that was opened still open; that it fails is no failure of the run. */
  afterwards(work: () => Promise<void>): void;
  /** Does what was left for afterwards, then closes what was opened. */
  close(): Promise<void>;
  settings(flags?: SettingFlags): Promise<Settings>;
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
}

/** Opens a run's context. */
export const openContext = ({ host, screen, flags }: Pick<Context, "host" | "screen" | "flags">): Context => {
  const opened: Closable[] = [];
  const left: (() => Promise<void>)[] = [];
  const context: Context = {
    host,
    screen,
    flags,
    keep(value) {
      opened.push(value);
      return value;
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
      for (const one of opened.splice(0).reverse()) await one.close();
    },
    settings: async (own) => (await import("./connect.ts")).settingsInForce(context, own),
    client: async (settings) => await (await import("./connect.ts")).openClient(context, settings),
    localService: async (settings) => await (await import("./connect.ts")).localService(context, settings),
    logDestination: async (settings, modelId) =>
      await (await import("./connect.ts")).logDestination(context, settings, modelId),
    contract: {
      call: () => import("./contract/call.ts"),
      catalog: () => import("./contract/catalog.ts"),
      models: () => import("./contract/models.ts"),
    },
    trajectories: () => import("./trajectories/index.ts"),
    catalogs: () => import("./catalogs/index.ts"),
    mcp: () => import("./mcp/index.ts"),
    calls: () => import("./calls/index.ts"),
    clientRoom: () => import("./client/index.ts"),
    serviceRoom: () => import("./service/index.ts"),
    settingsRoom: () => import("./settings/index.ts"),
    async service(options) {
      const { openService } = await import("./service/index.ts");
      const service = context.keep(
        await openService({ ...options, host, trace: flags.debug ? screen.trace : undefined }),
      );
      screen.hide(service.key);
      return service;
    },
  };
  return context;
};

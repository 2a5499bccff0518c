/** One run: what the machine gives it, its screen, the global options, and what is closed when it is over. */
import type { Command } from "commander";
import type { Host } from "./host.ts";
import type { Screen, TypedScreen } from "./output/index.ts";
import type { SettingFlags } from "./settings/index.ts";

/** Global options, as far as they choose settings: raw words, given their meaning by the settings room. */
export interface GlobalFlags extends SettingFlags {
  readonly local: boolean;
  readonly debug: boolean;
}

/** The global options that are settings or choose them, as commander gives them. */
interface TypedFlags {
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
  profile: typed.profile,
  base_url: typed.baseUrl,
  inference_base_url: typed.inferenceBaseUrl,
  log_base_url: typed.logBaseUrl,
  project: typed.project,
  timeout: typed.timeout,
  max_wait: typed.maxWait,
  insecure_http: typed.insecureHttp,
});

/** Gives a command its context: the global options are known once the command's action runs. */
export type Start = (command: { optsWithGlobals(): TypedOptions }) => Context;

/** What can be closed. */
interface Closable {
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
  readonly defaults?: { readonly max_wait: string } | undefined;
  /** Has what was opened closed when the run is over, last first. */
  keep<Opened extends Closable>(opened: Opened): Opened;
  /** Does something when the run is over, its output out and all that was opened still open; that it fails is no failure of the run. */
  afterwards(work: () => Promise<void>): void;
  /** Does what was left for afterwards, then closes what was opened. */
  close(): Promise<void>;
}

/** Opens a run's context. */
export const openContext = ({ host, screen, flags }: Pick<Context, "host" | "screen" | "flags">): Context => {
  const opened: Closable[] = [];
  const left: (() => Promise<void>)[] = [];
  return {
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
  };
};

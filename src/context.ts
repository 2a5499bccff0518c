/** One run: what the machine gives it, its screen, the global options, and what is closed when it is over. */
import type { Host } from "./host.ts";
import type { Screen } from "./output/index.ts";
import type { SettingFlags } from "./settings/index.ts";

/** Global options, as far as they choose settings: raw words, given their meaning by the settings room. */
export interface GlobalFlags extends SettingFlags {
  readonly local: boolean;
  readonly debug: boolean;
}

type Closable = { close(): Promise<unknown> };

export interface Context {
  readonly host: Host;
  readonly screen: Screen;
  readonly flags: GlobalFlags;
  /** What settings are where nobody said, in place of their own defaults. */
  readonly defaults?: { readonly max_wait: string } | undefined;
  /** Has what was opened closed when the run is over, last first. */
  closeAtEnd<Opened extends Closable>(opened: Opened): Opened;
  /** Does something when the run is over, its output out and all that was opened still open; that it fails is no failure of the run. */
  runAtEnd(work: () => Promise<void>): void;
  /** Does what was left for afterwards, then closes what was opened. */
  close(): Promise<void>;
}

export const openContext = ({ host, screen, flags }: Pick<Context, "host" | "screen" | "flags">): Context => {
  const opened: Closable[] = [];
  const left: (() => Promise<void>)[] = [];
  return {
    host,
    screen,
    flags,
    closeAtEnd(value) {
      opened.push(value);
      return value;
    },
    runAtEnd(work) {
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

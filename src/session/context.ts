/** Defines the context of a run: its host, screen, flags and open resources. */

import type { Screen } from "../output/screen.ts";
import type { SettingFlags } from "../settings/layers.ts";
import type { Host } from "../system/host.ts";

export type GlobalFlags = SettingFlags & Readonly<{ local: boolean; debug: boolean }>;

type Closable = { close(): Promise<unknown> };

export interface Context {
  readonly host: Host;
  readonly screen: Screen;
  readonly flags: GlobalFlags;
  closeAtEnd<Opened extends Closable>(opened: Opened): Opened;
  /** Replaces the function that adds details, such as excerpts, to the error of the run. */
  explainWith(explain: (thrown: unknown) => Promise<unknown>): void;
  explain(thrown: unknown): Promise<unknown>;
  close(): Promise<void>;
}

export const openContext = ({ host, screen, flags }: Pick<Context, "host" | "screen" | "flags">): Context => {
  const opened: Closable[] = [];
  let explain = async (thrown: unknown) => thrown;
  return {
    host,
    screen,
    flags,
    closeAtEnd(value) {
      opened.push(value);
      return value;
    },
    explainWith(given) {
      explain = given;
    },
    explain: async (thrown) => await explain(thrown),
    async close() {
      for (const closable of opened.splice(0).reverse()) await closable.close();
    },
  };
};

/** Defines the context of a run: its host, screen, flags and open resources. */

import type { Screen } from "../output/screen.ts";
import type { SettingFlags } from "../settings/layers.ts";
import { type Host, withSignal } from "../system/host.ts";

export type GlobalFlags = SettingFlags & Readonly<{ local: boolean; debug: boolean }>;

type Closable = { close(): Promise<unknown> };

type ContextParts = Readonly<{ host: Host; screen: Screen; flags: GlobalFlags }>;

export type Context = Readonly<ReturnType<typeof openContext>>;

export const openContext = ({ host, screen, flags }: ContextParts) => {
  const opened: Closable[] = [];
  let explain = async (thrown: unknown) => thrown;
  return {
    host,
    screen,
    flags,
    closeAtEnd<Opened extends Closable>(value: Opened) {
      opened.push(value);
      return value;
    },
    /** Replaces the function that adds details, such as excerpts, to the error of the run. */
    explainWith(given: typeof explain) {
      explain = given;
    },
    explain: async (thrown: unknown) => await explain(thrown),
    async close() {
      for (const closable of opened.splice(0).reverse()) await closable.close();
    },
  };
};

export const runInContext = async ({ host, screen, flags }: Context, work: (context: Context) => Promise<void>) => {
  const ended = new AbortController();
  const context = openContext({ host: withSignal(host, ended.signal), screen, flags });
  try {
    await work(context);
  } finally {
    ended.abort();
    await context.close();
  }
};

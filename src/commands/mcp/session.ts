/** What the tools of one server have in common: settings and a client, opened when they are needed and kept. */
import type { Client } from "../../client/index.ts";
import { settingsSources } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import type { Settings } from "../../settings/index.ts";

/** Settings, and the client that goes with them. */
export interface Opened {
  readonly settings: Settings;
  readonly client: Client;
}

/** A server's way to its service. */
export interface Session {
  readonly context: Context;
  /**
   * Runs work with settings and client. Where either is what it fails for, they are read anew for the next: a server lives
   * longer than a wrong setting.
   */
  with<Result>(work: (opened: Opened) => Promise<Result>): Promise<Result>;
}

/** The room that makes parameters. */
export type McpRoom = Awaited<ReturnType<Context["mcp"]>>;

/** How long a list that was read serves the pages after its first. */
const freshMs = 30_000;

/** Has a list read once for the pages that are asked for one after the other. */
export const openMemo = <Result>(
  session: Session,
): ((read: (opened: Opened) => Promise<Result>) => Promise<Result>) => {
  const { elapsed } = session.context.host;
  let kept: { readonly until: number; readonly result: Promise<Result> } | undefined;
  return async (read) => {
    if (kept !== undefined && elapsed() < kept.until) return await kept.result;
    const own = { until: elapsed() + freshMs, result: session.with(read) };
    kept = own;
    try {
      return await own.result;
    } catch (thrown) {
      if (kept === own) kept = undefined;
      throw thrown;
    }
  };
};

/** How long a service that is down is tried where nobody says: an agent gives up after a minute, and can try again itself. */
const triedFor = "10s";

/** Opens a session; nothing is read before a tool needs it. */
export const openSession = (context: Context): Session => {
  let opened: Promise<Opened> | undefined;
  const open = async (): Promise<Opened> => {
    const { readSettings } = await context.settingsRoom();
    const settings = await readSettings({ ...settingsSources(context), defaults: { max_wait: triedFor } });
    return { settings, client: await context.client(settings) };
  };
  return {
    context,
    async with(work) {
      opened ??= open();
      const own = opened;
      try {
        return await work(await own);
      } catch (thrown) {
        const mended = thrown instanceof Failure && (thrown.code === "usage" || thrown.code === "auth");
        if (mended && opened === own) opened = undefined;
        throw thrown;
      }
    },
  };
};

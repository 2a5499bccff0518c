/** A home for tests of `rollcall auth`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";
import { type Exchange, json, scriptedServer } from "../../support/server.ts";

export const key = "wk-1234567890";
/** An empty list of models, which a valid key gets. */
export const models = json({ object: "list", data: [] });

/** Opens a home and a service with these exchanges. Returns functions that run rollcall and read its files there. */
export const openHome = async (exchanges: readonly Exchange[] = []) => {
  const home = newHome();
  const server = await scriptedServer(exchanges);
  const file = (name: string): string => join(home.XDG_CONFIG_HOME, "rollcall", name);
  const run = async (args: string, { env = {}, ...options }: RunOptions = {}) =>
    await runRollcall(args.split(" "), { env: { ...home, ...env }, ...options });
  const auth = async (args: string, options?: RunOptions) => await run(`auth ${args}`, options);
  const site = `--base-url ${server.url}/api --inference-base-url ${server.url}/v1`;
  const saved = (name: string): unknown => JSON.parse(readFileSync(file(name), "utf8")).profiles;
  return { home, server, file, run, auth, site, saved };
};

/** A service with a list of models and both catalogs, for tests of the commands that join them. */
import { readFileSync } from "node:fs";
import { type Ran, runRollcall } from "../../support/run.ts";
import { type Answer, json, scriptedServer } from "../../support/server.ts";

/** What the service answers: the text of a reply, an answer of its own, or nothing where it must not be asked. */
export interface Replies {
  readonly models?: string | Answer;
  readonly analysis?: string | Answer;
  readonly router?: string | Answer;
}

/** A sample, with dates that have passed, or have not, whenever the test is run. */
const sample = (name: string): string =>
  readFileSync(`test/samples/${name}.json`, "utf8").replaceAll(
    /("deprecation_date": )"(\d{4})/g,
    (_, key: string, year: string) => `${key}"${year === "2026" ? "2020" : "2999"}`,
  );

/** The sample of each. */
export const samples: Required<Replies> = {
  models: sample("models"),
  analysis: sample("catalog.analysis"),
  router: sample("catalog.router"),
};

const paths = { models: "/v1/models", analysis: "/inference/analysis/a/models", router: "/inference/router/r/models" };

/** Runs rollcall against such a service; every reply must be asked for, once. */
export const runWith = async (
  replies: Replies,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
  { damaged = false } = {},
): Promise<Ran> => {
  const exchanges = (["models", "analysis", "router"] as const).flatMap((name) => {
    const reply = replies[name];
    if (reply === undefined) return [];
    const answer = typeof reply === "string" ? json(reply) : reply;
    return [{ when: ({ path }: { readonly path: string }) => path === paths[name], answer }];
  });
  const { url } = await scriptedServer(exchanges);
  return await runRollcall(args, {
    damaged,
    env: {
      ROLLCALL_BASE_URL: url,
      ROLLCALL_INFERENCE_BASE_URL: url,
      ROLLCALL_ANALYSIS_PROVIDER: "a",
      ROLLCALL_ROUTER_PROVIDER: "r",
      ROLLCALL_API_KEY: "key-1234",
      ...env,
    },
  });
};

/** A catalog of these entries. */
export const catalogOf = (...entries: readonly object[]): string => JSON.stringify({ data: entries });

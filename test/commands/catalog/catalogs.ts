/** A service with a list of models and both catalogs, for tests of the commands that join them. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll } from "vitest";
import { runHere } from "../../support/here.ts";
import type { RunResult } from "../../support/run.ts";
import { type Answer, json, listenOnLoopback, scriptedServer } from "../../support/server.ts";

/** The replies of the service: a body, an answer, or undefined for a request that must not come. */
export interface Replies {
  readonly models?: string | Answer;
  readonly analysis?: string | Answer;
  readonly router?: string | Answer;
}

/** A sample in which past dates are past, and future dates future, at any time of the test. */
const sample = (name: string): string =>
  readFileSync(`test/samples/${name}.json`, "utf8").replaceAll(
    /("deprecation_date": )"(\d{4})/g,
    (_, key: string, year: string) => `${key}"${year === "2026" ? "2020" : "2999"}`,
  );

export const samples: Readonly<Record<keyof Replies, string>> = {
  models: sample("models"),
  analysis: sample("catalog.analysis"),
  router: sample("catalog.router"),
};

const paths = { models: "/v1/models", analysis: "/inference/analysis/a/models", router: "/inference/router/r/models" };

/** Runs rollcall in this process against such a service, which must get one request for every reply. */
export const runWith = async (
  replies: Replies,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<RunResult> => {
  const exchanges = (["models", "analysis", "router"] as const).flatMap((name) => {
    const reply = replies[name];
    if (reply === undefined) return [];
    const answer = typeof reply === "string" ? json(reply) : reply;
    return [{ when: ({ path }: { readonly path: string }) => path === paths[name], answer }];
  });
  const { url } = await scriptedServer(exchanges);
  return await runHere(args, { env: { ...envOf(url), ...env } });
};

interface HereOptions {
  /** The body of every reply, by the request's path and body. */
  readonly answer: (path: string, body: string) => string;
  readonly stdin?: string;
}

/** The environment of a run against the service at an address. */
const envOf = (url: string) => ({
  ROLLCALL_BASE_URL: url,
  ROLLCALL_INFERENCE_BASE_URL: url,
  ROLLCALL_ANALYSIS_PROVIDER: "a",
  ROLLCALL_ROUTER_PROVIDER: "r",
  ROLLCALL_API_KEY: "key-1234",
  ROLLCALL_PROJECT: "team/project",
});

/** Opens one service for all tests of a file. Returns a function that runs rollcall in this process, without a home. */
export const servedHere = (): ((args: readonly string[], options: HereOptions) => Promise<RunResult>) => {
  let url = "";
  let answer: HereOptions["answer"] = () => "";
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const server = createServer(async (incoming, response) => {
      response.setHeader("content-type", "application/json");
      response.end(answer(incoming.url ?? "", await text(incoming)));
    });
    ({ url } = await listenOnLoopback(server, (then) => void closing.push(then)));
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });
  return async (args, { answer: reply, ...options }) => {
    answer = reply;
    return await runHere(args, { ...options, env: envOf(url) });
  };
};

export const catalogOf = (...entries: readonly object[]): string => JSON.stringify({ data: entries });

/** A service with a list of models and both catalogs, for tests of the commands that join them. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { afterAll, beforeAll } from "vitest";
import { type Context, globalFlags, openContext, type TypedOptions } from "../../../src/context.ts";
import { exitCodeOf, failureOf } from "../../../src/failure.ts";
import { openScreen, printFailure, screenWords, screenWordsOf } from "../../../src/output/index.ts";
import { obey } from "../../../src/program.ts";
import { testHost } from "../../support/host.ts";
import { outputFaults } from "../../support/outputs.ts";
import { type Ran, runRollcall } from "../../support/run.ts";
import { type Answer, json, listening, scriptedServer } from "../../support/server.ts";

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
export const samples: Readonly<Record<keyof Replies, string>> = {
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

/** How a run in this process is asked for. */
interface HereOptions {
  /** The body of every reply, by the request's path and body. */
  readonly answer: (path: string, body: string) => string;
  readonly stdin?: string;
  /** Whether the replies break the interface, so that what passes them on is not as its schema says. */
  readonly damaged?: boolean;
}

/** The time of runs in this process. */
export const nowHere = testHost().now();

/**
 * Opens one service for all tests of a file. Gives what runs rollcall in this process against it, on a machine without a
 * home: a tenth of the time of a run of the program.
 */
export const servedHere = (): ((args: readonly string[], options: HereOptions) => Promise<Ran>) => {
  let url = "";
  let answer: HereOptions["answer"] = () => "";
  const closing: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const server = createServer(async (incoming, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      response.setHeader("content-type", "application/json");
      response.end(answer(incoming.url ?? "", Buffer.concat(chunks).toString()));
    });
    ({ url } = await listening(server, (then) => void closing.push(then)));
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });
  return async (args, options) => {
    answer = options.answer;
    const ran = await runHere(args, { url, stdin: options.stdin ?? "" });
    const faults = options.damaged === true ? [] : outputFaults({ args, ...ran });
    if (faults.length > 0) throw new Error(faults.join("\n"));
    return ran;
  };
};

/** Does what `run` of the program does, with a host of its own. */
const runHere = async (
  args: readonly string[],
  { url, stdin }: { readonly url: string; readonly stdin: string },
): Promise<Ran> => {
  const host = testHost({
    env: {
      ROLLCALL_BASE_URL: url,
      ROLLCALL_INFERENCE_BASE_URL: url,
      ROLLCALL_ANALYSIS_PROVIDER: "a",
      ROLLCALL_ROUTER_PROVIDER: "r",
      ROLLCALL_API_KEY: "key-1234",
      ROLLCALL_PROJECT: "team/project",
    },
    stdin,
  });
  let screen = openScreen({ host, words: screenWordsOf(args), argv: args });
  let context: Context | undefined;
  let code = 0;
  try {
    await obey(args, (command) => {
      const typed: TypedOptions = command.optsWithGlobals();
      screen = openScreen({ host, words: screenWords(typed), argv: args });
      context = openContext({ host, screen, flags: globalFlags(typed) });
      return context;
    });
  } catch (thrown) {
    const failure = failureOf(thrown);
    code = exitCodeOf(failure);
    await printFailure(screen, { failure, exitCode: code });
  }
  await context?.close();
  return { code, stdout: host.printed(), stderr: host.said() };
};

/** A catalog of these entries. */
export const catalogOf = (...entries: readonly object[]): string => JSON.stringify({ data: entries });

/** Follows a growing file with `rollcall log --follow`, and receives its requests. */
import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { newFolder } from "../../support/inputs.ts";
import { endAfterTest, newHome, startInTurn } from "../../support/run.ts";
import { listenOnLoopback } from "../../support/server.ts";

export const line = (reward: number, id?: string) =>
  `${JSON.stringify({ messages_and_choices: [{ role: "assistant", content: `done ${reward}` }], reward, group_id: id })}\n`;

/** Rewards of each group of a request. */
export const rewardsIn = (body: string): readonly (readonly number[])[] => {
  const { trajectory_groups: groups } = JSON.parse(body) as {
    readonly trajectory_groups: readonly { readonly trajectories: readonly { readonly reward: number }[] }[];
  };
  return groups.map(({ trajectories }) => trajectories.map(({ reward }) => reward));
};

export type Reply = (response: ServerResponse, at: number, body: string) => void;

/** A service for any number of requests. Default: it accepts all requests. */
export const openSink = async (reply: Reply = (response) => response.end("{}")) => {
  const bodies: string[] = [];
  const keys = new Map<string, string>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => undefined);
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      bodies.push(body);
      keys.set(String(request.headers["idempotency-key"]), body);
      response.setHeader("x-key", String(request.headers["idempotency-key"]));
      reply(response, bodies.length, body);
    });
  });
  const { url } = await listenOnLoopback(server);
  return {
    bodies,
    env: { ...newHome(), ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: "token-1234" },
    /** All groups that arrived. */
    groups: () => bodies.flatMap(rewardsIn),
    /** The groups without repeated requests. */
    once: () => [...keys.values()].flatMap(rewardsIn),
  };
};

/** Answers with the key of the request, so rollcall knows that the service honors keys. */
export const echo: Reply = (response) => {
  response.setHeader("Idempotency-Key", String(response.getHeader("x-key")));
  response.end("{}");
};

export type Sink = Awaited<ReturnType<typeof openSink>>;

/** Waits for a condition, up to the time limit of the test. */
export const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
};

export const words = (file: string, ...args: readonly string[]) => [
  "log",
  "m",
  file,
  "--split",
  "train",
  "--follow",
  ...args,
];

/** Follows a file. The output so far is available during the run. */
export const follow = (sink: Sink, file: string, ...args: readonly string[]) => {
  const child = startInTurn(words(file, ...args), { env: sink.env, cwd: "." });
  endAfterTest(child);
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  return {
    said,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Resolves once the run has received the signal. */
    signal: child.signal,
    /** Ends the run with Ctrl-C by default. */
    end: async (signal: NodeJS.Signals = "SIGINT") => {
      child.kill(signal);
      return { code: await closed, ...said };
    },
    closed: async () => ({ code: await closed, ...said }),
  };
};

export const fileWith = (text: string): string => {
  const file = join(newFolder(), "run.jsonl");
  writeFileSync(file, text);
  return file;
};

export const resultOf = (text: string) =>
  JSON.parse(text) as {
    readonly status: string;
    readonly requests: number;
    readonly groups: Readonly<Record<string, number>>;
    readonly trajectories: Readonly<Record<string, number>>;
    readonly metrics: Readonly<Record<string, number>>;
    readonly rejects_file: string | null;
    readonly warnings: readonly { readonly rule: string }[];
  };

export const rulesIn = (stdout: string): readonly string[] => [
  ...new Set(resultOf(stdout).warnings.map(({ rule }) => rule)),
];

export const soon = ["--every", "50ms"];
export const never = ["--every", "100h"];
export const quiet = [
  "--allow",
  "single-trajectory-group",
  "--allow",
  "zero-variance-group",
  "--allow",
  "no-sampled-turns",
  "--allow",
  "no-prompt",
];

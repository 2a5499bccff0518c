/** Runs `rollcall doctor` for its tests, and returns the findings. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";
import { type Exchange, json, type RecordedRequest, scriptedServer } from "../../support/server.ts";

export const key = "key-of-nobody-1234";

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly message: string;
  readonly fix?: string;
  readonly code?: string;
  readonly facts?: Readonly<Record<string, unknown>>;
}

export const doctor = async (args: readonly string[] = [], options: RunOptions = {}) => {
  const ran = await runRollcall(["doctor", "--json", ...args], options);
  const { findings, status }: { findings: readonly Finding[]; status: string } = JSON.parse(ran.stdout);
  const of = (check: string) => findings.filter((one) => one.check === check);
  // Every problem has a fix, and no finding contains the key.
  for (const { check, status: own, fix = "" } of findings) {
    if (own === "error" || own === "warning") expect({ check, fix }).not.toEqual({ check, fix: "" });
  }
  expect(ran.stdout + ran.stderr).not.toContain(key);
  return { ...ran, findings, status, of };
};

export const isTo = (method: string, path: string) => (request: RecordedRequest) =>
  request.method === method && request.path === path;

/** The exchanges of a service that accepts the key. */
const healthy: readonly Exchange[] = [
  { when: isTo("HEAD", "/"), answer: { status: 404 } },
  { when: isTo("GET", "/v1/models"), answer: json({ data: [] }) },
  { when: isTo("POST", "/call/read"), answer: json({ call: null }) },
];

export const serviceWith = async (exchanges: readonly Exchange[] = healthy) => {
  const server = await scriptedServer(exchanges);
  const env = {
    ...newHome(),
    ROLLCALL_BASE_URL: server.url,
    ROLLCALL_INFERENCE_BASE_URL: server.url,
    ROLLCALL_PROJECT: "alpha/beta",
    ROLLCALL_API_KEY: key,
  };
  return { server, env };
};

export const foldersOf = (env: ReturnType<typeof newHome>) => {
  const config = join(env.XDG_CONFIG_HOME, "rollcall");
  const data = join(env.XDG_DATA_HOME, "rollcall");
  for (const folder of [config, data]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  return { config, data };
};

export const group = '{"trajectories":[{"messages_and_choices":[],"reward":1}]}';

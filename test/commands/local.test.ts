import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/here.ts";
import { newHome, type RunResult, runRollcall } from "../support/run.ts";
import { listenOnLoopback } from "../support/server.ts";

const airline = "test/samples/airline.groups.jsonl";

/** Opens a server that counts its connections. */
const recorder = async (): Promise<{ readonly url: string; readonly connections: () => number }> => {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.destroy();
  });
  const { url } = await listenOnLoopback(server);
  return { url, connections: () => count };
};

const jsonOf = (ran: RunResult) => JSON.parse(ran.stdout);

const tiny = (reward: number): string =>
  JSON.stringify({
    trajectories: [{ messages_and_choices: [{ role: "assistant", content: `my reward is ${reward}` }], reward }],
  });

describe("--local on a new machine", () => {
  it("logs the sample, prints its reward, and names a call that `call read` finds", async () => {
    const env = newHome();
    const logged = await runRollcall(["log", "gpt-4o", airline, "--split", "train", "--local"], { env });
    expect(logged.code).toBe(0);
    expect(logged.stderr).toMatch(/^test\/samples\/airline\.groups\.jsonl:1:1: warning: .*\[zero-variance-group\]$/m);
    expect(logged.stdout).toMatch(/^metrics\.train\/reward\t0\.25$/m);
    const next = /^next\trollcall (call read \S+ --local)$/m.exec(logged.stdout)?.[1] ?? "";
    const read = await runRollcall(next.split(" "), { env });
    expect(read).toMatchObject({ code: 0, stderr: "" });
    expect(read.stdout).toMatch(/^Call gpt-4o \(train\)\n {2}status +ok\n/);
    expect(read.stdout).toContain("# Airline Agent Policy");
    expect(read.stdout).toContain("###STOP###");
  });

  it("closes its service before the run ends", async () => {
    const listeners = async () => {
      // Node lists a handle until the turn after its close.
      await new Promise((resolve) => setImmediate(resolve));
      return process.getActiveResourcesInfo().filter((kind) => kind === "TCPServerWrap");
    };
    const before = await listeners();
    expect(await runHere(["models", "--local"], { env: newHome() })).toMatchObject({ code: 0 });
    expect(await listeners()).toEqual(before);
  });

  it("prints neither the service's lines nor its key with --debug", async () => {
    const ran = await runRollcall(["models", "--local", "--debug"], { env: newHome() });
    expect(ran.code).toBe(0);
    expect(ran.stderr).not.toContain("rollcall service");
    const key = "a-key-of-my-own-choice";
    const own = await runRollcall(["models", "--local", "--debug"], { env: { ...newHome(), ROLLCALL_LOCAL_KEY: key } });
    expect(own.code).toBe(0);
    expect(own.stderr).not.toContain(key);
  });
});

describe("--local with a service, a key and a proxy in the environment", () => {
  it("sends nothing to the service or the proxy", async () => {
    const proxy = await recorder();
    const elsewhere = await recorder();
    const secret = "sk-not-for-anybody-else";
    const env = {
      ...newHome(),
      ROLLCALL_BASE_URL: elsewhere.url,
      ROLLCALL_INFERENCE_BASE_URL: elsewhere.url,
      ROLLCALL_LOG_BASE_URL: elsewhere.url,
      ROLLCALL_API_KEY: secret,
      ROLLCALL_TOKEN: secret,
      ROLLCALL_USERNAME: "somebody",
      ROLLCALL_PASSWORD: secret,
      HTTP_PROXY: proxy.url,
      http_proxy: proxy.url,
      HTTPS_PROXY: proxy.url,
      https_proxy: proxy.url,
      ALL_PROXY: proxy.url,
    };
    const logged = await runRollcall(["log", "m", airline, "--split", "train", "--local", "--json"], { env });
    expect(logged.code).toBe(0);
    const [id] = jsonOf(logged).responses[0].body.call_ids;
    const others = [["call", "read", id], ["models"], ["catalog", "analysis"], ["catalog", "router"]];
    for (const words of others) {
      const ran = await runRollcall([...words, "--local"], { env });
      expect(ran).toMatchObject({ code: 0 });
      expect(ran.stdout.length).toBeGreaterThan(0);
    }
    expect([proxy.connections(), elsewhere.connections()]).toEqual([0, 0]);
  });
});

describe("--local in several processes at once", () => {
  it("logs the groups of two processes that create the data folder together", async () => {
    const env = newHome();
    const rewards = [0, 1];
    const args = ["log", "m", "--split", "train", "--local", "--json"];
    const ran = await Promise.all(
      rewards.map(async (reward) => await runRollcall(args, { env, stdin: tiny(reward), ownProcess: true })),
    );
    expect(ran.map(({ code, stderr }) => [code, stderr])).toEqual(rewards.map(() => [0, ""]));
    const ids = ran.map((one) => String(jsonOf(one).responses[0].body.call_ids[0]));
    const read = await runRollcall(["call", "read", "-", "--local", "--json"], { env, stdin: ids.join("\n") });
    const found = jsonOf(read).calls.map((call: { attributes: { reward: number } }) => call.attributes.reward);
    expect(found).toEqual(rewards);
  });
});

describe("--local without a usable data folder", () => {
  it.each([
    ["no home folder", { HOME: "", XDG_DATA_HOME: "", XDG_CONFIG_HOME: "" }, "", "ROLLCALL_DATA_DIR"],
    ["a file in the way", { ROLLCALL_DATA_DIR: "/etc/passwd" }, "/etc/passwd/ledger.db", "--ledger or ROLLCALL_LEDGER"],
    [
      "a folder that cannot be created",
      { ROLLCALL_DATA_DIR: "/proc/nothing/here", ROLLCALL_LEDGER: join(newHome().HOME, "ledger.db") },
      "/proc/nothing/here/local.key",
      "ROLLCALL_DATA_DIR",
    ],
  ])("exits with 11 and names the fix: %s", async (_what, env, said, hint) => {
    const ran = await runRollcall(["log", "m", "--split", "train", "--local"], { env, stdin: tiny(1) });
    expect(ran.code).toBe(11);
    expect(ran.stdout).toBe("");
    expect(ran.stderr).toContain(said);
    expect(ran.stderr).toContain(hint);
    expect(ran.stderr).not.toContain("--no-ledger");
  });
});

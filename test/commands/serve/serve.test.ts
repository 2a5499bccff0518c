import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import {
  endAfterTest,
  newHome,
  type RunOptions,
  runRollcall,
  type StartedRun,
  startInTurn,
} from "../../support/run.ts";
import { runOnTerminal } from "../../support/terminal.ts";

const newDataDir = (): string => join(mkdtempSync(join(tmpdir(), "serve-")), "data");

interface ServeProcess {
  readonly child: StartedRun;
  readonly url: string;
  readonly key: string;
  readonly dataDir: string;
  readonly said: () => string;
  /** The exit code, or the signal that ended the process. */
  readonly ended: Promise<number | string | null>;
}

/** Starts `rollcall serve` on a free port and waits for its first line. */
const serving = async (
  args: readonly string[] = [],
  { dataDir = newDataDir(), ...options }: Pick<RunOptions, "env" | "cwd"> & { readonly dataDir?: string } = {},
): Promise<ServeProcess> => {
  const child = startInTurn(
    ["serve", ...(args.includes("--port") ? [] : ["--port", "0"]), "--data-dir", dataDir, ...args],
    options,
  );
  endAfterTest(child);
  const ended = new Promise<number | string | null>((resolve) => {
    child.on("close", (code, signal) => resolve(code ?? signal));
  });
  const chunks: Buffer[] = [];
  const said = () => Buffer.concat(chunks).toString();
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (said().includes("\n")) resolve();
    });
    void ended.then((code) => reject(new Error(`ended with ${code}: ${said()}`)));
  });
  const url = /^rollcall service at (http:\/\/\S+)$/m.exec(said())?.[1] ?? "";
  const file = join(dataDir, "local.key");
  return { child, url, key: existsSync(file) ? readFileSync(file, "utf8").trim() : "", dataDir, said, ended };
};

/** Waits until the service answers new requests with 503 and Retry-After. */
const tellsToComeAgain = async (url: string): Promise<void> => {
  for (;;) {
    const { status, headers } = await fetch(url, { headers: { Connection: "close" } });
    if (status === 503 && headers.get("retry-after") === "1") return;
  }
};

const body = (reward: number): string =>
  JSON.stringify({
    split: "train",
    trajectory_groups: [
      {
        trajectories: [{ messages_and_choices: [{ role: "assistant", content: "hi" }], reward, metadata: { reward } }],
      },
    ],
  });

const log = async ({ url, key }: ServeProcess, reward: number): Promise<string> => {
  const response = await fetch(`${url}/v1/preview/models/m/log`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    body: body(reward),
  });
  const reply: unknown = await response.json();
  const [id] = Object(reply).call_ids;
  return String(id);
};

const read = async ({ url, key }: ServeProcess, id: string): Promise<unknown> => {
  const response = await fetch(`${url}/call/read`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa(`api:${key}`)}`, "Content-Type": "application/json" },
    body: JSON.stringify({ project_id: "local/local", id }),
  });
  return Object(await response.json()).call;
};

describe("rollcall serve", () => {
  it.skipIf(process.getuid?.() !== 0)("prints port 80, which a URL omits (tested as root only)", async () => {
    const service = await serving(["--host", "127.0.0.80", "--port", "80"]);
    await expect.poll(service.said).toContain("ROLLCALL_BASE_URL=http://127.0.0.80:80 ");
  });

  it("works from another shell with the variables that it prints", async () => {
    const service = await serving();
    await expect.poll(service.said).toMatch(/ROLLCALL_API_KEY_FILE=\S+\n/);
    const exported = [...service.said().matchAll(/^export (.*)$/gm)].flatMap(([, pairs = ""]) => pairs.split(" "));
    const env = { ...newHome(), ...Object.fromEntries(exported.map((pair) => pair.split("="))) };
    const logged = await runRollcall(["log", "m", "--split", "train", "--json"], { env, stdin: body(0.5) });
    expect(logged).toMatchObject({ code: 0, stderr: "" });
    const [id] = JSON.parse(logged.stdout).responses[0].body.call_ids;
    expect(await runRollcall(["call", "read", id], { env })).toMatchObject({ code: 0 });
    expect((await runRollcall(["models"], { env })).stdout).toMatch(/^m\t/);
    expect((await runRollcall(["catalog", "router", "kimi"], { env })).stdout).toContain("(sample)");
  });

  it("prints each export line unfolded on a narrow terminal", { tags: "slow" }, async () => {
    const dataDir = newDataDir();
    const line = `"${process.execPath}" bin/rollcall.js serve --port 0 --data-dir ${dataDir}`;
    const typed = [{ when: /API_KEY_FILE=\S+local\.key\r\n$/, keys: "\x03" }];
    const { code, lines } = await runOnTerminal(line, { env: newHome(), columns: 40, typed });
    expect(code).toBe(0);
    const exports = lines.filter((each) => each.startsWith("export ")).join("\n");
    expect(exports).toMatch(
      /^export ROLLCALL_BASE_URL=(\S+) ROLLCALL_LOG_BASE_URL=\1 ROLLCALL_INFERENCE_BASE_URL=\1\nexport ROLLCALL_PROJECT=local\/local /,
    );
    expect(exports).toContain(` ROLLCALL_API_KEY_FILE=${dataDir}/local.key`);
  });

  it("prints each request with --debug, without key and body", async () => {
    const service = await serving(["--debug"]);
    await log(service, 0.123);
    service.child.kill("SIGTERM");
    expect(await service.ended).toBe(0);
    expect(service.said()).toMatch(/^POST \/v1\/preview\/models\/m\/log 200 \d+ ms$/m);
    expect(service.said()).not.toContain("0.123");
    expect(service.said()).not.toContain(service.key);
  });

  it("needs no home folder with --data-dir", async () => {
    const env = { HOME: "", XDG_CONFIG_HOME: "", XDG_DATA_HOME: "" };
    const service = await serving([], { env });
    expect(service.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "answers the request in flight after %s, and exits with 0",
    async (signal) => {
      const service = await serving();
      const sent = body(0.5);
      const answered = await new Promise<string>((resolve, reject) => {
        const outgoing = request(
          `${service.url}/v1/preview/models/m/log`,
          {
            method: "POST",
            headers: {
              Authorization: `Bearer ${service.key}`,
              "Content-Type": "application/json",
              "Content-Length": sent.length,
              // The service's reply to this shows that it has begun to read.
              Expect: "100-continue",
            },
          },
          async (response) => {
            resolve(`${response.statusCode} ${await text(response)}`);
          },
        );
        outgoing.on("error", reject).on("continue", async () => {
          outgoing.write(sent.slice(0, 20));
          service.child.kill(signal);
          await tellsToComeAgain(service.url);
          outgoing.end(sent.slice(20));
        });
        outgoing.flushHeaders();
      });
      expect(answered).toMatch(/^200 .*"train\/reward":0.5/);
      expect(await service.ended).toBe(0);
    },
  );
});

describe("rollcall serve that cannot start", () => {
  it("exits with 2 if the port is in use", async () => {
    const { url } = await serving();
    const { port } = new URL(url);
    const ran = await runRollcall(["serve", "--port", port, "--data-dir", newDataDir()]);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toBe(
      `rollcall: the local service cannot listen on 127.0.0.1, port ${port}: another program uses the port\nhint: choose another port with --port (0 picks a free one), or another address with --host\n`,
    );
  });

  it.each([
    ["an invalid port", "--port 70000", 'invalid --port "70000": expected a whole number from 0 to 65535'],
    ["an address of another machine", "--host 192.0.2.7 --allow-host a", "this machine does not have the address"],
    ["the URL of a service", "--base-url http://a.example", "--base-url"],
  ])("exits with 2 for %s", async (_, args, said) => {
    const ran = await runRollcall(["serve", "--data-dir", newDataDir(), ...args.split(" ")]);
    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe("");
    expect(ran.stderr).toContain(said);
  });

  it("warns if other machines can reach the service", async () => {
    // A spelling of loopback that the service does not recognize, because tests listen only on loopback.
    const service = await serving(["--host", "127.1", "--allow-host", "build-7.example"]);
    await expect.poll(service.said).toMatch(/ROLLCALL_API_KEY_FILE=\S+\n/);
    service.child.kill("SIGTERM");
    await service.ended;
    const [first, second] = service.said().split("\n");
    expect(first).toMatch(/^rollcall service at http:\/\/127\.1:\d+$/);
    expect(second).toContain("warning: other machines can reach 127.1, and clients send the key to it in plain text");
    // The service answers only requests to its name. The client sends a key over http only with ROLLCALL_INSECURE_HTTP.
    const url = `http://build-7.example:${new URL(service.url).port}`;
    expect(service.said()).toContain(`export ROLLCALL_BASE_URL=${url} ROLLCALL_LOG_BASE_URL=${url} `);
    expect(service.said()).toContain(" ROLLCALL_INSECURE_HTTP=true ");
  });
});

describe("rollcall serve after a kill", () => {
  it("has every log request that it acknowledged", async () => {
    const before = await serving([], { cwd: "." });
    const acknowledged = new Map<string, number>();
    let killed = false;
    const worker = async (first: number): Promise<void> => {
      for (let reward = first; !killed; reward += 8) acknowledged.set(await log(before, reward), reward);
    };
    const workers = Array.from({ length: 8 }, (_, first) => worker(first).catch(() => undefined));
    await expect.poll(() => acknowledged.size).toBeGreaterThan(25);
    before.child.kill("SIGKILL");
    expect(await before.ended).toBe("SIGKILL");
    killed = true;
    await Promise.all(workers);
    const after = await serving([], { dataDir: before.dataDir });
    expect(after.key).toBe(before.key);
    for (const [id, reward] of acknowledged) {
      expect(await read(after, id)).toMatchObject({ id, attributes: { reward } });
    }
  });
});

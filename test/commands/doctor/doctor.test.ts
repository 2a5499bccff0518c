import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { certificate } from "../../client/certificate.ts";
import { endOf, newHome, type RunOptions, runRollcall, startRollcall } from "../../support/run.ts";
import { type Exchange, json, listening, type Received, scriptedServer } from "../../support/server.ts";
import { seeLine } from "../../support/terminal.ts";

const key = "key-of-nobody-1234";

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly message: string;
  readonly fix?: string;
  readonly code?: string;
  readonly facts?: Readonly<Record<string, unknown>>;
}

const doctor = async (args: readonly string[] = [], options: RunOptions = {}) => {
  const ran = await runRollcall(["doctor", "--json", ...args], options);
  const { findings, status }: { findings: readonly Finding[]; status: string } = JSON.parse(ran.stdout);
  const of = (check: string) => findings.filter((one) => one.check === check);
  // Whatever is wrong says how it is mended, and no finding holds a key.
  for (const { check, status: own, fix = "" } of findings) {
    if (own === "error" || own === "warning") expect({ check, fix }).not.toEqual({ check, fix: "" });
  }
  expect(ran.stdout + ran.stderr).not.toContain(key);
  return { ...ran, findings, status, of };
};

const isTo = (method: string, path: string) => (request: Received) =>
  request.method === method && request.path === path;

/** A service that takes the key, and is asked by everything that can be asked. */
const healthy: readonly Exchange[] = [
  { when: isTo("HEAD", "/"), answer: { status: 404 } },
  { when: isTo("GET", "/v1/models"), answer: json({ data: [] }) },
  { when: isTo("POST", "/call/read"), answer: json({ call: null }) },
];

const serviceWith = async (exchanges: readonly Exchange[] = healthy) => {
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

const foldersOf = (env: ReturnType<typeof newHome>) => {
  const config = join(env.XDG_CONFIG_HOME, "rollcall");
  const data = join(env.XDG_DATA_HOME, "rollcall");
  for (const folder of [config, data]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  return { config, data };
};

const group = '{"trajectories":[{"messages_and_choices":[],"reward":1}]}';

describe("rollcall doctor", () => {
  it("finds nothing wrong where nothing is, and asks the service once for each thing", async () => {
    const { server, env } = await serviceWith();
    const { code, stderr, status, findings, of } = await doctor([], { env });
    expect({ code, stderr, status }).toEqual({ code: 0, stderr: "", status: "ok" });
    expect(of("credential inference")).toMatchObject([
      { status: "ok", facts: { state: "ready", from: "ROLLCALL_API_KEY", accepted: true } },
    ]);
    expect(of("credential calls")).toMatchObject([{ facts: { accepted: true, username: "api" } }]);
    expect(of("credential log")).toMatchObject([{ status: "ok", facts: { accepted: null } }]);
    expect(of("address base")).toMatchObject([{ facts: { address: server.url, status: 404, proxy: null } }]);
    // One address that serves for all is looked at once.
    expect(findings.filter(({ check }) => check.startsWith("address"))).toHaveLength(1);
    const wire = server.received.map(({ method, path, headers }) => [method, path, headers.authorization]);
    const basic = `Basic ${Buffer.from(`api:${key}`).toString("base64")}`;
    expect(new Set(wire)).toEqual(
      new Set([
        ["HEAD", "/", undefined],
        ["GET", "/v1/models", `Bearer ${key}`],
        ["POST", "/call/read", basic],
      ]),
    );
    expect(wire).toHaveLength(3);
  });

  it.each([60, 100])("is a line a finding, with marks that need no colour, on %i columns", async (columns) => {
    const { env } = await serviceWith([
      { when: isTo("HEAD", "/"), answer: { status: 503 } },
      { when: isTo("GET", "/v1/models"), answer: json({ error: { message: "no such key" } }, 401) },
      { when: isTo("POST", "/call/read"), answer: json({ call: null }) },
    ]);
    const home = { ...env, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined };
    const config = join(env.HOME, ".config", "rollcall");
    mkdirSync(config, { recursive: true, mode: 0o700 });
    writeFileSync(join(config, "settings.json"), '{"profiles":{"default":{"batch":" x","colour":"red"}}}');
    chmodSync(join(config, "settings.json"), 0o644);
    const line = `"${process.execPath}" "${resolve("bin/rollcall.js")}" doctor --no-color`;
    const { code, lines } = await seeLine(line, { env: { PATH: process.env.PATH, ...home }, columns });
    expect(code).toBe(2);
    for (const each of lines) expect(each.length).toBeLessThanOrEqual(columns);
    // What differs from machine to machine is left out, with the lines that it is folded to.
    const scrubbed = lines
      .join("\n")
      .replaceAll(/^(\w+ +(?:versions|address \w+|folder \w+) +).*(?:\n {25,}(?! {2}fix).*)*/gm, "$1…")
      .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8700");
    await expect(`${scrubbed}\n`).toMatchFileSnapshot(`golden/doctor.${columns}.txt`);
  });

  it("is a record a finding in a pipe", async () => {
    const { stdout } = await runRollcall(["doctor", "--local"]);
    const records = stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split("\t"));
    expect(records.every((fields) => fields.length === 4)).toBe(true);
    expect(records[0]).toEqual(["versions", "ok", expect.stringContaining(`Node ${process.versions.node}`), ""]);
  });

  it("says what to do first on a machine where nothing is set, without failing", async () => {
    const { code, status, of } = await doctor();
    expect({ code, status }).toEqual({ code: 0, status: "warning" });
    expect(of("addresses")).toMatchObject([{ status: "warning", fix: expect.stringContaining("auth login") }]);
  });

  it("changes nothing, whatever there is", async () => {
    const home = newHome();
    const file = join(mkdtempSync(join(tmpdir(), "doctor-")), "a.jsonl");
    writeFileSync(file, group);
    expect((await runRollcall(["log", "m", file, "--split", "train", "--local"], { env: home })).code).toBe(0);
    const before = lookOf(home.HOME);
    const { code, of } = await doctor(["--local"], { env: home });
    expect(code).toBe(0);
    expect(of("ledger")).toMatchObject([
      { status: "ok", facts: { version: 1, counts: { logged: { requests: 1, groups: 1 } }, writers: 0 } },
    ]);
    expect(of("local store")).toMatchObject([{ status: "ok", facts: { calls: 1 } }]);
    expect(lookOf(home.HOME)).toEqual(before);
    const bare = newHome();
    await doctor(["--local"], { env: bare });
    expect(readdirSync(bare.HOME)).toEqual([]);
  });

  it("asks nothing of the network with --offline, and runs no credential_command", async () => {
    const { server, env } = await serviceWith([]);
    const { code, of } = await doctor(["--offline"], {
      env: { ...env, ROLLCALL_API_KEY: undefined, ROLLCALL_CREDENTIAL_COMMAND: "no-such-program --token abc" },
    });
    expect(code).toBe(0);
    expect(of("credential inference")).toMatchObject([{ status: "ok", facts: { state: "command", accepted: null } }]);
    expect(of("addresses")).toMatchObject([{ status: "skipped" }]);
    expect(server.received).toEqual([]);
    const [settings] = of("settings");
    expect(JSON.stringify(settings)).not.toContain("abc");
  });
});

describe("what doctor finds of settings", () => {
  it.each([
    ["{", "settings.json:1:2"],
    ['{"profiles":[]}', "`profiles` is not an object"],
    ["\u0000", "it is not JSON"],
  ])("a file that holds %j is a finding, and the other checks go on", async (content, saying) => {
    const home = newHome();
    const { config } = foldersOf(home);
    writeFileSync(join(config, "settings.json"), content, { mode: 0o600 });
    const { code, stderr, of } = await doctor([], { env: home });
    expect(code).toBe(2);
    expect(of("settings")).toMatchObject([
      { status: "error", code: "usage", message: expect.stringContaining(saying) },
    ]);
    expect(of("credentials")).toMatchObject([{ status: "skipped" }]);
    expect(of("ledger")).toMatchObject([{ status: "ok" }]);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: "usage", exit_code: 2, message: "one thing is wrong: settings" },
    });
  });

  it("each value that can't be used is one, with where it stands", async () => {
    const { of, code } = await doctor([], {
      env: { ROLLCALL_PROJECT: "alpha", ROLLCALL_TIMEOUT: "soon", ROLLCALL_BASE_URL: `https://user:${key}@a.example` },
    });
    expect(code).toBe(2);
    expect(
      of("settings")
        .filter(({ status }) => status === "error")
        .map(({ message }) => message),
    ).toEqual([
      expect.stringContaining("ROLLCALL_BASE_URL"),
      expect.stringContaining("ROLLCALL_PROJECT"),
      expect.stringContaining("ROLLCALL_TIMEOUT"),
    ]);
  });

  it("a profile that there is not is one", async () => {
    expect((await doctor(["--profile", "../x"])).code).toBe(2);
    expect((await doctor(["--local", "--base-url", "http://a.example"])).code).toBe(2);
    const { code, of } = await doctor(["--profile", "wrok"]);
    expect(code).toBe(2);
    expect(of("settings")).toMatchObject([{ status: "error", message: expect.stringContaining('"wrok"') }]);
  });

  it("modes that let others read are one each, with the command that mends them", async () => {
    const home = newHome();
    const { config } = foldersOf(home);
    for (const name of ["settings.json", "credentials.json"]) {
      writeFileSync(join(config, name), "{}");
      chmodSync(join(config, name), 0o644);
    }
    chmodSync(config, 0o755);
    const { code, of } = await doctor(["--offline"], { env: home });
    expect(code).toBe(0);
    expect(of("settings file")).toContainEqual(
      expect.objectContaining({ status: "warning", fix: `chmod 600 ${join(config, "settings.json")}` }),
    );
    expect(of("credentials file")).toContainEqual(
      expect.objectContaining({ fix: `chmod 600 ${join(config, "credentials.json")}` }),
    );
    expect(of("folder settings")).toMatchObject([
      { status: "warning", fix: `chmod 700 ${config}`, facts: { mode: "0755" } },
    ]);
  });

  it("a credentials file that can't be read is one", async () => {
    const { env } = await serviceWith([{ when: isTo("HEAD", "/"), answer: { status: 404 } }]);
    const { config } = foldersOf(env);
    writeFileSync(join(config, "credentials.json"), `{"key":"${key}"`, { mode: 0o600 });
    const { code, of } = await doctor([], { env: { ...env, ROLLCALL_API_KEY: undefined } });
    expect(code).toBe(2);
    expect(of("credentials file")).toMatchObject([{ status: "error", code: "usage" }]);
  });
});

describe("what doctor finds of credentials", () => {
  it("one that the service refuses ends with 4", async () => {
    const refuse = json({ error: `not ${key}` }, 401);
    const { env } = await serviceWith([
      { when: isTo("HEAD", "/"), answer: { status: 404 } },
      { when: isTo("GET", "/v1/models"), answer: refuse },
      { when: isTo("POST", "/call/read"), answer: refuse },
    ]);
    const { code, of, stderr } = await doctor([], { env });
    expect(code).toBe(4);
    expect(of("credential inference")).toMatchObject([
      { status: "error", code: "auth", message: expect.stringContaining("not ***"), facts: { accepted: false } },
    ]);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: "auth", message: expect.stringContaining("credential calls") },
    });
  });

  it("none at all ends with 4, one use without does not", async () => {
    const { env } = await serviceWith([{ when: isTo("HEAD", "/"), answer: { status: 404 } }]);
    const none = await doctor([], { env: { ...env, ROLLCALL_API_KEY: undefined } });
    expect(none.code).toBe(4);
    expect(none.of("credential log")).toMatchObject([{ status: "error", fix: expect.stringContaining("auth login") }]);
    const { env: other } = await serviceWith([{ when: isTo("HEAD", "/"), answer: { status: 404 } }]);
    const some = await doctor([], { env: { ...other, ROLLCALL_API_KEY: undefined, ROLLCALL_TOKEN: key } });
    expect(some.code).toBe(0);
    expect(some.of("credential calls")).toMatchObject([{ status: "warning" }]);
  });

  it("one that belongs to another origin says how to log in here", async () => {
    const { env, server } = await serviceWith([{ when: isTo("HEAD", "/"), answer: { status: 404 } }]);
    const { config } = foldersOf(env);
    const login = { key, origin: "https://elsewhere.example" };
    writeFileSync(
      join(config, "credentials.json"),
      JSON.stringify({ profiles: { default: { log: login, inference: login, calls: login } } }),
      {
        mode: 0o600,
      },
    );
    const { code, of } = await doctor([], { env: { ...env, ROLLCALL_API_KEY: undefined } });
    expect(code).toBe(4);
    expect(of("credential log")).toMatchObject([
      { status: "error", fix: expect.stringContaining(server.url), facts: { state: "elsewhere" } },
    ]);
  });

  it("one over plain http to another machine is a setting to fix", async () => {
    const { code, of } = await doctor(["--timeout", "300ms"], {
      env: {
        ROLLCALL_INFERENCE_BASE_URL: "http://service.invalid",
        ROLLCALL_API_KEY: key,
        HTTP_PROXY: "http://127.0.0.1:1",
      },
    });
    expect(code).toBe(2);
    expect(of("credential inference")).toMatchObject([{ status: "error", code: "usage" }]);
  });

  it("a read that says nothing of it leaves it untried", async () => {
    const { env } = await serviceWith([
      { when: isTo("HEAD", "/"), answer: { status: 200 } },
      { when: isTo("GET", "/v1/models"), answer: { body: "<html>hello</html>" } },
      { when: isTo("POST", "/call/read"), answer: json({ reason: "busy" }, 503) },
    ]);
    const { code, of } = await doctor([], { env });
    expect(code).toBe(5);
    expect(of("credential inference")).toMatchObject([
      { status: "error", code: "unavailable", message: expect.stringContaining("HTML") },
    ]);
    expect(of("credential calls")).toMatchObject([{ status: "ok", facts: { accepted: null } }]);
  });
});

describe("what doctor finds of addresses", () => {
  /** A service that takes connections and does with them what it is told. */
  it("one where nothing listens ends with 5", async () => {
    const { code, of, stderr } = await doctor([], { env: { ROLLCALL_BASE_URL: "http://127.0.0.1:1" } });
    expect(code).toBe(4);
    expect(of("address base")).toMatchObject([
      { status: "error", code: "unavailable", message: expect.stringContaining("nothing listens there") },
    ]);
    const keyed = await doctor([], { env: { ROLLCALL_BASE_URL: "http://127.0.0.1:1", ROLLCALL_TOKEN: key } });
    expect(keyed.code).toBe(5);
    expect(JSON.parse(keyed.stderr)).toMatchObject({ error: { code: "unavailable", retryable: true } });
    expect(stderr).toContain('"code":"auth"');
  });

  it("one with a web page is an error, unless a read shows the service behind it", async () => {
    const page = { when: isTo("HEAD", "/"), answer: { headers: { "content-type": "text/html" }, body: "" } };
    const site = await serviceWith([
      page,
      { when: isTo("GET", "/v1/models"), answer: { status: 503 } },
      { when: isTo("POST", "/call/read"), answer: json({ reason: "busy" }, 503) },
    ]);
    const found = await doctor([], { env: site.env });
    expect(found.code).toBe(5);
    const [address] = found.of("address base");
    expect(address).toMatchObject({ status: "error", message: expect.stringContaining("a web page") });
    expect(address?.fix).toContain("rollcall config set base_url");
    const service = await serviceWith([
      page,
      { when: isTo("GET", "/v1/models"), answer: json({ data: [] }) },
      { when: isTo("POST", "/call/read"), answer: json({ call: null }) },
    ]);
    expect((await doctor([], { env: service.env })).of("address base")).toMatchObject([{ status: "ok" }]);
  });

  it("one that is silent is given up after --timeout", async () => {
    const { url } = await listening(createServer());
    const { code, of } = await doctor(["--timeout", "200ms"], { env: { ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: key } });
    expect(code).toBe(5);
    expect(of("address base")).toMatchObject([
      { status: "error", message: expect.stringContaining("silent for 0.2 s") },
    ]);
  });

  it.each([
    ["closes at once", (socket: Socket) => socket.destroy(), "the connection"],
    ["speaks something else", (socket: Socket) => socket.end("220 mail.example ESMTP\r\n"), "HTTP"],
    [
      "goes on in another protocol",
      (socket: Socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
      "answers (101)",
    ],
    ["never ends its head", (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"a".repeat(100_000)}`), ""],
  ] as const)("one that %s is looked at without harm", async (_, handle, saying) => {
    const { url } = await listening(createServer(handle));
    const { of } = await doctor([], { env: { ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: key } });
    const [found] = of("address base");
    expect(found?.message).toContain(saying);
  });

  it("a certificate that nobody here knows says how to know it", async () => {
    const { cert, key: own } = certificate({ names: ["localhost"] });
    const server = createTlsServer({ cert, key: own }, (socket) =>
      socket.on("error", () => undefined).once("data", () => socket.end("HTTP/1.1 204 No Content\r\n\r\n")),
    );
    server.on("tlsClientError", () => undefined);
    const { port } = await listening(server);
    const env = {
      ROLLCALL_BASE_URL: `https://localhost:${port}`,
      ROLLCALL_TOKEN: key,
    };
    const unknown = await doctor([], { env });
    expect(unknown.code).toBe(5);
    expect(unknown.of("address base")).toMatchObject([
      { status: "error", fix: expect.stringContaining("NODE_EXTRA_CA_CERTS") },
    ]);
    const file = join(mkdtempSync(join(tmpdir(), "ca-")), "ca.pem");
    writeFileSync(file, cert);
    const known = await doctor([], { env: { ...env, NODE_EXTRA_CA_CERTS: file } });
    expect(known.code).toBe(0);
    expect(known.of("address base")).toMatchObject([{ status: "ok", facts: { status: 204 } }]);
  });

  it("proxies are named without their passwords, and one that can't be used ends with 2", async () => {
    const env = { ROLLCALL_BASE_URL: "https://service.invalid", ROLLCALL_TOKEN: key };
    const through = await doctor(["--offline"], { env: { ...env, HTTPS_PROXY: `http://user:${key}@127.0.0.1:1` } });
    expect(through.of("proxy")).toMatchObject([
      { status: "ok", facts: { variables: ["HTTPS_PROXY"], proxy: "127.0.0.1:1" } },
    ]);
    const wrong = await doctor(["--offline"], { env: { ...env, https_proxy: "socks5://127.0.0.1:1" } });
    expect(wrong.code).toBe(2);
    expect(wrong.of("proxy")).toMatchObject([{ status: "error", code: "usage" }]);
  });
});

describe("what doctor finds of folders and files", () => {
  it("no home is a warning, and everything else is looked at", async () => {
    const { code, of } = await doctor(["--offline"], {
      env: { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined },
    });
    expect(code).toBe(0);
    expect(of("folder settings")).toMatchObject([{ status: "warning", fix: "ROLLCALL_CONFIG_DIR=<folder>" }]);
    expect(of("folder data")).toMatchObject([{ status: "warning", fix: "ROLLCALL_DATA_DIR=<folder>" }]);
    expect(of("ledger")).toMatchObject([{ status: "warning" }]);
    expect(of("versions")).toMatchObject([{ status: "ok" }]);
  });

  it("a data folder below a file ends with 11", async () => {
    const { code, of, stderr } = await doctor(["--offline"], {
      env: { ROLLCALL_DATA_DIR: resolve("package.json/data") },
    });
    expect(code).toBe(11);
    expect(of("folder data")).toMatchObject([
      { status: "error", code: "storage", fix: expect.stringContaining("ROLLCALL_DATA_DIR") },
    ]);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "storage", exit_code: 11 } });
  });

  it.each<[string, (path: string) => void, string]>([
    ["of another program", (path) => writeFileSync(path, "SQLite format 3\u0000".padEnd(4096, "x")), "storage"],
    ["that is text", (path) => writeFileSync(path, "hello ".repeat(1000)), "storage"],
    ["that is a folder", (path) => mkdirSync(path), "storage"],
    ["that is a device", (path) => symlinkSync("/dev/zero", path), "storage"],
  ])("a ledger %s ends with 11", async (_, make, code) => {
    const home = newHome();
    const { data } = foldersOf(home);
    make(join(data, "ledger.db"));
    const found = await doctor(["--offline"], { env: home });
    expect(found.code).toBe(11);
    expect(found.of("ledger")).toMatchObject([{ status: "error", code }]);
  });

  it("a ledger with damage says so, and stays as it is", async () => {
    const home = newHome();
    const { data } = foldersOf(home);
    const path = join(data, "ledger.db");
    const files = Array.from({ length: 30 }, (_, at) => {
      const file = join(home.HOME, `${at}.jsonl`);
      writeFileSync(file, `${group.replace('"reward":1', `"reward":${at}`)}\n`);
      return file;
    });
    for (const file of files.slice(0, 3)) {
      await runRollcall(["log", "m", file, "--split", "train", "--local"], { env: home });
    }
    const bytes = readFileSync(path);
    // Pages behind the first are overwritten: its header still says what it is.
    bytes.fill(0xff, 16_384, Math.min(bytes.length, 49_152));
    writeFileSync(path, bytes);
    const { code, of } = await doctor(["--offline"], { env: home });
    expect(code).toBe(11);
    expect(of("ledger")).toMatchObject([{ status: "error", message: expect.stringContaining("damaged") }]);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  it("what was not sent is counted by requests, since each try has the same groups", async () => {
    const env = { ...newHome(), ROLLCALL_BASE_URL: "http://127.0.0.1:1", ROLLCALL_TOKEN: "key-1234" };
    const lines = [1, 2, 3].map((reward) => `{"messages_and_choices":[],"reward":${reward}}\n`).join("");
    for (let run = 0; run < 2; run++) {
      const args = ["log", "m", "--split", "train", "--max-wait", "0s", "-"];
      const { code, stderr } = await runRollcall(args, { env, stdin: lines });
      expect([code, stderr]).toEqual([
        5,
        expect.stringContaining("check log_base_url, or base_url where that alone is set"),
      ]);
    }
    const { of } = await doctor(["--offline"], { env });
    expect(of("ledger")).toMatchObject([{ message: expect.stringContaining("2 requests not sent") }]);
  });

  it("an empty ledger is a new one, and paths in a fix can be pasted", async () => {
    const home = join(newHome().HOME, "o'neil and sons");
    const data = join(home, "data");
    mkdirSync(data, { recursive: true });
    chmodSync(data, 0o755);
    writeFileSync(join(data, "ledger.db"), "");
    const { code, of } = await doctor(["--offline"], { env: { HOME: home, ROLLCALL_DATA_DIR: data } });
    expect(code).toBe(0);
    expect(of("ledger")).toMatchObject([{ status: "ok", message: expect.stringContaining("is empty") }]);
    const [{ fix = "" } = {}] = of("folder data");
    execFileSync("/bin/sh", ["-c", fix]);
    expect(statSync(data).mode & 0o777).toBe(0o700);
  });

  it("a run that writes the ledger now is seen, and not disturbed", async () => {
    const home = newHome();
    const file = join(home.HOME, "a.jsonl");
    writeFileSync(file, `${group}\n`);
    let answer = (): void => undefined;
    const isAnswered = new Promise<void>((settle) => {
      answer = settle;
    });
    const { url } = await scriptedServer([{ answer: (_, response) => void isAnswered.then(() => response.end("{}")) }]);
    const run = startRollcall(["log", "m", file, "--split", "train", "--base-url", url], {
      env: { ...home, ROLLCALL_TOKEN: key },
    });
    const ended = endOf(run);
    const ledger = async () => (await doctor(["--local"], { env: home })).of("ledger")[0];
    await expect.poll(ledger).toMatchObject({ status: "ok", facts: { writers: 1, counts: { trying: { groups: 1 } } } });
    answer();
    expect((await ended).code).toBe(0);
    expect(await ledger()).toMatchObject({ status: "ok", facts: { writers: 0, counts: { logged: { groups: 1 } } } });
  });

  it("requests whose outcome is unknown are a warning that says how to settle them", async () => {
    const home = newHome();
    const { url } = await scriptedServer([{ answer: (_, response) => void response.socket?.destroy() }]);
    const file = join(home.HOME, "a.jsonl");
    writeFileSync(file, group);
    const env = { ...home, ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: key };
    expect((await runRollcall(["log", "m", file, "--split", "train"], { env })).code).toBe(8);
    const { code, of } = await doctor(["--offline"], { env });
    expect(code).toBe(0);
    expect(of("ledger")).toMatchObject([
      {
        status: "warning",
        message: expect.stringContaining("1 group unknown"),
        fix: expect.stringContaining("ledger resolve"),
      },
    ]);
  });

  it("the gravest goes first: settings, files, credentials, addresses", async () => {
    const all = {
      ROLLCALL_BASE_URL: "http://127.0.0.1:1",
      ROLLCALL_DATA_DIR: resolve("package.json/data"),
      ROLLCALL_PROJECT: "alpha",
    };
    expect((await doctor([], { env: all })).code).toBe(2);
    expect((await doctor([], { env: { ...all, ROLLCALL_PROJECT: undefined } })).code).toBe(11);
    const rest = { ...all, ROLLCALL_PROJECT: undefined, ROLLCALL_DATA_DIR: undefined };
    expect((await doctor([], { env: rest })).code).toBe(4);
    expect((await doctor([], { env: { ...rest, ROLLCALL_TOKEN: key } })).code).toBe(5);
  });
});

/** How every file below a folder looks, and what it holds. */
const lookOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort()
    .map((name) =>
      [name, statSync(join(folder, name)).mode, readFileSync(join(folder, name)).toString("base64")].join(" "),
    );

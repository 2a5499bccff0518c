import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { spawn } from "@lydell/node-pty";
import { describe, expect, it } from "vitest";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";
import { type Exchange, json, scriptedServer } from "../../support/server.ts";

const key = "wk-1234567890";
const models = json({ object: "list", data: [] });

/** A home, runs of `rollcall auth` in it, and a service that answers these exchanges. */
const openHome = async (exchanges: readonly Exchange[] = []) => {
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

describe("rollcall auth login", () => {
  it("tries the key, saves it with the addresses that were given, and ends with the next command", async () => {
    const { server, auth, run, site, saved, file } = await openHome([{ answer: models }, { answer: models }]);
    expect(await auth(`login --with-token ${site}`, { stdin: `${key}\n` })).toEqual({
      code: 0,
      stdout: "",
      stderr: [
        `note: saved in ${file("credentials.json")}, profile default: the key for log, inference, calls`,
        "note: no project is set, the team/project of calls and usage: rollcall config set project team/project",
        "note: no analysis_provider is set, the provider's name of `catalog analysis`: rollcall config set analysis_provider acme",
        "note: no router_provider is set, the provider's name of `catalog router`: rollcall config set router_provider acme",
        "note: next: rollcall models",
        "",
      ].join("\n"),
    });
    const [tried] = server.received;
    expect([tried?.method, tried?.path, tried?.headers.authorization]).toEqual(["GET", "/v1/models", `Bearer ${key}`]);
    const login = { key, origin: server.url };
    expect(saved("credentials.json")).toEqual({ default: { log: login, inference: login, calls: login } });
    expect(saved("settings.json")).toEqual({
      default: { base_url: `${server.url}/api`, inference_base_url: `${server.url}/v1` },
    });
    for (const name of ["settings.json", "credentials.json"]) expect(statSync(file(name)).mode & 0o777).toBe(0o600);
    expect(statSync(file("..")).mode & 0o077).toBe(0);
    // And the next command works.
    expect(await run("models --json")).toMatchObject({ code: 0, stdout: '{"object":"list","data":[]}\n', stderr: "" });
    expect(server.received[1]?.headers.authorization).toBe(`Bearer ${key}`);
  });

  it("saves the project and the providers given with the key, so that every command works", async () => {
    const call = { call: { id: "c" } };
    const catalog = json({ data: [] });
    const answers = [models, models, json(call), catalog, catalog].map((answer) => ({ answer }));
    const { auth, run, site, saved, server } = await openHome(answers);
    const more = "--project team/project --analysis-provider one --router-provider two";
    const { code, stderr } = await auth(`login --with-token ${site} ${more}`, { stdin: key });
    expect([code, stderr]).toEqual([0, expect.not.stringMatching(/no \w+ is set/)]);
    expect(Object(saved("settings.json")).default).toMatchObject({
      project: "team/project",
      analysis_provider: "one",
      router_provider: "two",
    });
    for (const command of ["models", "call read c", "catalog analysis", "catalog router"])
      expect([command, (await run(command)).code]).toEqual([command, 0]);
    expect(server.received.slice(3).map(({ path }) => path)).toEqual([
      expect.stringContaining("/one/"),
      expect.stringContaining("/two/"),
    ]);
    const wrong = await auth(`login --with-token --no-check ${site} --project alpha`, { stdin: key });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('project can\'t be "alpha"')]);
  });

  it("takes a password of call read that holds anything but line ends, and no key that does", async () => {
    for (const password of ["pä:ss", "日本", "p w", " p\t"]) {
      const answers = Array.from({ length: 3 }, () => ({ answer: json({ call: { id: "c" } }) }));
      const { server, auth, run, home } = await openHome(answers);
      const login = `login --with-token --for calls --no-check --base-url ${server.url} --project a/b`;
      expect((await auth(login, { stdin: `${password}\n` })).code).toBe(0);
      const file = join(home.HOME, "password");
      writeFileSync(file, `${password}\n`);
      expect((await run("call read c")).code).toBe(0);
      expect((await run("call read c", { env: { ROLLCALL_PASSWORD: password } })).code).toBe(0);
      expect((await run("call read c", { env: { ROLLCALL_PASSWORD_FILE: file } })).code).toBe(0);
      const sent = `Basic ${Buffer.from(`api:${password}`).toString("base64")}`;
      expect(server.received.map(({ headers }) => headers.authorization)).toEqual([sent, sent, sent]);
    }
    const { auth } = await openHome();
    const key = await auth("login --with-token --no-check --base-url https://a.example", { stdin: "pä:ss" });
    expect([key.code, key.stderr]).toEqual([2, expect.stringContaining("`rollcall auth login --for calls`")]);
    const lines = await auth("login --with-token --no-check --for calls --base-url https://a.example", {
      stdin: "a\nb",
    });
    expect(lines.code).toBe(2);
  });

  it("prints what was saved as JSON", async () => {
    const { server, auth, site } = await openHome([{ answer: models }]);
    const { code, stdout, stderr } = await auth(`login --with-token ${site} --profile work --json`, { stdin: key });
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      profile: "work",
      saved: ["log", "inference", "calls"].map((use) => ({ use, origin: server.url })),
      checked: true,
      next: "rollcall models --profile work",
    });
  });

  it("saves nothing where the service refuses the key", async () => {
    const { auth, site, file } = await openHome([{ answer: json({ error: { message: `no such key: ${key}` } }, 401) }]);
    const { code, stdout, stderr } = await auth(`login --with-token ${site} --json`, { stdin: key });
    expect([code, stdout]).toEqual([4, ""]);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "auth", exit_code: 4, http: { status: 401 } });
    expect(stderr).not.toContain(key);
    expect(existsSync(file("."))).toBe(false);
  });

  it("saves an untried key, and says so, where the service can't be reached, and with --no-check without trying", async () => {
    const { auth, saved } = await openHome();
    const closed = "http://127.0.0.1:1";
    const login = { log: { key, origin: closed }, inference: { key, origin: closed }, calls: { key, origin: closed } };
    const addresses = `--base-url ${closed} --inference-base-url ${closed}`;
    const { code, stderr } = await auth(`login --with-token ${addresses} --max-wait 0s`, { stdin: key });
    expect(code).toBe(0);
    expect(stderr).toContain(`the key was not tried: ${closed} can't be reached now`);
    expect(saved("credentials.json")).toEqual({ default: login });
    const unchecked = await auth(`login --with-token ${addresses} --profile other --no-check`, { stdin: key });
    expect(unchecked).toMatchObject({ code: 0, stderr: expect.not.stringContaining("not tried") });
    expect(saved("credentials.json")).toEqual({ default: login, other: login });
  });

  it("saves a key that something else than the service was asked about, and says so", async () => {
    const { server, auth, site, saved } = await openHome([
      { answer: { headers: { "content-type": "text/html" }, body: "<h1>Welcome</h1>" } },
    ]);
    const { code, stderr } = await auth(`login --with-token ${site}`, { stdin: key });
    expect(code).toBe(0);
    expect(stderr).toContain(`the key was not tried: ${server.url} did not answer as the service does`);
    expect(saved("credentials.json")).toMatchObject({ default: { inference: { key } } });
  });

  it("saves for one use, tries it with a read where there is one, and takes a user name", async () => {
    const { server, auth, saved } = await openHome([{ answer: json({ call: null }) }]);
    const login = `login --with-token --base-url ${server.url}`;
    const calls = await auth(`${login} --for calls --username anna --project team/project`, { stdin: key });
    expect(calls.code).toBe(0);
    expect(saved("settings.json")).toEqual({ default: { base_url: server.url, project: "team/project" } });
    expect(server.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from(`anna:${key}`).toString("base64")}`);
    const log = await auth(`${login} --for log`, { stdin: "wk-log" });
    expect(log.stderr).toContain("the key was not tried: nothing but logging takes it");
    expect(log.stderr).not.toContain("auth status --check");
    expect(log.stderr).toContain("next: rollcall log <model-id>");
    expect(saved("credentials.json")).toEqual({
      default: {
        calls: { key, origin: server.url, username: "anna" },
        log: { key: "wk-log", origin: server.url },
      },
    });
  });

  it("leaves out the uses that have no address, and says so", async () => {
    const { server, auth, saved } = await openHome();
    const { code, stderr } = await auth(`login --with-token --base-url ${server.url}`, { stdin: key });
    expect(code).toBe(0);
    expect(stderr).toContain("not saved for inference, which has no address yet");
    expect(Object.keys(Object(saved("credentials.json")).default)).toEqual(["log", "calls"]);
  });

  it("says which variables go before what it saved", async () => {
    const { auth, site } = await openHome([{ answer: models }]);
    const { stderr } = await auth(`login --with-token ${site}`, { stdin: key, env: { ROLLCALL_TOKEN: "tk-9876" } });
    expect(stderr).toContain("ROLLCALL_TOKEN is set, and goes before what is saved");
  });

  it.each([
    ["login --no-check", key, "there is no terminal to ask for the key on"],
    ["login --with-token --no-check", "", "no key was given"],
    ["login --with-token --no-check", "\n", "no key was given"],
    ["login --with-token --no-check", "\n \r\n\n", "no key was given"],
    ["login --with-token --no-check", "two\nlines-1234", "it has more than one line"],
    ["login --with-token --no-check", "Bearer lines-1234", "it holds white space"],
    ["login --with-token --no-check", "\u0000lines-1234", "it holds control characters"],
    ["login --with-token --for everything", key, "log, inference or calls"],
    ["login --with-token --for log --username anna", key, "only call read takes a user name"],
    ["login --with-token --username a:b", key, "without a colon"],
    ["login --with-token --local", key, "the local service makes its own key"],
    ["login --with-token lines-1234", key, ""],
  ])("%s with %j is exit 2, and saves nothing", async (args, stdin, said) => {
    const { auth, home } = await openHome();
    const address = args.includes("--local") ? "" : " --base-url https://a.example";
    const { code, stdout, stderr } = await auth(`${args}${address}`, { stdin });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(said);
    if (!args.includes("1234")) expect(stderr).not.toContain("1234");
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });

  it.each([
    ["", "; where the key is not for inference, --for log or --for calls saves it for that use alone"],
    [" --for inference", ""],
  ])("says why the service refused the key, and what it may be for%s", async (only, way) => {
    const refused = json({ error: { message: "this key is for logging" } }, 403);
    const { auth, site, home, server } = await openHome([{ answer: refused }]);
    const { code, stderr } = await auth(`login --with-token ${site}${only}`, { stdin: key });
    expect([
      code,
      stderr
        .replace(server.url, "SITE")
        .replace(/\n {2}at .*/, "")
        .trimEnd()
        .split("\n"),
    ]).toEqual([
      4,
      [
        "rollcall: SITE refused the key for inference (403: this key is for logging); it was not saved",
        `hint: check the key, the address and the project${way}; --no-check saves a key without trying it`,
      ],
    ]);
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });

  it("names the address that is missing, and one that can't be used", async () => {
    const { auth } = await openHome();
    const missing = await auth("login --with-token --profile work", { stdin: key });
    expect(missing.stderr).toBe(
      [
        "rollcall: no base_url is set",
        "hint: --base-url https://api.example.com, ROLLCALL_BASE_URL=https://api.example.com, or `rollcall config set base_url https://api.example.com --profile work`; with --local, the service inside this program needs none",
        "",
      ].join("\n"),
    );
    expect((await auth("login --with-token --for inference", { stdin: key })).stderr).toContain(
      "no inference_base_url is set",
    );
    const { stderr } = await auth("login --with-token --base-url a.example", { stdin: key });
    expect(stderr).toContain("did you mean https://a.example?");
  });

  it.each(["127.evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "1270.0.0.1.evil.com", "127.0.0.evil"])(
    "takes %s for another machine",
    async (name) => {
      const { run } = await openHome();
      const { code, stderr } = await run(`models --inference-base-url http://${name}`, {
        env: { ROLLCALL_API_KEY: key },
      });
      expect([code, stderr]).toEqual([2, expect.stringContaining(`http://${name}`)]);
      expect(stderr).toContain("--insecure-http");
      const login = await run(`auth login --with-token --base-url ${name}`, { stdin: key });
      expect(login.stderr).toContain(`did you mean https://${name}?`);
    },
  );

  it("sends no key over plain http to another machine", async () => {
    const { auth, home } = await openHome();
    const args = "login --with-token --base-url http://a.example --inference-base-url http://a.example";
    expect((await auth(args, { stdin: key })).code).toBe(2);
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });
});

/** Runs `rollcall` on a terminal of its own; `keys` are typed one after another, each when what it waits for is on the screen; `TERM` is a signal. */
const onTerminal = async (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  keys: readonly (readonly [waitsFor: string, typed: string])[],
): Promise<{ readonly code: number; readonly seen: string; readonly after: string }> => {
  // The shell outlives Ctrl-C, and tells afterwards how the terminal was left.
  const script = 'trap : INT TERM; "$@"; code=$?; stty -a | grep -o "[-]*echo " | head -n 1; exit $code';
  const line = [process.execPath, resolve("bin/rollcall.js"), ...args];
  const terminal = spawn("/bin/sh", ["-c", script, "sh", ...line], {
    cols: 200,
    rows: 50,
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, TERM: "xterm-256color", ...env },
  });
  let seen = "";
  let from = 0;
  const waiting = [...keys];
  terminal.onData((text) => {
    seen += text;
    const [next] = waiting;
    const at = next === undefined ? -1 : seen.indexOf(next[0], from);
    if (next === undefined || at < 0) return;
    from = at + next[0].length;
    waiting.shift();
    // The program is the only child of the shell, and of its process group.
    if (next[1] === "TERM") process.kill(-terminal.pid, "SIGTERM");
    else terminal.write(next[1]);
  });
  const code = await new Promise<number>((settle) => terminal.onExit(({ exitCode }) => settle(exitCode)));
  expect(waiting).toEqual([]);
  const lines = seen.trimEnd().split(/\r?\n/);
  return { code, seen, after: lines.at(-1)?.trim() ?? "" };
};

describe("rollcall auth login on a terminal", () => {
  it("asks for the addresses that are missing, then for the key, of which nothing is shown", async () => {
    const { server, home, saved } = await openHome([{ answer: models }]);
    const { code, seen, after } = await onTerminal(["auth", "login"], home, [
      ["base_url (", "not an address\r"],
      ["it takes an address", "\r"],
      ["inference_base_url (", `${server.url}/v1\r`],
      [`key for inference at ${server.url}: `, `wrong\x15wk-123x\x7f\x1b[D456\x1b[200~7890\x1b[201~\r`],
    ]);
    expect(code).toBe(0);
    expect(seen).toContain("next: rollcall models");
    for (const part of ["wk-123", "456", "7890", "wrong", "*"])
      expect(seen.replaceAll(server.url, "")).not.toContain(part);
    expect(after).toBe("echo");
    expect(saved("credentials.json")).toEqual({ default: { inference: { key: "wk-1234567890", origin: server.url } } });
    expect(saved("settings.json")).toEqual({ default: { inference_base_url: `${server.url}/v1` } });
  });

  it("takes the key as soon as an address is known, and asks for the rest behind it", async () => {
    const { server, home, saved } = await openHome();
    const { code, seen } = await onTerminal(["auth", "login", "--no-check", "--base-url", server.url], home, [
      [`key for log at ${server.url}, calls at ${server.url}: `, `${key}\r`],
      ["inference_base_url (", "\r"],
      ["project (", "team/project\r"],
      ["analysis_provider (", `${key}\r`],
      ["that is the key, which was taken already", "\r"],
      ["router_provider (", "\r"],
    ]);
    // What is typed at a prompt in the open, the terminal shows once; rollcall does not repeat it.
    expect([code, seen.split(key).length - 1]).toEqual([0, 1]);
    expect(saved("settings.json")).toEqual({ default: { base_url: server.url, project: "team/project" } });
    expect(saved("credentials.json")).toMatchObject({ default: { log: { key }, calls: { key } } });
  });

  it("does not repeat what was typed where an address was asked for", async () => {
    const { home } = await openHome();
    const { code, seen } = await onTerminal(["auth", "login"], home, [
      ["base_url (", `${key}\r`],
      ["the key is asked for after it", "\x03"],
    ]);
    expect([code, seen.split(key).length - 1]).toEqual([130, 1]);
  });

  it("asks for the project and the providers too", async () => {
    const { server, home, saved } = await openHome();
    const { code, seen } = await onTerminal(["auth", "login", "--no-check"], home, [
      ["base_url (the service's main address, such as https://api.example.com; Enter skips): ", `${server.url}\r`],
      ["key for log at", `${key}\r`],
      ["inference_base_url (", "\r"],
      ["project (", "alpha\r"],
      ["it takes team/project", "team/project\r"],
      ["analysis_provider (", "one\r"],
      ["router_provider (", "\r"],
    ]);
    expect(code).toBe(0);
    expect(seen).toContain("no router_provider is set");
    expect(saved("settings.json")).toEqual({
      default: { base_url: server.url, project: "team/project", analysis_provider: "one" },
    });
  });

  it.each([
    ["Ctrl-C", `half-a-key\x03`, 130, "interrupted"],
    ["Ctrl-D", "\x04", 2, "no key was given"],
    ["nothing", "\r", 2, "no key was given"],
    ["two lines", "first-1234\rsecond-1234\r", 2, "it has more than one line"],
  ])("gives the terminal back as it was after %s", async (_, typed, exit, said) => {
    const { home } = await openHome();
    const args = ["auth", "login", "--base-url", "https://a.example", "--for", "log"];
    const { code, seen, after } = await onTerminal(args, home, [["key for log at https://a.example: ", typed]]);
    expect([code, after]).toEqual([exit, "echo"]);
    expect(seen).toContain(said);
    expect(seen).not.toMatch(/half|1234/);
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });

  it("gives the terminal back as it was when it is told to end", async () => {
    const { home } = await openHome();
    const args = ["auth", "login", "--base-url", "https://a.example", "--for", "log"];
    const { code, seen, after } = await onTerminal(args, home, [["key for log at https://a.example: ", "TERM"]]);
    expect([code, after]).toEqual([143, "echo"]);
    expect(seen).toContain("interrupted by SIGTERM");
  });

  it("asks unseen on a terminal with --with-token too, and an interrupt at an address ends it", async () => {
    const { home } = await openHome();
    const args = ["auth", "login", "--with-token", "--base-url", "https://a.example", "--for", "log"];
    const { code, seen } = await onTerminal(args, home, [["key for log at https://a.example: ", `${key}\r`]]);
    expect(code).toBe(0);
    expect(seen).not.toContain(key);
    const { home: other } = await openHome();
    const stopped = await onTerminal(["auth", "login"], other, [["base_url (", "\x03"]]);
    expect([stopped.code, stopped.after]).toEqual([130, "echo"]);
  });
});

describe("rollcall auth status", () => {
  it("says for each use which credential would go, from where, to which origin", async () => {
    const { auth, home } = await openHome();
    const addresses = "--base-url https://a.example/x --inference-base-url https://m.example/v1 --no-check";
    await auth(`login --with-token --for log ${addresses}`, { stdin: key });
    await auth(`login --with-token --for calls --username anna ${addresses}`, { stdin: key });
    const env = { ROLLCALL_INFERENCE_BASE_URL: "https://m.example/v1", ROLLCALL_CREDENTIAL_COMMAND: "pass show key" };
    const { code, stdout, stderr } = await auth("status", { env });
    expect([code, stderr]).toEqual([0, "note: the credentials were not tried: --check asks the service\n"]);
    expect(stdout.split("\n").map((line) => line.split("\t"))).toEqual([
      ["log", "ready", "https://a.example", "login of the profile default", ""],
      ["inference", "command", "https://m.example", "ROLLCALL_CREDENTIAL_COMMAND", ""],
      ["calls", "ready", "https://a.example", "login of the profile default", "anna"],
      [""],
    ]);
    const json = JSON.parse((await auth("status --json --for log", { env: { ROLLCALL_TOKEN: "tk-9876" } })).stdout);
    expect(json).toEqual({
      profile: "default",
      credentials: [
        {
          use: "log",
          origin: "https://a.example",
          state: "ready",
          from: "ROLLCALL_TOKEN",
          username: null,
          check: null,
        },
      ],
    });
    expect((await auth("status --local")).stdout).toContain("the local service's own key");
    expect(home.HOME).not.toBe("");
  });

  it("is exit 4 where there is none", async () => {
    const { auth } = await openHome();
    const none = await auth("status --base-url https://a.example");
    expect([none.code, none.stdout.split("\n")[0]]).toEqual([4, "log\tmissing\thttps://a.example\t\t"]);
    expect(none.stderr).toContain("rollcall auth login");
    const json = await auth("status --json");
    expect(json.code).toBe(4);
    expect(JSON.parse(json.stdout).credentials).toMatchObject([
      { use: "log", state: "no address" },
      { use: "inference", state: "no address" },
      { use: "calls", state: "no address" },
    ]);
    expect(JSON.parse(json.stderr).error.code).toBe("auth");
    await auth("login --with-token --for log --no-check --base-url https://a.example", { stdin: key });
    expect((await auth("status")).code).toBe(0);
    expect((await auth("status --for calls")).code).toBe(4);
    const elsewhere = await auth("status --for log --base-url https://b.example");
    expect([elsewhere.code, elsewhere.stdout.split("\t")[1]]).toEqual([4, "elsewhere"]);
  });

  it("asks the service with --check", async () => {
    const refused = json({ reason: "no" }, 403);
    const { auth, site } = await openHome([{ answer: models }, { answer: refused }]);
    await auth(`login --with-token --no-check ${site}`, { stdin: key });
    const project = { ROLLCALL_PROJECT: "team/project" };
    const { code, stdout, stderr } = await auth("status --check", { env: project });
    expect([code, stdout.split("\n").map((line) => line.split("\t")[5])]).toEqual([
      4,
      ["untried", "taken", "refused", undefined],
    ]);
    expect(stderr).toContain("the credential for log was not tried: nothing but logging takes it");
  });

  it("says which credentials can't be tried, and why", async () => {
    const { auth, site } = await openHome([{ answer: models }]);
    await auth(`login --with-token --no-check ${site}`, { stdin: key });
    const { code, stdout, stderr } = await auth("status --check");
    expect([code, stdout.split("\n").map((line) => line.split("\t")[5])]).toEqual([
      0,
      ["untried", "taken", "untried", undefined],
    ]);
    expect(stderr).toContain(
      "the credential for calls was not tried: only a call read takes it, and that needs a project",
    );
  });
});

describe("rollcall auth logout", () => {
  it("forgets all keys of the profile, or that of one use", async () => {
    const { auth, run } = await openHome();
    await auth("login --with-token --no-check --base-url https://a.example", { stdin: key });
    expect(await auth("logout --for log")).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: profile default: the key for log is forgotten\n",
    });
    expect((await auth("logout --json")).stdout).toBe('{"profile":"default","removed":["calls"]}\n');
    const again = await auth("logout", { env: { ROLLCALL_API_KEY: key } });
    expect(again.stderr).toBe(
      "note: profile default: nothing was saved\nnote: still in the environment: ROLLCALL_API_KEY\n",
    );
    expect((await run("config get base_url")).stdout).toBe("https://a.example\n");
  });
});

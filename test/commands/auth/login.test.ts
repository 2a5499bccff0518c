import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { json } from "../../support/server.ts";
import { key, models, openHome } from "./home.ts";

describe("rollcall auth login", () => {
  it("tests the key, saves it with the given addresses, and names the next command", async () => {
    const { server, auth, run, site, saved, file } = await openHome([{ answer: models }, { answer: models }]);
    expect(await auth(`login --with-token ${site}`, { stdin: `${key}\n` })).toEqual({
      code: 0,
      stdout: "",
      stderr: [
        `note: saved in ${file("credentials.json")}, profile default: the key for log, inference, calls`,
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

  it("saves the given project and providers, so that every command works", async () => {
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
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('invalid project "alpha"')]);
  });

  it("accepts any password for calls without line ends, but only ASCII keys", async () => {
    for (const password of ["pä:ss", " 日 本\t"]) {
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

  it("prints the saved uses as JSON", async () => {
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

  it("exits with 4 and saves nothing if the service refuses the key", async () => {
    const { auth, site, file } = await openHome([{ answer: json({ error: { message: `no such key: ${key}` } }, 401) }]);
    const { code, stdout, stderr } = await auth(`login --with-token ${site} --json`, { stdin: key });
    expect([code, stdout]).toEqual([4, ""]);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "auth", exit_code: 4, http: { status: 401 } });
    expect(stderr).not.toContain(key);
    expect(existsSync(file("."))).toBe(false);
  });

  it("saves an untested key if the service is unavailable, with a note, or with --no-check", async () => {
    const { auth, saved } = await openHome();
    const closed = "http://127.0.0.1:1";
    const login = { log: { key, origin: closed }, inference: { key, origin: closed }, calls: { key, origin: closed } };
    const addresses = `--base-url ${closed} --inference-base-url ${closed}`;
    const { code, stderr } = await auth(`login --with-token ${addresses} --max-wait 0s`, { stdin: key });
    expect(code).toBe(0);
    expect(stderr).toContain(`the key was not tested: ${closed} is unreachable`);
    expect(saved("credentials.json")).toEqual({ default: login });
    const unchecked = await auth(`login --with-token ${addresses} --profile other --no-check`, { stdin: key });
    expect(unchecked).toMatchObject({ code: 0, stderr: expect.not.stringContaining("not tested") });
    expect(saved("credentials.json")).toEqual({ default: login, other: login });
  });

  it("saves an untested key with a note if another server answers", async () => {
    const { server, auth, site, saved } = await openHome([
      { answer: { headers: { "content-type": "text/html" }, body: "<h1>Welcome</h1>" } },
    ]);
    const { code, stderr } = await auth(`login --with-token ${site}`, { stdin: key });
    expect(code).toBe(0);
    expect(stderr).toContain(`the key was not tested: ${server.url} did not answer like the service`);
    expect(saved("credentials.json")).toMatchObject({ default: { inference: { key } } });
  });

  it("saves a key for one use, tests it with a read, and saves a user name", async () => {
    const { server, auth, saved } = await openHome([{ answer: json({ call: null }) }]);
    const login = `login --with-token --base-url ${server.url}`;
    const calls = await auth(`${login} --for calls --username anna --project team/project`, { stdin: key });
    expect(calls.code).toBe(0);
    expect(saved("settings.json")).toEqual({ default: { base_url: server.url, project: "team/project" } });
    expect(server.received[0]?.headers.authorization).toBe(`Basic ${Buffer.from(`anna:${key}`).toString("base64")}`);
    const log = await auth(`${login} --for log`, { stdin: "wk-log" });
    expect(log.stderr).toContain("the key was not tested: only log accepts it");
    expect(log.stderr).not.toContain("auth status --check");
    expect(log.stderr).toContain("next: rollcall log <model-id>");
    expect(saved("credentials.json")).toEqual({
      default: {
        calls: { key, origin: server.url, username: "anna" },
        log: { key: "wk-log", origin: server.url },
      },
    });
  });

  it("saves no key for a use without a URL, and prints no note about the URL", async () => {
    const { server, auth, saved } = await openHome();
    const { code, stderr } = await auth(`login --with-token --base-url ${server.url}`, { stdin: key });
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/inference|ROLLCALL_/);
    expect(Object.keys(Object(saved("credentials.json")).default)).toEqual(["log", "calls"]);
  });

  it("notes the variables that override the saved key", async () => {
    const { auth, site } = await openHome([{ answer: models }]);
    const { stderr } = await auth(`login --with-token ${site}`, { stdin: key, env: { ROLLCALL_TOKEN: "tk-9876" } });
    expect(stderr).toContain("ROLLCALL_TOKEN is set and overrides the saved key");
  });

  it.each([
    ["login --no-check", key, "cannot ask for the key: standard input is not a terminal"],
    ["login --with-token --no-check", "", "missing key"],
    ["login --with-token --no-check", "\n", "missing key"],
    ["login --with-token --no-check", "\n \r\n\n", "missing key"],
    ["login --with-token --no-check", "https://train.example", "it is a URL"],
    ["login --with-token --no-check", "export KEY=wk-1234", "it is a command or an assignment"],
    ["login --with-token --no-check", "two\nlines-1234", "it has more than one line"],
    ["login --with-token --no-check", "Bearer lines-1234", "it contains white space"],
    ["login --with-token --no-check", "\u0000lines-1234", "it contains control characters"],
    ["login --with-token --for everything", key, "log, inference or calls"],
    ["login --with-token --for log --username anna", key, "only call read has a user name"],
    ["login --with-token --username a:b", key, "without colons"],
    ["login --with-token --local", key, "the local service makes its own key"],
    ["login --with-token lines-1234", key, ""],
  ])("exits with 2 and saves nothing for %s with the input %j", async (args, stdin, said) => {
    const { auth, home } = await openHome();
    const address = args.includes("--local") ? "" : " --base-url https://a.example";
    const { code, stdout, stderr } = await auth(`${args}${address}`, { stdin });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(said);
    if (!args.includes("1234")) expect(stderr).not.toContain("1234");
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });

  it.each([
    ["", "save it for another use with --for log or --for calls, "],
    [" --for inference", ""],
  ])("prints the service's reason, and suggests the uses of the key, for login%s", async (only, way) => {
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
        "rollcall: SITE refused the key for inference (403: this key is for logging), so it was not saved",
        `hint: check the key, the URL and the project, ${way}or save it untested with --no-check`,
      ],
    ]);
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });

  it("names a missing address, and suggests one for an invalid address", async () => {
    const { auth } = await openHome();
    const missing = await auth("login --with-token --profile work", { stdin: key });
    expect(missing.stderr).toBe(
      [
        "rollcall: base_url is not set",
        "hint: pass --base-url https://api.example.com, set ROLLCALL_BASE_URL=https://api.example.com, run `rollcall config set base_url https://api.example.com --profile work` or use the local service with --local",
        "",
      ].join("\n"),
    );
    expect((await auth("login --with-token --for inference", { stdin: key })).stderr).toContain(
      "inference_base_url is not set",
    );
    const { stderr } = await auth("login --with-token --base-url a.example", { stdin: key });
    expect(stderr).toContain("did you mean https://a.example?");
  });

  it.each(["127.evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "1270.0.0.1.evil.com", "127.0.0.evil"])(
    "requires https for the host %s",
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

  it("sends no key to another host over plain http", async () => {
    const { auth, home } = await openHome();
    const args = "login --with-token --base-url http://a.example --inference-base-url http://a.example";
    expect((await auth(args, { stdin: key })).code).toBe(2);
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  });
});

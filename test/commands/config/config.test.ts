import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHereOnTerminal } from "../../support/here.ts";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";
import { screenOf } from "../../support/terminal.ts";

/** A home, and runs of `rollcall config` in it. */
const openHome = () => {
  const home = newHome();
  const file = join(home.XDG_CONFIG_HOME, "rollcall", "settings.json");
  const config = async (args: string, { env = {}, ...options }: RunOptions = {}) =>
    await runRollcall(["config", ...args.split(" ")], { env: { ...home, ...env }, ...options });
  const save = (text: string): void => {
    mkdirSync(join(home.XDG_CONFIG_HOME, "rollcall"), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode: 0o600 });
  };
  return { home, file, config, save };
};

describe("rollcall config", () => {
  it("saves, prints and deletes settings", async () => {
    const { file, config } = openHome();
    expect(await config("set base_url https://api.example.com/")).toEqual({
      code: 0,
      stdout: "",
      stderr: `note: saved in the profile default (${file}): base_url\n`,
    });
    expect(await config("get base_url")).toEqual({ code: 0, stdout: "https://api.example.com/\n", stderr: "" });
    expect(await config("get base_url --json")).toEqual({
      code: 0,
      stdout: `{"name":"base_url","value":"https://api.example.com/","source":"profile","from":"${file}","problem":null}\n`,
      stderr: "",
    });
    expect(await config("path")).toEqual({ code: 0, stdout: `${file}\n`, stderr: "" });
    expect((await config("path --json")).stdout).toBe(`{"settings":"${file}"}\n`);
    expect(await config("unset base_url batch")).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: taken out of the profile default: base_url\nnote: was not set in the profile default: batch\n",
    });
    expect(await config("get base_url")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("no base_url is set"),
    });
    expect([statSync(file).mode & 0o777, statSync(join(file, "..")).mode & 0o777]).toEqual([0o600, 0o700]);
  });

  it("names the saved keys that a changed address makes unusable", async () => {
    const { home, config } = openHome();
    const set = async (args: string, env = {}) =>
      (await config(`set ${args}`, { env })).stderr.split("\n").slice(1, -1);
    const logIn = async (...args: readonly string[]) =>
      await runRollcall(["auth", "login", "--with-token", "--no-check", ...args], { env: home, stdin: "key-12345" });
    const note = (uses: string, login: string) =>
      `note: a saved key goes only to the address that it was entered for: for ${uses} it must be entered again, with \`${login}\``;
    expect(await set("base_url http://127.0.0.1:1")).toEqual([]);
    await logIn();
    const inference = note("inference", "rollcall auth login --for inference");
    expect(await set("inference_base_url http://127.0.0.1:2")).toEqual([inference]);
    await logIn("--for", "inference");
    expect(await set("inference_base_url http://127.0.0.1:2/v1")).toEqual([]);
    expect(await set("split train")).toEqual([]);
    expect(await set("log_base_url http://127.0.0.1:4", { ROLLCALL_API_KEY: "key-67890" })).toEqual([]);
    expect(await set("base_url http://127.0.0.1:3")).toEqual([note("log, calls", "rollcall auth login")]);
    expect((await config("set base_url http://127.0.0.1:3 --json")).stderr).toBe("");
    expect((await config("unset log_base_url")).stderr).toContain("for log, calls it must be entered again");
  });

  it("prints values in 40 columns", async () => {
    const { home, save } = openHome();
    save('{"profiles":{"default":{"base_url":"http://127.0.0.1:1"}}}');
    const { written } = await runHereOnTerminal(["config", "list"], { env: home, columns: 40 });
    const lines = screenOf(written);
    expect(lines).toContainEqual(expect.stringMatching(/^base_url +http:\/\/127/));
    expect(lines).toContainEqual(expect.stringMatching(/^max_wait +5m$/));
  });

  it("lists every setting with its value and source in every output format", async () => {
    const { file, config, save } = openHome();
    save('{"profiles":{"work":{"split":"train","from_tomorrow":1}}}');
    const env = { ROLLCALL_PROJECT: "team/project", ROLLCALL_TIMEOUT: "soon" };
    const listed = await config("list --profile work --base-url https://a.example", { env });
    expect(listed.stdout.split("\n").map((line) => line.split("\t"))).toEqual([
      ["base_url", "https://a.example", "command line", "--base-url"],
      ["inference_base_url", "", "", ""],
      ["log_base_url", "https://a.example", "default", ""],
      ["analysis_provider", "", "", ""],
      ["router_provider", "", "", ""],
      ["project", "team/project", "environment", "ROLLCALL_PROJECT"],
      ["vendor_prefix", "vendor", "default", ""],
      ["project_header", "Vendor-Project", "default", ""],
      ["account", "work", "default", ""],
      ["split", "train", "profile", file],
      ["batch", "", "", ""],
      ["max_request_size", "32MiB", "default", ""],
      ["timeout", "soon", "environment", "ROLLCALL_TIMEOUT"],
      ["max_wait", "5m", "default", ""],
      ["idempotency", "auto", "default", ""],
      ["compress", "none", "default", ""],
      ["insecure_http", "false", "default", ""],
      ["credential_command", "", "", ""],
      ["max_body_size", "64MiB", "default", ""],
      ["max_unpacked_size", "64GiB", "default", ""],
      [""],
    ]);
    expect(listed.stderr).toContain('timeout can\'t be "soon": it takes a duration');
    expect(listed.stderr).toContain("not settings of this version, and kept: from_tomorrow");
    const json = await config("list --profile work --json", { env });
    expect(json.stderr).toBe("");
    const { profile, settings } = JSON.parse(json.stdout);
    expect([profile, settings.length, settings[9]]).toEqual([
      "work",
      20,
      { name: "split", value: "train", source: "profile", from: file, problem: null },
    ]);
    expect(settings[12]).toMatchObject({ value: "soon", problem: expect.stringContaining("a duration") });
    expect(settings[1]).toEqual({ name: "inference_base_url", value: null, source: null, from: null, problem: null });
    const csv = (await config("list -o csv --fields name,value", { env })).stdout.split("\r\n");
    expect([csv[0], csv[6]]).toEqual(["name,value", "project,team/project"]);
  });

  it("never prints a secret", async () => {
    const { config } = openHome();
    const env = { ROLLCALL_API_KEY: "key-1234", ROLLCALL_BASE_URL: "https://anna:pass-5678@a.example?key=query-9012" };
    for (const args of ["list", "list --json", "get base_url", "get base_url --json", "export", "get api_key"]) {
      const { stdout, stderr } = await config(args, { env });
      expect(stdout + stderr).not.toMatch(/1234|5678|9012/);
    }
    expect((await config("set api_key key-1234")).stderr).toBe(
      "rollcall: api_key is a secret, not a setting\nhint: `rollcall auth login` saves a key\n",
    );
    expect((await config("set token wk-secret-1234 --json")).stderr).not.toContain("1234");
  });

  it("exports and imports the settings of a profile", async () => {
    const { config, save } = openHome();
    const team = {
      base_url: "https://api.example.com",
      inference_base_url: "https://models.example.com/v1",
      project: "team/project",
      analysis_provider: "one",
      router_provider: "two",
      split: "train",
      timeout: "2m",
      insecure_http: false,
    };
    save(JSON.stringify({ profiles: { team } }));
    const exported = await config("export --profile team");
    expect(JSON.parse(exported.stdout)).toEqual(team);
    expect(await config("import - --profile copy --create", { stdin: exported.stdout })).toMatchObject({
      code: 0,
      stdout: "",
    });
    expect((await config("export --profile copy --json")).stdout).toBe(exported.stdout);
    const refused = await config("import - --json", { stdin: '{"token":"key-1234","project":"alpha"}' });
    expect([refused.code, refused.stdout]).toEqual([3, ""]);
    expect(JSON.parse(refused.stderr).error).toMatchObject({
      code: "invalid_input",
      exit_code: 3,
      problems: [
        { line: 1, column: 10, rule: "secret-in-settings" },
        { line: 1, column: 31, rule: "setting-wrong" },
      ],
    });
    expect(refused.stderr).not.toContain("1234");
  });

  it.each([
    ["set base_url api.example.com", "did you mean https://api.example.com?"],
    ["set project alpha", "team/project"],
    ["set timeout 30", "did you mean 30s?"],
    ["set bse_url https://a.example", "did you mean base_url?"],
    ["get splt", "did you mean split?"],
    ["list --profile wrok", "there are default, local"],
    ["set base_url https://a.example --local", "the local service has its own address"],
    ["list --local --base-url https://a.example", "--local and --base-url can't go together"],
    ["lst", "list"],
    ["", "config"],
  ])("exits with 2 and suggests a fix for `config %s`", async (args, fix) => {
    const { code, stdout, stderr } = await openHome().config(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(fix);
  });

  it("exits with 2 and keeps a settings file that is not JSON", async () => {
    const { file, config, save } = openHome();
    const text = '{"profiles": {\n  "default": {"split": "a",}\n}}';
    save(text);
    for (const args of ["list", "set split b", "get split", "import -", "export", "unset split"]) {
      const { code, stderr } = await config(args, { stdin: "{}" });
      expect(code).toBe(2);
      expect(stderr).toContain(`${file}:2:28 can't be used: it is not JSON`);
    }
    expect(readFileSync(file, "utf8")).toBe(text);
    const json = await config("list --json");
    expect(JSON.parse(json.stderr).error).toMatchObject({ code: "usage", where: { file, line: 2, column: 28 } });
  });

  it("prints the command that makes the settings file private", async () => {
    const { file, config, save } = openHome();
    save('{"profiles":{}}');
    chmodSync(file, 0o640);
    chmodSync(join(file, ".."), 0o755);
    const { code, stderr } = await config("get split --profile default");
    expect(code).toBe(2);
    expect(stderr).toContain(`chmod 600 ${file}`);
    expect(stderr).toContain(`chmod 700 ${join(file, "..")}`);
  });

  it("reads settings without a home folder, but exits with 11 before it writes", async () => {
    const { config } = openHome();
    const env = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined, ROLLCALL_SPLIT: "train" };
    expect(await config("get split", { env })).toEqual({ code: 0, stdout: "train\n", stderr: "" });
    expect((await config("list", { env })).code).toBe(0);
    for (const args of ["set split a", "path", "import -"]) {
      const { code, stderr } = await config(args, { env, stdin: '{"split":"a"}' });
      expect([code, stderr]).toEqual([11, expect.stringContaining("ROLLCALL_CONFIG_DIR")]);
    }
    const folder = join(newHome().HOME, "here");
    expect((await config("set split a", { env: { ...env, ROLLCALL_CONFIG_DIR: folder } })).code).toBe(0);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it("exits with 11 if it cannot create the folder", async () => {
    const { config } = openHome();
    const env = { ROLLCALL_CONFIG_DIR: "/dev/null/below" };
    expect(await config("list", { env })).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await config("set split a --json", { env });
    expect([code, stdout]).toEqual([11, ""]);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: "storage",
      where: { file: "/dev/null/below/settings.json" },
    });
  });

  it("loses no setting if ten processes write at once", { tags: "slow" }, async () => {
    const { config } = openHome();
    const values = {
      split: "a",
      batch: "b",
      account: "c",
      project: "d/e",
      analysis_provider: "f",
      router_provider: "g",
    };
    const alone = { ownProcess: true };
    const runs = Object.entries(values).map(async ([name, value]) => await config(`set ${name} ${value}`, alone));
    const others = ["x", "y", "z", "w"].map(
      async (profile) => await config(`set split s --profile ${profile} --create`, alone),
    );
    expect((await Promise.all([...runs, ...others])).map(({ code }) => code)).toEqual(Array(10).fill(0));
    expect(JSON.parse((await config("export")).stdout)).toEqual(values);
    for (const profile of ["x", "y", "z", "w"]) {
      expect((await config(`export --profile ${profile}`)).stdout).toBe('{\n  "split": "s"\n}\n');
    }
  });
});

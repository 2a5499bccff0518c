import { describe, expect, it } from "vitest";
import { listSettings } from "../../src/settings/changes.ts";
import { readSettings } from "../../src/settings/read.ts";
import { findDataFolder, findSettingsFile } from "../../src/settings/saved-files.ts";
import { settingNames } from "../../src/settings/values.ts";
import { testHost } from "../support/host.ts";
import { failureOf, openHome } from "./open.ts";

describe("a setting", () => {
  it("accepts a number or a boolean in the file", async () => {
    const saved = { max_request_size: 5_000_000, insecure_http: true };
    const settings = await openHome({ profiles: { default: saved } }).read();
    expect([settings.get("max_request_size"), settings.get("insecure_http")]).toEqual([5_000_000, true]);
  });

  it("fails only when it is used, and names the option, the variable or the position in the file", async () => {
    const profile = { work: { project: "alpha", timeout: ["x"] } };
    const home = openHome({
      env: { ROLLCALL_MAX_WAIT: "soon" },
      flags: { profile: "work", max_request_size: "huge" },
      profiles: profile,
    });
    const settings = await home.read();
    expect((await failureOf(() => settings.get("max_request_size"))).where).toEqual({
      setting: "max_request_size",
      option: "--max-request-size",
    });
    expect((await failureOf(() => settings.get("max_wait"))).where).toEqual({
      setting: "max_wait",
      environment: "ROLLCALL_MAX_WAIT",
    });
    expect(await failureOf(() => settings.get("project"))).toMatchObject({
      message: expect.stringMatching(/^invalid project "alpha" \(.*settings\.json:1:32, profile work\): expected/),
      where: { setting: "project", file: home.file("settings.json"), line: 1, column: 32 },
    });
    expect((await failureOf(() => settings.get("timeout"))).message).toContain('"["x"]"');
    expect(settings.get("idempotency")).toBe("auto");
  });
});

describe("a profile", () => {
  const profiles = {
    work: { base_url: "https://work.example", split: "work" },
    home: { log_base_url: "https://logs.home.example" },
  };
  const env = {
    ROLLCALL_BASE_URL: "https://env.example",
    ROLLCALL_LOG_BASE_URL: "https://logs.env.example",
    ROLLCALL_SPLIT: "env",
  };

  const [work, env_, logs] = ["https://work.example", "https://env.example", "https://logs.env.example"];
  const own = { base_url: "https://own.example", log_base_url: "https://logs.own.example" };
  it.each<[what: string, base: string, log: string, profile: Readonly<Record<string, unknown>>, isTyped?: boolean]>([
    ["overrides the environment if the command line names it", work, work, profiles.work],
    ["logs to the environment's log URL if it has no URL", env_, logs, { split: "s" }],
    ["logs to its own log URL if it has both URLs", own.base_url, own.log_base_url, own],
    ["uses the environment's URLs for URLs that it lacks", env_, profiles.home.log_base_url, profiles.home],
    ["does not override the environment's URLs if the environment names it", env_, logs, profiles.work, false],
  ])("%s", async (_, base, log, profile, isTyped = true) => {
    const options = isTyped ? { flags: { profile: "x" }, env } : { env: { ...env, ROLLCALL_PROFILE: "x" } };
    const home = openHome({ ...options, profiles: { x: profile } });
    const settings = await home.read();
    expect([settings.serviceUrl("base"), settings.serviceUrl("log"), home.notices]).toEqual([base, log, []]);
    const split = isTyped && "split" in profile ? profile.split : env.ROLLCALL_SPLIT;
    expect(settings.get("split")).toBe(split);
  });

  it.each([
    [{ local: true }, "--local"],
    [{ profile: "local" }, "the profile local"],
  ])("has no URL of the command line if it is the local service: %j", async (flags, named) => {
    const { kind, message } = await failureOf(
      openHome({ flags: { ...flags, log_base_url: "https://a.example" } }).read,
    );
    const text = `cannot combine ${named} and --log-base-url: the local service has its own URL`;
    expect([kind, message]).toEqual(["conflicting-options", text]);
  });

  it("has a log URL that overrides a typed base URL, with one notice, but not a typed log URL", async () => {
    const typed = { base_url: "https://typed.example" };
    const home = openHome({ flags: { ...typed, profile: "home" }, profiles });
    const settings = await home.read();
    expect([settings.serviceUrl("log"), settings.serviceUrl("log")]).toEqual(Array(2).fill(profiles.home.log_base_url));
    const notice = "logging to the URL in log_base_url of the profile home, not to --base-url. Use --log-base-url for";
    expect(home.notices).toEqual([`${notice} another URL`]);
    const other = openHome({
      flags: { ...typed, log_base_url: "https://l.example" },
      profiles: { default: profiles.home },
    });
    expect([(await other.read()).serviceUrl("log"), other.notices]).toEqual(["https://l.example", []]);
  });

  it.each(["", "__proto__x/y", "a b", "-x", "../x", "__proto__", "a\n"])(
    "cannot have an unsafe name (row %$)",
    async (profile) => {
      expect(await failureOf(openHome({ flags: { profile } }).read)).toMatchObject({
        kind: "setting-invalid",
        message: expect.stringMatching(/^invalid profile /),
      });
    },
  );

  it.each(["constructor", "toString", "hasOwnProperty"])(
    "does not exist with the name %s unless it is saved",
    async (profile) => {
      expect((await failureOf(openHome({ flags: { profile } }).read)).kind).toBe("unknown-profile");
    },
  );

  it("fails at its option or its variable if it does not exist", async () => {
    const whereOf = async (own: ReturnType<typeof openHome>) => {
      const { kind, where } = await failureOf(own.read);
      return [kind, where];
    };
    const variable = { environment: "ROLLCALL_PROFILE" };
    expect(await whereOf(openHome({ env: { ROLLCALL_PROFILE: "gone" } }))).toEqual(["unknown-profile", variable]);
    expect(await whereOf(openHome({ flags: { profile: "gone" } }))).toEqual([
      ...["unknown-profile", { option: "--profile" }],
    ]);
  });
});

describe("the profile local", () => {
  const env = {
    ROLLCALL_BASE_URL: "https://env.example",
    ROLLCALL_API_KEY: "key-from-env",
    ROLLCALL_TOKEN_FILE: "/nowhere",
    ROLLCALL_DATA_DIR: "/data",
  };

  it.each([
    ["--local", { local: true }, {}],
    ["--profile local", { profile: "local" }, {}],
    ["ROLLCALL_PROFILE=local", {}, { ROLLCALL_PROFILE: "local" }],
  ])("ignores the environment's URLs and credentials if %s selects it", async (_, flags, more) => {
    const home = openHome({ flags, env: { ...env, ...more } });
    const settings = await home.read();
    expect([settings.local, settings.profile]).toEqual([true, "local"]);
    expect([settings.get("base_url"), settings.get("log_base_url")]).toEqual([undefined, undefined]);
    expect([settings.get("project"), settings.get("router_provider"), settings.get("account")]).toEqual([
      "local/local",
      "local",
      "local",
    ]);
    expect(await settings.service()).toMatchObject({
      dataDir: "/data",
      project: "local/local",
      maxBodyBytes: 64 * 1024 * 1024,
    });
  });

  it.each([
    ["--base-url", { local: true, base_url: "https://a.example" }],
    ["--inference-base-url", { profile: "local", inference_base_url: "https://a.example" }],
    ["--log-base-url", { local: true, log_base_url: "" }],
    ["--profile work", { local: true, profile: "work" }],
  ])("contradicts %s", async (second, flags) => {
    expect(await failureOf(openHome({ flags, profiles: { work: {} } }).read)).toMatchObject({
      kind: "conflicting-options",
      code: "usage",
      message: expect.stringContaining(` and ${second}: `),
    });
  });
});

describe("a run without a home folder", () => {
  it("reads settings from the environment, and fails only if it needs a folder", async () => {
    const { sources } = openHome();
    const host = testHost({ env: { ROLLCALL_BASE_URL: "https://env.example", ROLLCALL_API_KEY: "env-key" } });
    const settings = await readSettings({ ...sources, host });
    expect(settings.serviceUrl("log")).toBe("https://env.example");
    expect(await settings.credential("log", "https://env.example")).toMatchObject({
      secret: "env-key",
    });
    expect(await failureOf(() => settings.service())).toMatchObject({
      kind: "folder-unknown",
      code: "storage",
      hint: "set ROLLCALL_DATA_DIR to a folder",
    });
  });

  it.each<[platform: NodeJS.Platform, env: Record<string, string>, settings?: string, data?: string]>([
    ["linux", { HOME: "/h" }, "/h/.config/rollcall", "/h/.local/share/rollcall"],
    ["darwin", { HOME: "/h" }, "/h/Library/Preferences/rollcall", "/h/Library/Application Support/rollcall"],
    ["win32", { HOME: "/h", APPDATA: "/a", LOCALAPPDATA: "/l" }, "/a/rollcall/Config", "/l/rollcall/Data"],
    ["win32", { HOME: "/h" }],
    ["win32", { APPDATA: "a", LOCALAPPDATA: "l" }],
    ["linux", { HOME: "h" }],
    ["darwin", { HOME: "." }],
    ["darwin", { XDG_CONFIG_HOME: "/c", XDG_DATA_HOME: "/d", HOME: "/h" }, "/c/rollcall", "/d/rollcall"],
    ["linux", { XDG_CONFIG_HOME: "c", XDG_DATA_HOME: "d", HOME: "/" }, "/.config/rollcall", "/.local/share/rollcall"],
  ])("finds the folders of %s with %j", (platform, env, settings, data) => {
    const host = { platform, env };
    if (settings) expect(findSettingsFile(host)).toBe(`${settings}/settings.json`);
    else expect(() => findSettingsFile(host)).toThrow("cannot locate the folder for settings");
    expect(findDataFolder(host)).toBe(data);
  });
});

describe("the list of settings", () => {
  it("contains every setting, its value as written, and its source", () => {
    const home = openHome({
      flags: { base_url: "https://typed.example/" },
      env: { ROLLCALL_TIMEOUT: "soon", ROLLCALL_TOKEN: "key-1234" },
      profiles: { default: { split: "train", project: "alpha", from_tomorrow: 1 } },
    });
    const { profile, rows, unknown } = listSettings(home.sources);
    expect([profile, rows.map(({ name }) => name), unknown]).toEqual(["default", settingNames, ["from_tomorrow"]]);
    const row = (name: string) => rows.find((each) => each.name === name);
    expect(row("base_url")).toEqual({
      name: "base_url",
      value: "https://typed.example/",
      source: "command line",
      from: "--base-url",
      problem: null,
    });
    expect(row("split")).toMatchObject({ value: "train", source: "profile", from: home.file("settings.json") });
    expect(row("batch")).toMatchObject({ value: null, source: null, from: null });
    expect(row("timeout")).toMatchObject({
      value: "soon",
      from: "ROLLCALL_TIMEOUT",
      problem: { rule: "setting-invalid", severity: "warning", advice: "correct the value" },
    });
    expect(row("timeout")?.problem).not.toHaveProperty("file");
    const file = { file: home.file("settings.json"), line: 1, column: 51 };
    const advice = "run `rollcall config set project team/project`";
    expect(row("project")).toMatchObject({ value: "alpha", problem: { ...file, rule: "setting-invalid", advice } });
  });
});

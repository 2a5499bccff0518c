import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listSettings, profileNames, readSettings, settingNames } from "../../src/settings/index.ts";
import { testHost } from "../support/host.ts";
import { failureOf, openRoom } from "./open.ts";

describe("a setting", () => {
  const profiles = { default: { split: "profile" } };

  it("is the command line's, then the environment's, then the profile's, then the default", async () => {
    const from = async (flags: object, env: Record<string, string>, saved: object) => {
      const settings = await openRoom({ flags, env, profiles: { default: { ...saved } } }).read();
      return [settings.get("max_wait"), settings.source("max_wait")];
    };
    const env = { ROLLCALL_MAX_WAIT: "2s" };
    expect(await from({ max_wait: "1s" }, env, { max_wait: "3s" })).toEqual([1000, "command line"]);
    expect(await from({}, env, { max_wait: "3s" })).toEqual([2000, "environment"]);
    expect(await from({}, {}, { max_wait: "3s" })).toEqual([3000, "profile"]);
    expect(await from({}, {}, {})).toEqual([300_000, "default"]);
  });

  it("is not set by an empty variable", async () => {
    const settings = await openRoom({ env: { ROLLCALL_SPLIT: "" }, profiles }).read();
    expect([settings.get("split"), settings.source("split")]).toEqual(["profile", "profile"]);
  });

  it("may be a number or a truth value in the file", async () => {
    const saved = { max_request_size: 5_000_000, insecure_http: true };
    const settings = await openRoom({ profiles: { default: saved } }).read();
    expect([settings.get("max_request_size"), settings.get("insecure_http")]).toEqual([5_000_000, true]);
  });

  it("is looked at when it is used, and its failure names the option, the variable, or the place in the file", async () => {
    const profile = { work: { project: "alpha", timeout: ["x"] } };
    const room = openRoom({
      env: { ROLLCALL_MAX_WAIT: "soon" },
      flags: { profile: "work", max_request_size: "huge" },
      profiles: profile,
    });
    const settings = await room.read();
    expect((await failureOf(() => settings.get("max_request_size"))).where).toEqual({
      setting: "max_request_size",
      option: "--max-request-size",
    });
    expect((await failureOf(() => settings.get("max_wait"))).where).toEqual({
      setting: "max_wait",
      environment: "ROLLCALL_MAX_WAIT",
    });
    expect(await failureOf(() => settings.get("project"))).toMatchObject({
      data: { value: "alpha", profile: "work" },
      where: { setting: "project", file: room.file("settings.json"), line: 1, column: 32 },
    });
    expect((await failureOf(() => settings.get("timeout"))).data).toMatchObject({ value: '["x"]' });
    expect(settings.get("idempotency")).toBe("auto");
  });

  it("that is needed and missing says how to give it", async () => {
    const settings = await openRoom().read();
    expect((await failureOf(() => settings.require("split"))).data).toEqual({
      setting: "split",
      environment: "ROLLCALL_SPLIT",
      example: "train",
      local: false,
      option: "--split",
    });
    expect((await failureOf(() => settings.address("log"))).data).toMatchObject({ setting: "base_url" });
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

  it("is the one named on the command line, then in the environment, then default", async () => {
    const name = async (flags: object, variables: Record<string, string>) =>
      (await openRoom({ flags, env: variables, profiles }).read()).profile;
    expect(await name({ profile: "work" }, { ROLLCALL_PROFILE: "home" })).toBe("work");
    expect(await name({}, { ROLLCALL_PROFILE: "home" })).toBe("home");
    expect(await name({}, { ROLLCALL_PROFILE: "" })).toBe("default");
    expect(await name({ local: true }, { ROLLCALL_PROFILE: "home" })).toBe("local");
  });

  it("named on the command line brings its addresses, and says which of the environment's it passes over", async () => {
    const room = openRoom({ flags: { profile: "work" }, env, profiles });
    const settings = await room.read();
    expect(room.notices).toEqual([]);
    expect([settings.address("base"), settings.address("log"), settings.address("log")]).toEqual(
      Array(3).fill("https://work.example"),
    );
    expect(room.notices).toEqual([
      "ROLLCALL_BASE_URL is not used: the profile work has its own address",
      "ROLLCALL_LOG_BASE_URL is not used: the profile work has its own address",
    ]);
    expect(settings.get("split")).toBe("env");
  });

  it("named on the command line leaves the environment the addresses that it has not", async () => {
    const settings = await openRoom({ flags: { profile: "home" }, env, profiles }).read();
    expect([settings.address("base"), settings.address("log")]).toEqual([
      "https://env.example",
      "https://logs.home.example",
    ]);
  });

  it("named in the environment does not go before the environment's addresses", async () => {
    const room = openRoom({ env: { ...env, ROLLCALL_PROFILE: "work" }, profiles });
    const settings = await room.read();
    expect([settings.address("base"), settings.address("log"), room.notices]).toEqual([
      "https://env.example",
      "https://logs.env.example",
      [],
    ]);
  });

  it("says where trajectories go when --base-url does not decide it", async () => {
    const room = openRoom({ flags: { base_url: "https://typed.example" }, env, profiles });
    expect((await room.read()).address("log")).toBe("https://logs.env.example");
    expect(room.notices).toEqual([
      "trajectories go to the address of ROLLCALL_LOG_BASE_URL, not to that of --base-url; --log-base-url names another",
    ]);
  });

  it("that there is not fails with the one that was meant and all that there are", async () => {
    const room = openRoom({ flags: { profile: "wrok" }, profiles });
    expect(await failureOf(room.read)).toEqual({
      reason: "profile-unknown",
      code: "usage",
      data: { how: "login", profile: "wrok", known: ["default", "local", "work", "home"], suggestion: "work" },
      where: { option: "--profile" },
    });
    const other = openRoom({ env: { ROLLCALL_PROFILE: "zzz" } });
    expect(await failureOf(other.read)).toMatchObject({
      data: { known: ["default", "local"] },
      where: { environment: "ROLLCALL_PROFILE" },
    });
  });

  it.each(["", "__proto__x/y", "a b", "-x", "../x", "__proto__", "a\n"])("is not called %j", async (profile) => {
    expect(await failureOf(openRoom({ flags: { profile } }).read)).toMatchObject({
      reason: "setting-wrong",
      data: { setting: "profile" },
    });
  });

  it.each(["constructor", "toString", "hasOwnProperty"])(
    "called %s is not there unless it is saved",
    async (profile) => {
      expect((await failureOf(openRoom({ flags: { profile } }).read)).reason).toBe("profile-unknown");
    },
  );

  it("is completed from the settings file alone, broken or not", () => {
    const names = (room: ReturnType<typeof openRoom>) => profileNames(room.sources.host);
    expect(names(openRoom({ profiles }))).toEqual(["default", "local", "work", "home"]);
    expect(names(openRoom({ profiles: { "a b": {}, "\u001b[31m": {}, "$(id)": {} } }))).toEqual(["default", "local"]);
    expect(names(openRoom())).toEqual(["default", "local"]);
    expect(profileNames(testHost())).toEqual(["default", "local"]);
  });
});

describe("the profile local", () => {
  const env = {
    ROLLCALL_BASE_URL: "https://env.example",
    ROLLCALL_API_KEY: "key-from-env",
    ROLLCALL_TOKEN_FILE: "/nowhere",
    ROLLCALL_CREDENTIAL_COMMAND: "false",
    ROLLCALL_DATA_DIR: "/data",
  };

  it.each([
    ["--local", { local: true }, {}],
    ["--profile local", { profile: "local" }, {}],
    ["ROLLCALL_PROFILE=local", {}, { ROLLCALL_PROFILE: "local" }],
  ])("is chosen by %s, and leaves the environment's addresses and credentials alone", async (_, flags, more) => {
    const room = openRoom({ flags, env: { ...env, ...more } });
    const settings = await room.read();
    expect([settings.local, settings.profile]).toEqual([true, "local"]);
    expect([settings.get("base_url"), settings.get("log_base_url"), settings.get("credential_command")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect([settings.get("project"), settings.get("router_provider"), settings.get("account")]).toEqual([
      "local/local",
      "local",
      "local",
    ]);
    expect(settings.service()).toMatchObject({
      dataDir: "/data",
      project: "local/local",
      maxBodyBytes: 64 * 1024 * 1024,
    });
    expect(room.notices).toEqual([
      "not used with the local service: ROLLCALL_BASE_URL, ROLLCALL_API_KEY, ROLLCALL_TOKEN_FILE, ROLLCALL_CREDENTIAL_COMMAND",
    ]);
  });

  it.each([
    ["--base-url", { local: true, base_url: "https://a.example" }],
    ["--inference-base-url", { profile: "local", inference_base_url: "https://a.example" }],
    ["--log-base-url", { local: true, log_base_url: "" }],
    ["--profile work", { local: true, profile: "work" }],
  ])("does not go together with %s", async (second, flags) => {
    expect(await failureOf(openRoom({ flags, profiles: { work: {} } }).read)).toMatchObject({
      reason: "options-contradict",
      code: "usage",
      data: { second },
    });
  });
});

describe("without a home", () => {
  it("settings are read from the environment, and only what needs a folder fails", async () => {
    const { sources } = openRoom();
    const host = testHost({ env: { ROLLCALL_BASE_URL: "https://env.example", ROLLCALL_API_KEY: "env-key" } });
    const settings = await readSettings({ ...sources, host });
    expect(settings.address("log")).toBe("https://env.example");
    expect(await settings.credential("log", { origin: "https://env.example", refused: false })).toMatchObject({
      token: "env-key",
    });
    expect(await failureOf(() => settings.service())).toMatchObject({
      reason: "place-missing",
      code: "storage",
      data: { variable: "ROLLCALL_DATA_DIR" },
    });
  });

  it("XDG folders are used where they are absolute", async () => {
    const { sources } = openRoom();
    const dataDir = async (env: Record<string, string>) =>
      (await readSettings({ ...sources, flags: { local: true }, host: testHost({ env }) })).service().dataDir;
    expect(await dataDir({ XDG_DATA_HOME: "/x", HOME: "/h" })).toBe("/x/rollcall");
    expect(await dataDir({ XDG_DATA_HOME: "x", HOME: "/h" })).toBe("/h/.local/share/rollcall");
    const on = async (platform: NodeJS.Platform, env: Record<string, string>) =>
      (await readSettings({ ...sources, flags: { local: true }, host: { ...testHost({ env }), platform } })).service()
        .dataDir;
    expect(await on("darwin", { HOME: "/h" })).toBe("/h/Library/Application Support/rollcall");
  });
});

describe("the list of settings", () => {
  it("has every setting, its value as it was written, and where it came from", () => {
    const room = openRoom({
      flags: { base_url: "https://typed.example/" },
      env: { ROLLCALL_TIMEOUT: "soon" },
      profiles: { default: { split: "train", from_tomorrow: 1 } },
    });
    const { profile, rows, unknown } = listSettings(room.sources);
    expect([profile, rows.map(({ name }) => name), unknown]).toEqual(["default", settingNames, ["from_tomorrow"]]);
    const row = (name: string) => rows.find((each) => each.name === name);
    expect(row("base_url")).toEqual({
      name: "base_url",
      value: "https://typed.example/",
      source: "command line",
      from: "--base-url",
      problem: undefined,
    });
    expect(row("split")).toMatchObject({ value: "train", source: "profile", from: room.file("settings.json") });
    expect(row("batch")).toMatchObject({ value: undefined, source: undefined, from: undefined });
    expect(row("timeout")).toMatchObject({
      value: "soon",
      from: "ROLLCALL_TIMEOUT",
      problem: { rule: "setting-wrong", severity: "warning" },
    });
  });

  it("needs no folder to be there", () => {
    const room = openRoom({ env: { ROLLCALL_CONFIG_DIR: join("/etc/hostname", "below", "a", "file") } });
    expect(listSettings(room.sources).rows).toHaveLength(settingNames.length);
  });
});

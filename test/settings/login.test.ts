import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { logout, saveLogin } from "../../src/settings/index.ts";
import { failureOf, logIn, openHome, planned, saved } from "./open.ts";

describe("logins", () => {
  const flags = { base_url: "https://a.example/x", inference_base_url: "https://m.example/v1" };

  it("bind to the origin of each use, and end one by one or all at once", async () => {
    const home = openHome({ flags });
    await logIn(home, "key-1234");
    const { credential } = await openHome({ env: { ROLLCALL_CONFIG_DIR: home.folder } }).read();
    expect(await credential("inference", { origin: "https://m.example", refused: false })).toMatchObject({
      token: "key-1234",
    });
    expect((await failureOf(() => credential("log", { origin: "https://m.example", refused: false }))).kind).toBe(
      "credential-wrong-origin",
    );
    expect(await logout(home.sources, { only: "log" })).toMatchObject({ removed: ["log"] });
    expect(await logout(home.sources, { only: "log" })).toMatchObject({ removed: [] });
    expect(await logout(home.sources, { only: undefined })).toMatchObject({ removed: ["inference", "calls"] });
    expect(saved(home, "credentials.json")).toEqual({ profiles: {} });
    expect(saved(home)).toEqual({ profiles: { default: flags } });
  });

  it("leave other uses and profiles alone, and create their profile", async () => {
    const home = openHome({ flags });
    await logIn(home, "key-1");
    const work = openHome({ env: { ROLLCALL_CONFIG_DIR: home.folder }, flags: { ...flags, profile: "work" } });
    await logIn(work, "key-2");
    const { host } = home.sources;
    await saveLogin(host, await planned(home, { only: "calls", key: "key-3" }));
    expect(saved(home, "credentials.json")).toMatchObject({
      profiles: { default: { calls: { key: "key-3" }, log: { key: "key-1" } }, work: { log: { key: "key-2" } } },
    });
    const env = { ROLLCALL_CONFIG_DIR: home.folder, ROLLCALL_PROFILE: "work" };
    expect((await openHome({ env }).read()).get("base_url")).toBe("https://a.example/x");
  });

  it("need a URL, and fail for the local service", async () => {
    expect(await failureOf(() => planned(openHome()))).toMatchObject({
      kind: "setting-missing",
      message: "base_url is not set",
    });
    expect(await failureOf(() => planned(openHome(), { only: "inference" }))).toMatchObject({
      message: "inference_base_url is not set",
    });
    const local = openHome({ flags: { local: true } });
    expect((await failureOf(() => planned(local))).kind).toBe("conflicting-options");
  });

  it("cannot end for a profile that does not exist", async () => {
    const home = openHome({ flags: { profile: "wrok" }, profiles: { work: {} } });
    expect((await failureOf(() => logout(home.sources, { only: undefined }))).kind).toBe("unknown-profile");
    expect(existsSync(home.file("credentials.json"))).toBe(false);
  });
});

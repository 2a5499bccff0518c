import { chmodSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { type Answer, json, scriptedServer } from "../../support/server.ts";

const one = JSON.stringify({ data: [{ id: "one" }] });
const two = JSON.stringify({ data: [{ id: "two" }] });

/** Opens a service that gives these answers in turn, and a home for its requests. */
const asking = async (answers: readonly Answer[], home = newHome()) => {
  const server = await scriptedServer(answers.map((answer) => ({ answer })));
  const env = { ...home, ROLLCALL_BASE_URL: server.url, ROLLCALL_ROUTER_PROVIDER: "r" };
  const folder = join(home.XDG_DATA_HOME, "rollcall");
  const router = (...args: readonly string[]) => runRollcall(["catalog", "router", "--fields", "id", ...args], { env });
  const reply = () => {
    const history = join(folder, "catalog-history");
    const names = readdirSync(history, { recursive: true, encoding: "utf8" });
    return join(history, names.find((name) => name.endsWith(".gz")) ?? "");
  };
  return { env, folder, router, reply };
};

/** Makes a copy `ms` milliseconds older. */
const age = (path: string, ms: number): void => {
  const time = new Date(statSync(path).mtime.getTime() - ms);
  utimesSync(path, time, time);
};

describe("the cache of catalogs", () => {
  it("requests a catalog again if its copy is from the future", async () => {
    const { router, reply } = await asking([json(one), json(two)]);
    await router();
    age(reply(), -90_000_000);
    expect(await router("--max-age", "52w")).toMatchObject({ stdout: "two\n" });
  });

  it.skipIf(process.platform === "win32")("is not used, with a note, if others can write to it", async () => {
    const { router, folder } = await asking([json(one), json(two)]);
    await router();
    chmodSync(folder, 0o777);
    const { code, stdout, stderr } = await router("--max-age", "1h");
    expect([code, stdout]).toEqual([0, "two\n"]);
    expect(stderr).toContain(`note: the cache of catalogs is not used: other users can write to ${folder}`);
    expect(await router("--offline")).toMatchObject({ code: 11, stdout: "" });
  });

  it("has no copy for another URL, provider or kind of catalog", async () => {
    const { router, env } = await asking([json(one)]);
    await router();
    for (const [words, more] of [
      [["router"], { ROLLCALL_BASE_URL: "http://127.0.0.1:1" }],
      [["router"], { ROLLCALL_ROUTER_PROVIDER: "s" }],
      [["analysis"], { ROLLCALL_ANALYSIS_PROVIDER: "r" }],
    ] as const) {
      const ran = await runRollcall(["catalog", ...words, "--offline"], { env: { ...env, ...more } });
      expect(ran).toMatchObject({ code: 9, stdout: "" });
      expect(ran.stderr).toContain("no cached ");
    }
  });

  it.each([
    ["cut", (path: string) => writeFileSync(path, readFileSync(path).subarray(0, -3))],
    ["damaged", (path: string) => writeFileSync(path, readFileSync(path).fill(0, 20, 22))],
  ])("requests a catalog again if its copy is %s", async (_, damage) => {
    const { router, reply } = await asking([json(one), json(one)]);
    await router();
    damage(reply());
    expect(await router("--offline")).toMatchObject({ code: 9 });
    expect(await router()).toEqual({ code: 0, stdout: "one\n", stderr: "" });
    expect(await router("--offline")).toMatchObject({ code: 0, stdout: "one\n" });
  });

  it("stores its files with mode 0600", async () => {
    const { router, folder, reply } = await asking([json(one)]);
    await router();
    expect(statSync(reply()).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it("stores nothing if the folder is not writable", async () => {
    const home = { ...newHome(), XDG_DATA_HOME: "/proc/nowhere" };
    const { router } = await asking([json(one)], home);
    const { code, stdout, stderr } = await router();
    expect([code, stdout]).toEqual([0, "one\n"]);
    expect(stderr).toMatch(/^note: the router catalog was not saved in \/proc\/nowhere\/rollcall for --offline/);
  });

  it("needs no home folder", async () => {
    const server = await scriptedServer([{ answer: json(one) }]);
    const ran = await runRollcall(["catalog", "router", "--fields", "id"], {
      env: {
        HOME: undefined,
        XDG_CONFIG_HOME: undefined,
        XDG_DATA_HOME: undefined,
        ROLLCALL_BASE_URL: server.url,
        ROLLCALL_ROUTER_PROVIDER: "r",
      },
    });
    expect(ran).toEqual({ code: 0, stdout: "one\n", stderr: "" });
  });

  it("prints the copy of the local service with --offline", async () => {
    const env = newHome();
    const local = (...args: readonly string[]) => runRollcall(["catalog", "router", "--local", ...args], { env });
    const first = await local("--json");
    expect(await local("--json", "--offline")).toEqual({ ...first, stderr: "" });
  });
});

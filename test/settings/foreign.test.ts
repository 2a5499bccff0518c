import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, lchownSync, mkdirSync, renameSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../support/run.ts";

/** Only root can create files of another user, so other users skip the tests of such files. */
const isRoot = process.getuid?.() === 0;

/** The id of another user. */
const other = 12_345;

const template = newHome();

const runIn = async (home: typeof template, args: string, stdin = "") =>
  await runRollcall(args.split(" "), { env: home, stdin });

beforeAll(async () => {
  const addresses = "--base-url http://127.0.0.1:1 --inference-base-url http://127.0.0.1:1";
  await runIn(template, `auth login --with-token --no-check ${addresses}`, "key-1234");
  await runIn(template, "auth logout --for inference");
  await runIn(template, "log m test/samples/airline.groups.jsonl --split train --local");
});

/** Copies the home: settings, a credential, a ledger and a store. */
const openHome = () => {
  const home = newHome();
  execFileSync("cp", ["-a", `${template.HOME}/.`, home.HOME]);
  const config = join(home.XDG_CONFIG_HOME, "rollcall");
  const data = join(home.XDG_DATA_HOME, "rollcall");
  return {
    home,
    config,
    data,
    run: async (args: string) => await runIn(home, args),
  };
};

/** A command that needs each file or folder. */
const places: readonly (readonly [place: "config" | "data", name: string, command: string])[] = [
  ["config", "settings.json", "config list"],
  ["config", "settings.json", "models --max-wait 0s"],
  ["config", "credentials.json", "auth status"],
  ["config", "", "config set split train"],
  ["data", "ledger.db", "ledger status"],
  ["data", "ledger.db", "log m test/samples/airline.groups.jsonl --split train --local"],
  ["data", "local.db", "models --local"],
  ["data", "local.key", "models --local"],
  ["data", "", "catalog router --local"],
];

describe.skipIf(!isRoot)("a file or folder of another user (tested as root only)", () => {
  it.each(places)("causes a failure and stays unchanged (row %$)", async (place, name, command) => {
    const home = openHome();
    const path = join(home[place], name);
    chownSync(path, other, other);
    const before = statSync(path);
    const refused = await home.run(`${command} --json`);
    expect([refused.code, refused.stdout]).toEqual([11, ""]);
    const { error } = JSON.parse(refused.stderr);
    expect(error).toMatchObject({ code: "storage", where: { file: path } });
    expect(error.message).toContain(`${path} belongs to another user (uid ${other})`);
    const after = statSync(path);
    expect([after.uid, after.mode, after.mtimeMs]).toEqual([before.uid, before.mode, before.mtimeMs]);
    expect(error.hint).toContain(`run rollcall as user ${other}, or choose another location`);
  });

  it("fails if it is a link, whose target stays unchanged", async () => {
    const { config, home, run } = openHome();
    const file = join(config, "settings.json");
    const target = join(home.HOME, "elsewhere.json");
    renameSync(file, target);
    symlinkSync(target, file);
    expect((await run("config list")).code).toBe(0);
    lchownSync(file, other, other);
    const { code, stderr } = await run("config set split train");
    expect([code, stderr]).toEqual([11, expect.stringContaining(`${file} belongs to another user (uid ${other})`)]);
    expect(statSync(target).uid).toBe(0);
  });

  it("fails next to a ledger in a folder that every user may write", async () => {
    const { home, run } = openHome();
    const shared = join(home.HOME, "shared");
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    const log = `log m test/samples/airline.groups.jsonl --split train --local --ledger ${join(shared, "ledger.db")}`;
    expect((await run(log)).code).toBe(0);
    symlinkSync("/dev/null", join(shared, "ledger.db-journal"));
    lchownSync(join(shared, "ledger.db-journal"), other, other);
    expect((await run(log)).code).toBe(11);
  });

  it("fails only when rollcall creates its first file in the folder", async () => {
    const { home, run } = openHome();
    chownSync(home.HOME, other, other);
    const empty = { ...home, XDG_CONFIG_HOME: join(home.HOME, "no"), XDG_DATA_HOME: join(home.HOME, "none") };
    expect((await runRollcall(["config", "list"], { env: empty })).code).toBe(0);
    expect((await runRollcall(["config", "set", "split", "a"], { env: empty })).code).toBe(11);
    expect(existsSync(empty.XDG_CONFIG_HOME)).toBe(false);
    expect((await run("config list")).stderr).toContain(`run rollcall as user ${other}`);
  });
});

describe("a folder that another user may write", () => {
  it.each([
    ["config", ".", "777", "config list"],
    ["config", ".", "777", "models --max-wait 0s"],
    ["config", ".", "777", "config set split train"],
    ["data", ".", "777", "ledger status"],
    ["data", ".", "777", "models --local"],
    ["config", "..", "777", "config list"],
    ["data", "..", "777", "models --local"],
    ["config", "..", "757", "models --max-wait 0s"],
    ["data", "..", "757", "ledger status"],
  ] as const)("fails with the command that closes it (row %$)", async (place, level, mode, command) => {
    const home = openHome();
    const folder = join(home[place], level);
    chmodSync(folder, mode);
    const refused = await home.run(`${command} --json`);
    expect([refused.code, refused.stdout]).toEqual([11, ""]);
    const { error } = JSON.parse(refused.stderr);
    expect(error.message).toContain(`other users can write to ${folder} (mode 0${mode})`);
    const [, fix = ""] = /`([^`]+)`/.exec(error.hint) ?? [];
    execFileSync("sh", ["-c", fix]);
    expect((await home.run(command)).code).not.toBe(11);
  });

  it("is used if the sticky bit protects its files from other users", async () => {
    const { config, run } = openHome();
    chmodSync(join(config, ".."), 0o1777);
    expect((await run("config list")).code).toBe(0);
  });
});

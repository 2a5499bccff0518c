import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, lchownSync, mkdirSync, renameSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../support/run.ts";

/** Files of another user can only be made by root: elsewhere the tests of them are skipped. */
const isRoot = process.getuid?.() === 0;

/** Somebody else. */
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

/** A home with settings, a credential, a ledger and a store in it, and runs in it. */
const openHome = async () => {
  const home = newHome();
  execFileSync("cp", ["-a", `${template.HOME}/.`, home.HOME]);
  const config = join(home.XDG_CONFIG_HOME, "rollcall");
  const data = join(home.XDG_DATA_HOME, "rollcall");
  const marker = join(home.HOME, "was-run");
  await runRollcall(["config", "set", "credential_command", `touch ${marker}`], { env: home });
  return { home, config, data, marker, run: async (args: string) => await runIn(home, args) };
};

/** What is asked of each place: a command that needs it. */
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

describe.skipIf(!isRoot)("what belongs to another user (made by root alone)", () => {
  it.each(places)(
    "is not used, not changed, and can be made one's own: %s/%s, for %s",
    async (place, name, command) => {
      const home = await openHome();
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
      expect(existsSync(home.marker)).toBe(false);
      const [, fix = ""] = /`([^`]+)`/.exec(error.hint) ?? [];
      execFileSync("sh", ["-c", fix]);
      expect((await home.run(command)).code).not.toBe(11);
    },
  );

  it("is not reached through another's link, and the link's end stays as it was", async () => {
    const { config, home, run } = await openHome();
    const file = join(config, "settings.json");
    const target = join(home.HOME, "elsewhere.json");
    renameSync(file, target);
    symlinkSync(target, file);
    expect((await run("config list")).code).toBe(0);
    lchownSync(file, other, other);
    const { code, stderr } = await run("config set split train");
    expect([code, stderr]).toEqual([11, expect.stringContaining(`${file} is a link of another user (uid ${other})`)]);
    expect(statSync(target).uid).toBe(0);
  });

  it("is refused beside a ledger in a folder that everybody may write", async () => {
    const { home, run } = await openHome();
    const shared = join(home.HOME, "shared");
    mkdirSync(shared);
    chmodSync(shared, 0o1777);
    const log = `log m test/samples/airline.groups.jsonl --split train --local --ledger ${join(shared, "ledger.db")}`;
    expect((await run(log)).code).toBe(0);
    symlinkSync("/dev/null", join(shared, "ledger.db-wal"));
    lchownSync(join(shared, "ledger.db-wal"), other, other);
    expect((await run(log)).code).toBe(11);
  });

  it("is no matter of where rollcall has nothing yet", async () => {
    const { home, run } = await openHome();
    chownSync(home.HOME, other, other);
    const empty = { ...home, XDG_CONFIG_HOME: join(home.HOME, "no"), XDG_DATA_HOME: join(home.HOME, "none") };
    expect((await runRollcall(["config", "list"], { env: empty })).code).toBe(0);
    expect((await runRollcall(["config", "set", "split", "a"], { env: empty })).code).toBe(11);
    expect(existsSync(empty.XDG_CONFIG_HOME)).toBe(false);
    expect((await run("config list")).stderr).toContain(`run rollcall as the user ${other}`);
  });
});

describe("a folder that another user may write", () => {
  const commands: readonly (readonly [place: "config" | "data", command: string])[] = [
    ["config", "config list"],
    ["config", "models --max-wait 0s"],
    ["config", "config set split train"],
    ["data", "ledger status"],
    ["data", "models --local"],
  ];
  for (const [level, mode] of [
    [".", 0o777],
    ["..", 0o777],
    ["..", 0o757],
  ] as const) {
    it.each(commands)(
      `is refused (${level}, ${mode.toString(8)}), and can be closed: %s, for %s`,
      async (place, command) => {
        const home = await openHome();
        const folder = join(home[place], level);
        chmodSync(folder, mode);
        const refused = await home.run(`${command} --json`);
        expect([refused.code, refused.stdout]).toEqual([11, ""]);
        const { error } = JSON.parse(refused.stderr);
        expect(error.message).toContain(`other users may write to ${folder} (mode 0${mode.toString(8)})`);
        expect(existsSync(home.marker)).toBe(false);
        const [, fix = ""] = /`([^`]+)`/.exec(error.hint) ?? [];
        execFileSync("sh", ["-c", fix]);
        expect((await home.run(command)).code).not.toBe(11);
      },
    );
  }

  it("will do where the sticky bit keeps others from replacing what is in it", async () => {
    const { config, run } = await openHome();
    chmodSync(join(config, ".."), 0o1777);
    expect((await run("config list")).code).toBe(0);
  });
});

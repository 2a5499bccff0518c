import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryLock } from "../../src/database/own-file.ts";
import { setSetting, unsetSettings } from "../../src/settings/changes.ts";
import { readSavedSecrets } from "../../src/settings/saved-files.ts";
import { settingNames } from "../../src/settings/values.ts";
import { newHome } from "../support/run.ts";
import { failureOf, logIn, openHome, readSaved, set } from "./open.ts";

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe("saved settings", () => {
  it("have mode 0600 in a folder of mode 0700 without other files", async () => {
    const parent = mkdtempSync(join(tmpdir(), "home-"));
    const folder = join(parent, "a", "b");
    const home = openHome({ env: { ROLLCALL_CONFIG_DIR: folder }, flags: { base_url: "https://a.example" } });
    await set(home, "split", "train");
    await logIn(home, "key-1234");
    expect([modeOf(join(parent, "a")), modeOf(folder)]).toEqual(["700", "700"]);
    expect(readdirSync(folder).sort()).toEqual(["credentials.json", "settings.json"]);
    for (const name of readdirSync(folder)) expect(modeOf(join(folder, name))).toBe("600");
    expect(JSON.parse(readFileSync(join(folder, "settings.json"), "utf8"))).toEqual({
      profiles: { default: { split: "train", base_url: "https://a.example" } },
    });
    const login = { key: "key-1234", origin: "https://a.example" };
    expect(JSON.parse(readFileSync(join(folder, "credentials.json"), "utf8"))).toEqual({
      profiles: { default: { log: login, calls: { ...login, username: "anna" } } },
    });
  });

  it("leave all other settings in the file unchanged, even settings of newer versions", async () => {
    const home = openHome();
    const others = {
      version: 9,
      later: [1, { a: null }],
      profiles: { work: { x: 1 }, default: { from_tomorrow: {} } },
    };
    writeFileSync(home.file("settings.json"), JSON.stringify(others), { mode: 0o600 });
    await set(home, "split", "train");
    expect(readSaved(home)).toEqual({
      ...others,
      profiles: { work: { x: 1 }, default: { from_tomorrow: {}, split: "train" } },
    });
    expect((await unsetSettings(home.sources, ["split", "from_tomorrow"])).names).toEqual(["split", "from_tomorrow"]);
    expect(readSaved(home)).toEqual({ ...others, profiles: { work: { x: 1 }, default: {} } });
  });

  it("remove the permissions of other users from their file", async () => {
    const home = openHome({ profiles: {} });
    chmodSync(home.file("settings.json"), 0o644);
    await set(home, "split", "train");
    expect(modeOf(home.file("settings.json"))).toBe("600");
  });

  it("are written to the target of a link", async () => {
    const home = openHome();
    const elsewhere = join(mkdtempSync(join(tmpdir(), "dotfiles-")), "rollcall.json");
    writeFileSync(elsewhere, '{"profiles":{"default":{"batch":"b"}}}', { mode: 0o600 });
    symlinkSync(elsewhere, home.file("settings.json"));
    await set(home, "split", "train");
    expect(JSON.parse(readFileSync(elsewhere, "utf8"))).toEqual({
      profiles: { default: { batch: "b", split: "train" } },
    });
    expect(readdirSync(home.folder)).toEqual(["settings.json"]);
  });

  it("have true and false in one spelling", async () => {
    const home = openHome();
    await set(home, "insecure_http", "Yes");
    expect(readSaved(home)).toEqual({ profiles: { default: { insecure_http: true } } });
  });

  it("read back unchanged, for any text", async () => {
    const home = openHome();
    // fast-check's own unit "binary" takes a second to build.
    const unit = fc.integer({ min: 0, max: 0x10_ff_ff }).map((code) => String.fromCodePoint(code));
    const text = fc
      .string({ unit, maxLength: 100 })
      .map((value) => value.replaceAll(/[\p{Cc}\p{Cs}]/gu, "").trim())
      .filter((value) => value !== "");
    await fc.assert(
      fc.asyncProperty(text, async (value) => {
        await set(home, "split", value);
        expect((await home.read()).get("split")).toBe(value);
      }),
      { numRuns: 10 },
    );
  });

  it("cannot be a secret, an unknown name, an invalid value or a URL of the local service", async () => {
    const home = openHome();
    for (const name of "api_key token PASSWORD key secret rollcall_apikey api-key-file username".split(" ")) {
      expect(await failureOf(() => set(home, name, "key-1234"))).toMatchObject({
        code: "usage",
        message: `${name} is a credential, not a setting`,
      });
    }
    expect((await failureOf(() => set(home, "bse_url", "x"))).hint).toBe("did you mean base_url?");
    expect(await failureOf(() => set(home, "project", "alpha"))).toMatchObject({ kind: "setting-invalid" });
    const local = openHome({ flags: { local: true } });
    expect((await failureOf(() => set(local, "base_url", "https://a.example"))).kind).toBe("built-in-setting");
    expect([readdirSync(home.folder), readdirSync(local.folder)]).toEqual([[], []]);
    await set(local, "split", "train");
    expect(readSaved(local)).toEqual({ profiles: { local: { split: "train" } } });
  });
});

describe("a settings file", () => {
  it.each([
    ["it is not JSON", '{"profiles": {\n  "default": {"split": "a",}\n}}', { line: 2, column: 28 }],
    ["it is not JSON", '{"profiles": {"default": {"split": "a"', { line: 1, column: 39 }],
    ["it is empty", "", { line: 1, column: 1 }],
    ["it is empty", " \n", { line: 2, column: 1 }],
    ["it is not a JSON object", "[]", {}],
    ["it is not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), {}],
    ["`profiles` is not an object", '{"profiles":\n[]}', { line: 2, column: 1 }],
    ['the profile "default" is not an object', '{"profiles":{"default":1}}', { line: 1, column: 24 }],
  ])("fails with its position, and stays unchanged, if %s", async (wrong, bytes, place) => {
    const home = openHome();
    writeFileSync(home.file("settings.json"), bytes, { mode: 0o600 });
    const where = { file: home.file("settings.json"), ...place };
    const failure = {
      kind: "invalid-settings-file",
      code: "usage",
      message: expect.stringMatching(new RegExp(`settings\\.json(:\\d+:\\d+)?: ${wrong}$`)),
      hint: "correct the file, or move it away",
      where,
    };
    expect(await failureOf(home.read)).toEqual(failure);
    expect(await failureOf(() => set(home, "split", "train"))).toEqual(failure);
    expect(await failureOf(() => logIn(home, "key-1234"))).toEqual(failure);
    expect(readFileSync(home.file("settings.json"))).toEqual(Buffer.from(bytes));
    expect(readdirSync(home.folder)).toEqual(["settings.json"]);
  });

  it("can start with a byte order mark", async () => {
    const home = openHome();
    writeFileSync(home.file("settings.json"), '\ufeff{"profiles":{"default":{"split":"a"}}}\r\n', { mode: 0o600 });
    expect((await home.read()).get("split")).toBe("a");
  });

  it("fails as storage if it is a directory or a device", async () => {
    const home = openHome();
    mkdirSync(home.file("settings.json"));
    const failure = { kind: "inaccessible-file", code: "storage" };
    const folder = { ...failure, message: expect.stringMatching(/^cannot read .*: it is a folder$/) };
    expect(await failureOf(home.read)).toMatchObject(folder);
    expect(await failureOf(() => set(home, "split", "train"))).toMatchObject(folder);
    const other = openHome({ flags: { base_url: "https://a.example" } });
    symlinkSync("/dev/full", other.file("credentials.json"));
    const device = { ...failure, message: expect.stringMatching(/^cannot read .*: it is not a file$/) };
    expect(await failureOf(() => logIn(other, "key-1234"))).toMatchObject(device);
    expect(statSync("/dev/full").isCharacterDevice()).toBe(true);
  });
});

describe("concurrent writers", () => {
  it("lose nothing", async () => {
    const homes = Array.from({ length: 12 }, () => openHome());
    const env = { ROLLCALL_CONFIG_DIR: homes[0]?.folder ?? "" };
    const names = settingNames.slice(0, 12);
    const value = (name: string): string =>
      name.endsWith("base_url")
        ? "https://a.example"
        : name === "project"
          ? "a/b"
          : name.startsWith("max")
            ? "1MiB"
            : "x";
    await Promise.all(names.map(async (name) => await set(openHome({ env }), name, value(name))));
    const [first] = homes;
    const saved = Object(first && readSaved(first)).profiles.default;
    expect(Object.keys(saved).sort()).toEqual([...names].sort());
    expect(readdirSync(env.ROLLCALL_CONFIG_DIR)).toEqual(["settings.json"]);
  });

  it("delete the files of a killed writer", async () => {
    const home = openHome({ profiles: {} });
    writeFileSync(home.file("settings.lock"), "");
    writeFileSync(home.file("settings.json.draft"), "{}");
    writeFileSync(home.file("settings.json.draft.tmp-1700000000a1b2c3"), "half a dra");
    writeFileSync(home.file("settings.json.backup"), "a person's own");
    await set(home, "split", "train");
    expect(readdirSync(home.folder).sort()).toEqual(["settings.json", "settings.json.backup"]);
  });

  it("wait for the current writer, up to a limit", async () => {
    const home = openHome({ profiles: {} });
    const lock = await tryLock({ path: home.file("settings.lock"), noun: "lock", moveWith: "ROLLCALL_CONFIG_DIR" });
    let elapsed = 0;
    const host = {
      ...home.sources.host,
      elapsed: () => elapsed,
      sleep: async (ms: number) => {
        elapsed += ms;
      },
    };
    const failure = await failureOf(() => setSetting({ ...home.sources, host }, { name: "split", value: "train" }));
    expect(failure).toMatchObject({ kind: "database-locked", code: "storage" });
    expect(readSaved(home)).toEqual({ profiles: {} });
    lock?.release();
    await set(home, "split", "train");
    expect(readdirSync(home.folder)).toEqual(["settings.json"]);
  });
});

/** Node ends with a signal if compiled code exceeds the limit. */
const limitedHome = () => ({ ...newHome(), NODE_DISABLE_COMPILE_CACHE: "1" });

describe("a failed write", () => {
  it("fails as storage, and names the path", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "file-")), "file");
    writeFileSync(file, "");
    const below = openHome({
      env: { ROLLCALL_CONFIG_DIR: join(file, "below") },
      flags: { base_url: "https://a.example" },
    });
    const failure = {
      kind: "inaccessible-file",
      code: "storage",
      message: `cannot write ${join(file, "below", "settings.json")}: a part of the path is a file`,
      where: { file: join(file, "below", "settings.json") },
    };
    expect(await failureOf(() => set(below, "split", "train"))).toMatchObject(failure);
    expect(await failureOf(() => logIn(below, "key-1234"))).toMatchObject(failure);
  });

  it("names ROLLCALL_CONFIG_DIR if there is no home folder", async () => {
    const home = openHome({ env: { ROLLCALL_CONFIG_DIR: "" } });
    expect(await failureOf(() => set(home, "split", "train"))).toMatchObject({
      kind: "folder-unknown",
      code: "storage",
      hint: "set ROLLCALL_CONFIG_DIR to a folder",
    });
  });

  it.each([{}, { SNAP: "/snap/code/1" }])("leaves the old file unchanged if a write takes a part (env %j)", (env) => {
    const home = mkdtempSync(join(tmpdir(), "cut-"));
    const file = join(home, "settings.json");
    const before = JSON.stringify({ profiles: { default: { split: "a", note: "x".repeat(20_000) } } });
    writeFileSync(file, before, { mode: 0o600 });
    // Saved text has line ends and indents, so that it exceeds the limit of 20 KiB before the old one does.
    const line = `ulimit -f 20; exec "$0" bin/rollcall.js config set split ${"y".repeat(2000)} --json`;
    const ran = spawnSync("bash", ["-c", line, process.execPath], {
      env: { ...limitedHome(), ROLLCALL_CONFIG_DIR: home, ...env },
      encoding: "utf8",
    });
    const { error } = JSON.parse(ran.stderr);
    expect([ran.status, error.message]).toEqual([11, expect.stringContaining(`cannot write ${file}: `)]);
    expect([readFileSync(file, "utf8") === before, readdirSync(home)]).toEqual([true, ["settings.json"]]);
  });

  it("removes a new file that a write could not complete", () => {
    const home = mkdtempSync(join(tmpdir(), "cut-"));
    const line = `ulimit -f 20; exec "$0" bin/rollcall.js config set split ${"y".repeat(30_000)}`;
    const env = { ...limitedHome(), ROLLCALL_CONFIG_DIR: home };
    const ran = spawnSync("bash", ["-c", line, process.execPath], { env });
    expect([ran.status, readdirSync(home)]).toEqual([11, []]);
  });

  it("needs no home folder if ROLLCALL_CONFIG_DIR is set", (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can become a user without a home folder");
    // Only root can enter the folder of this run's temporary files.
    const home = mkdtempSync("/tmp/homeless-");
    onTestFinished(() => rmSync(home, { recursive: true }));
    const uid = 54_321;
    chownSync(home, uid, uid);
    const run = (env: Readonly<Record<string, string>>) =>
      spawnSync(process.execPath, ["bin/rollcall.js", "config", "set", "split", "train", "--json"], {
        env: { PATH: process.env.PATH, ...env },
        uid,
        gid: uid,
        encoding: "utf8",
      });
    const refused = run({});
    expect([refused.status, JSON.parse(refused.stderr).error.hint]).toEqual([
      11,
      "set ROLLCALL_CONFIG_DIR to a folder",
    ]);
    expect(run({ ROLLCALL_CONFIG_DIR: home }).status).toBe(0);
    expect(JSON.parse(readFileSync(join(home, "settings.json"), "utf8"))).toEqual({
      profiles: { default: { split: "train" } },
    });
  });

  it("leaves the old file unchanged if the folder is not writable", async (context) => {
    if (process.getuid?.() === 0) return context.skip("root may write everywhere");
    const home = openHome({ profiles: { default: { split: "a" } } });
    chmodSync(home.folder, 0o500);
    const failure = await failureOf(() => set(home, "split", "b"));
    chmodSync(home.folder, 0o700);
    expect(failure).toMatchObject({
      kind: "inaccessible-file",
      code: "storage",
      message: expect.stringContaining("permission denied"),
    });
    expect(readSaved(home)).toEqual({ profiles: { default: { split: "a" } } });
  });
});

it("the keys of all profiles are known as secrets", () => {
  const login = (key: string) => ({ key, origin: "https://a.example", username: "anna" });
  const logins = { default: { log: login("key-1"), calls: login("key-2") }, work: { log: login("key-3") } };
  expect(readSavedSecrets(openHome({ logins }).sources.host).keys).toEqual(["key-1", "key-2", "key-3"]);
});

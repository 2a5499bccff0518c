import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import Connection from "libsql";
import { describe, expect, it } from "vitest";
import { endOf, newHome, runRollcall, startInTurn } from "../../support/run.ts";
import { scriptedServer } from "../../support/server.ts";
import { doctor, foldersOf, group, isTo, key, serviceWith } from "./findings.ts";

describe("rollcall doctor about settings", () => {
  it.each([
    ["is cut off", "{", "settings.json:1:2"],
    ["has another shape", '{"profiles":[]}', "`profiles` is not an object"],
    ["is not JSON", "\u0000", "it is not JSON"],
  ])("reports a settings file that %s, and continues with the other checks", async (_, content, saying) => {
    const home = newHome();
    const { config, data } = foldersOf(home);
    writeFileSync(join(config, "settings.json"), content, { mode: 0o600 });
    const { code, stderr, of } = await doctor([], { env: home });
    expect(code).toBe(2);
    expect(of("settings")).toMatchObject([
      { status: "error", code: "usage", message: expect.stringContaining(saying) },
    ]);
    expect(of("credentials")).toMatchObject([{ status: "skipped" }]);
    expect(of("ledger")).toMatchObject([{ status: "ok", facts: { path: join(data, "ledger.db") } }]);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: "usage", exit_code: 2, message: "doctor found 1 error in settings" },
    });
  });

  it("reports each invalid setting with its source", async () => {
    const { of, code } = await doctor([], {
      env: { ROLLCALL_PROJECT: "alpha", ROLLCALL_TIMEOUT: "soon", ROLLCALL_BASE_URL: `https://user:${key}@a.example` },
    });
    expect(code).toBe(2);
    expect(
      of("settings")
        .filter(({ status }) => status === "error")
        .map(({ message }) => message),
    ).toEqual([
      expect.stringContaining("ROLLCALL_BASE_URL"),
      expect.stringContaining("ROLLCALL_PROJECT"),
      expect.stringContaining("ROLLCALL_TIMEOUT"),
    ]);
  });

  it("reports each file that others can read, with the command that fixes it", async () => {
    const home = newHome();
    const { config } = foldersOf(home);
    for (const name of ["settings.json", "credentials.json"]) {
      writeFileSync(join(config, name), "{}");
      chmodSync(join(config, name), 0o644);
    }
    chmodSync(config, 0o755);
    const { code, of } = await doctor(["--offline"], { env: home });
    expect(code).toBe(0);
    expect(of("settings file")).toContainEqual(
      expect.objectContaining({ status: "warning", fix: `chmod 600 ${join(config, "settings.json")}` }),
    );
    expect(of("credentials file")).toContainEqual(
      expect.objectContaining({ fix: `chmod 600 ${join(config, "credentials.json")}` }),
    );
    expect(of("settings file")).toContainEqual(expect.objectContaining({ fix: `chmod 700 ${config}` }));
  });

  it("reports a credentials file that is not JSON", async () => {
    const { env } = await serviceWith([{ when: isTo("HEAD", "/"), answer: { status: 404 } }]);
    const { config } = foldersOf(env);
    writeFileSync(join(config, "credentials.json"), `{"key":"${key}"`, { mode: 0o600 });
    const { code, of } = await doctor([], { env: { ...env, ROLLCALL_API_KEY: undefined } });
    expect(code).toBe(2);
    expect(of("credentials file")).toMatchObject([{ status: "error", code: "usage" }]);
  });
});

describe("rollcall doctor about its files", () => {
  it("warns about a missing home folder, and continues with the other checks", async () => {
    const { code, of } = await doctor(["--offline"], {
      env: { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined },
    });
    expect(code).toBe(0);
    const fix = "set ROLLCALL_DATA_DIR or ROLLCALL_LEDGER";
    expect(of("ledger")).toMatchObject([{ status: "warning", fix }]);
    expect(of("local store")).toMatchObject([{ status: "skipped" }]);
  });

  it("exits with 11 for new files in a folder that other users can write", async () => {
    const folder = join(newHome().HOME, "shared");
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    const { code, of } = await doctor(["--local"], { env: { ROLLCALL_DATA_DIR: join(folder, "data") } });
    expect(code).toBe(11);
    for (const check of ["ledger", "local store"]) {
      const message = expect.stringContaining(`other users can write to ${folder} (mode 0777)`);
      expect(of(check)).toMatchObject([{ status: "error", code: "storage", message }]);
    }
  });

  it("exits with 11 for a data folder below a file", async () => {
    const { code, of, stderr } = await doctor(["--offline"], {
      env: { ROLLCALL_DATA_DIR: resolve("package.json/data") },
    });
    expect(code).toBe(11);
    expect(of("ledger")).toMatchObject([
      { status: "error", code: "storage", fix: expect.stringContaining("ROLLCALL_LEDGER") },
    ]);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "storage", exit_code: 11 } });
  });

  it.each<[string, (path: string) => void, string]>([
    ["of another program", (path) => writeFileSync(path, "SQLite format 3\u0000".padEnd(4096, "x")), "storage"],
    ["that is text", (path) => writeFileSync(path, "hello ".repeat(1000)), "storage"],
    ["that is a folder", (path) => mkdirSync(path), "storage"],
    ["that is a device", (path) => symlinkSync("/dev/zero", path), "storage"],
  ])("exits with 11 for a ledger %s", async (_, make, code) => {
    const home = newHome();
    const { data } = foldersOf(home);
    make(join(data, "ledger.db"));
    const found = await doctor(["--offline"], { env: home });
    expect(found.code).toBe(11);
    expect(found.of("ledger")).toMatchObject([{ status: "error", code }]);
  });

  it("exits with 11 for a damaged ledger, and does not change it", async () => {
    const home = newHome();
    const { data } = foldersOf(home);
    const path = join(data, "ledger.db");
    const files = [0, 1, 2].map((at) => {
      const file = join(home.HOME, `${at}.jsonl`);
      writeFileSync(file, `${group.replace('"reward":1', `"reward":${at}`)}\n`);
      return file;
    });
    for (const file of files) {
      await runRollcall(["log", "m", file, "--split", "train", "--local"], { env: home });
    }
    const bytes = readFileSync(path);
    // The first page stays, so the file is still a database.
    bytes.fill(0xff, 16_384, Math.min(bytes.length, 49_152));
    writeFileSync(path, bytes);
    const { code, of } = await doctor(["--offline"], { env: home });
    expect(code).toBe(11);
    expect(of("ledger")).toMatchObject([{ status: "error", message: expect.stringContaining("damaged") }]);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  it("counts unsent groups by requests", async () => {
    const env = { ...newHome(), ROLLCALL_BASE_URL: "http://127.0.0.1:1", ROLLCALL_TOKEN: "key-1234" };
    const lines = [1, 2, 3].map((reward) => `{"messages_and_choices":[],"reward":${reward}}\n`).join("");
    for (let run = 0; run < 2; run++) {
      const args = ["log", "m", "--split", "train", "--max-wait", "0s", "-"];
      const { code, stderr } = await runRollcall(args, { env, stdin: lines });
      expect([code, stderr]).toEqual([5, expect.stringContaining("check log_base_url (or base_url), or rerun")]);
    }
    const { of } = await doctor(["--offline"], { env });
    expect(of("ledger")).toMatchObject([{ message: expect.stringContaining("Requests: 2 not sent") }]);
  });

  it("accepts an empty ledger file, and prints a fix that a shell accepts", async () => {
    const home = join(newHome().HOME, "o'neil and sons");
    const data = join(home, "data");
    mkdirSync(data, { recursive: true });
    chmodSync(data, 0o755);
    writeFileSync(join(data, "ledger.db"), "");
    const { code, of } = await doctor(["--offline"], { env: { HOME: home, ROLLCALL_DATA_DIR: data } });
    expect(code).toBe(0);
    const [{ fix = "" } = {}] = of("ledger").filter(({ status }) => status === "warning");
    expect(of("ledger")).toMatchObject([{ status: "ok", message: expect.stringContaining("is empty") }, { fix }]);
    execFileSync("/bin/sh", ["-c", fix]);
    expect(statSync(data).mode & 0o777).toBe(0o700);
  });

  it("counts the runs that use the ledger, and does not disturb them", async () => {
    const home = newHome();
    const file = join(home.HOME, "a.jsonl");
    writeFileSync(file, `${group}\n`);
    let answer = (): void => undefined;
    const isAnswered = new Promise<void>((settle) => {
      answer = settle;
    });
    const { url } = await scriptedServer([{ answer: (_, response) => void isAnswered.then(() => response.end("{}")) }]);
    const run = startInTurn(["log", "m", file, "--split", "train", "--base-url", url], {
      env: { ...home, ROLLCALL_TOKEN: key },
    });
    const ended = endOf(run);
    const ledger = async () => (await doctor(["--local"], { env: home })).of("ledger")[0];
    await expect.poll(ledger).toMatchObject({ status: "ok", facts: { writers: 1, counts: { trying: { groups: 1 } } } });
    answer();
    expect((await ended).code).toBe(0);
    expect(await ledger()).toMatchObject({ status: "ok", facts: { writers: 0, counts: { logged: { groups: 1 } } } });
    // As after a kill during the request.
    const left = new Connection(join(home.XDG_DATA_HOME, "rollcall/ledger.db"));
    left.exec("UPDATE request SET state = 'trying'");
    left.close();
    expect(await ledger()).toMatchObject({
      status: "warning",
      message: expect.stringMatching(/ Requests: 1 trying$/),
      fix: expect.stringContaining("`rollcall ledger resolve`"),
    });
  });

  it("exits with the code of settings before the codes of files, credentials and URLs", async () => {
    const all = {
      ROLLCALL_BASE_URL: "http://127.0.0.1:1",
      ROLLCALL_DATA_DIR: resolve("package.json/data"),
      ROLLCALL_PROJECT: "alpha",
    };
    expect((await doctor([], { env: all })).code).toBe(2);
    expect((await doctor([], { env: { ...all, ROLLCALL_PROJECT: undefined } })).code).toBe(11);
    const rest = { ...all, ROLLCALL_PROJECT: undefined, ROLLCALL_DATA_DIR: undefined };
    expect((await doctor([], { env: rest })).code).toBe(4);
    expect((await doctor([], { env: { ...rest, ROLLCALL_TOKEN: key } })).code).toBe(5);
  });
});

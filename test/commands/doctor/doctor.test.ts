import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHereOnTerminal } from "../../support/here.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { json } from "../../support/server.ts";
import { screenOf } from "../../support/terminal.ts";
import { doctor, group, isTo, key, serviceWith } from "./findings.ts";

describe("rollcall doctor", () => {
  it("reports no problem for a valid setup, and requests each thing once", async () => {
    const { server, env } = await serviceWith();
    const { code, stderr, status, findings, of } = await doctor([], { env });
    expect({ code, stderr, status }).toEqual({ code: 0, stderr: "", status: "ok" });
    expect(of("credential inference")).toMatchObject([
      { status: "ok", facts: { state: "ready", from: "ROLLCALL_API_KEY", accepted: true } },
    ]);
    expect(of("credential calls")).toMatchObject([{ facts: { accepted: true, username: "api" } }]);
    expect(of("credential log")).toMatchObject([{ status: "ok", facts: { accepted: null } }]);
    expect(of("address base")).toMatchObject([{ facts: { address: server.url, status: 404, proxy: null } }]);
    // An address that several uses share is requested once.
    expect(findings.filter(({ check }) => check.startsWith("address"))).toHaveLength(1);
    const wire = server.received.map(({ method, path, headers }) => [method, path, headers.authorization]);
    const basic = `Basic ${Buffer.from(`api:${key}`).toString("base64")}`;
    expect(new Set(wire)).toEqual(
      new Set([
        ["HEAD", "/", undefined],
        ["GET", "/v1/models", `Bearer ${key}`],
        ["POST", "/call/read", basic],
      ]),
    );
    expect(wire).toHaveLength(3);
  });

  it.each([60, 100])("prints a line for each finding, with marks instead of color, in %i columns", async (columns) => {
    const { env } = await serviceWith([
      { when: isTo("HEAD", "/"), answer: { status: 503 } },
      { when: isTo("GET", "/v1/models"), answer: json({ error: { message: "no such key" } }, 401) },
      { when: isTo("POST", "/call/read"), answer: json({ call: null }) },
    ]);
    const home = { ...env, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined };
    const config = join(env.HOME, ".config", "rollcall");
    mkdirSync(config, { recursive: true, mode: 0o700 });
    writeFileSync(join(config, "settings.json"), '{"profiles":{"default":{"batch":" x","colour":"red"}}}');
    chmodSync(join(config, "settings.json"), 0o644);
    const { code, written } = await runHereOnTerminal(["doctor", "--no-color"], {
      env: { PATH: process.env.PATH, TERM: "xterm-256color", ...home },
      columns,
    });
    const lines = screenOf(written);
    expect(code).toBe(2);
    for (const each of lines) expect(each.length).toBeLessThanOrEqual(columns);
    // Removes what depends on the machine, with its continuation lines.
    const scrubbed = lines
      .join("\n")
      .replaceAll(/^(\w+ +(?:address \w+) +).*(?:\n {25,}(?! {2}fix).*)*/gm, "$1…")
      .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:8700");
    await expect(`${scrubbed}\n`).toMatchFileSnapshot(`golden/doctor.${columns}.txt`);
  });

  it("prints a record for each finding in a pipe", async () => {
    const { stdout } = await runRollcall(["doctor", "--local"]);
    const records = stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split("\t"));
    expect(records.every((fields) => fields.length === 4)).toBe(true);
    expect(records[0]).toEqual(["settings", "ok", "profile local: nothing is set", ""]);
  });

  it("exits with 0 and suggests a login if nothing is set", async () => {
    const { code, status, of } = await doctor();
    expect({ code, status }).toEqual({ code: 0, status: "warning" });
    expect(of("addresses")).toMatchObject([{ status: "warning", fix: expect.stringContaining("auth login") }]);
  });

  it("changes no file", async () => {
    const home = newHome();
    const file = join(mkdtempSync(join(tmpdir(), "doctor-")), "a.jsonl");
    writeFileSync(file, group);
    expect((await runRollcall(["log", "m", file, "--split", "train", "--local"], { env: home })).code).toBe(0);
    const before = lookOf(home.HOME);
    const { code, of } = await doctor(["--local"], { env: home });
    expect(code).toBe(0);
    expect(of("ledger")).toMatchObject([
      { status: "ok", facts: { version: 1, counts: { logged: { requests: 1, groups: 1 } }, writers: 0 } },
    ]);
    expect(of("local store")).toMatchObject([{ status: "ok", facts: { calls: 1 } }]);
    expect(lookOf(home.HOME)).toEqual(before);
    const bare = newHome();
    await doctor(["--local"], { env: bare });
    expect(readdirSync(bare.HOME)).toEqual([]);
  });

  it("sends no request and runs no credential_command with --offline", async () => {
    const { server, env } = await serviceWith([]);
    const { code, of } = await doctor(["--offline"], {
      env: { ...env, ROLLCALL_API_KEY: undefined, ROLLCALL_CREDENTIAL_COMMAND: "no-such-program --token abc" },
    });
    expect(code).toBe(0);
    expect(of("credential inference")).toMatchObject([{ status: "ok", facts: { state: "command", accepted: null } }]);
    expect(of("addresses")).toMatchObject([{ status: "skipped" }]);
    expect(server.received).toEqual([]);
    const [settings] = of("settings");
    expect(JSON.stringify(settings)).not.toContain("abc");
  });
});

/** The name, mode and content of every file in a folder. */
const lookOf = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort()
    .map((name) =>
      [name, statSync(join(folder, name)).mode, readFileSync(join(folder, name)).toString("base64")].join(" "),
    );

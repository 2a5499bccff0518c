import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nameProgramAfter } from "../../../src/system/program.ts";
import { runHere } from "../../support/here.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { doctor, foldersOf, group } from "./findings.ts";

describe("rollcall doctor", () => {
  it("prints a record for each finding in a pipe", async () => {
    const { stdout } = await runRollcall(["doctor", "--local"]);
    const records = stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => line.split("\t"));
    expect(records.every((fields) => fields.length === 4)).toBe(true);
    expect(records[1]).toEqual(["settings", "ok", "profile local: no settings", ""]);
  });

  it("names the program in a fix as the user started it", async () => {
    nameProgramAfter("/a/bin/rollcall.js", "/a");
    const { stdout } = await runHere(["doctor", "--offline", "--json"], { env: newHome() }).finally(() =>
      nameProgramAfter("rollcall", "/"),
    );
    const [{ fix }] = JSON.parse(stdout).findings.filter(({ check }: { check: string }) => check === "addresses");
    expect(fix).toBe("run `node bin/rollcall.js auth login --base-url https://…`, or set ROLLCALL_BASE_URL");
  });

  it.each([
    [
      { project: "a/b" },
      "warning",
      "no service URL is set, so only --local works",
      "login --base-url https://… --profile w`",
    ],
    [{ base_url: "notaurl" }, "skipped", "base_url is invalid", undefined],
  ])("reports the profile %j without a usable URL as such", async (settings, status, message, fix) => {
    const env = newHome();
    const file = join(foldersOf(env).config, "settings.json");
    writeFileSync(file, JSON.stringify({ profiles: { w: settings } }), { mode: 0o600 });
    const { of } = await doctor(["--offline", "--profile", "w"], { env });
    expect(of("addresses")).toMatchObject([{ status, message, ...(fix && { fix: expect.stringContaining(fix) }) }]);
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
      { status: "ok", facts: { version: 3, counts: { logged: { requests: 1, groups: 1 } }, writers: 0 } },
    ]);
    expect(of("local store")).toMatchObject([
      { status: "ok", facts: { calls: 1, version: 3, bytes: expect.any(Number) } },
    ]);
    expect(lookOf(home.HOME)).toEqual(before);
    const bare = newHome();
    await doctor(["--local"], { env: bare });
    expect(readdirSync(bare.HOME)).toEqual([]);
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

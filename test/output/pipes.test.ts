import { spawn } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { openScreen, screenWords } from "../../src/output/index.ts";
import { testHost } from "../support/host.ts";
import { newHome, runRollcall, startRollcall } from "../support/run.ts";
import { json, scriptedServer } from "../support/server.ts";

/** A catalog of so many entries. */
const catalogOf = (length: number): string =>
  JSON.stringify({
    data: Array.from({ length }, (_, at) => ({ id: `provider/model-${at}`, name: "x".repeat(100) })),
  });

/** More than any pipe holds, in every form. */
const long = 10_000;

const environment = async (length = long) => {
  const server = await scriptedServer([{ answer: json(catalogOf(length)) }]);
  return { ROLLCALL_BASE_URL: server.url, ROLLCALL_ROUTER_PROVIDER: "r" };
};

const ended = (child: { on(event: "close", listener: (code: number | null) => void): unknown }) =>
  new Promise<number | null>((settle) => child.on("close", settle));

const forms = [["-o", "tsv"], ["-o", "csv"], ["-o", "table"], ["--json"], ["-o", "jsonl"]];

describe("a pipe", () => {
  it.each(forms)("%s %s is written whole to a reader that takes its time", async (...form) => {
    const child = startRollcall(["catalog", "router", ...form], { env: await environment() });
    child.stdout.pause();
    setTimeout(() => child.stdout.resume(), 300);
    const [printed, said] = [text(child.stdout), text(child.stderr)];
    expect(await ended(child)).toBe(0);
    expect(await said).toBe("");
    expect((await printed).match(/provider\/model-\d+/g)).toHaveLength(long);
  });

  it.each(forms)("%s %s ends quietly, with exit code 0, when its reader leaves", async (...form) => {
    const child = startRollcall(["catalog", "router", ...form], { env: await environment() });
    child.stdout.once("data", () => child.stdout.destroy());
    const said = text(child.stderr);
    expect(await ended(child)).toBe(0);
    expect(await said).toBe("");
  });

  it("that nobody reads the errors of changes no exit code", async () => {
    const child = startRollcall(["models", "--sort", "x"]);
    child.stderr.destroy();
    expect(await ended(child)).toBe(2);
  });

  it.skipIf(!existsSync("/dev/full"))("errors that can't be written change no exit code", async () => {
    const child = spawn(process.execPath, [resolve("bin/rollcall.js"), "models", "--sort", "x"], {
      stdio: ["ignore", "pipe", openSync("/dev/full", "w")],
      env: { PATH: process.env.PATH, ...newHome() },
    });
    expect(await ended(child)).toBe(2);
  });

  it("is interrupted though its reader has stopped reading", async () => {
    const child = startRollcall(["catalog", "router"], { env: await environment() });
    await new Promise((settle) => child.stdout.once("readable", settle));
    child.kill("SIGTERM");
    const said = text(child.stderr);
    // It has said so and wants to end; what it still has for its reader holds it up until that one leaves.
    child.stderr.once("data", () => child.stdout.destroy());
    expect(await ended(child)).toBe(143);
    expect(await said).toContain("interrupted");
  });
});

it("a text is whole wherever a piece of it ends that is written", async () => {
  for (const before of [0, 1, 2, 3]) {
    // Pieces of one write are a power of two long.
    const text = `${"x".repeat(before)}${"👩‍🚀𝒳".repeat(90_000)}`;
    const host = testHost();
    await openScreen({ host, words: screenWords({}) }).text(text);
    expect(host.printed()).toBe(text);
  }
});

describe("a list of 50,000 entries", () => {
  it("is filtered, sorted and picked from", async () => {
    const all = await runRollcall(["catalog", "router", "*model-4999?", "--sort", "-id", "--fields", "id"], {
      env: await environment(50_000),
    });
    expect(all.stdout.split("\n")).toEqual([
      ...Array.from({ length: 10 }, (_, at) => `provider/model-${49999 - at}`),
      "",
    ]);
  });
});

describe("colour in a pipe", () => {
  const isColored = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    (await runRollcall(["check", "test/samples/no-such-file.jsonl", ...args], { env })).stderr.includes("\u001b[");

  it.each<[args: readonly string[], env: Readonly<Record<string, string>>, colored: boolean]>([
    [[], {}, false],
    [[], { FORCE_COLOR: "1" }, true],
    [[], { FORCE_COLOR: "0" }, false],
    [[], { FORCE_COLOR: "" }, false],
    [["--color=always"], {}, true],
    [["--color", "always"], { NO_COLOR: "1" }, true],
    [["--color=never"], { FORCE_COLOR: "1" }, false],
    [["--no-color"], { FORCE_COLOR: "1" }, false],
    [["--color=auto"], {}, false],
    [["--color=auto"], { FORCE_COLOR: "1" }, true],
    [["--no-such-option", "--color=always"], {}, true],
  ])("%j %j", async (args, env, colored) => {
    expect(await isColored(args, env)).toBe(colored);
  });

  it("takes no other word", async () => {
    const { code, stderr } = await runRollcall(["check", "--color=alway"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("did you mean always?")]);
  });
});

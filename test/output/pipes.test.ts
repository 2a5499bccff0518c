import { spawn } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { Sink } from "../../src/output/sink.ts";
import { testHost } from "../support/host.ts";
import { newHome, runRollcall, startRollcall } from "../support/run.ts";
import { json, scriptedServer } from "../support/server.ts";
import { screenOn } from "./printed-text.ts";

const long = 4000;

const catalogOf = (): string =>
  JSON.stringify({
    data: Array.from({ length: long }, (_, at) => ({ id: `provider/model-${at}`, name: "x".repeat(100) })),
  });

const environment = async () => {
  const server = await scriptedServer([{ answer: json(catalogOf()) }]);
  return { ROLLCALL_BASE_URL: server.url, ROLLCALL_ROUTER_PROVIDER: "r" };
};

const ended = (child: { on(event: "close", listener: (code: number | null) => void): unknown }) =>
  new Promise<number | null>((settle) => child.on("close", settle));

describe("output to a pipe", () => {
  it("reaches a slow reader completely", async () => {
    const child = startRollcall(["catalog", "router", "--json"], { env: await environment() });
    child.stdout.pause();
    setTimeout(() => child.stdout.resume(), 300);
    const [printed, said] = [text(child.stdout), text(child.stderr)];
    expect([await ended(child), await said]).toEqual([0, ""]);
    expect((await printed).match(/provider\/model-\d+/g)).toHaveLength(long);
  });

  it.each(["--json", "-o tsv"])(
    "ends without a message and with exit code 0 when the reader leaves with %s",
    async (form) => {
      const child = startRollcall(["catalog", "router", ...form.split(" ")], { env: await environment() });
      child.stdout.once("data", () => child.stdout.destroy());
      const said = text(child.stderr);
      expect([await ended(child), await said]).toEqual([0, ""]);
    },
  );

  it.each(["EPIPE", "ERR_STREAM_DESTROYED", "ECONNRESET"])("has no reader after the error %s", async (code) => {
    const sink = new Sink(new Writable({ write: (_, __, done) => done(Object.assign(new Error(), { code })) }));
    await sink.write("text");
    expect(sink.isReaderGone).toBe(true);
  });

  it("keeps the exit code if stderr is closed", async () => {
    const child = startRollcall(["models", "--sort", "x"]);
    child.stderr.destroy();
    expect(await ended(child)).toBe(2);
  });

  it.skipIf(!existsSync("/dev/full"))("keeps the exit code if stderr cannot be written", async () => {
    const child = spawn(process.execPath, [resolve("bin/rollcall.js"), "models", "--sort", "x"], {
      stdio: ["ignore", "pipe", openSync("/dev/full", "w")],
      env: { PATH: process.env.PATH, ...newHome() },
    });
    expect(await ended(child)).toBe(2);
  });

  it("ends at SIGTERM while the reader has stopped reading", async () => {
    const child = startRollcall(["catalog", "router"], { env: await environment() });
    await new Promise((settle) => child.stdout.once("readable", settle));
    child.kill("SIGTERM");
    const said = text(child.stderr);
    // rollcall has printed the error, but its unread output delays its end until the reader leaves.
    child.stderr.once("data", () => child.stdout.destroy());
    expect(await ended(child)).toBe(143);
    expect(await said).toContain("interrupted");
  });
});

describe("screen.printText", () => {
  it("writes no part of a character", async () => {
    for (const before of [0, 1, 2, 3]) {
      // The length of a piece is a power of two.
      const text = `${"x".repeat(before)}${"👩‍🚀𝒳".repeat(90_000)}`;
      const host = testHost();
      await screenOn(host).printText(text);
      expect(host.printed()).toBe(text);
    }
  });
});

describe("color in a pipe", () => {
  const isColored = (text: string): boolean => text.includes("\u001b[");
  const printedBy = async (words: string): Promise<string> =>
    (await runRollcall(["check", "no-such-file.jsonl", ...words.split(" ")])).stderr;

  it("appears with --color=always, also if another option is unknown", async () => {
    for (const words of ["--color=always", "--no-such-option --color=always"])
      expect([words, isColored(await printedBy(words))]).toEqual([words, true]);
  });

  it("refuses another value of --color", async () => {
    const { code, stderr } = await runRollcall(["check", "--color=alway"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("did you mean always?")]);
  });
});

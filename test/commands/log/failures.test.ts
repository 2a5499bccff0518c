import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { filesOf, newFolder } from "../../support/inputs.ts";
import { interruptWaiting, newHome, runRollcall, startRollcall } from "../../support/run.ts";
import { type Answer, json, scriptedServer } from "../../support/server.ts";

import { account, group, line, log, parsed, two } from "./logging.ts";

describe("a failing run of rollcall log", () => {
  it("gives the next command with all necessary options", async () => {
    const [file = ""] = filesOf(`${line(1).replace("{", '{"k":1,')}\n${line(2).replace("{", '{"k":2,')}\n{"k":3}\n`);
    const server = await scriptedServer(["c1", "c2"].map((id) => ({ answer: json({ call_ids: [id] }) })));
    const env = { ...newHome(), ROLLCALL_TOKEN: "token-1234", ROLLCALL_PROJECT: "team/project" };
    const words = ["--split", "t", "--batch", "step 17", "--group-by", "k", "--no-ledger", "--base-url", server.url];
    const sending = ["--on-invalid", "skip", "--max-request-size", "150", "--concurrency", "1"];
    const { stdout, stderr } = await runRollcall(["log", "m", file, ...words, ...sending], { env });
    expect(stdout).toContain(`next\trollcall call read c1 --base-url ${server.url}\n`);
    expect(stderr).toContain(
      `next: rollcall log m ${file}.rejected --split t --batch 'step 17' --group-by k --no-ledger --base-url ${server.url}\n`,
    );
    // A call belongs to a project. Without a project, no command can read the call.
    const placeless = await log([two(), "--split", "t"], [json({ call_ids: ["c1"] })]);
    expect({ code: placeless.code, stdout: placeless.stdout }).toEqual({
      code: 0,
      stdout: expect.not.stringContaining("next"),
    });
  });

  it("gives no command for a request with an unknown outcome that no ledger has", async () => {
    const next = async (...args: readonly string[]) => {
      const { code, stderr } = await log([two(), "--split", "t", "--json", ...args], [json({}, 500)]);
      return [code, JSON.parse(stderr).error.next];
    };
    expect([await next("--no-ledger"), await next()]).toEqual([
      [8, undefined],
      [8, expect.stringContaining("ledger")],
    ]);
  });

  it.skipIf(!existsSync("/dev/full"))("prints the logged groups on stderr if stdout goes to a full disk", async () => {
    const ends: readonly (readonly [Answer, number, string])[] = [
      [json("{}"), 11, "2 groups logged"],
      [json({}, 500), 8, "may or may not have been logged"],
    ];
    for (const [answer, code, words] of ends) {
      const server = await scriptedServer([{ answer }]);
      const line = `exec "$0" bin/rollcall.js log m "$1" --split t > /dev/full`;
      const child = spawn("sh", ["-c", line, process.execPath, two()], {
        env: { PATH: process.env.PATH, ...newHome(), ...account(server.url) },
      });
      const stderr = text(child.stderr);
      expect(await new Promise((settle) => child.on("close", settle))).toBe(code);
      expect(await stderr).toContain(words);
    }
  });

  const interruptReading = async (input: string): Promise<void> => {
    const { code, stdout, stderr } = await interruptWaiting(() => {
      const reading = startRollcall(["log", "m", input, "--split", "t", "--json", "--dry-run"]);
      if (input === "-") reading.stdin.on("error", () => undefined).write(group(1));
      return reading;
    });
    expect([code, stdout]).toEqual([130, ""]);
    expect(parsed(stderr)).toMatchObject({ error: { message: "interrupted by SIGINT; nothing was sent" } });
  };

  it("exits with 130 after SIGINT while it reads standard input", async () => {
    await interruptReading("-");
  });

  it("exits with 130 after SIGINT while it opens a pipe without a writer", { tags: "slow" }, async () => {
    const pipe = join(newFolder(), "pipe");
    execFileSync("mkfifo", [pipe]);
    await interruptReading(pipe);
  });

  it("exits with 130 after SIGINT while `convert` waits for the reader of a pipe", { tags: "slow" }, async () => {
    const pipe = join(newFolder(), "pipe");
    execFileSync("mkfifo", [pipe]);
    const { code } = await interruptWaiting(() => {
      const writing = startRollcall(["convert", "-", "--out", pipe]);
      writing.stdin.on("error", () => undefined).end(group(1));
      return writing;
    });
    expect(code).toBe(130);
  });

  it("leaves no temporary file, and `check` needs no temporary folder", async () => {
    const TMPDIR = newFolder();
    await runRollcall(["log", "m", "--split", "t", "--dry-run"], { stdin: group(1), env: { TMPDIR } });
    expect(readdirSync(TMPDIR)).toEqual([]);
    const nowhere = await runRollcall(["check"], { stdin: group(1), env: { TMPDIR: join(TMPDIR, "none") } });
    expect(nowhere.code).toBe(0);
  });
});

import { execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { groupOf, linesOf, placeAt } from "../../promises/place.ts";
import { filesOf, newFolder } from "../../support/inputs.ts";
import { accept, faultyService, refuse } from "../../support/raw-server.ts";
import { endOf, interruptWaiting, newHome, runRollcall, startInTurn, startRollcall } from "../../support/run.ts";
import { type Answer, json, scriptedServer } from "../../support/server.ts";

import { account, group, line, log, none, parsed, textOf, two } from "./logging.ts";

describe("a failing run of rollcall log", () => {
  it("advises --on-invalid skip if some groups are valid", async () => {
    const skip = "send 1 valid group with --on-invalid skip, which writes the others to the rejects file";
    const hintOf = async (text: string) => {
      const { stderr } = await log([...filesOf(text), "--split", "t"], []);
      return /^hint: (.*)$/m.exec(stderr)?.[1];
    };
    expect(await hintOf(`${group(1)}\n{"trajectories":[{"reward":NaN}]}\n`)).toMatch(
      /\S; or send 1 valid group with --on-invalid skip, which writes the others to the rejects file$/,
    );
    expect(await hintOf(`${group(1)}\n{"trajectories":{}}\n{"trajectories":1}\n`)).toBe(skip);
    expect(await hintOf('{"trajectories":{}}\n{"trajectories":1}\n')).toBeUndefined();
    // --on-invalid skip cannot leave out a request for another split.
    expect(await hintOf(`${group(1)}\n{"split":"u","trajectory_groups":[]}\n`)).not.toContain("--on-invalid");
  });

  it("names --on-invalid skip only once if the problem's own advice names it", async () => {
    const row = { example_id: 0, prompt: "q", completion: "a", task: "t", reward: 1 };
    const rows = [row, { ...row, example_id: 1, reward: null }].map((one) => JSON.stringify(one));
    const { code, stderr } = await log([...filesOf(rows.join("\n")), "--split", "t"], []);
    expect([code, stderr.match(/--on-invalid skip/g)]).toEqual([3, ["--on-invalid skip"]]);
  });

  it("reports groups that are larger than a request in one warning, at their lines in the original file", async () => {
    const rows = [0, 1, 2].map((at) => ({ example_id: at, prompt: "q", completion: "a".repeat(300 + at), task: "t" }));
    const [file = ""] = filesOf(rows.map((row) => JSON.stringify({ ...row, reward: 1 })).join("\n"));
    const { stderr } = await log([file, "--split", "t", "--dry-run", "--max-request-size", "250"], []);
    expect(stderr.match(/^.*\[group-over-limit\]\n.*$/gm)).toEqual([
      expect.stringMatching(/:1: warning: the group alone needs a request of \d+ bytes.*\n {2}and 2 more: :2, :3$/),
    ]);
    expect(stderr).toContain(`${file}:1: warning: the group alone`);
    expect(stderr).not.toContain("(as groups)");
  });

  it("exits with 2 for whole requests of several splits, and says how to separate them", async () => {
    const [file = ""] = filesOf('{"split":"a","trajectory_groups":[]}\n{"split":"b","trajectory_groups":[]}\n');
    const { code, stderr } = await log([file], []);
    expect(code).toBe(2);
    expect(stderr).toContain("the requests have different splits: a, b\n");
    expect(stderr).toContain("hint: put the requests of each split into a separate file, and log them separately\n");
  });

  it("lists at most 20 problems, and counts all of them", async () => {
    const [file = ""] = filesOf('{"reward":"x"}\n'.repeat(30));
    const { stderr } = await log([file, "--split", "t", "--json"], []);
    const document = parsed(stderr);
    expect(document).toHaveProperty("error.problems.length", 20);
    expect(document).toHaveProperty("error.message", expect.stringContaining("60"));
  });

  it("names the next command with all options that it needs", async () => {
    const [file = ""] = filesOf(`${line(1).replace("{", '{"k":1,')}\n${line(2).replace("{", '{"k":2,')}\n{"k":3}\n`);
    const server = await scriptedServer([{ answer: json({ call_ids: ["c1"] }) }]);
    const env = { ...newHome(), ROLLCALL_TOKEN: "token-1234", ROLLCALL_PROJECT: "team/project" };
    const words = ["--split", "t", "--batch", "step 17", "--group-by", "k", "--no-ledger", "--base-url", server.url];
    const { stdout, stderr } = await runRollcall(["log", "m", file, ...words, "--on-invalid", "skip"], { env });
    expect(stdout).toContain(`next\trollcall call read c1 --base-url ${server.url}\n`);
    expect(stderr).toContain(
      `next: rollcall log m ${file}.rejected --split t --batch 'step 17' --group-by k --no-ledger --base-url ${server.url}\n`,
    );
    // A call belongs to a project: without one, no command can read the call.
    const placeless = await log([two(), "--split", "t"], [json({ call_ids: ["c1"] })]);
    expect({ code: placeless.code, stdout: placeless.stdout }).toEqual({
      code: 0,
      stdout: expect.not.stringContaining("next"),
    });
  });

  it("keeps the groups of two models apart in `ledger verify` and `ledger status`", async () => {
    const [env, file] = [newHome(), two()];
    for (const model of ["a", "b"]) await runRollcall(["log", model, file, "--split", "t", "--local"], { env });
    const both = await runRollcall(["ledger", "verify", file, "--local"], { env });
    expect(both.code).toBe(10);
    expect(both.stderr).toContain("2 logged more than once");
    expect(both.stderr).toMatch(/hint: .*--model/);
    expect(both.stderr).not.toContain("rollcall log");
    expect((await runRollcall(["ledger", "verify", file, "--local", "--model", "a"], { env })).code).toBe(0);
    const status = async () => (await runRollcall(["ledger", "status", file, "--local"], { env })).stderr;
    expect(await status()).toContain("2 groups: 2 logged, 0 logged more than once");
    await runRollcall(["log", "a", file, "--split", "t", "--local", "--resend-logged"], { env });
    expect(await status()).toContain("2 groups: 0 logged, 2 logged more than once");
  });

  it("exits with 2 for a file in place of the model id", async () => {
    const { code, stderr } = await runRollcall(["log", two(), "--split", "t"], { stdin: "" });
    expect([code, stderr]).toEqual([2, expect.stringContaining("expected the id of the model before the file")]);
  });

  it.each([".", ".."])("exits with 2 for the model id %s, and records no request", async (id) => {
    const env = { ...newHome(), ...account("http://127.0.0.1:1") };
    const { code, stdout, stderr } = await runRollcall(["log", id, two(), "--split", "t"], { env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(`invalid model id: "${id}"`);
    expect((await runRollcall(["ledger", "status", "--json"], { env })).stdout).toBe('{"groups":null,"entries":[]}\n');
  });

  it.skipIf(!existsSync("/dev/full"))("says what was logged if stdout goes to a full disk", async () => {
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
      const stderr = textOf(child.stderr);
      expect(await new Promise((settle) => child.on("close", settle))).toBe(code);
      expect(await stderr).toContain(words);
    }
  });

  it("names the groups of its metrics if not all of them were logged", async (context) => {
    const service = await faultyService(context);
    service.next(accept, refuse(401));
    const place = placeAt(context, service.url);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2), groupOf(6)));
    const { document } = await place.log([file, "--max-request-size", "120"]);
    expect(document).toMatchObject({ metrics: { "train/reward": 3 }, metrics_of: { groups: 3, logged: 1 } });
    service.next(refuse(401));
    const again = await place.run(["log", "m", file, "--split", "train"]);
    expect(again.stdout).toContain("metrics of\tall 3 valid groups of the input, 1 logged\ntrain/reward\t3\n");
    const whole = await place.log([file]);
    expect([whole.code, whole.document]).toEqual([0, expect.not.objectContaining({ metrics_of: expect.anything() })]);
  });

  it("prints a document after a second SIGTERM during a request", async () => {
    const server = await scriptedServer([
      {
        answer: () => {
          run.kill("SIGTERM");
          run.kill("SIGTERM");
        },
      },
    ]);
    const run = startInTurn(["log", "m", two(), "--split", "t", "--json"], { env: account(server.url) });
    const { code, stdout, stderr } = await endOf(run);
    expect(code).toBe(8);
    expect(stderr).toMatch(/ because the run was .*; groups: 0 logged, 0 not sent/);
    expect(parsed(stdout)).toMatchObject({ status: "unknown", groups: { ...none, read: 2, unknown: 2 } });
  });

  const interruptReading = async (input: string): Promise<void> => {
    const { code, stdout, stderr } = await interruptWaiting(() => {
      const reading = startRollcall(["log", "m", input, "--split", "t", "--json", "--dry-run"]);
      if (input === "-") reading.stdin.on("error", () => undefined).write(group(1));
      return reading;
    });
    expect(code).toBe(130);
    expect(parsed(stdout)).toMatchObject({ status: "not_sent", groups: none });
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

  it.each([
    ["check --report", (pipe: string) => ["check", "-", "--report", `junit=${pipe}`]],
    ["convert --out", (pipe: string) => ["convert", "-", "--out", pipe]],
    ["convert --receipt", (pipe: string) => ["convert", "-", "--out", `${pipe}.jsonl`, "--receipt", pipe]],
    ["log --receipt", (pipe: string) => ["log", "m", "-", "--split", "t", "--dry-run", "--receipt", pipe]],
  ])("exits with 130 after SIGINT while %s waits for the reader of a pipe", { tags: "slow" }, async (_, wordsFor) => {
    const pipe = join(newFolder(), "pipe");
    execFileSync("mkfifo", [pipe]);
    const { code } = await interruptWaiting(() => {
      const writing = startRollcall(wordsFor(pipe));
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

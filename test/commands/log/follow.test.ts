import { appendFileSync, existsSync, renameSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { newFolder } from "../../support/inputs.ts";
import { runRollcall } from "../../support/run.ts";
import { runOnTerminal } from "../../support/terminal.ts";

import { fileWith, follow, line, never, openSink, quiet, resultOf, rulesIn, soon, until } from "./following.ts";

describe("rollcall log --follow", () => {
  it("sends new groups after --every, and exits with 0 after Ctrl-C", async () => {
    const sink = await openSink();
    const file = fileWith(line(1) + line(2));
    const run = follow(sink, file, ...soon, ...quiet, "--json");
    await until(() => sink.groups().length === 2);
    appendFileSync(file, line(3));
    await until(() => sink.groups().length === 3);
    appendFileSync(file, line(4));
    const { code, stdout, stderr } = await run.end();
    expect([code, stderr]).toEqual([0, ""]);
    expect(sink.groups()).toEqual([[1], [2], [3], [4]]);
    const { status, groups, metrics, warnings } = resultOf(stdout);
    expect([status, groups.read, groups.logged, groups.not_sent]).toEqual(["logged", 4, 4, 0]);
    expect(metrics["train/reward"]).toBe(2.5);
    expect(warnings).toEqual([]);
  });

  it.each([
    [
      "an invalid first line",
      `{"reward": 1}\n`,
      3,
      /^\S+:1:1: messages_and_choices is missing \[missing-field\]$/,
      /\S, or pass --on-invalid skip to continue with valid groups and write the invalid groups to the rejects file$/,
    ],
    [
      "an invalid later line",
      `${line(1)}{"reward": NaN}\n`,
      7,
      /^1 group logged, 1 not logged: \S+:2:12: NaN/,
      /^write a finite reward.*, or pass --on-invalid skip.*\. Then rerun the same command, which skips logged groups/,
    ],
    [
      "two invalid lines",
      `${line(1)}{"reward": NaN}\n{\n`,
      7,
      /the input has 2 errors \(1 json-not-finite, 1 json-truncated\)$/,
      /^fix the reported problems, or pass --on-invalid skip/,
    ],
    [
      "a request of another split",
      `${line(1)}{"split":"eval","trajectory_groups":[]}\n`,
      7,
      /split-mismatch/,
      /^(?!.*--on-invalid)/,
    ],
  ])("advises how to continue after %s", async (_, text, code, message, hint) => {
    const ended = await follow(await openSink(), fileWith(text), ...soon, "--json").closed();
    const { error } = JSON.parse(ended.stderr) as { readonly error: Readonly<Record<string, unknown>> };
    expect([ended.code, error]).toMatchObject([
      code,
      { message: expect.stringMatching(message), hint: expect.stringMatching(hint), retryable: false },
    ]);
    expect(error.next).toBeUndefined();
  });

  it("exits with 3 if no line is valid", async () => {
    const sink = await openSink();
    const file = fileWith(`{"reward": NaN}\n{"reward": 1}\n`);
    const run = follow(sink, file, ...soon, "--on-invalid", "skip", "--json");
    await until(() => existsSync(`${file}.rejected`));
    expect([(await run.end()).code, sink.bodies]).toEqual([3, []]);
  });

  it("stops at a whole request for another split after it sent the requests before", async () => {
    const request = (split: string, reward: number) =>
      `{"split":"${split}","trajectory_groups":[{"trajectories":[${line(reward).trim()}]}],"run":7}\n`;
    const sink = await openSink();
    const file = fileWith(request("train", 1) + request("train", 2) + request("eval", 3) + request("train", 4));
    const { code, stderr } = await follow(sink, file, ...never, "--json").closed();
    expect([code, sink.groups(), sink.bodies[0]?.endsWith('],"run":7}')]).toEqual([7, [[1], [2]], true]);
    expect(JSON.parse(stderr).error.problems).toMatchObject([{ line: 3, rule: "split-mismatch" }]);
  });

  it("rejects both neighbors of an unreadable line, because the line may belong to either group", async () => {
    const sink = await openSink();
    const file = fileWith(`${line(1, "a")}{"rew\n${line(2, "b")}${line(3, "b")}${line(4, "c")}`);
    const run = follow(sink, file, ...soon, "--group-idle", "50ms", "--on-invalid", "skip", "--json");
    await until(() => sink.groups().length === 1);
    const { code, stdout } = await run.end();
    expect([code, sink.groups()]).toEqual([7, [[4]]]);
    expect(resultOf(stdout)).toMatchObject({ groups: { logged: 1, rejected: 3 } });
  });

  it("shows on a terminal the part of the file that was read, and the number of logged groups", async () => {
    const sink = await openSink();
    const long = (reward: number) => line(reward).replace("done", "x".repeat(10_000));
    const file = fileWith(long(1) + long(2) + long(3));
    const words = `"${process.execPath}" bin/rollcall.js log m "${file}" --split train --follow ${soon.join(" ")}`;
    const env = { PATH: process.env.PATH, ...sink.env };
    const { code, written } = await runOnTerminal(words, {
      env,
      typed: [
        { when: /following 30 kB 3 groups/, keys: "", meanwhile: () => appendFileSync(file, long(4) + long(5)) },
        { when: /following 50 kB 5 groups/, keys: "\u0003" },
      ],
    });
    expect([code, /sending|B\/s/.test(written)]).toEqual([0, false]);
  });

  it("reads a renamed file to its end, and continues with the new file of that name", async () => {
    const sink = await openSink();
    const file = fileWith(line(0) + line(1, "a") + line(2, "a"));
    const run = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 1);
    renameSync(file, `${file}.1`);
    writeFileSync(file, line(4));
    appendFileSync(`${file}.1`, line(3, "a"));
    await until(() => sink.groups().length === 3);
    const { code, stdout } = await run.end();
    expect(code).toBe(0);
    expect(sink.groups()).toEqual([[0], [1, 2, 3], [4]]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 3, logged: 3 });
  });

  it.each([
    ["shorter", (long: (reward: number) => string) => long(2) + long(3)],
    ["as long, and alike at both ends", (long: (reward: number) => string) => long(1) + long(3) + long(2)],
    ["longer, and alike at both ends", (long: (reward: number) => string) => long(1) + long(3) + long(2) + long(4)],
  ])("reads a rewritten file from its start if the old content was sent: %s", async (_, anew) => {
    const sink = await openSink();
    const long = (reward: number) =>
      `${JSON.stringify({ a: "x".repeat(300), messages_and_choices: [{ role: "assistant", content: `${reward}` }], reward, z: "x".repeat(300) })}\n`;
    const file = fileWith(long(1) + long(9) + long(2));
    const run = follow(sink, file, ...soon);
    await until(() => sink.groups().length === 3);
    // Groups that were sent before are not sent again.
    writeFileSync(file, anew(long));
    appendFileSync(file, long(5));
    await until(() => sink.groups().flat().includes(5));
    const { code, stderr } = await run.end();
    const news = [...anew(long).matchAll(/"reward":(\d)/g)].map(([, reward]) => Number(reward));
    expect([code, sink.groups().flat()]).toEqual([0, [1, 9, 2, ...news.filter((reward) => reward > 2), 5]]);
    expect(stderr).toContain("was rewritten");
  });

  it.each([
    ["a folder", newFolder, "expected a file, found a folder"],
    ["another kind of file", () => fileWith("PAR1...."), "a Parquet file"],
  ])("refuses %s", async (_, make, says) => {
    const { code, stderr } = await follow(await openSink(), make()).closed();
    expect([code, stderr.includes(says)]).toEqual([3, true]);
  });

  it("closes an open group if another run sent the written part of the group", async () => {
    const sink = await openSink();
    const file = fileWith(line(0) + line(1, "a") + line(2, "a"));
    const run = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 1);
    const plain = await runRollcall(["log", "m", file, "--split", "train", "--json"], { env: sink.env });
    expect(resultOf(plain.stdout).groups).toMatchObject({ logged: 1, already_logged: 1 });
    appendFileSync(file, line(3, "a") + line(4));
    await until(() => sink.groups().length === 4);
    const { code, stdout } = await run.end();
    expect([code, sink.groups()]).toEqual([0, [[0], [1, 2], [3], [4]]]);
    expect(rulesIn(stdout)).toContain("group-changed");
  });

  it("sends an idle group, warns if the group grows, and recognizes both parts in the next run", async () => {
    const sink = await openSink();
    const file = fileWith(line(1, "a") + line(2, "a"));
    const args = [...soon, "--group-idle", "50ms", "--json"];
    const first = follow(sink, file, ...args);
    await until(() => sink.groups().length === 1);
    appendFileSync(file, line(3, "a"));
    await until(() => sink.groups().length === 2);
    const grown = await first.end();
    expect([grown.code, sink.groups()]).toEqual([0, [[1, 2], [3]]]);
    expect(rulesIn(grown.stdout)).toContain("group-changed");
    appendFileSync(file, line(4));
    const again = follow(sink, file, ...args);
    await until(() => sink.groups().length > 2);
    const { code, stdout } = await again.end();
    expect([code, sink.groups()]).toEqual([0, [[1, 2], [3], [4]]]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 3, logged: 1, already_logged: 2 });
  });
});

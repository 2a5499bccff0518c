import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";
import { runOnTerminal } from "../../support/terminal.ts";

import {
  fileWith,
  follow,
  line,
  never,
  openSink,
  quiet,
  resultOf,
  rewardsIn,
  rulesIn,
  soon,
  until,
} from "./following.ts";

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

  it("prints the metrics of check for a large file that grows", { tags: "slow" }, async () => {
    const sink = await openSink();
    const group = (at: number) => {
      const message = { role: "assistant", content: `${"word ".repeat(60)}${at}` };
      const own = (reward: number) => ({
        messages_and_choices: [message],
        reward,
        metrics: { step: at / 8, even: at % 2 === 0 },
      });
      return `${JSON.stringify({ trajectories: [own(at / 1000), own(1 - at / 1000)] })}\n`;
    };
    const some = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => group(from + at)).join("");
    const file = fileWith(some(0, 3000));
    expect(readFileSync(file).length).toBeGreaterThan(2 ** 20);
    const run = follow(sink, file, "--every", "50ms", "--json");
    await until(() => sink.groups().length === 3000);
    appendFileSync(file, some(3000, 3005));
    await until(() => sink.groups().length === 3005);
    const { code, stdout, stderr } = await run.end();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const whole = await runRollcall(["check", file, "--split", "train", "--json"], {});
    expect(resultOf(stdout).metrics).toEqual(resultOf(whole.stdout).metrics);
    expect(resultOf(stdout).groups).toMatchObject({ read: 3005, logged: 3005 });
  });

  it("sends a full request immediately, and the remaining groups at its end", async () => {
    const sink = await openSink();
    const limit = 1000;
    const file = fileWith(Array.from({ length: 40 }, (_, at) => line(at)).join(""));
    const run = follow(sink, file, ...never, "--max-request-size", String(limit), "--json");
    await until(() => sink.groups().length === 30);
    const before = sink.bodies.length;
    const { code, stdout } = await run.end("SIGTERM");
    expect([code, sink.bodies.length]).toEqual([0, before + 1]);
    expect(sink.groups()).toEqual(Array.from({ length: 40 }, (_, at) => [at]));
    const sizes = sink.bodies.map((body) => body.length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(limit);
    expect(Math.min(...sizes.slice(0, -1))).toBeGreaterThan(limit - 2 * line(39).length);
    expect(resultOf(stdout).requests).toBe(before + 1);
    expect(rulesIn(stdout)).not.toContain("split-requests");
  });

  it("leaves an unfinished line to the next run, with a warning", async () => {
    const sink = await openSink();
    const file = fileWith(line(1) + line(2).slice(0, 30));
    const first = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 1);
    const left = await first.end();
    expect([left.code, resultOf(left.stdout).status]).toEqual([130, "partial"]);
    expect(rulesIn(left.stdout)).toContain("incomplete-line");
    appendFileSync(file, line(2).slice(30));
    const second = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 2);
    const ended = await second.end();
    expect(ended.code).toBe(0);
    expect(sink.groups()).toEqual([[1], [2]]);
    expect(resultOf(ended.stdout).groups).toMatchObject({ read: 2, logged: 1, already_logged: 1 });
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
      /^write a finite reward.*, or pass --on-invalid skip.*\. Then rerun the same command to send only the remaining groups/,
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

  it("shows the invalid line on a terminal", async () => {
    const sink = await openSink();
    const file = fileWith(`${line(1)}{"reward": NaN}\n`);
    const words = `"${process.execPath}" bin/rollcall.js log m "${file}" --split train --follow ${soon.join(" ")}`;
    const { code, lines } = await runOnTerminal(words, { env: { PATH: process.env.PATH, ...sink.env } });
    expect([code, lines.join("\n")]).toEqual([7, expect.stringMatching(/ 2 │ \{"reward": NaN\}\n +│ +\^+/)]);
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

  it("halves a request after 413, and sends no larger request afterwards", async () => {
    const limit = line(1).length * 3;
    const sink = await openSink(
      (response, _, body) => void response.writeHead(body.length > limit ? 413 : 200).end("{}"),
    );
    const file = fileWith(Array.from({ length: 8 }, (_, at) => line(at)).join(""));
    const run = follow(sink, file, ...soon, "--json");
    const logged = () => sink.bodies.filter((body) => body.length <= limit).flatMap(rewardsIn);
    await until(() => logged().length === 8);
    const refused = sink.bodies.filter((body) => body.length > limit).length;
    appendFileSync(file, Array.from({ length: 8 }, (_, at) => line(at + 8)).join(""));
    await until(() => logged().length === 16);
    const { code } = await run.end();
    expect([code, sink.bodies.filter((body) => body.length > limit).length]).toEqual([0, refused]);
    expect(logged()).toEqual(Array.from({ length: 16 }, (_, at) => [at]));
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
});

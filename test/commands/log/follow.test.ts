import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { interruptWaiting, newHome, runRollcall, startInTurn, startRollcall } from "../../support/run.ts";
import { listening } from "../../support/server.ts";
import { seeLine } from "../../support/terminal.ts";
import { newFolder } from "../../trajectories/inputs.ts";

const line = (reward: number, id?: string) =>
  `${JSON.stringify({ messages_and_choices: [{ role: "assistant", content: "done" }], reward, group_id: id })}\n`;

/** Rewards of each group of a request. */
const rewardsIn = (body: string): readonly (readonly number[])[] => {
  const { trajectory_groups: groups } = JSON.parse(body) as {
    readonly trajectory_groups: readonly { readonly trajectories: readonly { readonly reward: number }[] }[];
  };
  return groups.map(({ trajectories }) => trajectories.map(({ reward }) => reward));
};

type Reply = (response: ServerResponse, at: number, body: string) => void;

/** A service that takes as many requests as come; answers them all with success where nothing else is said. */
const openSink = async (reply: Reply = (response) => response.end("{}")) => {
  const bodies: string[] = [];
  const keys = new Map<string, string>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("error", () => undefined);
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      bodies.push(body);
      keys.set(String(request.headers["idempotency-key"]), body);
      response.setHeader("x-key", String(request.headers["idempotency-key"]));
      reply(response, bodies.length, body);
    });
  });
  const { url } = await listening(server);
  return {
    bodies,
    env: { ...newHome(), ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: "token-1234" },
    /** All groups that arrived. */
    groups: () => bodies.flatMap(rewardsIn),
    /** Each request once, however often it came. */
    once: () => [...keys.values()].flatMap(rewardsIn),
  };
};

/** Says that it knows a request again by its key. */
const echo: Reply = (response) => {
  response.setHeader("Idempotency-Key", String(response.getHeader("x-key")));
  response.end("{}");
};

type Sink = Awaited<ReturnType<typeof openSink>>;

/** Waits until something is so; the test's own time limit ends the wait. */
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
};

const words = (file: string, ...args: readonly string[]) => ["log", "m", file, "--split", "train", "--follow", ...args];

/** Follows a file; what is printed so far can be looked at while it runs. */
const follow = (sink: Sink, file: string, ...args: readonly string[]) => {
  const child = startInTurn(words(file, ...args), { env: sink.env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said.stderr += chunk.toString()));
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  return {
    said,
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Ends it as a person would. */
    end: async (signal: NodeJS.Signals = "SIGINT") => {
      child.kill(signal);
      return { code: await closed, ...said };
    },
    closed: async () => ({ code: await closed, ...said }),
  };
};

const fileWith = (text: string): string => {
  const file = join(newFolder(), "run.jsonl");
  writeFileSync(file, text);
  return file;
};

const resultOf = (text: string) =>
  JSON.parse(text) as {
    readonly status: string;
    readonly requests: number;
    readonly groups: Readonly<Record<string, number>>;
    readonly trajectories: Readonly<Record<string, number>>;
    readonly metrics: Readonly<Record<string, number>>;
    readonly rejects_file: string | null;
    readonly warnings: readonly { readonly rule: string }[];
  };

const rulesIn = (stdout: string): readonly string[] => [...new Set(resultOf(stdout).warnings.map(({ rule }) => rule))];

const soon = ["--every", "50ms"];
const never = ["--every", "100h"];
const quiet = ["--allow", "group-of-one", "--allow", "group-no-signal", "--allow", "nothing-trainable"];

describe("rollcall log --follow", () => {
  it("sends what is written once its time has passed, and ends cleanly at Ctrl-C", async () => {
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

  it("makes of a large file that goes on growing what check makes of the whole", async () => {
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

  it("sends what fills a request at once, and the rest when it ends", async () => {
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

  it("waits for a file that is not there yet, and says so", async () => {
    const sink = await openSink();
    const file = join(newFolder(), "later.jsonl");
    const run = follow(sink, file, ...soon);
    await until(() => run.said.stderr.includes("later.jsonl is not there yet: waiting for it"));
    writeFileSync(file, line(1));
    await until(() => sink.groups().length === 1);
    expect((await run.end()).code).toBe(0);
  });

  it("is interrupted while it waits for a file, and prints a document", async () => {
    const sink = await openSink();
    const file = join(newFolder(), "never.jsonl");
    const { code, stdout } = await interruptWaiting(() => startRollcall(words(file, "--json"), { env: sink.env }));
    expect([code, resultOf(stdout).groups.read]).toEqual([130, 0]);
  });

  it("leaves a line without an end to the next run, and names it", async () => {
    const sink = await openSink();
    const file = fileWith(line(1) + line(2).slice(0, 30));
    const first = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 1);
    const left = await first.end();
    expect([left.code, resultOf(left.stdout).status]).toEqual([130, "partial"]);
    expect(rulesIn(left.stdout)).toContain("line-unfinished");
    appendFileSync(file, line(2).slice(30));
    const second = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 2);
    const ended = await second.end();
    expect(ended.code).toBe(0);
    expect(sink.groups()).toEqual([[1], [2]]);
    expect(resultOf(ended.stdout).groups).toMatchObject({ read: 2, logged: 1, already_logged: 1 });
  });

  it("reads a file to its end that was moved away, and goes on with the new one of its name", async () => {
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

  it("reads what is written late to a file that was moved away, as often as it is", async () => {
    const sink = await openSink();
    const file = fileWith(line(1));
    const run = follow(sink, file, ...soon, ...quiet);
    await until(() => sink.groups().length === 1);
    renameSync(file, `${file}.1`);
    writeFileSync(file, line(2));
    // One whose name is taken before it was looked into.
    await until(() => run.said.stderr.includes(`another file is called ${file} now`));
    renameSync(file, `${file}.2`);
    writeFileSync(file, line(3));
    await until(() => sink.groups().length === 3);
    appendFileSync(`${file}.1`, line(4) + line(5).slice(0, 20));
    await until(() => sink.groups().length === 4);
    appendFileSync(`${file}.1`, line(5).slice(20));
    appendFileSync(`${file}.2`, line(6) + line(3));
    await until(() => sink.groups().length === 6);
    const { code, stdout } = await run.end();
    expect([code, sink.groups().sort()]).toEqual([0, [[1], [2], [3], [4], [5], [6]]]);
    // What is equal in two files is known to have been sent.
    expect(stdout).toContain("groups\t7: 6 logged, 1 already logged\n");
  });

  it.each([
    ["shorter", (long: (reward: number) => string) => long(2) + long(3)],
    ["as long, and alike at both ends", (long: (reward: number) => string) => long(1) + long(3) + long(2)],
    ["longer, and alike at both ends", (long: (reward: number) => string) => long(1) + long(3) + long(2) + long(4)],
  ])("reads a file from its start that was written anew after all of it was sent: %s", async (_, anew) => {
    const sink = await openSink();
    const long = (reward: number) =>
      `${JSON.stringify({ a: "x".repeat(300), messages_and_choices: [{ role: "assistant" }], reward, z: "x".repeat(300) })}\n`;
    const file = fileWith(long(1) + long(9) + long(2));
    const run = follow(sink, file, ...soon);
    await until(() => sink.groups().length === 3);
    // What was sent before is not sent again.
    writeFileSync(file, anew(long));
    appendFileSync(file, long(5));
    await until(() => sink.groups().flat().includes(5));
    const { code, stderr } = await run.end();
    const news = [...anew(long).matchAll(/"reward":(\d)/g)].map(([, reward]) => Number(reward));
    expect([code, sink.groups().flat()]).toEqual([0, [1, 9, 2, ...news.filter((reward) => reward > 2), 5]]);
    expect(stderr).toContain("was written anew");
  });

  it("goes on with a file that was written anew where lines of it were rejected before", async () => {
    const sink = await openSink();
    const file = fileWith(`${line(1)}{"reward": NaN}\n`);
    const run = follow(sink, file, ...soon, "--on-invalid", "skip", "--json");
    await until(() => sink.groups().length === 1 && existsSync(`${file}.rejected`));
    writeFileSync(file, `${line(2)}{"reward": 1}\n`);
    await until(() => sink.groups().length === 2);
    await until(() => readFileSync(`${file}.rejected`, "utf8").includes('{"reward": 1}\n'));
    appendFileSync(file, line(3));
    await until(() => sink.groups().length === 3);
    const { code, stdout } = await run.end();
    expect([code, resultOf(stdout).groups]).toMatchObject([7, { read: 5, logged: 3, rejected: 2 }]);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe('{"reward": NaN}\n{"reward": 1}\n');
  });

  it("stops where a file was cut off before all that was read of it was sent", async () => {
    const sink = await openSink();
    const file = fileWith(line(1) + line(2, "a") + line(3, "a"));
    const run = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 1);
    truncateSync(file, line(1).length);
    const { code, stdout, stderr } = await run.closed();
    expect([code, JSON.parse(stderr).error.cause]).toEqual([7, "invalid_input"]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 2, logged: 1, not_sent: 1 });
  });

  it("sends nothing twice and leaves nothing out after kill -9", async () => {
    const sink = await openSink(echo);
    const file = fileWith(line(1) + line(2, "a"));
    const first = follow(sink, file, "--every", "50ms", "--group-idle", "100ms");
    await until(() => sink.groups().length === 2);
    first.kill("SIGKILL");
    await first.closed();
    appendFileSync(file, line(3) + line(4, "b"));
    const second = follow(sink, file, "--every", "50ms", "--group-idle", "100ms", "--json");
    await until(() => sink.once().length >= 4);
    const { code, stdout } = await second.end();
    expect([code, sink.once()]).toEqual([0, [[1], [2], [3], [4]]]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 4, unknown: 0, not_sent: 0 });
  });

  it("lets other runs of its model and split go on between its requests, and sends nothing that they sent", async () => {
    const sink = await openSink(echo);
    const file = fileWith(line(1) + line(2));
    const args = [...soon, ...quiet, "--json"];
    const runs = [follow(sink, file, ...args), follow(sink, file, ...args), follow(sink, file, ...args)];
    await until(() => sink.groups().length === 2);
    const plain = await runRollcall(["log", "m", file, "--split", "train", ...quiet, "--json"], { env: sink.env });
    expect([plain.code, resultOf(plain.stdout).groups]).toMatchObject([0, { logged: 0, already_logged: 2 }]);
    for (let at = 3; at <= 30; at++) {
      appendFileSync(file, line(at));
      await until(() => sink.groups().length >= at);
      if (at !== 20) continue;
      runs[2]?.kill("SIGKILL");
      await runs[2]?.closed();
    }
    const ended = await Promise.all(runs.slice(0, 2).map(async (run) => await run.end()));
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    expect(sink.once().sort(([a = 0], [b = 0]) => a - b)).toEqual(Array.from({ length: 30 }, (_, at) => [at + 1]));
    for (const { stdout } of ended)
      expect(resultOf(stdout).groups).toMatchObject({ read: 30, not_sent: 0, unknown: 0 });
  });

  it("ends an open group where another run sent what was written of it", async () => {
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

  it("waits while another run holds the ledger, as long as --max-wait says", async () => {
    const waiting: ServerResponse[] = [];
    const sink = await openSink((response) => void waiting.push(response));
    const slow = follow(sink, fileWith(line(1)), ...soon, "--json");
    await until(() => sink.bodies.length === 1);
    const late = await follow(sink, fileWith(line(2)), ...soon, "--max-wait", "300ms", "--json").closed();
    expect([late.code, JSON.parse(late.stderr.trim().split("\n").at(-1) ?? "").error.retryable]).toEqual([11, true]);
    const other = follow(sink, fileWith(line(2)), ...soon);
    await until(() => other.said.stderr.includes("another run logs the same model and split: waiting for it"));
    waiting[0]?.end("{}");
    await until(() => sink.bodies.length === 2);
    waiting[1]?.end("{}");
    expect([(await other.end()).code, (await slow.end()).code]).toEqual([0, 0]);
  });

  it("leaves alone what kill -9 left unknown, and sends it as it was where that is asked for", async () => {
    const sink = await openSink((response, at) => (at === 1 ? undefined : void response.end("{}")));
    const file = fileWith(line(1) + line(2));
    const first = follow(sink, file, ...soon);
    await until(() => sink.bodies.length === 1);
    first.kill("SIGKILL");
    await first.closed();
    appendFileSync(file, line(3));
    const second = follow(sink, file, ...soon, "--json");
    await until(() => sink.bodies.length === 2);
    const left = await second.end();
    expect([left.code, sink.groups()]).toEqual([8, [[1], [2], [3]]]);
    expect(resultOf(left.stdout).groups).toMatchObject({ read: 3, logged: 1, unknown: 2 });
    const third = follow(sink, file, ...soon, "--on-unknown", "resend", "--json");
    await until(() => sink.bodies.length === 3);
    const settled = await third.end();
    expect([settled.code, sink.bodies[2]]).toEqual([0, sink.bodies[0]]);
    expect(resultOf(settled.stdout).groups).toMatchObject({ read: 3, logged: 2, already_logged: 1 });
  });

  it("waits for all trajectories of a group, and sends at the end what is complete alone", async () => {
    const sink = await openSink();
    const file = fileWith(line(1, "a") + line(2, "a") + line(3, "b"));
    const run = follow(sink, file, ...soon, "--group-size", "3", "--json");
    await until(() => sink.groups().length === 1);
    appendFileSync(file, line(4, "b") + line(5, "b"));
    await until(() => sink.groups().length === 2);
    appendFileSync(file, line(6, "c"));
    const { code, stdout } = await run.end();
    expect(sink.groups()).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
    expect(code).toBe(130);
    expect(resultOf(stdout).trajectories).toMatchObject({ read: 6, logged: 5, not_sent: 1 });
    expect(rulesIn(stdout)).toContain("group-open");
  });

  it("gathers groups by a key wherever their trajectories stand", async () => {
    const sink = await openSink();
    const file = fileWith(line(1, "a") + line(2, "b") + line(3, "a") + line(4, "b"));
    const run = follow(sink, file, ...soon, "--group-by", "group_id", "--group-size", "2");
    await until(() => sink.groups().length === 2);
    expect((await run.end()).code).toBe(0);
    expect(sink.groups()).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });

  it("sends a group that is idle while one that was begun before it goes on", async () => {
    const sink = await openSink();
    const file = fileWith(line(1, "a") + line(2, "b"));
    const run = follow(sink, file, ...soon, ...quiet, "--group-by", "group_id", "--group-idle", "2s");
    const more = setInterval(() => appendFileSync(file, line(1, "a")), 100);
    onTestFinished(() => clearInterval(more));
    await until(() => sink.groups().length > 0);
    expect(sink.groups()).toEqual([[2]]);
    clearInterval(more);
    await run.end();
  });

  it("sends an idle group, warns where it grows afterwards, and knows its parts again", async () => {
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

  it("stops at a line that is not valid, after all that was complete before it was sent", async () => {
    const sink = await openSink();
    const file = fileWith(`${line(1)}${line(2)}{"reward": NaN}\n${line(3)}`);
    const { code, stdout, stderr } = await follow(sink, file, ...never, "--json").closed();
    expect([code, sink.groups()]).toEqual([7, [[1], [2]]]);
    expect(JSON.parse(stderr).error).toMatchObject({
      cause: "invalid_input",
      problems: [{ line: 3, rule: "json-nan" }],
    });
    expect(resultOf(stdout).groups).toMatchObject({ logged: 2, not_sent: 2 });
  });

  it.each([
    [
      `{"reward": 1}\n`,
      3,
      /^\S+:1:1: messages_and_choices is missing \[missing-field\]$/,
      /\S; or --on-invalid skip sends what is valid and sets the rest aside$/,
    ],
    [
      `${line(1)}{"reward": NaN}\n`,
      7,
      /^1 group logged, 1 not: the input has errors: \S+:2:12: NaN/,
      /^a reward can't be left out.*; or --on-invalid skip sends .* aside; then the same command again sends what is left/,
    ],
    [
      `${line(1)}{"reward": NaN}\n{\n`,
      7,
      /the input has errors, for 2 reasons$/,
      /^fix what it names; or --on-invalid skip/,
    ],
    [`${line(1)}{"split":"eval","trajectory_groups":[]}\n`, 7, /split-differs/, /^(?!.*--on-invalid)/],
  ])("says what to do about lines that stop it: %j", async (text, code, message, hint) => {
    const ended = await follow(await openSink(), fileWith(text), ...soon, "--json").closed();
    const { error } = JSON.parse(ended.stderr) as { readonly error: Readonly<Record<string, unknown>> };
    expect([ended.code, error]).toMatchObject([
      code,
      { message: expect.stringMatching(message), hint: expect.stringMatching(hint), retryable: false },
    ]);
    expect(error.next).toBeUndefined();
  });

  it("shows on a terminal the lines that stop it", async () => {
    const sink = await openSink();
    const file = fileWith(`${line(1)}{"reward": NaN}\n`);
    const words = `"${process.execPath}" bin/rollcall.js log m "${file}" --split train --follow ${soon.join(" ")}`;
    const { code, lines } = await seeLine(words, { env: { PATH: process.env.PATH, ...sink.env } });
    expect([code, lines.join("\n")]).toEqual([7, expect.stringMatching(/ 2 │ \{"reward": NaN\}\n +│ +\^+/)]);
  });

  it("is a failure of the input where nothing is valid", async () => {
    const sink = await openSink();
    const file = fileWith(`{"reward": NaN}\n{"reward": 1}\n`);
    const run = follow(sink, file, ...soon, "--on-invalid", "skip", "--json");
    await until(() => existsSync(`${file}.rejected`));
    expect([(await run.end()).code, sink.bodies]).toEqual([3, []]);
  });

  it("stops at a request that is for another split, after all before it was sent", async () => {
    const request = (split: string, reward: number) =>
      `{"split":"${split}","trajectory_groups":[{"trajectories":[${line(reward).trim()}]}],"run":7}\n`;
    const sink = await openSink();
    const file = fileWith(request("train", 1) + request("train", 2) + request("eval", 3) + request("train", 4));
    const { code, stderr } = await follow(sink, file, ...never, "--json").closed();
    expect([code, sink.groups(), sink.bodies[0]?.endsWith('],"run":7}')]).toEqual([7, [[1], [2]], true]);
    expect(JSON.parse(stderr).error.problems).toMatchObject([{ line: 3, rule: "split-differs" }]);
  });

  it("writes lines aside that are not valid, as they come, and goes on", async () => {
    const sink = await openSink();
    const file = fileWith(`${line(1)}{"reward": NaN}\n`);
    const run = follow(sink, file, ...soon, "--on-invalid", "skip", "--json");
    await until(() => sink.groups().length === 1);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe('{"reward": NaN}\n');
    appendFileSync(file, `{"reward": 1}\r\n${line(2)}`);
    await until(() => sink.groups().length === 2);
    const { code, stdout } = await run.end();
    expect([code, sink.groups()]).toEqual([7, [[1], [2]]]);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe('{"reward": NaN}\n{"reward": 1}\r\n');
    expect(resultOf(stdout)).toMatchObject({
      groups: { read: 4, logged: 2, rejected: 2 },
      rejects_file: `${file}.rejected`,
    });
  });

  it("keeps back the groups around a line that can't be read, which may be of either", async () => {
    const sink = await openSink();
    const file = fileWith(`${line(1, "a")}{"rew\n${line(2, "b")}${line(3, "b")}${line(4, "c")}`);
    const run = follow(sink, file, ...soon, "--group-idle", "50ms", "--on-invalid", "skip", "--json");
    await until(() => sink.groups().length === 1);
    const { code, stdout } = await run.end();
    expect([code, sink.groups()]).toEqual([7, [[4]]]);
    expect(resultOf(stdout)).toMatchObject({ groups: { logged: 1, rejected: 3 } });
  });

  it("waits at a signal for the request in flight, and sends what else is complete", async () => {
    const waiting: ServerResponse[] = [];
    const sink = await openSink((response, at) => void (at === 1 ? waiting.push(response) : response.end("{}")));
    const file = fileWith(line(1));
    const run = follow(sink, file, ...soon, "--json");
    await until(() => sink.bodies.length === 1);
    appendFileSync(file, line(2) + line(3));
    run.kill("SIGTERM");
    setTimeout(() => waiting[0]?.end("{}"), 300);
    const { code, stdout } = await run.closed();
    expect([code, sink.groups()]).toEqual([0, [[1], [2], [3]]]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 3, logged: 3 });
  });

  it("is unavailable where the service does not take what is complete in time, and goes on in the next run", async () => {
    const sink = await openSink((response, at) => void (at < 3 ? response.writeHead(429).end() : response.end("{}")));
    const file = fileWith(line(1));
    const first = await follow(sink, file, ...soon, "--max-wait", "1ms", "--json").closed();
    expect([first.code, JSON.parse(first.stderr).error.retryable]).toEqual([5, true]);
    const asked = sink.bodies.length;
    const second = follow(sink, file, ...soon, "--json");
    await until(() => sink.bodies.length > Math.max(asked, 2));
    expect((await second.end()).code).toBe(0);
    expect(new Set(sink.bodies).size).toBe(1);
  });

  it("gives the request in flight up at a second signal, and says that it is unknown", async () => {
    const sink = await openSink(() => undefined);
    const run = follow(sink, fileWith(line(1)), ...soon, "--json");
    await until(() => sink.bodies.length === 1);
    run.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { code, stdout } = await run.end();
    expect([code, resultOf(stdout).groups.unknown]).toEqual([8, 1]);
  });

  it("sends the rest at a first signal, and gives that up at a second one", async () => {
    // What fills a request, which two of these do, goes at once; what comes behind it waits for its time, or for a signal.
    const sink = await openSink((response, at) => void (at === 1 && response.end("{}")));
    const file = fileWith([1, 2, 3].map((reward) => line(reward)).join(""));
    const size = ["--max-request-size", "260"];
    const run = follow(sink, file, ...never, ...size, "--json");
    await until(() => sink.bodies.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    run.kill("SIGINT");
    await until(() => sink.bodies.length === 2);
    // Nothing else ends it before this test's own time is over.
    const { code, stdout } = await run.end();
    expect([code, resultOf(stdout).groups]).toMatchObject([8, { logged: 2, unknown: 1 }]);
  });

  it("halves what is too large, and sends no larger request afterwards", async () => {
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

  it("says on a terminal how much of the file was read, and how many groups were logged", async () => {
    const sink = await openSink();
    const long = (reward: number) => line(reward).replace("done", "x".repeat(10_000));
    const file = fileWith(long(1) + long(2) + long(3));
    const words = `"${process.execPath}" bin/rollcall.js log m "${file}" --split train --follow ${soon.join(" ")}`;
    const env = { PATH: process.env.PATH, ...sink.env };
    const { code, written } = await seeLine(words, {
      env,
      typed: [
        { when: /following 30 kB 3 groups/, keys: "", meanwhile: () => appendFileSync(file, long(4) + long(5)) },
        { when: /following 50 kB 5 groups/, keys: "\u0003" },
      ],
    });
    expect([code, /sending|B\/s/.test(written)]).toEqual([0, false]);
  });

  it.each([
    ["a folder", () => newFolder(), 3, "this is a folder"],
    ["a pipe", pipe, 2, "is not a file"],
    ["a compressed file", () => fileOf(gzipSync(line(1))), 2, "is compressed"],
    ["another kind of file", () => fileOf(Buffer.from("PAR1....")), 3, "a Parquet file"],
  ])("refuses %s", async (_, make, expected, says) => {
    const { code, stderr } = await follow(await openSink(), make()).closed();
    expect([code, stderr.includes(says)]).toEqual([expected, true]);
  });

  it.each([
    [["-", "--follow"], "standard input can't go together"],
    [["--follow"], "standard input can't go together"],
    [["a", "b", "--follow"], "several files can't go together"],
    [["a", "--follow", "--dry-run"], "--dry-run can't go together"],
    [["a", "--follow", "--one-request"], "--one-request can't go together"],
    [["a", "--follow", "--where", "reward > 1"], "--where can't go together"],
    [["a", "--follow", "--best", "1"], "--best can't go together"],
    [["a", "--follow", "--sample", "1"], "--sample can't go together"],
    [["a", "--follow", "--shard", "1/2"], "--shard can't go together"],
    [["a", "--follow", "--receipt", "r.json"], "--receipt can't go together"],
    [["a", "--follow", "--reward-from", "score"], "--reward-from can't go together"],
    [["a", "--follow", "--lossy"], "--lossy can't go together"],
    [["a", "--follow", "--histories"], "--histories can't go together"],
    [["a", "--follow", "--from", "tau2"], "--from tau2 can't go together"],
    [["a", "--follow", "--from", "trl"], "hint: once the file is whole, leave --follow out, or have rollcall convert"],
    [["a", "--every", "5s"], "--every means nothing without --follow"],
    [["a", "--group-size", "4"], "--group-size means nothing without --follow"],
    [["a", "--group-idle", "4s"], "--group-idle means nothing without --follow"],
    [["a", "--follow", "--every", "5"], "--every can't be"],
    [["a", "--follow", "--group-size", "0"], "--group-size can't be"],
  ])("takes no %j", async (args, says) => {
    const { code, stderr } = await runRollcall(["log", "m", "--split", "train", ...args]);
    expect([code, stderr.includes(says), stderr]).toEqual([2, true, stderr]);
  });

  it("wants to know the split", async () => {
    const { code, stderr } = await runRollcall(["log", "m", "a", "--follow"]);
    expect([code, stderr.includes("no split is named")]).toEqual([2, true]);
  });
});

const pipe = (): string => {
  const path = join(newFolder(), "pipe");
  execFileSync("mkfifo", [path]);
  return path;
};

const fileOf = (bytes: Uint8Array): string => {
  const file = join(newFolder(), "run.jsonl.gz");
  writeFileSync(file, bytes);
  return file;
};

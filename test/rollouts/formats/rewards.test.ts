/** Where the reward of a record is from. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readRewardsFile } from "../../../src/rollouts/formats/convert-opened.ts";
import { runHere } from "../../support/here.ts";
import { testHost } from "../../support/host.ts";
import { fileOf, folderOf, itTells, type Row, rewardsFile, tell } from "./converting.ts";
import { art, chat, example, exchange, gym, harness, said, simulation, trace, trl, user, verl } from "./records.ts";

const left = "left out a rollout without a score";

/** Returns a record with the id `s` and a score, by the format of `--from`. */
const records: Readonly<Record<string, (score: number | null) => object>> = {
  "verifiers-v0": (reward) => example({ example_id: "s", reward }),
  "verifiers-v1": (x) => trace({ id: "s", rewards: x === null ? {} : { x } }),
  "nemo-gym": (reward) => gym([], { reward, response: { id: "s", output: [said("a")] } }),
  tau2: (reward) => simulation(undefined, { id: "s", reward_info: { reward } }),
};

it.each(Object.entries(records))(
  "a rollout of %s without a score is left out, unless --rewards or --reward-from states a reward",
  async (format, toRecord) => {
    const unrated = [{ ...toRecord(null), own: 0.5 }];
    expect(await tell([toRecord(1), toRecord(null)])).toMatch(new RegExp(`^\\(u:q A:a\\) =1\n[^]*${left}`));
    expect(await tell(unrated, `--from ${format} --reward-from own`)).toContain("(u:q A:a) =0.5");
    const rated = await tell(unrated, `--from ${format} --rewards s=7`);
    expect([rated.includes("(u:q A:a) =7"), rated.includes(left)]).toEqual([true, false]);
  },
);

const ids = "id idx uid example_id instance_id trajectory_id session_id".split(" ");
const keyed = ["x", "t"].map((id) => chat({ id, uid: "s" }));
const unrated = { messages: chat().messages };
const sumOf =
  "write the sum of the reward functions to the column `reward`, as TRL adds them, or pass --reward-from with one of x_reward, y_reward";
const separate = "fix the record, or write such records to a separate file, and for that file pass --reward-from score";
const epochs = { id: 7, messages: [user("q"), said("a", { source: "generate" })] };
const log = { "a.json": JSON.stringify({ eval: { task: "t" }, samples: [epochs, { ...epochs, id: 8, uuid: "u" }] }) };
const scoreless = (more: object) => [{ ...unrated, ...more }];

itTells("a reward is from %s, or the advice names it", [
  ...ids.map(
    (key): Row => [
      key,
      [chat({ [key]: "s" }), chat({ metadata: { [key]: "t" } })],
      "=0.25 & =0.75",
      "--rewards s=0.25,t=0.75",
    ],
  ),
  ["an id before other keys", keyed, "=0.25 & =0.75", "--rewards x=0.25,t=0.75,s=9"],
  ["another key without an id in the file", keyed, "=0.25 & =0.75", "--rewards s=0.25,t=0.75"],
  ["no id", [simulation()], "the record has no id for --rewards", "--rewards x=1"],
  ["the epoch and the uuid of a sample", log, "=0.5 & =0.25", "--rewards 7_epoch_1=0.5,u=0.25"],
  ...Object.entries({ '"TRUE"': 1, '"False"': 0, '"-1.5E2"': -150, true: 1, false: 0 }).map(([text, reward]): Row => {
    return [`the path of ${text}`, [chat({ r: JSON.parse(text) })], `(u:q A:a) =${reward}`];
  }),
  ["a path before the reward of ART", [art({ chat_completions: [exchange([user("q")])] }, { r: 0.5 })], "=0.5"],
  ["a part of an object", [trl({ r: { score: 1 } })], "pass --reward-from r.score"],
  ["no other metric", [harness({ r: undefined, m: 1 })], "pass --reward-from m"],
  ["one of several columns of TRL", [trl({ reward: undefined, advantage: 0.5, x_reward: 1, y_reward: 0 })], sumOf],
  ["columns of TRL with advantages", [trl({ reward: undefined, advantages: 0.5, x_reward: 1, y_reward: 0 })], sumOf],
  ["no column", [trl({ reward: undefined, advantage: 1 })], "pass --reward-from <path>, or --rewards <file>"],
  ["an empty error", [trl({ reward: undefined, error: "None" })], "the reward is missing"],
  ["no part of verl", [verl(), verl({ score: undefined, overlong_reward: -1 })], "the reward is missing"],
  ["a score", scoreless({ score: 1 }), "hint: pass --reward-from score, or --rewards"],
  ["a nested score", scoreless({ x: { y: { z: { score: 1 } } } }), "hint: pass --reward-from x.y.z.score, or"],
  ["a deeper score", scoreless({ w: { x: { y: { z: { score: 1 } } } } }), "hint: pass --reward-from <path>, or"],
  ["a score of a list", scoreless({ list: [{ score: 1 }] }), "hint: pass --reward-from list.0.score, or"],
  ["scores of a list", scoreless({ list: [{ score: 1 }, { score: 2 }] }), "hint: pass --reward-from <path>, or"],
  ["a score in JSON", scoreless({ judge: '{"score":1}' }), "hint: pass --reward-from judge.score, or"],
  ["a score as text", scoreless({ score: "0.5" }), "hint: pass --reward-from score, or"],
  ["a word as score", scoreless({ score: "good" }), "hint: pass --reward-from <path>, or"],
  ["a score of later records", [{ ...unrated, score: 9 }, chat({ score: 7 })], separate],
  ["a score of earlier records", [chat({ score: 7 }), { ...unrated, score: 9 }], separate],
  [
    "a score of a file of two formats",
    { "a.jsonl": [{ ...unrated, score: 1 }], "b.jsonl": [trl()] },
    "hint: run the command for the files of openai-chat alone, and pass --reward-from score",
  ],
]);

describe("the file of --rewards", () => {
  it("can begin with a byte order mark, but not be standard input", async () => {
    const rewards = join(folderOf({}), "r.jsonl");
    writeFileSync(rewards, '\ufeff{"id":"s","reward":7}\r\n\r\n{"id":"b","reward":1.50}\r\n');
    expect(Object.fromEntries(await readRewardsFile(rewards, testHost()))).toEqual({ s: "7", b: "1.50" });
    const { code, stderr } = await runHere(["check", "-", "--rewards", "-", "--json"], { stdin: "{}" });
    expect([code, JSON.parse(stderr).error.message]).toEqual([2, "--rewards does not read standard input"]);
  });

  it("can be a named pipe, and a signal ends the wait for its writer", async () => {
    const pipe = join(folderOf({}), "pipe");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    const stop = new AbortController();
    const sleep = async (ms: number) => await new Promise<void>((resolve) => setTimeout(resolve, ms));
    const waiting = readRewardsFile(pipe, { ...testHost(), sleep, signal: stop.signal });
    setTimeout(() => stop.abort(new Error("stopped")), 20);
    await expect(waiting).rejects.toThrow("stopped");
    const reading = readRewardsFile(pipe, testHost());
    await writeFile(pipe, '{"id":"a","reward":1.50}\n');
    expect([...(await reading)]).toEqual([["a", "1.50"]]);
  });
});

describe("the ids of --rewards", () => {
  const findIds = async (file: string, ...args: readonly string[]) => {
    const { stderr } = await runHere(["check", file, "--rewards", rewardsFile("?=1"), ...args]);
    return /has no reward for (.*) \[/.exec(stderr)?.[1];
  };

  it.each(
    Object.entries({
      "art-v2.airline.parquet": "0/0",
      "atif.simple_trajectory.json": "sess-abc123-simple or atif.simple_trajectory or atif.simple_trajectory.json",
      "harbor-2026-02": "hello-world__aaaaaaa or 00000000-0000-4000-8000-000000000001",
      "inspect.log_formats.eval": "1_epoch_1",
      "inspect.log_formats.json": "1_epoch_1 or inspect.log_formats or inspect.log_formats.json",
      "lm-eval-0.4.0.gsm8k.jsonl": "0",
      "lm-eval-0.5.0.samples_gsm8k.jsonl": "0/0",
      "nemo-gym-0.1.0.rollouts.jsonl": "resp_0_0",
      "tau2.results.json": "19aa3920-c7b6-4d41-bfa8-c8693e20fddf",
      "verifiers-v0.wordle.results.jsonl": "0",
      "verifiers-v1.traces.jsonl": "t1 or e1",
    }),
  )("of the first rollout in %s are %s", async (sample, found) => {
    expect(await findIds(join("test/samples/formats", sample))).toBe(found);
  });

  it("of the first completion of a list are the ids of its row with 0", async () => {
    expect(await findIds(fileOf([{ id: "x", prompt: "q", completions: ["a"] }]))).toBe("x/0");
  });

  it.each("json jsonl ndjson traj eval JSON".split(" "))("are also a file's name without .%s", async (ending) => {
    const found = await findIds(fileOf([chat()], `a.b.${ending}`), "--from", "openai-chat");
    expect(found).toBe(`a.b or a.b.${ending}`);
  });
});

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";

const rollout = (reward: number, more: object = {}) => ({
  messages_and_choices: [
    { role: "user", content: "q" },
    { finish_reason: "stop", index: 0, message: { role: "assistant", content: `a${reward}` } },
  ],
  reward,
  ...more,
});
const group = (rewards: readonly number[], more: object = {}) => ({
  trajectories: rewards.map((reward) => rollout(reward)),
  ...more,
});
const failure = { exceptions: [{ message: "e" }] };

type Problem = Readonly<{ rule: string; file?: string; line?: number; path?: readonly unknown[]; message: string }>;

/** Checks files of lines, or of a single group, with the options. */
const check = async (files: readonly (readonly object[])[], ...options: readonly string[]) => {
  const paths = filesOf(...files.map((lines) => lines.map((line) => JSON.stringify(line)).join("\n")));
  const { stdout, stderr } = await runHere(["check", "--json", ...paths, ...options]);
  return stdout === "" ? JSON.parse(stderr).error : JSON.parse(stdout);
};

const listRules = (problems: readonly Problem[]) =>
  problems.map(({ rule, file, line = "" }) => `${rule} ${file?.replace(/.*\/|\.jsonl/g, "") ?? ""}:${line}`);

const mixed = [group([3, 1, 2, 0]), group([1.5, 2.5], failure), { trajectories: [{ reward: 7 }] }, group([], failure)];
const invalid = ["missing-field 1:3", "empty-group 1:4"];
/** An expression over trajectories excludes the group without trajectories. */
const matching = ["missing-field 1:3"];
const reduced = (...problems: readonly string[]) => ["baseline-changed 1:1", ...problems, ...matching];
const single = ["single-trajectory-group 1:1", "single-trajectory-group 1:2"];

/** The numbers of trajectories and whole groups. */
const out = (trajectories: number, groups: number) => ({ trajectories, groups });

describe("a selection", () => {
  it.each<[options: string, trajectories: number, notChosen: object | undefined, rules: readonly string[]]>([
    ["", 7, undefined, invalid],
    ["--where true", 7, { where: out(0, 0) }, invalid],
    ["--where reward>1.0", 5, { where: out(2, 1) }, reduced()],
    ["--where reward>2.0", 3, { where: out(4, 1) }, reduced(...single)],
    ["--where group.number>1", 3, { where: out(4, 1) }, invalid],
    ["--where group.exceptions==1", 3, { where: out(4, 1) }, invalid],
    ["--where turns==1&&reward>1.0", 5, { where: out(2, 1) }, reduced()],
    ["--where trajectory.reward>1.0", 5, { where: out(2, 1) }, reduced()],
    ["--where reward>9.0", 1, { where: out(6, 3) }, matching],
    ["--best 4", 7, { best: out(0, 0) }, invalid],
    ["--best 2", 5, { best: out(2, 0) }, [...reduced(), "empty-group 1:4"]],
    ["--best 1 --where reward<3.0", 3, { where: out(1, 1), best: out(3, 0) }, reduced(...single)],
    ["--sample 3 --where group.number==2", 3, { where: out(4, 2), sample: out(0, 0) }, matching],
    ["--sample 1", 3, { sample: out(4, 2) }, matching],
    ["--shard 1/9999 --best 1", 1, { best: out(0, 0), shard: out(6, 3) }, matching],
  ])("of %j counts what it leaves out, and reports the rest", async (options, count, notChosen, rules) => {
    const { trajectories, not_chosen, problems } = await check([mixed], ...options.split(" ").filter(Boolean));
    expect([trajectories, not_chosen]).toEqual([{ read: count, rejected: 1 }, notChosen]);
    expect(listRules(problems)).toEqual(rules);
  });

  it.each<[options: string, files: readonly (readonly object[])[], file: string | undefined, message: string]>([
    ["--where reward>9.0", [[group([1])]], "1", "--where matched 0 of 1 group"],
    ["--where reward>9.0 --best 1", [[group([1])], [group([2])]], undefined, "--where matched 0 of 2 groups"],
  ])("without a group names its options and its only file (row %$)", async (options, files, file, message) => {
    const { problems } = await check(files, ...options.split(" "));
    expect(listRules(problems)).toContain(`empty-selection ${file ?? ""}:`);
    expect(problems.find(({ rule }: Problem) => rule === "empty-selection").message).toBe(message);
  });

  it("of an input without groups is not empty because of its options", async () => {
    const { problems } = await check([[[]]], "--where", "reward>9.0");
    expect(listRules(problems)).toEqual(["input-empty 1:"]);
  });

  it("keeps the trajectories with the highest rewards, of equal rewards the first, in the order of the input", async () => {
    const [file = ""] = filesOf(
      JSON.stringify({ trajectories: [1, 3, 2, 3, 3].map((reward, at) => rollout(reward, { logs: [`${at}`] })) }),
    );
    const kept = async (best: number) => {
      const { stdout } = await runHere(["convert", file, "-q", "--best", `${best}`]);
      return JSON.parse(stdout).trajectories.map(({ logs }: { logs: string[] }) => Number(logs[0]));
    };
    expect(await Promise.all([1, 2, 3, 4].map(kept))).toEqual([[1], [1, 3], [1, 3, 4], [1, 2, 3, 4]]);
  });

  it("does not match a finish reason that rollcall added", async () => {
    const messages = rollout(1).messages_and_choices.map(({ message, ...turn }) => message ?? turn);
    const rows = ["stop", undefined].map((finish_reason) => ({ messages, reward: 1, finish_reason }));
    expect((await check([rows], "--where", "finish_reason == 'stop'")).not_chosen).toEqual({ where: out(1, 0) });
  });

  it("has the numbers of its groups and trajectories in the input in a receipt", async () => {
    const lines = [group([0, 1]), group([3, 0, 2]), group([5, 4])];
    const [file = ""] = filesOf(lines.map((line) => JSON.stringify(line)).join("\n"));
    const receipt = `${file}.receipt`;
    const words = ["--to", "messages", "--where", "reward > 1.0", "--receipt", receipt, "-q"];
    await runHere(["convert", file, ...words]);
    const { rows } = JSON.parse(readFileSync(receipt, "utf8"));
    expect(rows.map(({ group, trajectory }: Record<string, number>) => [group, trajectory])).toEqual([
      [2, 1],
      [2, 3],
      [3, 1],
      [3, 2],
    ]);
  });

  it("divides all groups into two shards, each of which has groups", async () => {
    const [file = ""] = filesOf([...Array(12).keys()].map((at) => JSON.stringify(group([at]))).join("\n"));
    const shards = ["1/2", "2/2"].map(async (shard) => {
      const { stdout } = await runHere(["stats", file, "--json", "--shard", shard]);
      return JSON.parse(stdout).groups;
    });
    const [first = 0, second = 0] = await Promise.all(shards);
    expect([first > 1, second > 1, first + second]).toEqual([true, true, 12]);
  });

  it("can be of the trajectories that are solved with --pass", async () => {
    const [file = ""] = filesOf(mixed.map((line) => JSON.stringify(line)).join("\n"));
    const count = async (...options: readonly string[]) => {
      const { stdout } = await runHere(["stats", "--json", file, "--where", "solved", ...options]);
      return JSON.parse(stdout).trajectories;
    };
    expect([await count(), await count("--pass", "2.5")]).toEqual([5, 2]);
  });

  it("has the problems of the whole input, but no advice to group what the selection has separated", async () => {
    const row = (uid: string, score: number) => ({ input: "q", output: `a${score}`, gts: "4", score, step: 1, uid });
    const [uid, other] = ["00000000-0000-4000-8000-000000000001_0_0", "7_0_0"];
    const flat = [0, 1, 2, 3].map((reward) => rollout(reward, { task_id: reward % 2 }));
    const files = [[row(uid, 1), row(other, 2)], [row(uid, 3)], [...flat, group([1, 2])]];
    const found = [[], ["--where", "reward > 0.0"]].map(async (options) => {
      const { problems } = await check(files, "--lossy", ...options);
      const single = problems.find(({ rule }: Problem) => rule === "single-trajectory-group");
      return [...listRules(problems), single.advice];
    });
    const rules = [2, 3, 4]
      .map((line) => `single-trajectory-group 3:${line}`)
      .concat("mixed-shapes :", "duplicate-rollout 2:1");
    const advice = "sample several trajectories of each prompt";
    expect(await Promise.all(found)).toEqual([
      ["single-trajectory-group 3:1", ...rules, `${advice}, or group trajectories with --group-by`],
      [...rules, advice],
    ]);
  });
});

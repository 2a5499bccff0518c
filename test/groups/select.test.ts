import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/here.ts";
import { newFolder } from "../support/inputs.ts";
import { newHome, runRollcall } from "../support/run.ts";

const trajectory = (reward: number, more = "") =>
  `{"messages_and_choices":[{"role":"user","content":"q"},{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"a${reward}"}}],"reward":${reward}${more}}`;

/** Groups in all three shapes, with spellings that a parser would change. */
const lines = [
  `{"trajectories":[${trajectory(1, ',"metrics":{"score":2.50}')},${trajectory(0)}],"exceptions":[{"message":"e"}]}`,
  `{"trajectories":[${trajectory(3, ',"metadata":{"seed":12345678901234567890}')}, ${trajectory(3, ',"logs":["b"]')}]}`,
  ...[0.25, 0.75].map((reward) => trajectory(reward, ',"group_id":"flat"')),
];
const text = `${lines.join("\n")}\n`;

const fileOf = (content: string): string => {
  const file = join(newFolder(), "groups.jsonl");
  writeFileSync(file, content);
  return file;
};

const converted = async (...words: readonly string[]) => {
  const out = join(newFolder(), "out.jsonl");
  const { code, stderr } = await runRollcall(["convert", fileOf(text), "--out", out, ...words]);
  return { code, stderr, lines: code === 0 ? readFileSync(out, "utf8").trimEnd().split("\n") : [] };
};

const flat = `{"trajectories":[${lines[2]},${lines[3]}]}`;

describe("a selection of trajectories", () => {
  it("keeps the selected trajectories byte for byte, whatever the input's shape", async () => {
    expect((await converted()).lines).toEqual([lines[0], lines[1], flat]);
    expect((await converted("--where", "reward >= 0.5")).lines).toEqual([
      `{"trajectories":[${trajectory(1, ',"metrics":{"score":2.50}')}],"exceptions":[{"message":"e"}]}`,
      lines[1],
      `{"trajectories":[${lines[3]}]}`,
    ]);
    expect((await converted("--best", "1")).lines.map((line) => JSON.parse(line).trajectories.length)).toEqual([
      1, 1, 1,
    ]);
  });

  it("keeps the best trajectories in the order of the input", async () => {
    const out = join(newFolder(), "out.jsonl");
    const file = fileOf(`{"trajectories":[${[2, 1, 3].map((reward) => trajectory(reward)).join(",")}]}\n`);
    await runRollcall(["convert", file, "--out", out, "--best", "2"]);
    expect(readFileSync(out, "utf8")).toBe(`{"trajectories":[${trajectory(2)},${trajectory(3)}]}\n`);
  });

  it("computes a group's mean and deviation from exact sums, so equal rewards deviate by 0", async () => {
    const group = (reward: number) => `{"trajectories":[${[1, 2, 3].map(() => trajectory(reward)).join(",")}]}\n`;
    const file = fileOf(group(0.1) + group(0.7));
    const words = ["check", file, "--json", "--where", "group.reward_mean == 0.1 && group.reward_std_dev == 0.0"];
    const { stdout } = await runRollcall(words);
    expect(JSON.parse(stdout).groups).toEqual({ read: 1, rejected: 0 });
  });

  it("can use metrics, metadata, messages and the group", async () => {
    const expressions: Readonly<Record<string, readonly number[]>> = {
      "has(metrics.score) && metrics.score == 2.5": [1],
      "has(metadata.seed)": [3],
      'messages.exists(m, m.role == "assistant" && m.content == "a0.25")': [0.25],
      "group.size == 2 && group.exceptions == 1": [1, 0],
      "group.reward_mean == 3.0 && group.reward_std_dev == 0.0": [3, 3],
      "group.reward_max < 1": [0.25, 0.75],
      "group.number == 2": [3, 3],
      'group_id == "flat" && size(additional_histories) == 0': [0.25, 0.75],
      "has(trajectory.metrics) && trajectory.messages_and_choices[1].index == 0": [1],
      '"logs" in trajectory && trajectory.logs[0] == "b"': [3],
    };
    const rewards = (line: string) => JSON.parse(line).trajectories.map(({ reward }: { reward: number }) => reward);
    const kept: Record<string, readonly number[]> = {};
    for (const expression of Object.keys(expressions)) {
      kept[expression] = (await converted("--where", expression)).lines.flatMap(rewards);
    }
    expect(kept).toEqual(expressions);
  });

  it("reports findings at their positions in the file, also in groups that lost trajectories", async () => {
    const log = ',"logs":[1]';
    const group = `{"trajectories":[${trajectory(0)},${trajectory(1)},${trajectory(2, log)}]}`;
    const flat = [0, 1].map((reward) => trajectory(reward, `,"group_id":1${log}`));
    const file = fileOf([group, ...flat].join("\n"));
    const whole = fileOf(JSON.stringify([JSON.parse(group)], undefined, 1));
    const { stdout } = await runHere(["check", file, whole, "--json", "--where", "reward > 0.5"]);
    const { warnings }: { warnings: { rule: string }[] } = JSON.parse(stdout);
    const path = ["trajectories", 2, "logs", 0];
    expect(warnings.filter(({ rule }) => rule === "log-type")).toMatchObject([
      { file, line: 1, column: group.indexOf("[1]") + 2, path },
      { file, line: 3, column: (flat[1] ?? "").indexOf("[1]") + 2, path: ["logs", 0] },
      { file: whole, path },
    ]);
  });

  it("counts what it filtered out, and warns if the group's mean reward changes", async () => {
    const { stdout } = await runRollcall(["check", "--json", "--where", "reward > 2.0 || reward == 1.0", fileOf(text)]);
    const document = JSON.parse(stdout);
    expect(document).toMatchObject({
      groups: { read: 2 },
      trajectories: { read: 3 },
      not_chosen: { where: { trajectories: 3, groups: 1 } },
    });
    const changed = document.warnings.filter(({ rule }: { rule: string }) => rule === "baseline-changed");
    expect(changed).toMatchObject([{ line: 1 }]);
    const whole = await runRollcall(["check", "--json", "--where", "group.reward_mean > 2.0", fileOf(text)]);
    expect(whole.stdout).not.toContain("baseline-changed");
  });

  it("draws the same groups with the same seed, at any position", async () => {
    const many = Array.from({ length: 40 }, (_, at) => `{"trajectories":[${trajectory(at)},${trajectory(at + 0.5)}]}`);
    const drawn = async (content: readonly string[], seed: string) => {
      const out = join(newFolder(), "out.jsonl");
      await runRollcall(["convert", fileOf(content.join("\n")), "--out", out, "--sample", "5", "--seed", seed]);
      return readFileSync(out, "utf8").trimEnd().split("\n").toSorted();
    };
    const first = await drawn(many, "a");
    expect(first.length).toBe(5);
    expect(await drawn(many.toReversed(), "a")).toEqual(first);
    expect(await drawn(many, "b")).not.toEqual(first);
  });

  it("draws only valid groups, and reports all invalid ones", async () => {
    const valid = [0, 1].map((at) => `{"trajectories":[${trajectory(at)},${trajectory(at + 0.5)}]}`);
    const invalid = Array.from({ length: 20 }, (_, at) => `{"trajectories":[{"reward":${at}}]}`);
    const { stdout } = await runHere(["check", fileOf([...invalid, ...valid].join("\n")), "--sample", "2", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ groups: { read: 22, rejected: 20 } });
  });

  it("puts each group into exactly one shard, whatever its file and the other filters", async () => {
    const many = Array.from({ length: 40 }, (_, at) => `{"trajectories":[${trajectory(at)},${trajectory(at + 0.5)}]}`);
    const ofShard = async (content: readonly string[], shard: string, ...words: readonly string[]) => {
      const out = join(newFolder(), "out.jsonl");
      await runRollcall(["convert", fileOf(content.join("\n")), "--out", out, "--shard", shard, ...words]);
      return readFileSync(out, "utf8").split("\n").filter(Boolean);
    };
    const shards = await Promise.all(["1/3", "2/3", "3/3"].map((shard) => ofShard(many, shard)));
    expect(shards.flat().toSorted()).toEqual(many.toSorted());
    expect(shards.every((groups) => groups.length > 0 && groups.length < many.length)).toBe(true);
    expect((await ofShard(many.toReversed(), "2/3")).toReversed()).toEqual(shards[1]);
    const best = await ofShard(many, "2/3", "--best", "1");
    expect(best.map((line) => JSON.parse(line).trajectories[0].reward)).toEqual(
      shards[1]?.map((line) => JSON.parse(line).trajectories[1].reward),
    );
  });

  it("exits with 0 if no group falls into its shard", async () => {
    const words = ["log", "m", fileOf(text), "--split", "train", "--local", "--json", "--shard"];
    const shards = ["1/3", "2/3", "3/3", "1/9999"].map(async (shard) => {
      const { code, stdout } = await runRollcall([...words, shard], { env: newHome() });
      return { code, ...JSON.parse(stdout) };
    });
    const ended = await Promise.all(shards);
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(ended.slice(0, 3).reduce((sum, { groups }) => sum + groups.logged, 0)).toBe(3);
    expect(ended[3]).toMatchObject({
      groups: { read: 0, logged: 0 },
      not_chosen: { shard: { trajectories: 6, groups: 3 } },
    });
  });

  it("keeps the dedup key of a whole group, and has one of its own for a group that lost trajectories", async () => {
    const env = newHome();
    const file = fileOf(text);
    const log = async (...words: readonly string[]) => {
      const { stdout } = await runRollcall(["log", "m", file, "--split", "train", "--local", "--json", ...words], {
        env,
      });
      return JSON.parse(stdout).groups;
    };
    expect(await log("--where", "reward > 2.0 || reward < 0.5")).toMatchObject({ read: 3, logged: 3 });
    expect(await log("--where", "reward > 2.0 || reward < 0.5")).toMatchObject({ read: 3, already_logged: 3 });
    // The second group was logged whole; of the others the rest was not.
    expect(await log()).toMatchObject({ read: 3, already_logged: 1, logged: 2 });
    expect(await log("--where", "true")).toMatchObject({ already_logged: 3 });
  });

  it("has different dedup keys for different trajectories of a group, also if their positions have the same digits", async () => {
    const env = newHome();
    const rewards = Array.from({ length: 13 }, (_, at) => at);
    const file = fileOf(`{"trajectories":[${rewards.map((reward) => trajectory(reward)).join(",")}]}\n`);
    const log = async (where: string) => {
      const words = ["log", "m", file, "--split", "train", "--local", "--json", "--where", where];
      return JSON.parse((await runHere(words, { env })).stdout).groups;
    };
    expect(await log("reward == 1.0 || reward == 2.0")).toMatchObject({ logged: 1 });
    expect(await log("reward == 12.0")).toMatchObject({ logged: 1, already_logged: 0 });
  });

  it.each([
    [["--where", "reward > 9.0"], "--where matched none of the 3 groups"],
    [["--sample", "1", "--where", "reward > 9.0"], "--where and --sample matched none of the 3 groups"],
  ])("is reported as empty, unlike an empty file, with %j", async (words, message) => {
    const file = fileOf(text);
    const { code, stderr } = await runRollcall(["check", file, "--json", ...words]);
    expect(code).toBe(3);
    const { problems } = JSON.parse(stderr).error;
    expect(problems).toMatchObject([
      { file, rule: "empty-selection", message, advice: expect.stringMatching(/check/) },
    ]);
    const log = await runRollcall(["log", "m", file, "--split", "t", "--local", ...words], { env: newHome() });
    expect([log.code, log.stderr]).toEqual([3, expect.stringContaining("[empty-selection]")]);
    for (const verb of ["verify", "status"]) {
      const { code, stderr } = await runRollcall(["ledger", verb, file, "--local", ...words], { env: newHome() });
      expect([verb, code, stderr]).toEqual([verb, 3, expect.stringContaining("[empty-selection]")]);
    }
  });

  it.each([
    "metadata.text.matches('^(a+)+$')",
    "messages.all(a, messages.all(b, messages.all(c, messages.all(d, a.role == d.role))))",
  ])("ends with 2 after two seconds if an expression takes longer: %s", async (where) => {
    const slow = `{"messages_and_choices":[${'{"role":"user","content":"q"},'.repeat(3000)}{"role":"user","content":"q"}],"reward":1,"metadata":{"text":"${"a".repeat(60)}!"}}`;
    const { code, stderr } = await runRollcall(["check", fileOf(slow), "--where", where]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/evaluation takes longer than 2 s\nhint: use an expression/),
    ]);
  });

  it("exits with 3 at data that is nested too deeply to evaluate", async () => {
    const deep = `,"metadata":{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const file = fileOf(`${trajectory(1)}\n${trajectory(0, deep)}`);
    const { code, stderr } = await runHere(["check", file, "--where", "has(metadata.x) && metadata.x == 1"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining(`${file}:2: nested too deeply`)]);
    expect((await runHere(["check", file, "--where", "reward == 1.0"])).code).toBe(0);
  });

  it("still reports and rejects invalid groups", async () => {
    const file = fileOf(`${lines[0]}\n{"trajectories":[{"reward":1}]}\n${lines[1]}\n`);
    const stopped = await runRollcall(["check", file, "--where", "reward > 0.5", "--json"]);
    expect(stopped.code).toBe(3);
    expect(JSON.parse(stopped.stdout)).toMatchObject({ groups: { read: 3, rejected: 1 } });
    expect(JSON.parse(stopped.stdout).problems).toContainEqual(
      expect.objectContaining({
        file,
        line: 2,
        rule: "missing-field",
        path: ["trajectories", 0, "messages_and_choices"],
      }),
    );
    const rejects = join(newFolder(), "rejects");
    const words = ["log", "m", file, "--split", "train", "--local", "--where", "reward > 0.5", "--on-invalid", "skip"];
    const { code } = await runRollcall([...words, "--rejects", rejects], { env: newHome() });
    expect([code, readFileSync(rejects, "utf8")]).toEqual([7, '{"trajectories":[{"reward":1}]}\n']);
  });

  it.each([
    [["--where", "rewrd > 1"], "cannot parse --where rewrd > 1: Unknown variable: rewrd"],
    [["--where", "reward >"], "cannot parse --where reward >: "],
    [["--where", "metrics.none > 1.0"], "cannot evaluate --where metrics.none > 1.0 at"],
    [["--where", "size(messages)"], "compare the value: --where 'reward > 0.5'"],
    [["--best", "0"], "invalid --best"],
    [["--sample", "x"], "invalid --sample"],
    [["--shard", "0/3"], "invalid --shard"],
    [["--shard", "4/3"], "invalid --shard"],
    [["--shard", "3"], "invalid --shard"],
    [["--seed", "1"], "--seed requires --sample"],
  ])("is refused if it is %j", async (words, says) => {
    const { code, stderr } = await converted(...words);
    expect([code, stderr.includes(says), stderr]).toEqual([2, true, stderr]);
  });
});

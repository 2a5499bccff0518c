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
  `{"trajectories":[${trajectory(3, ',"metadata":{"seed":12345678901234567890,"seeds":[12345678901234567]}')}, ${trajectory(3, ',"logs":["b"]')}]}`,
  ...[0.25, 0.75].map((reward) => trajectory(reward, ',"group_id":"flat"')),
];
const text = `${lines.join("\n")}\n`;

const fileOf = (content: string): string => {
  const file = join(newFolder(), "groups.jsonl");
  writeFileSync(file, content);
  return file;
};

const statistics = "groups,trajectories,exceptions,reward,solved,finish_reasons,turns,characters,tokens,tools,metrics";

describe("a selection of trajectories", () => {
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

  it.each([1, 2, 3, 4, 5])(
    "draws --sample %i of three valid groups, also if equal or next to invalid groups",
    async (count) => {
      const [valid, invalid] = [`{"trajectories":[${trajectory(1)}]}`, '{"trajectories":[{"reward":1}]}'];
      const different = [1, 2, 3].map((reward) => valid.replaceAll("1", `${reward}`));
      for (const drawable of [different, [valid, valid, valid]])
        for (const content of [drawable, [invalid, ...drawable], [...drawable, invalid, invalid]]) {
          const folder = newFolder();
          const [out, rejects] = [join(folder, "out"), join(folder, "rejects")];
          const words = ["--out", out, "--sample", `${count}`, "--on-invalid", "skip", "--rejects", rejects];
          await runHere(["convert", fileOf(content.join("\n")), ...words]);
          const drawn = readFileSync(out, "utf8").trimEnd().split("\n");
          expect([drawn.length, drawn.filter((line) => !drawable.includes(line))]).toEqual([Math.min(count, 3), []]);
        }
    },
  );

  it("puts each group into exactly one shard, for any file and any other filters", async () => {
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

  it("has the metrics and problems of a file with the selected groups", async () => {
    const members = (group: number) =>
      Array.from({ length: 1 + (group % 4) }, (_, at) =>
        trajectory(
          group % 3 === 0 ? at : group * at,
          `,"metrics":{"a":${group / 7},"m${group % 3}":${at}},"final_policy_version":${group + (group % 5 === 0 ? at : 0)}` +
            (group % 6 === 1 ? ',"logs":[1]' : ""),
        ),
      );
    const groups = Array.from(
      { length: 60 },
      (_, at) => `{"trajectories":[${members(at).join(",")}],"exceptions":[${at % 4 === 0 ? '{"message":"e"}' : ""}]}`,
    );
    const flat = Array.from({ length: 30 }, (_, at) =>
      trajectory(at % 7, `,"group_id":"${Math.floor(at / 4)}","final_policy_version":${Math.floor(at / 6)}`),
    );
    const file = fileOf([...groups, ...flat].join("\n"));
    const checked = async (name: string, ...words: readonly string[]) => {
      const { metrics, problems } = JSON.parse((await runHere(["check", name, "--json", ...words])).stdout);
      const rules = problems.map(({ rule, message }: Record<string, string>) => `${rule}: ${message}`);
      return {
        metrics,
        rules: rules.filter((rule: string) => !/^(baseline-changed|mixed-shapes|stale-policy)/.test(rule)),
      };
    };
    const stats = async (name: string, ...words: readonly string[]) => {
      const { warnings, notes, not_chosen, ...stats } = JSON.parse(
        (await runHere(["stats", name, "--json", ...words])).stdout,
      );
      return stats;
    };
    const convert = async (name: string, ...words: readonly string[]) => {
      const out = join(newFolder(), "out.jsonl");
      await runHere(["convert", name, "--out", out, ...words]);
      return out;
    };
    const selections = ["--where reward>2.0", "--best 2", "--sample 9", "--shard 1/3"].map((one) => one.split(" "));
    for (const [at, one] of selections.entries())
      for (const other of [[], ...selections.slice(at + 1, at + 2)]) {
        const words = [...one, ...other];
        const out = await convert(file, ...words);
        expect(await checked(file, ...words), words.join(" ")).toEqual(await checked(out));
        expect(await stats(file, ...words), words.join(" ")).toEqual(await stats(out));
      }
    const matching = await convert(file, ...(selections[0] ?? []));
    const [twice, once] = [
      await convert(matching, "--best", "2"),
      await convert(file, ...selections.slice(0, 2).flat()),
    ];
    expect(readFileSync(once, "utf8")).toBe(readFileSync(twice, "utf8"));
  });

  it("has for each value of --by the statistics of the trajectories with the value", async () => {
    const groups = Array.from({ length: 24 }, (_, group) => {
      const side = (at: number) => ["a", "b", "7"][(group % 2 === 0 ? group / 2 : group + at) % 3];
      const members = Array.from({ length: 2 + (group % 3) }, (_, at) =>
        trajectory((group * at) % 4, `,"metrics":{"m${at % 2}":${group}},"metadata":{"side":"${side(at)}"}`),
      );
      return `{"trajectories":[${members.join()}],"exceptions":[${group % 4 === 0 ? '{"message":"e"}' : ""}]}`;
    });
    const file = fileOf(groups.join("\n"));
    const stats = async (...words: readonly string[]) =>
      JSON.parse((await runHere(["stats", file, "--json", "--fields", `${statistics},by`, ...words])).stdout);
    const { by } = await stats("--by", "side");
    expect(by.map(({ value }: { value: string }) => value)).toEqual(["7", "a", "b"]);
    for (const { value, ...own } of by) {
      const { by: _, ...selected } = await stats("--where", `metadata.side == "${value}"`);
      expect(own).toEqual(selected);
    }
  });

  it("names lines of the file, and counts the trajectories of invalid groups, like a check of all groups", async () => {
    const group = (reward: number, version: number) =>
      `{"trajectories":[${[0, 1].map((at) => trajectory(reward + at, `,"final_policy_version":${version}`)).join()}]}`;
    const invalid = group(5, 1).replace('"reward":5', '"reward":"5"');
    const file = fileOf([group(1, 1), group(2, 9), invalid, group(3, 4)].join("\n"));
    const checked = async (...words: readonly string[]) => {
      const { trajectories, problems } = JSON.parse((await runHere(["check", file, "--json", ...words])).stdout);
      return { trajectories, problems };
    };
    const all = await checked();
    expect(all.problems[1].message).toContain("an earlier group (line 2)");
    expect(await checked("--shard", "1/1")).toEqual(all);
    expect(await checked("--where", "group.number > 1")).toEqual({ ...all, trajectories: { read: 6, rejected: 2 } });
  });

  it("keeps a group that has only exceptions", async () => {
    const file = fileOf(`${text}{"trajectories":[],"exceptions":[{"message":"e"}]}\n`);
    const rateOf = async (...words: readonly string[]) =>
      JSON.parse((await runHere(["check", file, "--json", ...words])).stdout).metrics.exception_rate;
    expect(await rateOf()).toBe(2 / 8);
    expect(await rateOf("--best", "1")).toBe(2 / 5);
  });

  it.each([
    [4, false, "true; group.size != 9"],
    [
      3,
      false,
      "group.exceptions == 1 || reward == 3.0; step == 3 || group.number < 3; solved && reward < 2.0 || step == 3 || reward == 0.75",
    ],
    [1, true, "metadata.seeds[0] == 12345678901234567"],
    [2, false, "group.size == 2 && reward < 2.0; group.number != 4 && reward < 2.0; step == 2 || group.number < 3"],
    [2, true, "reward < 2.0; !truncated && reward < 2.0; group.reward_mean < 2.0; !has(metadata.seed) && reward < 2.0"],
  ])("keeps %i groups, with the other exceptions said to be filtered out: %s, by %s", async (read, isSaid, wheres) => {
    const failed = '{"trajectories":[],"exceptions":[{"message":"e"}],"metadata":{"step":3}}';
    const file = fileOf(`${text}${failed}\n`);
    const note = "--where filtered out the exceptions of 1 group without a trajectory to compare";
    for (const where of wheres.split("; ")) {
      const { stdout } = await runHere(["check", file, "--json", "--where", where]);
      const { groups, notes } = JSON.parse(stdout);
      expect([where, groups.read, notes.includes(note)]).toEqual([where, read, isSaid]);
    }
  });

  it.each([
    ["reward == 1.0", true],
    ["reward < 2.0", false],
    ["reward > 2.0", false],
  ])("notes the exceptions of groups that lose trajectories by %s: %s", async (where, isNoted) => {
    const { notes } = JSON.parse((await runHere(["check", fileOf(text), "--json", "--where", where])).stdout);
    const note = "1 exception stays in the groups, because --where compares only trajectories";
    expect(notes.includes(note)).toBe(isNoted);
  });

  it("gives exit 0 if no group is in its shard", async () => {
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

  it("keeps the dedup key of a whole group, and has another one for a group without some trajectories", async () => {
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
    // The second group was logged completely. Of the other groups, some trajectories were not logged.
    expect(await log()).toMatchObject({ read: 3, already_logged: 1, logged: 2 });
    expect(await log("--where", "true")).toMatchObject({ already_logged: 3 });
  });

  it("has different dedup keys for different trajectories of a group", async () => {
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
    ["an expression", ["--where", "reward > 9.0"], "--where matched 0 of 3 groups"],
    [
      "an expression and a sample",
      ["--sample", "1", "--where", "reward > 9.0"],
      "--where and --sample matched 0 of 3 groups",
    ],
  ])("is reported as empty, unlike an empty file, with %s", async (_, words, message) => {
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

  describe("by an expression that takes longer than two seconds", () => {
    const endsOf = async (where: string): Promise<void> => {
      const slow = `{"messages_and_choices":[${'{"role":"user","content":"q"},'.repeat(3000)}{"role":"user","content":"q"}],"reward":1,"metadata":{"text":"${"a".repeat(60)}!"}}`;
      const { code, stderr } = await runRollcall(["check", fileOf(slow), "--where", where]);
      expect([code, stderr]).toEqual([
        2,
        expect.stringMatching(/evaluation takes longer than 2 s\nhint: remove regular/),
      ]);
    };
    it("gives exit 2 for a regular expression", async () => await endsOf("metadata.text.matches('^(a+)+$')"));
    it("gives exit 2 for nested calls", { tags: "slow" }, async () => {
      await endsOf("messages.all(a, messages.all(b, messages.all(c, messages.all(d, a.role == d.role))))");
    });
  });

  it("gives exit 3 for data that is nested too deeply to evaluate", async () => {
    const deep = `,"metadata":{"x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const file = fileOf(`${trajectory(1)}\n${trajectory(0, deep)}`);
    const { code, stderr } = await runHere(["check", file, "--where", "has(metadata.x) && metadata.x == 1"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining(`${file}:2: the value is nested too deeply`)]);
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
});

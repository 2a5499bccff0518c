import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { filesOf, newFolder } from "../../support/inputs.ts";
import { itHolds } from "../../support/property.ts";

type Rollout = Readonly<{ reward: number; metrics?: Readonly<Record<string, number>> }>;

const toLine = (rollouts: readonly Rollout[]) => {
  const messages_and_choices = [{ role: "user", content: "q" }];
  return `${JSON.stringify({ trajectories: rollouts.map((rollout) => ({ messages_and_choices, ...rollout })) })}\n`;
};

const toLines = (groups: readonly (readonly Rollout[])[]) => groups.map(toLine).join("");

/** A group, a reward and a metric, which is NaN if it is missing. */
const rows = readFileSync("test/commands/stats/rewards.csv", "utf8")
  .trim()
  .split("\n")
  .slice(1)
  .map((row) => {
    const [group = "", reward, format] = row.split(",");
    return { group, reward: Number(reward), format: Number(format) };
  });

/** Each row is a trajectory whose prompt is its group. */
const toPromptLines = (rewardOf: (row: (typeof rows)[number]) => number) =>
  rows
    .filter((row) => !Number.isNaN(rewardOf(row)))
    .map(
      (row) =>
        `${JSON.stringify({
          messages_and_choices: [
            { role: "user", content: row.group },
            { role: "assistant", content: "" },
          ],
          reward: rewardOf(row),
        })}\n`,
    )
    .join("");

const readStats = async (...args: readonly string[]) => {
  const { stdout } = await runHere(["stats", "--json", ...args]);
  const { warnings: _, notes: __, ...stats } = JSON.parse(stdout);
  return stats;
};

const rewards = fc.array(
  fc.array(
    fc.record({
      reward: fc.oneof(fc.constantFrom(0, 1, 0.1), fc.double({ noNaN: true, min: -1e9, max: 1e9 })),
      metrics: fc.dictionary(fc.constantFrom("a", "b"), fc.double({ noNaN: true, min: -10, max: 10 })),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  { minLength: 1, maxLength: 8 },
);

describe("rollcall stats", () => {
  it("has no interval of fewer than three groups with rewards", async () => {
    const meanOf = async (rewarded: number) => {
      const failed = '{"trajectories":[],"exceptions":[{"type":"E","message":"m"}]}\n'.repeat(3);
      const lines = toLines(Array.from({ length: rewarded }, (_, at) => [{ reward: at % 2 }, { reward: 1 }]));
      return /mean .*/.exec((await runHere(["stats", ...filesOf(failed + lines)])).stdout)?.[0];
    };
    expect([await meanOf(2), await meanOf(3)]).toEqual([
      "mean                0.75",
      expect.stringMatching(/ \(95 % interval\)$/),
    ]);
  });

  it("lists finish reasons by their number, then by name, and an unknown one last", async () => {
    const reasons = ["stop", null, "length", "abort", "stop", null, null, "length", "tool_calls"];
    const trajectories = reasons.map((finish_reason, reward) => {
      const message = { role: "assistant", content: "a" };
      const turn = finish_reason === null ? message : { finish_reason, index: 0, message };
      return { messages_and_choices: [{ role: "user", content: "q" }, turn], reward };
    });
    const { finish_reasons } = await readStats(...filesOf(JSON.stringify({ trajectories })));
    expect(finish_reasons).toEqual([
      { name: "length", trajectories: 2, reward: 4.5 },
      { name: "stop", trajectories: 2, reward: 2 },
      { name: "abort", trajectories: 1, reward: 3 },
      { name: "tool_calls", trajectories: 1, reward: 8 },
      { name: null, trajectories: 3, reward: 4 },
    ]);
  });

  it("has for each value of --by the statistics of a file with only the trajectories of this value", async () => {
    const trajectory = (group: number, at: number, side: string | undefined) => ({
      messages_and_choices: [{ role: "user", content: "q" }],
      ...{ reward: (group * at) % 4, metrics: { [`m${at % 2}`]: group }, metadata: { side } },
    });
    const groups = Array.from({ length: 24 }, (_, group) => {
      const sideOf = (at: number) => ["a", "b", "7"][(group % 2 === 0 ? group / 2 : group + at) % 3];
      const trajectories = Array.from({ length: 2 + (group % 3) }, (__, at) => trajectory(group, at, sideOf(at)));
      return { trajectories, exceptions: group % 4 === 0 ? [{ message: "e" }] : [] };
    });
    const fileOf = (list: readonly object[]) => filesOf(list.map((one) => JSON.stringify(one)).join("\n"));
    const { by } = await readStats(...fileOf(groups), "--by", "side");
    expect(by.map(({ value }: { value: string }) => value)).toEqual(["7", "a", "b"]);
    for (const { value, ...own } of by) {
      const ofValue = groups.map(({ trajectories, exceptions }) => ({
        trajectories: trajectories.filter(({ metadata }) => metadata.side === value),
        exceptions,
      }));
      const { by: _, ...alone } = await readStats(
        ...fileOf(ofValue.filter(({ trajectories }) => trajectories.length > 0)),
      );
      expect(own).toEqual(alone);
    }
  });

  const recorded = JSON.parse(readFileSync("test/commands/stats/recorded.json", "utf8"));

  it("has the means, intervals, percentiles and pass@k that R computes", async () => {
    const groups = [...new Set(rows.map(({ group }) => group))].map((name) =>
      rows.flatMap(({ group, reward, format }) =>
        group === name ? { reward, metrics: Number.isNaN(format) ? {} : { format } } : [],
      ),
    );
    const { reward, solved, metrics } = await readStats(...filesOf(toLines(groups)));
    const { mean, ci95, std_dev, within_group_std_dev, ...percentiles } = reward;
    const computed = [mean, ...ci95, std_dev, within_group_std_dev, ...Object.values(percentiles)];
    const passes = solved.pass.map(({ value }: { value: number }) => value);
    const { format } = metrics;
    expectClose(
      [...computed, solved.always, solved.sometimes, solved.never, ...passes, format.mean, ...format.ci95],
      [
        ...[recorded.mean, ...recorded.ci95, recorded.std_dev, recorded.within, ...recorded.percentiles],
        ...[...recorded.solved, ...recorded.pass, recorded.metric, ...recorded.metricCi95],
      ],
    );
  });

  it("has percentiles between rewards whose difference is not a number", async () => {
    const { reward } = await readStats(...filesOf(toLine([{ reward: -1.5e308 }, { reward: 1.5e308 }])));
    expect([reward.p10, reward.p50, reward.p90]).toEqual([-1.2e308, 0, 1.2e308]);
  });

  it("has the paired t interval of R as the comparison of two runs", async () => {
    const [first = "", second = ""] = filesOf(
      toPromptLines(({ reward }) => reward),
      toPromptLines(({ format }) => format),
    );
    const { stdout } = await runHere(["compare", "--json", first, second]);
    const { paired, reward } = JSON.parse(stdout);
    expectClose([paired, reward.difference, ...reward.ci95], recorded.paired);
  });

  it("has R's t interval over the means of groups of equal size, between 0 and 1", async () => {
    const intervals = recorded.groups.slice(1).map(async (count: number) => {
      const groups = Array.from({ length: count }, (_, at) => Array(3).fill({ reward: at % 2 }));
      return (await readStats(...filesOf(toLines(groups)))).reward.ci95;
    });
    const ends: readonly (readonly number[])[] = await Promise.all(intervals);
    expectClose(
      ends.flat(),
      recorded.low.flatMap((low: number, at: number) => [Math.max(0, low), Math.min(1, recorded.high[at])]).slice(2),
    );
  });

  itHolds(
    "has the same digits for any order of the groups, and for one or several files",
    fc.asyncProperty(rewards, fc.nat(), async (groups, cut) => {
      const turned = groups.map((group) => group.toReversed()).toReversed();
      const at = cut % groups.length;
      const [whole = "", ...parts] = filesOf(
        toLines(groups),
        toLines(turned.slice(0, at)) + toLine([]),
        toLines(turned.slice(at)),
      );
      const { groups: count, ...stats } = await readStats(whole);
      const { groups: countOfParts, ...statsOfParts } = await readStats(...parts);
      expect({ ...statsOfParts, groups: countOfParts - 1 }).toEqual({ ...stats, groups: count });
    }),
    { quick: 5, slow: 40 },
  );

  it("has pass@k once for each number, in ascending order", async () => {
    const { solved } = await readStats(...filesOf(toLine([{ reward: 1 }])), "--k", "16,2,16");
    expect(solved.pass.map(({ k }: { k: number }) => k)).toEqual([2, 16]);
  });

  itHolds(
    "estimates pass@k as the share of the sets of k trajectories with a solved one",
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 7 }), async (tries) => {
      const file = filesOf(toLine(tries.map((isSolved) => ({ reward: isSolved ? 1 : 0.99 }))));
      const { solved } = await readStats(...file, "--k", tries.map((_, at) => at + 1).join());
      const exact = tries.map((_, at) => {
        const sets = subsetsOf(tries).filter((set) => set.length === at + 1);
        return sets.filter((set) => set.includes(true)).length / sets.length;
      });
      expectClose(
        solved.pass.map(({ value }: { value: number }) => value),
        exact,
      );
    }),
    { quick: 5, slow: 40 },
  );

  it.each([
    ["ART", "art-v2.airline.parquet"],
    ["Harbor", "harbor-2026-02"],
    ["NeMo Gym", "nemo-gym-0.5.0.rollouts.jsonl"],
    ["prime-rl", "prime-rl-0.8.0.step_12.traces.jsonl"],
    ["tau2-bench", "tau2.results.json"],
    ["verifiers", "verifiers-v1-0.3.0.traces.jsonl"],
    ["verl", "verl-0.9.0.12.jsonl"],
  ])("has the same facts for a file of %s and for its converted lines", async (_, name) => {
    const sample = `test/samples/formats/${name}`;
    const converted = join(newFolder(), "converted.jsonl");
    expect(await runHere(["convert", sample, "--out", converted])).toMatchObject({ code: 0 });
    // A converted line does not say which finish reasons were derived.
    const facts = async (...args: readonly string[]) => ({ ...(await readStats(...args)), finish_reasons: undefined });
    expect(await facts(converted)).toEqual(await facts(sample));
  });

  it.each([
    [["length", "stop"], "stop"],
    [["stop", "length"], "length"],
    [[undefined, "length"], "length"],
    [["length", undefined], null],
    [[undefined, undefined], null],
  ])(
    "knows of converted turns with the finish reasons %j only that of the last turn, if recorded",
    async (reasons, name) => {
      const messages = reasons.flatMap((finish_reason) => [
        { role: "user", content: "q" },
        { role: "assistant", content: "a", finish_reason },
      ]);
      const row = `${JSON.stringify({ messages, reward: 1 })}\n`;
      const { finish_reasons } = await readStats(...filesOf(row));
      expect(finish_reasons).toContainEqual({ name, trajectories: 1, reward: 1 });
    },
  );

  const withKey = (key: string) =>
    `{"messages_and_choices":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}],"reward":1,"k":${key}}`;

  it.each([
    ["9007199254740993", "9007199254740993"],
    ["0.10000000000000000001", "0.10000000000000000001"],
    ["0.10", "0.1"],
    ["[1]", "[1]"],
    ['["1"]', '["1"]'],
  ])("shows the digits and the type of the key %s of a rollout", async (key, shown) => {
    const args = ["--group-by", "k", "--each", "trajectory", "--json"];
    const { stdout } = await runHere(["stats", ...filesOf(withKey(key)), ...args]);
    expect(JSON.parse(stdout).data).toMatchObject([{ key: shown }]);
  });

  it.each(["9007199254740992", "-1e400", "0.10000000000000000001"])(
    "shows the value %s of --by as text, because other values have the same double",
    async (value) => {
      const { stdout } = await runHere(["stats", ...filesOf(withKey(value)), "--by", "k", "--json"]);
      expect(JSON.parse(stdout).by).toMatchObject([{ value }]);
    },
  );

  const chat = {
    messages: [
      { role: "user", content: "q" },
      { role: "assistant", content: "a" },
    ],
    task_id: "t",
  };
  const [ofA, ofB] = [{ metadata: { host: "a" } }, { metadata: { host: "b" } }];
  it.each<[exceptions: object, rolled: readonly object[], failed: readonly object[]]>([
    [{ a: 0, b: 2 }, [ofA, ofA, ofB], [ofB, ofB]],
    [{ a: 0, b: 1 }, [ofA], [ofB]],
    [{ a: 1 }, [ofA], [{ type: "E" }]],
    [{ a: 0, b: 1, null: 1 }, [ofA, ofB], [{ type: "E" }, ofB]],
  ])("counts exceptions under their values of --by, in any order: %j", async (expected, rolled, failed) => {
    for (const ordered of [rolled, rolled.toReversed()]) {
      const trajectories = ordered.map((one) => ({ messages_and_choices: chat.messages, reward: 1, ...one }));
      const lines = [{ trajectories, exceptions: failed }, { trajectories }].map((group) => JSON.stringify(group));
      const args = ["stats", "--json", ...filesOf(lines.join("\n")), "--by", "host"];
      const { by } = JSON.parse((await runHere(args)).stdout);
      const counts = by.map(({ value, exceptions }: Record<string, unknown>) => [String(value), exceptions]);
      expect(Object.fromEntries(counts)).toEqual(expected);
    }
  });

  it("counts exceptions with their reward in the row of their group", async () => {
    const group = toLine([{ reward: 1 }, { reward: 0 }]).replace("{", '{"exceptions":[{"type":"E"},{"type":"E"}],');
    const { stdout } = await runHere([
      ...["stats", ...filesOf(group), "--each", "group", "--exceptions-as", "1", "--header"],
      ...["--fields", "trajectories,exceptions,reward,std_dev,solved"],
    ]);
    expect(stdout.trim().split("\n")[1]).toBe(`2\t2\t0.75\t${Math.sqrt(3 / 16)}\t3`);
  });

  it("says that a trajectory is solved from the reward of --pass", async () => {
    const words = "--each trajectory --pass 2 --json --fields solved".split(" ");
    const { stdout } = await runHere(["stats", ...filesOf(toLine([{ reward: 1 }, { reward: 2 }])), ...words]);
    expect(JSON.parse(stdout).data).toEqual([{ solved: false }, { solved: true }]);
  });

  it("counts exceptions with their reward in the bars, and says that no row of a trajectory has them", async () => {
    const group = toLine([{ reward: 1 }, { reward: 0 }]).replace("{", '{"exceptions":[{"type":"E"},{"type":"E"}],');
    const file = filesOf(group);
    const { stdout } = await runHere(["stats", ...file, "--exceptions-as", "1"]);
    expect(stdout).toMatch(/Trajectories by reward\n\s+0\s+1 .*\n\s+1\s+3 /);
    for (const [as, ofAdvantages] of [
      [[], ""] as const,
      [["--exceptions-as", "1"], ", and advantages do not count them"],
    ])
      expect((await runHere(["stats", ...file, "--each", "trajectory", ...as])).stderr).toContain(
        `note: 2 exceptions without a row${ofAdvantages}: --each group counts exceptions`,
      );
  });

  it("counts the exceptions of converted records under the values of their records", async () => {
    const rows = [
      { host: "a", reward: 1, error: null },
      { host: "b", reward: 0, error: null },
      { host: "b", reward: null, error: "Timeout" },
    ];
    for (const ordered of [rows, rows.toReversed()]) {
      const lines = ordered.map((row) => JSON.stringify({ ...chat, ...row }));
      const { by } = await readStats(...filesOf(lines.join("\n")), "--by", "host");
      expect(by).toMatchObject([
        { value: "a", exceptions: 0 },
        { value: "b", exceptions: 1 },
      ]);
    }
  });

  it("counts trajectories without turns in the lengths, and sorts numbers, texts and then the missing key", async () => {
    const steps = ['"z10"', "10", undefined, '"z9"', "2", '"2"', "-1.5"];
    const lines = steps.map((step) => toLine([{ reward: 1 }]).replace("{", step ? `{"step":${step},` : "{"));
    const { by, turns, characters } = await readStats(...filesOf(lines.join("")), "--by", "step");
    expect(by.map(({ value }: { value: unknown }) => value)).toEqual([-1.5, 2, 10, "2", "z9", "z10", null]);
    expect([turns, characters]).toEqual(Array(2).fill({ trajectories: 7, mean: 0, p50: 0, p95: 0, max: 0 }));
  });

  it.each([
    ["", ["2", "3", "10", "b"]],
    ["--limit 3", ["2", "3", "10"]],
    ["--sort -value", ["10", "3", "2", "b"]],
    ["--sort -reward.mean --limit 2", ["10", "2"]],
    ["--sort trajectories --limit 3", ["10", "b", "2"]],
    ["--sort -pass@1,solved.any --limit 1", ["10"]],
  ])("sorts and limits the values of --by in each format: %s", async (options, values) => {
    const toSteps = (step: unknown, rewards: readonly number[]) =>
      toLine(rewards.map((reward) => ({ reward }))).replace("{", `{"step":${JSON.stringify(step)},`);
    const groups = [toSteps(10, [1]), toSteps(2, [0.5, 0.5]), toSteps("b", [0.25]), toSteps(3, [0, 0, 0])];
    const file = filesOf(groups.join(""));
    const print = async (format: string) =>
      (await runHere(["stats", ...file, ...`--by step ${format} ${options}`.trim().split(" ")])).stdout;
    for (const format of ["--json", "--json --fields by.value", "--json --fields value,groups"]) {
      const { by } = JSON.parse(await print(format));
      expect([format, by.map(({ value }: { value: unknown }) => `${value}`)]).toEqual([format, values]);
    }
    for (const format of ["-o tsv --header", "-o table", "-o table --fields value,groups"]) {
      const rows = (await print(format)).trimEnd().split("\n").slice(1);
      expect([format, rows.map((row) => /\w+/.exec(row)?.[0])]).toEqual([format, values]);
    }
  });

  it.each(["reward", "solved", "characters", "mean", "Groups", "step"])(
    "prints the column of --by that --fields names by its heading, or the last part of its name: %s",
    async (field) => {
      const groups = [[1, 1], [0.5]].map((rewards, step) =>
        toLine(rewards.map((reward) => ({ reward }))).replace("{", `{"step":${step},`),
      );
      const file = filesOf(groups.join(""));
      const values = { solved: ["1", "0"], characters: ["0", "0"], Groups: ["1", "1"], step: ["0", "1"] }[field];
      for (const format of ["table", "tsv --header"]) {
        const args = ["stats", ...file, "--by", "step", ...`--fields ${field} -o ${format}`.split(" ")];
        const lines = (await runHere(args)).stdout.trim().split(/\r?\n/);
        const cells = lines.slice(1).map((line) => /[\d.]+(?=}?$)/.exec(line)?.[0]);
        expect([format, cells]).toEqual([format, values ?? ["1", "0.5"]]);
      }
    },
  );

  it("refuses more than 10,000 values of --by", { tags: "slow" }, async () => {
    const rows = Array.from({ length: 10_001 }, (_, step) => toLine([{ reward: 1 }]).replace("{", `{"step":${step},`));
    const [many = ""] = filesOf(rows.join(""));
    const refused = await runHere(["stats", many, "--by", "step"]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--by step has more than 10000 values") });
    expect(refused.stderr).toContain("--each");
  });
});

const subsetsOf = (values: readonly boolean[]): readonly (readonly boolean[])[] =>
  Array.from({ length: 2 ** values.length }, (_, set) => values.filter((_value, at) => (set >> at) % 2 === 1));

const expectClose = (computed: readonly number[], expected: readonly number[]) => {
  expect(computed.length).toBe(expected.length);
  for (const [at, value] of computed.entries()) {
    const wanted = expected[at] ?? Number.NaN;
    expect(Math.abs(value - wanted), `value ${at}: ${value}, expected ${wanted}`).toBeLessThanOrEqual(
      1e-11 * Math.max(1, Math.abs(wanted)),
    );
  }
};

import { describe, expect, it } from "vitest";
import { runHere, runHereOnTerminal } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";

/** A rollout of a prompt, whose chance of a reward is between 0.1 and 0.9. */
interface Rollout {
  readonly prompt: number;
  readonly chance: number;
  readonly random: () => number;
}

/** Mulberry32. */
const openRandom = (seed: number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

interface Answer {
  readonly reward: number;
  readonly metrics?: object;
  readonly metadata?: object;
  readonly finish?: string;
  readonly toolResult?: string;
  readonly tool?: string;
}

const answer = ({ chance, random }: Rollout): Answer => ({ reward: random() < chance ? 1 : 0 });

const toTrajectory = (prompt: number, { reward, metrics, metadata, finish = "stop", ...rest }: Answer) => {
  const { tool = "search", toolResult } = rest;
  const call = { id: "c", type: "function", function: { name: tool, arguments: "{}" } };
  return {
    messages_and_choices: [
      { role: "user", content: `Problem ${prompt}` },
      { finish_reason: "tool_calls", index: 0, message: { role: "assistant", content: null, tool_calls: [call] } },
      { role: "tool", tool_call_id: "c", content: toolResult ?? "found" },
      { finish_reason: finish, index: 0, message: { role: "assistant", content: "done" } },
    ],
    reward,
    metrics,
    metadata,
  };
};

const prompts = 40;

/** Groups of eight rollouts of each prompt. */
const toLines = (
  seed: number,
  roll: (rollout: Rollout) => Answer,
  of: readonly number[] = [...Array(prompts).keys()],
) => {
  const random = openRandom(seed);
  const lines = of.map((prompt) => {
    const chance = 0.1 + (0.8 * prompt) / prompts;
    const roll8 = Array.from({ length: 8 }, () => toTrajectory(prompt, roll({ prompt, chance, random })));
    return JSON.stringify({ trajectories: roll8 });
  });
  return `${lines.join("\n")}\n`;
};

/** Returns the lines of the page under "What changed" or "Where the difference comes from". */
const listCauses = async (a: string, b: string, ...options: readonly string[]) => {
  const { written } = await runHereOnTerminal(["compare", ...filesOf(a, b), "--no-color", "-q", ...options], wide);
  const [, section = ""] = /\r\nWh(?:at changed|ere the difference comes from)\r\n(.*?)\r\n\r\n/s.exec(written) ?? [];
  return section.split("\r\n").map((line) => line.trim().replaceAll(/\s+/g, " "));
};

const wide = { columns: 200 };

const envs = ["maze", "chess", "math"];
const addEnv = ({ prompt }: Rollout, own: Answer): Answer => ({
  ...own,
  metadata: { task_id: prompt, env: envs[prompt % 3] },
});

describe("the causes of a comparison", () => {
  it("names metrics whose changes cancel each other", async () => {
    const grade = (well: number, right: number) => (rollout: Rollout) => {
      const [format, correct] = [well, right].map((chance) => (rollout.random() < chance ? 1 : 0));
      return { reward: ((format ?? 0) + (correct ?? 0)) / 2, metrics: { format, correct, noise: rollout.random() } };
    };
    const causes = await listCauses(toLines(1, grade(0.4, 0.6)), toLines(2, grade(0.8, 0.2)));
    expect(causes).toEqual([
      expect.stringMatching(/^metric correct: 0\.\d+ → 0\.\d+$/),
      expect.stringMatching("metric format"),
    ]);
  });

  it("names the environment that fell, also if pairs are values of a key", async () => {
    const fall = (by: number) => (rollout: Rollout) =>
      addEnv(rollout, answer({ ...rollout, chance: rollout.chance - (rollout.prompt % 3 === 1 ? by : 0) }));
    const [a, b] = [toLines(1, fall(0)), toLines(2, fall(0.6))];
    for (const options of [[], ["--pair-by", "task_id"]])
      expect(await listCauses(a, b, ...options)).toContainEqual(expect.stringMatching(/^-0\.\d+ env chess: mean/));
  });

  /** As many lists of changes have a name. */
  const countNamed = async (count: number) => {
    const noise = (rollout: Rollout) => ({
      ...addEnv(rollout, answer(rollout)),
      finish: ["length", "content_filter"][Math.floor(10 * rollout.random())] ?? "stop",
      toolResult: rollout.random() < 0.1 ? "TimeoutError: no answer" : "found",
      metrics: Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`m${at}`, rollout.random()])),
    });
    let named = 0;
    for (let seed = 1; seed <= count; seed++) {
      const few = [...Array(3 + (seed % 20)).keys()];
      const [a, b] = [toLines(seed, noise, few), toLines(1e6 + seed, noise, few)];
      if ((await listCauses(a, b)).join("") !== "") named++;
    }
    return named;
  };

  it("names something in at most 6 % of comparisons without a difference", { tags: "slow" }, async () => {
    expect(await countNamed(200)).toBeLessThanOrEqual(12);
  });

  it("names nothing in the noise of few comparisons", async () => {
    expect(await countNamed(8)).toBe(0);
  });

  it("names lost media, and warns of other prompts, if pairs are values of a key", async () => {
    const image = { type: "image_url", image_url: { url: "u" } };
    const toRun = (content: (at: number) => unknown, more: object = {}) =>
      Array.from({ length: 12 }, (_, at) => {
        const prompt = { role: "user", content: content(at) };
        const metadata = { task_id: at };
        return JSON.stringify({ messages_and_choices: [prompt, { role: "assistant" }], reward: 1, metadata, ...more });
      }).join("\n");
    const [a, dropped] = [toRun((at) => [{ type: "text", text: `q${at}` }, image]), toRun((at) => `q${at}`)];
    const [columns, none] = [toRun((at) => `q${at}`, { images: ["a.png"] }), toRun((at) => `q${at}`, { images: [] })];
    for (const [one, other, prompts] of [
      [a, dropped, 12],
      [columns, none, 0],
    ] as const) {
      expect(await listCauses(one, other, "--pair-by", "task_id")).toContain("media 1 → 0 for each trajectory");
      const { stdout } = await runHere(["compare", ...filesOf(one, other), "--pair-by", "task_id", "--json"]);
      const { other_prompts, warnings } = JSON.parse(stdout);
      expect([other_prompts, warnings[0].rule === "other-prompts"]).toEqual([prompts, prompts > 0]);
    }
  });
});

describe("a comparison of two prompts whose rollouts were cut off, had tool errors or neither", () => {
  const near = (value: number) => expect.closeTo(value, 9);
  const unknown = { ci95: null, p: null };
  const compared = async () => {
    const group = (prompt: number, ...own: readonly Answer[]) =>
      JSON.stringify({ trajectories: own.map((one) => toTrajectory(prompt, one)) });
    const [cut, failed] = [{ finish: "length" }, { toolResult: "Error: no" }];
    const a = [
      group(1, { reward: 0, ...cut }, { reward: 0.5, ...failed }, { reward: 1 }, { reward: 1 }),
      group(2, { reward: 0.5, ...failed }, { reward: 1 }),
    ];
    const b = [group(1, { reward: 1, ...failed }, { reward: 1 }), group(2, { reward: 0, ...failed }, { reward: 0.5 })];
    const { stdout } = await runHere(["compare", ...filesOf(a.join("\n"), b.join("\n")), "--json"]);
    return JSON.parse(stdout);
  };

  it("divides the difference of the rewards by the share and the reward of each cause", async () => {
    const { causes } = await compared();
    // The shares of a are 1/8, 3/8 and 1/2, those of b are 0, 1/2 and 1/2. The means are 11/16 and 5/8.
    const middle = (0.6875 + 0.625) / 2;
    expect(causes).toEqual([
      {
        name: "truncated",
        a: { share: 0.125, reward: 0 },
        b: { share: 0, reward: 0 },
        ...{ by_share: near(middle / 8), by_reward: 0 },
        ...unknown,
      },
      {
        name: "tool_errors",
        a: { share: 0.375, reward: 0.5 },
        b: { share: 0.5, reward: 0.5 },
        by_share: near((0.5 - middle) / 8),
        by_reward: 0,
        ...unknown,
      },
      {
        name: "other",
        a: { share: 0.5, reward: 1 },
        b: { share: 0.5, reward: 0.75 },
        by_share: 0,
        by_reward: -0.125,
        ...unknown,
      },
    ]);
    const sum = causes.reduce(
      (all: number, cause: Record<string, number>) => all + (cause.by_share ?? 0) + (cause.by_reward ?? 0),
      0,
    );
    expect(sum).toEqual(near(0.625 - 0.6875));
  });

  it("has the mean reward of the prompts, and that of all rollouts", async () => {
    const { reward, reward_of_all } = await compared();
    expect(reward).toMatchObject({ a: 0.6875, b: 0.625, difference: -0.0625, ci95: null, detectable: null });
    expect(reward).toMatchObject({ better: 1, worse: 1, equal: 0 });
    expect(reward_of_all).toEqual({ a: near(4 / 6), b: 0.625 });
  });
});

describe("the values of a comparison", () => {
  it("lists tools and finish reasons by name if they are equal otherwise", async () => {
    const rollouts = (metrics: object, prompt = 1) =>
      JSON.stringify({
        trajectories: ["stop", "length"].map((finish, reward) =>
          toTrajectory(prompt, { reward, tool: reward === 0 ? "b" : "a", finish, metrics }),
        ),
      });
    const files = filesOf(rollouts({ z: 1, y: 1 }), `${rollouts({})}\n${rollouts({ y: 1 }, 2)}`);
    const { stdout } = await runHere(["compare", ...files, "--json"]);
    const { tools, finish_reasons } = JSON.parse(stdout);
    const names = [tools, finish_reasons].map((list) => list.map(({ name }: { name: string }) => name));
    expect(names).toEqual([
      ["a", "b"],
      ["length", "stop"],
    ]);
  });
});

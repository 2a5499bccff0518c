import { describe, expect, it } from "vitest";
import type { ReadingList } from "../../src/view/answers.ts";
import { fileOf, startView, whenRead } from "./viewing.ts";

interface Rollout {
  readonly reward: number;
  readonly text?: string;
  readonly reason?: string;
  /** The result of a tool call, or several results. */
  readonly result?: string | readonly string[];
  readonly metrics?: object;
}

const call = { id: "c", type: "function", function: { name: "look", arguments: "" } };

const lineOf = (prompt: string, rollouts: readonly Rollout[]): string =>
  JSON.stringify({
    trajectories: rollouts.map(({ reward, text = "long answer", reason = "stop", result, metrics = {} }) => ({
      messages_and_choices: [
        { role: "user", content: prompt },
        ...(result === undefined
          ? []
          : [
              {
                finish_reason: "tool_calls",
                index: 0,
                message: { role: "assistant", content: null, tool_calls: [call] },
              },
              ...[result].flat().map((content) => ({ role: "tool", tool_call_id: "c", content })),
            ]),
        { finish_reason: reason, index: 0, message: { role: "assistant", content: text } },
      ],
      reward,
      metrics,
    })),
  });

/** Returns for each list its reason, by what it selects, and the prompt, trajectory, reward and reason of each row. */
const readLists = async (...files: readonly string[]): Promise<Record<string, readonly string[]>> => {
  const page = await startView(files);
  await whenRead(page);
  const lists: readonly ReadingList[] = JSON.parse((await page.ask("/api/reading")).body);
  const worse = lists.filter(({ reason }) => /lowest rewards|the reward 0/.test(reason));
  expect(lists.map(({ topic }) => topic)).toEqual([
    ...worse.map(() => "what got worse"),
    ...lists.slice(worse.length).map(() => "what else to read"),
  ]);
  return Object.fromEntries(
    lists.map(({ reason, selectedBy, trajectories }) => [
      reason,
      [
        selectedBy,
        ...trajectories.map(({ prompt, trajectory, reward, why }) => `${prompt} ${trajectory} ${reward} ${why}`),
      ],
    ]),
  );
};

describe("the reading list", () => {
  const lines = [
    lineOf("lucky", [
      { reward: 0.9, result: "Error: no" },
      { reward: 0, result: "ok" },
      { reward: 0.1, result: "Error: no" },
    ]),
    lineOf("short", [{ reward: 1, text: "b" }, { reward: 0.5 }, { reward: 0, text: "a" }]),
    lineOf("cut", [
      { reward: 1, reason: "length" },
      { reward: 0.25, reason: "length" },
      { reward: 1, text: "longest answer" },
    ]),
    lineOf("even", [{ reward: 0.5 }, { reward: 0.5, result: "Error: a" }]),
  ];

  it("names the highest rewards with tool errors, in few characters and truncated, and the spread of solved groups", async () => {
    const lists = await readLists(fileOf("g.jsonl", lines.join("\n")));
    expect(lists).toEqual({
      "the lowest rewards against the best of the same prompt": [
        "reward − best reward of the prompt, then by the best reward of the group, from the lowest",
        "short 2 0 lowest of the prompt",
        "short 0 1 best of the prompt",
        "lucky 1 0 lowest of the prompt",
        "lucky 0 0.9 best of the prompt",
      ],
      "the lowest rewards with a tool error": [
        "tool errors ≥ 1, and a better reward for the same prompt; by reward from the lowest",
        "lucky 2 0.1 tool errors: 1",
      ],
      "the highest rewards with a tool error": [
        "tool errors ≥ 1; by reward, then by tool errors, from the highest",
        "lucky 0 0.9 tool errors: 1",
        "even 1 0.5 tool errors: 1",
        "lucky 2 0.1 tool errors: 1",
      ],
      "high rewards in few characters": [
        "reward ≥ 1 (p90) and above the lowest, and characters ≤ 1 (p10); by characters from the lowest",
        "short 0 1 characters: 1",
      ],
      "truncated, with a high reward": [
        "finish reason length, and reward ≥ 1 (p90) and above the lowest; by reward, then by characters, from the highest",
        "cut 0 1 finish reason: length",
      ],
      "the best and the worst of a group that is sometimes solved": [
        "some rewards ≥ 1, some below; by the standard deviation in the group, from the highest",
        "short 0 1 best of 3, 1 solved",
        "short 2 0 worst of 3, 1 solved",
        "cut 0 1 best of 3, 2 solved",
        "cut 1 0.25 worst of 3, 2 solved",
      ],
    });
  });

  it("does not depend on the order of the lines and on the files", async () => {
    const once = await readLists(fileOf("g.jsonl", lines.join("\n")));
    const [last = "", ...others] = lines.toReversed();
    expect(await readLists(fileOf("z.jsonl", others.join("\n")), fileOf("a.jsonl", last))).toEqual(once);
  });

  it("names what got worse: prompts that were solved earlier, cut answers without a reward, and failing tools", async () => {
    const earlier = ["fell", "kept"].map((prompt) => lineOf(prompt, [{ reward: 1 }, { reward: 0.5 }]));
    const cut = { reward: 0, reason: "length" };
    const later = [
      lineOf("kept", [{ reward: 0.75 }, { reward: 1 }]),
      lineOf("fell", [{ reward: 0.25, result: "Error: a" }, { ...cut, text: "a longer answer" }, cut]),
    ];
    const lists = await readLists(fileOf("1.jsonl", earlier.join("\n")), fileOf("2.jsonl", later.join("\n")));
    expect(
      Object.entries(lists)
        .slice(0, 3)
        .map(([reason, [, ...rows]]) => [reason, rows]),
    ).toEqual([
      [
        "the lowest rewards against the best of the same prompt",
        [
          "fell 1 0 lowest of the prompt",
          "fell 0 1 best of the prompt",
          "kept 1 0.5 lowest of the prompt",
          "kept 0 1 best of the prompt",
        ],
      ],
      ["truncated, with the reward 0", ["fell 1 0 characters: 15", "fell 2 0 characters: 11"]],
      ["the lowest rewards with a tool error", ["fell 0 0.25 tool errors: 1"]],
    ]);
  });

  it("lists the first four trajectories of equal rank", async () => {
    const line = lineOf("q", [
      { reward: 1, result: "Error: no" },
      { reward: 1, result: "Error: no" },
    ]);
    const lists = await readLists(fileOf("g.jsonl", [line, line, line].join("\n")));
    expect(lists["the highest rewards with a tool error"]?.slice(1)).toEqual(
      [0, 1, 0, 1].map((trajectory) => `q ${trajectory} 1 tool errors: 1`),
    );
    expect(Object.keys(lists)).toHaveLength(1);
  });

  it("sorts trajectories of equal reward by their errors or characters, and equal losses by the best of the group", async () => {
    const failing = [1, 0].flatMap((reward) => [["Error"], ["Error", "Error"]].map((result) => ({ reward, result })));
    const lines = [
      lineOf(
        "tools",
        failing.map(({ reward, result }) => ({ reward, result: result.map((text) => `${text}: no`) })),
      ),
      ...[[{ reward: 1 }], [{ reward: 0.5 }, { reward: 0 }]].map((rollouts) => lineOf("fell", rollouts)),
      lineOf("high", [
        ...[
          { reward: 1, text: "a" },
          { reward: 2, text: "b" },
        ],
        ...["cut early", "cut much later"].map((text) => ({ reward: 1, text, reason: "length" })),
      ]),
      ...Array.from({ length: 54 }, () => lineOf("low", [{ reward: 0 }])),
    ];
    const lists = await readLists(fileOf("g.jsonl", lines.join("\n")));
    const rows = Object.values(lists).map(([, ...own]) => own.map((row) => row.replace(/(\D\d\D\S+) .*/, "$1")));
    expect(rows.map((own) => own.join(", "))).toEqual([
      "fell 1 0, fell 0 1, tools 2 0, tools 0 1",
      "tools 3 0, tools 2 0",
      "tools 1 1, tools 0 1, tools 3 0, tools 2 0",
      "high 1 2, high 0 1, high 2 1, tools 0 1",
      "high 3 1, high 2 1",
      "tools 0 1, tools 2 0",
    ]);
  });

  it("is empty without different rewards and without valid groups", async () => {
    expect(await readLists(fileOf("g.jsonl", lineOf("q", [{ reward: 2, reason: "length" }, { reward: 2 }])))).toEqual(
      {},
    );
    expect(await readLists(fileOf("g.jsonl", `{\n${lineOf("q", []).replace("trajectories", "none")}`))).toEqual({});
  });
});

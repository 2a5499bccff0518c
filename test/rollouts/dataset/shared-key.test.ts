import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";

type Columns = Readonly<Record<string, unknown>>;

/** The prompt of a trajectory is its column `p`, which it does not have. */
const toLine = ({ p = "q", ...columns }: Columns, at: number) =>
  JSON.stringify({
    messages_and_choices: [
      { role: "user", content: p },
      { finish_reason: "stop", index: 0, message: { role: "assistant", content: `${at}` } },
    ],
    reward: at,
    ...columns,
  });

const adviceOf = async (searched: string, files: readonly (readonly Columns[])[]) => {
  const paths = filesOf(...files.map((lines) => lines.map(toLine).join("\n")));
  const { stdout } = await runHere(["check", "--json", ...paths]);
  const { problems } = JSON.parse(stdout);
  return problems.find(({ rule }: { rule: string }) => rule === searched)?.advice;
};

/** Returns the key of `--group-by` in the advice for trajectories without a group. */
const adviseKey = async (...files: readonly (readonly Columns[])[]) =>
  (await adviceOf("equal-prompts", files))?.match(/^pass --group-by (\S+) to/)?.[1];

/** Gives columns to four trajectories of two tasks in turn. */
const withTasks = (...columns: readonly Columns[]) => columns.map((one, at) => ({ task_id: at % 2, ...one }));
const differing = (name: string) => withTasks({}, {}, { [name]: 1 }, { [name]: 2 }, { [name]: 3 }, { [name]: 1 });

describe("the key to group trajectories by", () => {
  it.each<[what: string, key: string | undefined, lines: readonly Columns[]]>([
    ["repeated", "task_id", [1, 1, 2].map((task_id) => ({ task_id }))],
    ["in metadata", "task_id", [1, 1, 2].map((task_id) => ({ metadata: { task_id } }))],
    ["in another object", "info.task_id", [1, 1, 2].map((task_id) => ({ info: { task_id } }))],
    ["the most certain", "prompt_id", [1, 1, 2].map((id) => ({ group_id: null, task: id, prompt_id: id, uid: id }))],
    ["not the only value", "prompt", [1, 1, 1].map((task_id) => ({ task_id }))],
    ["not of one trajectory each", "prompt", [1, 2, 3].map((task_id) => ({ task_id }))],
    ["not missing", "prompt", [{ task_id: 1 }, { task_id: 1 }, { task_id: 2 }, {}]],
    ["not of several prompts", "prompt", [{ task_id: 1 }, { task_id: 1, p: "r" }, { task_id: 2 }]],
    ["another column with one prompt each", "data_id", ["a", "b", "a"].map((p) => ({ data_id: p, label: "x", p }))],
    [
      "an index of groups of one size",
      "group_index",
      ["a", "b", "c", "d"].map((p, at) => ({ group_index: at >> 1, p })),
    ],
    ["not an id of runs with equal tasks", "prompt", ["a", "b", "a", "b"].map((p, at) => ({ run_id: at >> 1, p }))],
    ["not a number of several prompts", undefined, ["a", "b", "c", "d"].map((p, at) => ({ rollout_idx: at % 2, p }))],
    ["of one prompt each", "task_id", [{ task_id: 1 }, { task_id: 2, p: "r" }, { task_id: 1 }, { task_id: 2, p: "r" }]],
    ["another one", "uid", [1, 1, 2, 2].map((uid, at) => ({ task_id: at % 2, uid, p: `${uid}` }))],
    ["not of an invalid trajectory", undefined, [{ task_id: 1 }, { task_id: 2 }, { task_id: 2, reward: "x" }]],
    ["of blocks of rewards", "task_id", withTasks({ reward: 0 }, { reward: 0 }, { reward: 1 }, { reward: 1 })],
    ["of different values", "task_id", withTasks({ seed: 1 }, { seed: 2 }, { seed: 3 }, { seed: 4 })],
  ])("is %s", async (_, key, lines) => {
    expect(await adviseKey(lines)).toBe(key);
  });

  it.each([
    [undefined, "modelName model policy checkpoint version epoch iteration step"],
    ["task_id", "seed temperature worker running remodel stepwise episode"],
  ])("is %s if it mixes the values of: %s", async (key, names) => {
    for (const name of names.split(" ")) expect([name, await adviseKey(differing(name))]).toEqual([name, key]);
  });

  it("is not the prompt by which rows are grouped", async () => {
    const rows = ["q", "q", "r"].map((prompt) => JSON.stringify({ prompt, completion: "a", reward: 1 }));
    const { stdout } = await runHere(["check", "--json", ...filesOf(rows.join("\n"))]);
    const rules = JSON.parse(stdout).problems.map(({ rule }: { rule: string }) => rule);
    expect(rules).toContain("single-trajectory-group");
    expect(rules).not.toContain("equal-prompts");
  });

  it("is not one that two files share", async () => {
    const lines = withTasks({}, {}, {}, {});
    expect(await adviseKey(lines)).toBe("task_id");
    expect(await adviseKey(lines, lines)).toBe(undefined);
  });
});

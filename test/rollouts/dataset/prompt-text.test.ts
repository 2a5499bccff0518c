import { expect, it } from "vitest";
import { openRowReader } from "../../../src/rollouts/dataset/prompt-text.ts";
import { filesOf, read } from "../../support/inputs.ts";

const message = (role: string, content: unknown) => ({ role, content });
const choice = (content: string) => ({ finish_reason: "stop", index: 0, message: message("assistant", content) });
const rollout = (turns: readonly object[], more: object = {}) => ({ messages_and_choices: turns, reward: 0, ...more });
const answered = (...turns: readonly object[]) => rollout([...turns, choice("a"), message("user", "later")]);

it.each<[trajectory: object, prompt: string]>([
  [answered(message("system", "s"), message("user", "q"), message("user", "r")), "q"],
  [answered(message("system", "s"), message("user", " \n"), message("user", "r")), "r"],
  [answered(message("system", "\n s\n t "), message("developer", "d")), "s t"],
  [answered(message("user", [{ type: "text", text: "a" }, { type: "image_url" }, { text: "b" }])), "a b"],
  [answered(message("user", null), message("tool", "t")), "t"],
  [answered(message("user", "user\nq")), "user q"],
  [answered(message("system", "user\nq\nassistant\n")), "user q assistant"],
  [answered(), ""],
  [rollout([message("system", "s"), message("assistant", "a"), message("user", "q")]), "s"],
  [answered(message("user", "é".repeat(200))), "é".repeat(200)],
  [answered(message("user", `${"é".repeat(198)} ${"é".repeat(9)}`)), `${"é".repeat(198)}…`],
])("the prompt of a group is that of the user, or else the first message (row %$)", async (one, prompt) => {
  const dataset = await read(filesOf([{ trajectories: [one] }, one].map((line) => JSON.stringify(line)).join("\n")));
  const readRow = openRowReader(dataset, { groupBy: undefined });
  expect([0, 1].map((part) => readRow(part, 0).prompt)).toEqual([prompt, prompt]);
});

const long = "x".repeat(10_000);

it.each<[more: object, group: object, groupBy: string | undefined, key: string | null, values?: object]>([
  [{ group_id: "g" }, { task_id: 1 }, undefined, "g", { task_id: 1 }],
  [{}, { task_id: 1 }, undefined, "1", { task_id: 1 }],
  [{ metadata: { k: "x" } }, { k: "y" }, "k", "x", { k: "x" }],
  [{}, { k: "y" }, "k", "y", { k: "y" }],
  [{ k: long }, {}, "k", null, { k: long }],
  [{}, {}, undefined, null, {}],
])("the key of a group is that of its first rollout, or its own (row %$)", async (more, own, by, key, values) => {
  const groupBy = by === undefined ? undefined : [by];
  const first = rollout([message("user", "q"), choice("a".repeat(9000))], more);
  const lines = ["r", "r".repeat(2 ** 20)].map((prompt) => {
    return JSON.stringify({ trajectories: [first, rollout([message("user", prompt), choice("b")])], ...own });
  });
  const dataset = await read(filesOf(lines.join("\n")));
  const readRow = openRowReader(dataset, { groupBy, names: ["k", "task_id"] });
  for (const part of [0, 1]) expect(readRow(part, 0)).toMatchObject({ prompt: "q", key });
  expect([readRow(0, 0).prompt, readRow(0, 0).key, readRow(0, 1).prompt]).toEqual(["q", key, "r"]);
  expect(Object.fromEntries(readRow(0, 0).keys)).toEqual(values);
});

it("the prompt of a long group can follow an image, or be long itself, and that of an unreadable line is its start", async () => {
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(2 ** 20)}` } };
  const [shown, wide] = [[image, { type: "text", text: "q" }], `q ${"x".repeat(2 ** 20)}`].map((content) =>
    JSON.stringify({ trajectories: [answered(message("system", "s"), message("user", content))], task_id: "t" }),
  );
  const dataset = await read(filesOf([shown, wide, wide?.slice(0, -9)].join("\n")));
  const readRow = openRowReader(dataset, { groupBy: undefined });
  expect([0, 1, 2].map((part) => readRow(part, 0))).toMatchObject([
    { prompt: "q", key: "t" },
    { prompt: `q ${"x".repeat(197)}…`, key: "t" },
    { prompt: "s", key: null },
  ]);
});

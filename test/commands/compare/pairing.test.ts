import { expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";

type Row = readonly [prompt: string, metadata: object];

const toLines = (rows: readonly Row[]) =>
  rows
    .map(([content, metadata], reward) => {
      const messages_and_choices = [
        { role: "user", content },
        { role: "assistant", content: "a" },
      ];
      return JSON.stringify({ messages_and_choices, reward, metadata });
    })
    .join("\n");

const compare = async (a: readonly Row[], b: readonly Row[]) => {
  const files = filesOf(toLines(a), toLines(b));
  const { stdout } = await runHere(["compare", ...files, "--json", "--fields", "notes,divisions"]);
  const { notes, ...found } = JSON.parse(stdout.replaceAll(files[0] ?? "", "a").replaceAll(files[1] ?? "", "b"));
  return { notes, ...found };
};

const ids = (...all: readonly object[]): readonly Row[] => all.map((metadata, at) => [`q${at}`, metadata]);
const none =
  "no prompt is in both inputs, so nothing is compared. The mean rewards are a 0, b 0. To pair by a key, pass --pair-by <key>";

it.each<[title: string, a: readonly Row[], b: readonly Row[], note: string]>([
  ["prompts without a key", ids({}, {}), ids({}), "the pairs are prompts: 1"],
  ["a key", ids({ task_id: 1 }, { task_id: 2 }), ids({ task_id: 1 }), "the pairs are values of the key task_id: 1"],
  [
    "the key with the most common values",
    ids({ prompt_id: 1, uid: 1 }, { prompt_id: 2, uid: 2 }),
    ids({ prompt_id: 1, uid: 1 }, { prompt_id: 3, uid: 2 }),
    "the pairs are values of the key uid: 2",
  ],
  [
    "the first of the keys with as many common values",
    ids({ uid: 1, example_id: 1 }),
    ids({ uid: 1, example_id: 1 }),
    "the pairs are values of the key example_id: 1",
  ],
  ["prompts if a trajectory lacks the key", ids({ uid: 1 }, {}), ids({ uid: 1 }), "the pairs are prompts: 1"],
  ["prompts if a value has two", ids({ uid: 1 }, { uid: 1 }), ids({ uid: 1 }), "the pairs are prompts: 1"],
  ["nothing without a common key or prompt", [["q", { uid: 1 }]], [["r", { uid: 2 }]], none],
])("a comparison pairs %s", async (_, a, b, note) => {
  expect((await compare(a, b)).notes).toContain(note);
});

it("a comparison pairs the trajectories of a group by their own prompts", async () => {
  const lines = toLines([
    ["q", {}],
    ["r", {}],
    ["q", {}],
  ]);
  const group = `{"trajectories":[${lines.replaceAll("\n", ",")}]}`;
  const { stdout } = await runHere(["compare", ...filesOf(group, lines), "--json", "--fields", "paired,reward"]);
  const { paired, reward } = JSON.parse(stdout);
  expect([paired, reward.a, reward.b, reward.difference]).toEqual([2, 1, 1, 0]);
});

it("a comparison by the key of --pair-by does not name this key again", async () => {
  const files = filesOf(toLines(ids({ uid: 1 })), toLines(ids({ uid: 1 })));
  const { stdout } = await runHere(["compare", ...files, "--pair-by", "uid", "--json", "--fields", "paired,notes"]);
  const { paired, notes } = JSON.parse(stdout);
  expect([paired, notes.filter((text: string) => text.includes("the pairs are"))]).toEqual([1, []]);
});

it.each([
  [1, 0],
  [2, 2],
  [20, 20],
  [21, 0],
])("a comparison divides prompts by a key with 2 to 20 values: %i of env have %i means", async (count, means) => {
  const rows = ids(...Array.from({ length: count }, (_, env) => ({ env })));
  expect((await compare(rows, rows)).divisions).toMatchObject(
    Array.from({ length: means }, (_, at) => ({ name: "env", value: `${at}`, pairs: 1, a: at, b: at })),
  );
});

it.each<[a: readonly unknown[], b: readonly unknown[], note: string | undefined]>([
  [[1, 1], [2, 2], undefined],
  [
    [-1, 3, 4, 5, 6, 2],
    [1, 1],
    "a has 6 values of step (-1, 3, 4, 5, 6 and 1 more), which are compared together. Put each value into its own file",
  ],
  [[1], ["x", "y"], "b has 2 values of step, which are compared together. Put each value into its own file"],
  [[1, "x"], [1], "a has 2 values of step, which are compared together. Put each value into its own file"],
])("a comparison names the steps of a side (row %$)", async (a, b, note) => {
  const { notes } = await compare(ids(...a.map((step) => ({ step }))), ids(...b.map((step) => ({ step }))));
  expect(notes).toEqual([expect.stringMatching(/^the pairs are prompts: \d/)]);
  expect(/\. (.* values of step.*)/.exec(notes[0])?.[1]).toBe(note);
});

it.each<[name: string, last: readonly object[], found: object, note: string | undefined]>([
  ["pairs by its prompt a rollout that ended before its first turn", [], { paired: 1, without_prompt: 0 }, undefined],
  [
    "names the rewards without a known prompt",
    [{ role: "model", content: "a" }],
    { paired: 1, without_prompt: 2 },
    "The pairs leave out 2 trajectories without a known prompt. The mean rewards of all are a 1, b 0.333333",
  ],
])("a comparison %s", async (_, last, found, note) => {
  const asked = [
    { role: "system", content: "s" },
    { role: "user", content: "q" },
  ];
  const good = { messages_and_choices: [...asked, { role: "assistant", content: "a" }], reward: 1 };
  const bad = { messages_and_choices: [...asked, ...last], reward: 0 };
  const files = filesOf(JSON.stringify({ trajectories: [good] }), JSON.stringify({ trajectories: [good, bad, bad] }));
  const { stdout } = await runHere(["compare", ...files, "--json"]);
  const { notes, paired, without_prompt, reward } = JSON.parse(stdout);
  expect({ paired, without_prompt }).toEqual(found);
  expect(reward.b).toBe(note === undefined ? 1 / 3 : 1);
  expect(notes).toEqual([`the pairs are prompts: 1${note === undefined ? "" : `. ${note}`}`]);
});

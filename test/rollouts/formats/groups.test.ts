import { describe, expect, it } from "vitest";
import { convertHere as convert, type Files, itTells, notesHere } from "./converting.ts";
import * as records from "./records.ts";
import { agent, asks, atif, miniSwe, said, trl, user } from "./records.ts";

const chat = (content: string, more: object = {}) => records.chat({ messages: [user("q"), said(content)], ...more });
type Turn = Readonly<{ content?: string; message?: { content: string } }>;

/** Returns the answers in each group, such as `ab c`. */
const answersOf = async (files: Files, args: readonly string[] = []): Promise<string> => {
  const groups = await convert(files, args);
  if (typeof groups === "string") return groups;
  const answerOf = (turns: readonly Turn[]) => turns.at(-1)?.message?.content ?? turns.at(-1)?.content;
  const listOf = ({ trajectories }: { trajectories: readonly { messages_and_choices: readonly Turn[] }[] }) =>
    trajectories.map(({ messages_and_choices: turns }) => answerOf(turns)).join("");
  return groups.map(listOf).join(" ");
};

/** Rows with the answers a, b, c and so on, and their own columns. */
const rowsOf = (...columns: readonly object[]) => columns.map((more, at) => chat("abcdefg"[at] ?? "", more));
/** Such rows with JSON as their columns. */
const spelled = (...columns: readonly string[]) =>
  columns.map((more, at) => `${JSON.stringify(chat("abcdefg"[at] ?? "")).slice(0, -1)},${more}}`);
const uuid = "7d8f1c1e-2222-4222-8222-bbbbbbbbbbbb";
const prime = (answer: string, group_id: number | string) => {
  const own = { prompt: [user("q")], completion: [said(answer)], reward: 1, rollout_id: `id-${answer}` };
  return { example_id: 1, env_name: "gsm8k", group_id, metrics: {}, ...own };
};
const seeded = [1, 2, 1].map((seed, at) => records.simulation([user("q"), said("abc"[at])], { seed }));
const dumped = (output: string, gts: unknown) => records.verl({ input: "user\nFind x.\nassistant\n", output, gts });
const images = [dumped("a", "3"), dumped("b", "7"), dumped("c", "3"), dumped("d", { tests: [1] }), dumped("e", null)];
const uids = (names: string, own: string) => [...names].map((name, at) => chat(name, { uid: own[at] }));
const shard = (name: string, at: number) => `${name}-0000${at}-of-00002.jsonl`;
const policies = ["a", "b"].map((instructions, at) =>
  records.gym([said("ab"[at])], { _ng_task_index: undefined, responses_create_params: { input: "q", instructions } }),
);
const pair = {
  id: "e",
  env: {},
  ok: true,
  traces: [records.trace(), records.trace({ id: "u", agent: { name: "y" } })],
};
const big = ["0", "1"].map((end) => `"n":1234567890123456789${end}`);

it.each<[what: string, groups: string, files: Files | readonly (object | string)[], by?: string]>([
  ["a number and its text differ", "ac bd", rowsOf({ run: 1 }, { run: "1" }, { run: 1 }, { run: "1" }), "run"],
  ["keys of a rollout precede those of its file", "ac b", [{ seed: 7, simulations: seeded }], "seed"],
  ["values of a list are compared", "ab", rowsOf({ tags: ["x", "y"] }, { tags: ["x", "z"] }), "tags.0"],
  ["objects are compared", "a b", rowsOf({ info: { step: 1 } }, { step: null, extra_info: { step: 2 } }), "step"],
  ["large numbers are compared by digits", "a b", spelled(...big), "n"],
  [
    "shards of one dataset share their groups",
    "a bc d",
    {
      [shard("train", 0)]: [chat("a", { group_id: 1 }), chat("b", { group_id: 2 })],
      [shard("train", 1)]: [chat("c", { group_id: 2 })],
      [shard("test", 0)]: [chat("d", { group_id: 2 })],
    },
  ],
  [
    "rows of prime-rl share a group with the next step's file only if its key is a UUID",
    "ad b c",
    {
      "step_1/train_rollouts.jsonl": [prime("a", uuid), prime("b", 7)],
      "step_2/train_rollouts.jsonl": [prime("c", 7), prime("d", uuid)],
    },
  ],
  [
    "rows of one step and task share a group, however their numbers and keys are written",
    "abc de f g",
    spelled(
      ...['"step":3,"prompt_id":7', '"step":3.0,"prompt_id":7.0', '"step":3e0,"metadata":{"prompt_id":7.00}'],
      ...[
        '"task_id":{"a":1,"b":2}',
        '"task_id":{"b":2.0,"a":1}',
        '"step":"3","prompt_id":7',
        '"step":3.5,"prompt_id":7',
      ],
    ),
  ],
  [
    "rows of verl whose prompts are equal without their images need the same ground truth",
    "ac b df eg",
    [...images, dumped("f", { tests: [1] }), dumped("g", null)],
  ],
  [
    "a uid names a group only if rows of the same file share it",
    "ab cd eg f",
    { "a.jsonl": uids("ab", "uv"), "b.jsonl": uids("cd", "uw"), "c.jsonl": uids("efg", "uxu") },
  ],
  ["a row without a step is not in the group of the step before", "ac b", rowsOf({ step: 3 }, {}, { step: 3 })],
  [
    "tables of TRL can have other rows of the same step",
    "a b",
    Object.fromEntries(["a", "b"].map((completion) => [completion, [trl({ step: 1, advantage: 0, completion })]])),
  ],
  ["other instructions are other prompts", "a b", policies],
  ["agents of an episode have their own groups", "a a", [pair]],
])("%s", async (_, groups, input, by) => {
  const files = Array.isArray(input) ? { "a.jsonl": input } : (input as Files);
  expect(await answersOf(files, by === undefined ? [] : ["--group-by", by])).toBe(groups);
});

const k = [1, 2, 1].map((own) => chat("a", { k: own }));
const rated = [1, 2, 1].map((own) => records.harness({ k: own, filter: "f" }));
const cut = JSON.stringify(chat("b", { step: 3 })).slice(0, -9);
const other = records.chat({ messages: [user("r"), said("c")], step: 7 });
const row = JSON.stringify({ trajectory_id: "t", ...chat("a") });
const ambiguous = "[ambiguous-group] & no:(u";

itTells("a group is not written if it could contain more: %s", [
  ["a cut row after rows of a key", [...k, '{"mess'], ambiguous, "--group-by k"],
  ["a cut row of another file", { a: k, b: ['{"mess'] }, ambiguous, "--group-by k"],
  ["a cut sample after samples of a key", [...rated, '{"doc'], ambiguous, "--group-by k --reward-from r"],
  [
    "a cut document",
    [atif(), atif(undefined, { session_id: "t" }), atif(), '{"schema_ver'],
    ambiguous,
    "--group-by session_id --rewards s=1,t=1",
  ],
  ["a cut row after a row of its step", [chat("a", { step: 3 }), cut], "[json-truncated] & no:(u", "--on-invalid skip"],
  ["a cut row of another prompt", [chat("a", { step: 7 }), other, cut], "(u:r A:c) =1 & no:(u:q", "--on-invalid skip"],
  ["an unreadable prompt", [row, row.replace("[", "\\")], ambiguous, "--on-invalid skip"],
  ["two rows", [chat("a", { k: 1 }), chat("b", { k: 1 })], "A:a) =1 (u:q A:b) =1 & no:several files", "--group-by k"],
]);

/** An object with a value at a path. */
const nest = (path: string, value: unknown): object => {
  const [key = "", ...rest] = path.split(".");
  return { [key]: rest.length === 0 ? value : nest(rest.join("."), value) };
};
const trace = (answer: string, more: object) => ({
  ...{ id: answer, task: { key: "k" }, rewards: { x: 1 }, ...more },
  nodes: [{ message: user("q") }, { parent: 0, sampled: true, message: said(answer) }],
});

it.each(
  "group.id group_id info.group_id task.key task.hash task.data run.work.step run.step run.id run.work.type run.type env.id env_name info.env_name".split(
    " ",
  ),
)("traces of verifiers v1 are one group only if they have the same %s", async (path) => {
  const traces = [..."xyx"].map((value, at) => trace("abc"[at] ?? "", nest(path, value)));
  expect(await answersOf({ "a.jsonl": traces })).toBe("ac b");
});

const ofFiles = (id: string) => ({
  "a.jsonl": [trace("a", { group: { id } })],
  "b.jsonl": [trace("b", { group: { id } })],
});
const runs = (type: string) => ({ "a.jsonl": ["a", "b"].map((id) => trace(id, { run: { type, id } })) });
const old = (...more: readonly object[]) =>
  more.map((one, at) => records.example({ completion: [said("abcd"[at])], answer: "4", ...one }));
const unnumbered = { example_id: undefined };
const named = { example_id: 1, group_id: "h" };
const spellings = old(
  { ...unnumbered, id: 0, info: { a: 1, b: [2] } },
  { ...unnumbered, id: 1, info: '{"b":[2],"a":1.0}', prompt: [{ ...user("q"), tool_calls: null, timestamp: 1 }] },
  { ...unnumbered, id: 0, info: { a: 2 } },
);
const cutExample = JSON.stringify({ ...named, ...old({})[0] }).slice(0, -30);

it.each<[what: string, groups: string, files: Files, ...args: string[]]>([
  ["traces of other training runs", "a b", runs("train")],
  ["traces of a resumed evaluation", "ab", runs("eval")],
  ["traces of several files whose group is a UUID", "ab", ofFiles("00000000-0000-4000-8000-000000000001")],
  ["traces of several files whose group is a number", "a b", ofFiles("1")],
  ["a row without an environment", "a b", { a: old({ task: "e" }, { task: undefined }) }, "--from", "verifiers-v0"],
  ["other spellings of a prompt and info", "ab c", { "results.jsonl": spellings }],
  [
    "other examples with an empty prompt",
    "a b",
    { a: old(...[0, 1].map((id) => ({ ...unnumbered, id, prompt: [user("")] }))) },
    ...["--from", "verifiers-v0"],
  ],
  [
    "other numbers of one prompt",
    "ab",
    { a: old(...[0, 1].map((id) => ({ ...unnumbered, id }))) },
    "--from",
    "verifiers-v0",
  ],
  [
    "a truncated row, which breaks only its own group",
    "a",
    { a: [...old({ ...named, group_id: "g" }, named, named), cutExample] },
    ...["--from", "verifiers-v0", "--on-invalid", "skip"],
  ],
])("rows of verifiers are groups with %s", async (_, groups, files, ...args) => {
  expect(await answersOf(files, args)).toBe(groups);
});

it("a rollout in several rows rejects no other group", async () => {
  const rows = [...["a", "b"].map((own) => chat(own, { group_id: 1, rollout_id: 1 })), chat("c", { group_id: 2 })];
  expect(await answersOf({ "a.jsonl": rows }, ["--on-invalid", "skip"])).toBe("c");
});

describe("rollouts of different models are never one group", () => {
  it.each("model model_name model_id metadata.model info.model_name extra_info.model_id".split(" "))(
    "if rows state the model in %s",
    async (path) => {
      const [key = "", inner] = path.split(".");
      const columns = (model: unknown) => ({ [key]: inner === undefined ? model : { [inner]: model } });
      const rows = [..."xyx"].map((model, at) => chat("abc"[at] ?? "", columns(model)));
      expect(await answersOf({ "a.jsonl": rows })).toBe("ac b");
      expect(await answersOf({ "a.jsonl": rows.map((row) => ({ ...row, prompt_id: 1 })) })).toBe("ac b");
    },
  );

  it("if the rows are of agents, in which subagents can have other models", async () => {
    const rows = [..."xy"].map((model, at) => chat("ab"[at] ?? "", { "agent.model_name": model }));
    expect(await answersOf({ "a.jsonl": rows })).toBe("ab");
  });

  const trial = (name: string, more: object) => ({
    ...{ trial_name: name, task_name: "n", verifier_result: { rewards: { reward: 1 } } },
    ...{ agent_info: { name: "a", model_info: { name: "m", provider: "p" } }, ...more },
  });
  const configured = (name: string, model_name: string) => ({
    agent_info: null,
    config: { agent: { name, model_name } },
  });

  it.each<[string, object, string, object?]>([
    ["the same agent and model", {}, "ab"],
    ["another agent", { agent_info: { name: "b", model_info: { name: "m", provider: "p" } } }, "a b"],
    ["another model", { agent_info: { name: "a", model_info: { name: "n", provider: "p" } } }, "a b"],
    ["another agent of the configuration", configured("b", "m"), "a b"],
    ["the same agent of the configuration", configured("a", "m"), "ab", configured("a", "m")],
    ["two agents of the configuration", configured("b", "m"), "a b", configured("a", "m")],
    ["two models of the configuration", configured("a", "n"), "a b", configured("a", "m")],
  ])("if trials of Harbor have %s", async (_, more, groups, first = {}) => {
    const entries = [trial("a", first), trial("b", more)].flatMap((result) => [
      [`${result.trial_name}/result.json`, [result]],
      [`${result.trial_name}/agent/trajectory.json`, [atif([asks("q"), agent(result.trial_name)])]],
    ]);
    expect(await answersOf(Object.fromEntries(entries))).toBe(groups);
  });

  const ofModel = (answer: string, model_name: string) => {
    const info = { config: { model: { model_name } }, exit_status: "Submitted" };
    return [miniSwe([user("q"), said(answer)], { instance_id: "i", info })];
  };
  itTells("if files of mini-swe-agent are of %s", [
    ["one model", { "a.traj.json": ofModel("a", "m"), "b.traj.json": ofModel("b", "m") }, "A:a) =1 (u:q A:b) =1"],
    [
      "two models",
      { "a.traj.json": ofModel("a", "m"), "b.traj.json": ofModel("b", "n") },
      '(u:q A:a) =1\n & "model":"m" & (u:q A:b) =1\n & "model":"n"',
    ],
  ]);
});

const prompted = { prompt: [{ role: "system", content: "t" }, user("q")], completion: [said("a")] };
itTells("the system prompt of a column %s", [
  ["is omitted in a prompt", [trl({ system: " be brief\n", prompt: "(be brief) q" })], "(u:(be brief) q A:a) =1"],
  ["is omitted if a message has the role system", [trl({ system: "s", ...prompted })], "(s:t u:q A:a) =1"],
]);

describe("rows without a recorded group", () => {
  /** Rows of one prompt with the values of a column. */
  const rowsOf = (path: string, values: readonly unknown[]) => {
    const [name = "", holder] = path.split(".").reverse();
    return values.map((value, at) => chat(`${at}`, holder ? { [holder]: { [name]: value } } : { [name]: value }));
  };
  const halves = (first: unknown, second: unknown) => [first, first, second, second];

  it.each<[string, readonly unknown[]]>([
    ["persona", halves("a", "b")],
    ["systemInstruction", halves("a", "b")],
    ["few_shot", halves([user("a")], [user("b")])],
    ["image_path", halves("a.png", "b.png")],
    ["video", halves("a", "b")],
    ["multi_modal_data", halves({ image: ["a"] }, { image: ["b"] })],
  ])("are in groups with the same %s", async (name, values) => {
    expect(await answersOf({ "a.jsonl": rowsOf(name, values) })).toBe("01 23");
  });

  it("keep their media", async () => {
    const rows = rowsOf("image_paths", [["a.png"]]);
    expect(await convert({ "a.jsonl": rows })).toMatchObject([{ trajectories: [{ image_paths: ["a.png"] }] }]);
  });

  const policy = (name: string) =>
    `groups contain rollouts that differ in ${name} (if it states the policy, write it to the column policy_version)`;
  const group = (name: string) =>
    `groups contain rollouts that differ in ${name} (if it states the group, pass --group-by ${name})`;
  const context = (name: string, otherwise = ". If not, rename it, because its values divide groups") =>
    `left \`${name}\` out of the prompts, although it can be a part of them (if the model saw it, write it there${otherwise})`;

  const media = (name: string) =>
    `rows with the same prompt and another \`${name}\` are different groups (if the model did not see it, rename it)`;

  it.each<[string, readonly unknown[], ((name: string) => string) | undefined]>([
    ["images", halves(["a"], ["b"]), media],
    ["screenshot_path", ["a", "b"], media],
    ["image_url", ["a"], undefined],
    ["param_version", [1, 2], policy],
    ["trainer/optimizer_step", [1, 2], policy],
    ["loraPath", ["a", "b"], policy],
    ["generation_step", [1, 2], policy],
    ["last_step", halves(1, 2), undefined],
    ["group_index", halves(0, 1), group],
    ["env_seed", halves("a", "b"), group],
    ["group_index", [0, 0, 1], group],
    ["group_index", [0, 1], undefined],
    ["doc_id", [0, 0, 1], undefined],
    ["doc_id", halves(0, 1), group],
    ["exampleId", halves("a", "b"), group],
    ["paid", halves("a", "b"), undefined],
    ["metadata.task", halves("a", "b"), group],
    ["info.seed", [0, 0, 1], group],
    ["my case_id", halves(0, 1), (name) => group(name).replace(`by ${name}`, `by '${name}'`)],
    ["a,case_id", halves(0, 1), (name) => group(name).replace(/pass.*\)/, "rename it to group_id)")],
    ["attempt_idx", halves(0, 1), undefined],
    ["calls", halves(1, 2), undefined],
    ["topic", [0, 1, 2, 3, 4, 5].flatMap((one) => [one, one]), group],
    ["correct", halves(true, false), undefined],
    ["persona", ["a"], context],
    ["persona", [123], undefined],
    ["context", [`${" ".repeat(300_000)}x`], context],
    ["context", [" None "], undefined],
    ["instruction", ["q"], undefined],
    ["history", [[]], undefined],
  ])("have a note only if %s with the values %j can divide them", async (name, values, note) => {
    expect(await notesHere(rowsOf(name, values))).toEqual(note ? [note(name)] : []);
    const stated = rowsOf(name, values).map((row) => ({ ...row, group_id: 1 }));
    expect(await notesHere(stated)).toEqual(note === context ? [context(name, "")] : []);
  });

  it("have a note if an unknown object divides them by a step, but not by other values", async () => {
    const rows = [1, 2].map((at) => ({ messages: [user("q"), said("a")], reward: 1, extra: { step: at, seed: at } }));
    expect(await notesHere(rows)).toEqual([policy("extra.step")]);
  });

  it.each<[unknown, object, boolean]>([
    ["<image>What?", {}, true],
    ["<image>What?", { image: "a.png" }, false],
    [[{ type: "image" }], {}, true],
    [[{ type: "image_url", image_url: { url: "a.png" } }], {}, false],
  ])("have a note if their media are unknown: %j %j", async (content, more, isNoted) => {
    const row = { messages: [{ role: "user", content }, said("a")], reward: 1, ...more };
    const note = "found no media for the placeholders of prompts, so groups can contain different questions";
    expect((await notesHere([row])).includes(note)).toBe(isNoted);
  });
});

/** The keys that join records to groups and rollouts. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { convertHere as convert, folderOf, notesHere, type turn, user } from "./converting.ts";

const said = (content: string) => ({ role: "assistant", content });
const chat = (content: string, more: object = {}) => ({ messages: [user("q"), said(content)], reward: 1, ...more });

/** Returns the answers in each group, such as `ab c`. */
const answersOf = async (files: Parameters<typeof convert>[0], args: readonly string[] = []): Promise<string> => {
  const groups = await convert(files, args);
  if (typeof groups === "string") return groups;
  const answerOf = ({ messages_and_choices: turns }: { messages_and_choices: readonly ReturnType<typeof turn>[] }) =>
    turns.at(-1)?.message.content;
  return groups.map(({ trajectories }) => trajectories.map(answerOf).join("")).join(" ");
};

describe("--group-by", () => {
  it("distinguishes a number from the same text", async () => {
    const rows = [chat("a", { run: 1 }), chat("b", { run: "1" }), chat("c", { run: 1 }), chat("d", { run: "1" })];
    expect(await answersOf({ "a.jsonl": rows }, ["--group-by", "run"])).toBe("ac bd");
  });

  it("reads a key of the rollout before the key of its file", async () => {
    const simulated = { task_id: 1, termination_reason: "user_stop", reward_info: { reward: 1 } };
    const simulations = [1, 2, 1].map((seed, at) => ({ ...simulated, seed, messages: [user("q"), said(`${at}`)] }));
    const file = JSON.stringify({ seed: 7, simulations });
    expect(await answersOf({ "results.json": file }, ["--group-by", "seed"])).toBe("02 1");
  });
});

it("shards of one dataset share their groups", async () => {
  const shard = (name: string, at: number) => `${name}-0000${at}-of-00002.jsonl`;
  const files = {
    [shard("train", 0)]: [chat("a", { group_id: 1 }), chat("b", { group_id: 2 })],
    [shard("train", 1)]: [chat("c", { group_id: 2 })],
    [shard("test", 0)]: [chat("d", { group_id: 2 })],
  };
  expect(await answersOf(files)).toBe("a bc d");
});

it("rows of prime-rl share a group with the next step's file only if its key is a UUID", async () => {
  const uuid = "7d8f1c1e-2222-4222-8222-bbbbbbbbbbbb";
  const row = (answer: string, group_id: number | string) => {
    const own = { prompt: [user("q")], completion: [said(answer)], reward: 1, rollout_id: `id-${answer}` };
    return { example_id: 1, env_name: "gsm8k", group_id, metrics: {}, ...own };
  };
  const files = {
    "step_1/train_rollouts.jsonl": [row("a", uuid), row("b", 7)],
    "step_2/train_rollouts.jsonl": [row("c", 7), row("d", uuid)],
  };
  expect(await answersOf(files)).toBe("ad b c");
});

it("rows of one step and task share a group, however their numbers and keys are written", async () => {
  const row = (answer: string, more: string) => `${JSON.stringify(chat(answer)).slice(0, -1)},${more}}`;
  const files = {
    "a.jsonl": [
      ...[row("a", '"step":3,"prompt_id":7'), row("b", '"step":3.0,"prompt_id":7.0')],
      row("c", '"step":3e0,"metadata":{"prompt_id":7.00}'),
      ...[row("d", '"task_id":{"a":1,"b":2}'), row("e", '"task_id":{"b":2.0,"a":1}')],
      ...[row("f", '"step":"3","prompt_id":7'), row("g", '"step":3.5,"prompt_id":7')],
    ],
  };
  expect(await answersOf(files)).toBe("abc de f g");
});

it("rows of verl whose prompts are equal without their images are one group only with the same ground truth", async () => {
  const row = (output: string, gts: unknown) => ({
    input: "user\nFind x.\nassistant\n",
    output,
    gts,
    score: 1,
    step: 12,
  });
  const rows = [row("a", "3"), row("b", "7"), row("c", "3"), row("d", { tests: [1] }), row("e", null)];
  expect(await answersOf({ "a.jsonl": [...rows, row("f", { tests: [1] }), row("g", null)] })).toBe("ac b df eg");
});

describe("traces of verifiers v1", () => {
  const nest = (path: string, value: unknown): object => {
    const [key = "", ...rest] = path.split(".");
    return { [key]: rest.length === 0 ? value : nest(rest.join("."), value) };
  };
  const trace = (answer: string, more: object) => ({
    ...{ id: answer, task: { key: "k" }, rewards: { x: 1 }, ...more },
    nodes: [{ message: user("q") }, { parent: 0, sampled: true, message: said(answer) }],
  });
  const tracesOf = (path: string, values: string) =>
    [...values].map((value, at) => trace("abc"[at] ?? "", nest(path, value)));

  it.each(
    "group.id group_id info.group_id task.key task.hash task.data run.work.step run.step run.id run.work.type run.type env.id env_name info.env_name".split(
      " ",
    ),
  )("are one group only if they have the same %s", async (path) => {
    expect(await answersOf({ "a.jsonl": tracesOf(path, "xyx") })).toBe("ac b");
  });

  it.each([
    ["another type of run", "train", "a b"],
    ["a resumed evaluation", "eval", "ab"],
  ])("with other ids of runs can be one group in %s", async (_, type, groups) => {
    const traces = ["a", "b"].map((id) => trace(id, { run: { type, id } }));
    expect(await answersOf({ "a.jsonl": traces })).toBe(groups);
  });

  it.each([
    ["a UUID", "00000000-0000-4000-8000-000000000001", "ab"],
    ["a number", "1", "a b"],
  ])("of several files are one group if its id is %s", async (_, id, groups) => {
    const [a, b] = ["a", "b"].map((answer) => [trace(answer, { group: { id } })]);
    expect(await answersOf({ "a.jsonl": a ?? [], "b.jsonl": b ?? [] })).toBe(groups);
  });
});

describe("rows of verifiers", () => {
  const row = (answer: string, more: object) => {
    return { prompt: [user("q")], completion: [said(answer)], reward: 1, task: "t", answer: "4", ...more };
  };

  it.each<[string, string, readonly object[]]>([
    ["of an environment are not in the group of a row without one", "a b", [{ task: "e" }, { task: undefined }]],
    [
      "of another example with an empty prompt are another group",
      "a b",
      [0, 1].map((id) => ({ id, prompt: [user("")] })),
    ],
    ["of the same prompt are one group, whatever their numbers are", "ab", [{ id: 0 }, { id: 1 }]],
  ])("%s", async (_, groups, more) => {
    const rows = more.map((one, at) => row("ab"[at] ?? "", "id" in one ? one : { example_id: 1, ...one }));
    expect(await answersOf({ "a.jsonl": rows }, ["--from", "verifiers-v0"])).toBe(groups);
  });

  it("that are truncated break only their own group", async () => {
    const rows = ["a", "b", "c"].map((answer, at) => row(answer, { group_id: at === 0 ? "g" : "h", example_id: 1 }));
    const cut = JSON.stringify({ group_id: "h", example_id: 1, ...row("d", {}) }).slice(0, -30);
    const skipping = ["--on-invalid", "skip", "--rejects", join(folderOf({}), "rejects.jsonl")];
    expect(await answersOf({ "a.jsonl": [...rows, cut] }, ["--from", "verifiers-v0", ...skipping])).toBe("a");
  });
});

it("a row without a step is not in the group of the step before, unless its end is missing", async () => {
  expect(await answersOf({ "a.jsonl": [chat("a", { step: 3 }), chat("b"), chat("c", { step: 3 })] })).toBe("ac b");
  const rejects = join(folderOf({}), "rejects.jsonl");
  const cut = JSON.stringify(chat("b", { step: 3 })).slice(0, -9);
  const skipping = ["--on-invalid", "skip", "--rejects", rejects];
  expect(await answersOf({ "a.jsonl": [chat("a", { step: 3 }), cut] }, skipping)).toContain("[json-truncated]");
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
    const atif = (answer: string) => {
      const steps = [
        ["user", "q"],
        ["agent", answer],
      ].map(([source, message]) => ({ source, message }));
      return JSON.stringify({ schema_version: "ATIF-v1.6", steps });
    };
    const files = Object.fromEntries(
      [trial("a", first), trial("b", more)].flatMap((result) => [
        [`job/${result.trial_name}/result.json`, JSON.stringify(result)],
        [`job/${result.trial_name}/agent/trajectory.json`, atif(result.trial_name)],
      ]),
    );
    const folder = folderOf(files);
    const { stdout } = await runHere(["convert", join(folder, "job"), "-q"]);
    const found = stdout
      .trimEnd()
      .split("\n")
      .map((line) => [...line.matchAll(/"content":"([ab])"/g)].map(([, said]) => said).join(""));
    expect(found.join(" ")).toBe(groups);
  });

  it.each([
    ["m", "ab"],
    ["n", "a b"],
  ])("if files of mini-swe-agent are of the models m and %s", async (model_name, groups) => {
    const rewards = join(folderOf({ r: [{ id: "i", reward: 1 }] }), "r");
    const file = (answer: string, model: string) =>
      JSON.stringify({
        ...{ trajectory_format: "mini-swe-agent-1.1", instance_id: "i", messages: [user("q"), said(answer)] },
        info: { config: { model: { model_name: model } }, exit_status: "Submitted" },
      });
    const files = { "a/i.traj.json": file("a", "m"), "b/i.traj.json": file("b", model_name) };
    expect(await answersOf(files, ["--rewards", rewards])).toBe(groups);
    const [group] = await convert(files, ["--rewards", rewards]);
    expect(group.trajectories[0].metadata).toMatchObject({ instance_id: "i", model: "m" });
  });
});

it("a uid names a group only if rows of the same file share it", async () => {
  const rows = (names: string, uids: string) => [...names].map((name, at) => chat(name, { uid: uids[at] }));
  const files = { "a.jsonl": rows("ab", "uv"), "b.jsonl": rows("cd", "uw"), "c.jsonl": rows("efg", "uxu") };
  expect(await answersOf(files)).toBe("ab cd eg f");
});

describe("the system prompt of a column", () => {
  const trl = { prompt: "q", completion: "a", reward: 1 };
  it.each<[string, object, string]>([
    ["is the first one with a text", { ...trl, system: " ", system_prompt: "s", system_message: "r" }, "s q a"],
    [
      "is omitted if the prompt contains it",
      { ...trl, system: " be brief\n", prompt: "(be brief) q" },
      "(be brief) q a",
    ],
    [
      "is omitted if the first message has the role system",
      { ...trl, system: "s", prompt: [{ role: "system", content: "t" }, user("q")], completion: [said("a")] },
      "t q a",
    ],
  ])("%s", async (_, row, texts) => {
    const [group] = await convert({ "a.jsonl": [row] });
    const turns: readonly { content?: string; message?: { content: string } }[] =
      group.trajectories[0].messages_and_choices;
    expect(turns.map(({ content, message }) => content ?? message?.content).join(" ")).toBe(texts);
  });
});

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

it("a trial of Harbor whose agent folder is a file has no trajectory", async () => {
  const trial = { trial_name: "t", task_name: "n", agent_info: {}, verifier_result: { rewards: { reward: 1 } } };
  const folder = folderOf({ "t/result.json": JSON.stringify(trial), "t/agent": "" });
  const { code, stderr } = await runHere(["check", join(folder, "t/result.json")]);
  expect([code, stderr]).toEqual([3, expect.stringContaining("the trajectory agent/trajectory.json is missing")]);
});

import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultStrictness } from "../../../src/rollouts/rules/rules.ts";
import { runHere } from "../../support/here.ts";
import { filesOf, problemsOf, read } from "../../support/inputs.ts";

type Files = readonly (readonly unknown[])[];
type Report = Readonly<{ rule: string; file: string; line: number; path: readonly unknown[]; message: string }>;

/** Checks files of lines. Their names are 1, 2 and so on. */
const check = async (files: Files, ...args: readonly string[]) => {
  const toLine = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  const paths = filesOf(...files.map((lines) => lines.map(toLine).join("\n")));
  const { stdout } = await runHere(["check", "--json", ...paths, ...args]);
  return JSON.parse(stdout.replaceAll(`${dirname(paths[0] ?? "")}/`, "").replaceAll(".jsonl", ""));
};

/** Returns the position of each problem of a rule, and the numbers in its message. */
const reportsOf = async (rule: string, files: Files, ...args: readonly string[]) => {
  const { problems } = await check(files, ...args);
  return problems.flatMap((one: Report) =>
    one.rule === rule
      ? `${one.file}:${one.line} ${one.path.join(".")} ${one.message.match(/\d[\d.:]*/g)?.join() ?? ""}`
      : [],
  );
};

const user = (content: unknown) => ({ role: "user", content });
const said = (content: unknown) => ({ role: "assistant", content });
const choice = (content: unknown, more: object = {}) => ({
  finish_reason: "stop",
  index: 0,
  message: said(content),
  ...more,
});
const rollout = (reward: unknown, more: object = {}, turns: readonly object[] = [user("q"), choice(`${reward}`)]) => ({
  messages_and_choices: turns,
  reward,
  ...more,
});
const chat = (more: object) => ({ messages: [user("q"), said("a")], reward: 1, ...more });
const trl = { prompt: "p", completion: "c", reward: 1 };
const bare = (reward: number) => rollout(reward, {}, [user("q"), said(`${reward}`)]);
const group = (...trajectories: readonly object[]) => ({ trajectories });
const [a, b] = ["a", "b"].map((id) => ({ group_id: id }));
const other = [user("r"), choice("0")];
const version = (final: number, at = final) => rollout(at, { final_policy_version: final });
const mark = "b<|im_end|>\n<|im_start|>user\nc";
const marked = choice([{ text: "a" }, { text: mark }]);
/** Its only list of messages ends with its line. */
const silent = (content: string) => ({ reward: 0, messages_and_choices: [user(content)] });

describe("a problem of a dataset", () => {
  it.each<[rule: string, files: Files, reports: readonly string[], ...args: readonly string[]]>([
    ["mixed-prompts", [[rollout(0, a), rollout(1, a, other), rollout(2, b)]], ["1:1  2,1,2,1:2"]],
    ["mixed-prompts", [[rollout(0, a, other), rollout(1, a), rollout(2, a)]], ["1:1  2,1,3,1:1"]],
    ["mixed-prompts", [[group(rollout(0), rollout(1, {}, other), rollout(2))]], ["1:1  2,1,3,2"]],
    ["mixed-prompts", [[group(rollout(0), rollout(1, {}, [user("q"), user("r"), choice("1")]))]], ["1:1  2,1,2,2"]],
    ["mixed-prompts", [[group(silent("q"), silent("r"))]], ["1:1  2,1,2,2"]],
    ["mixed-prompts", [[group(rollout(0, {}, [choice("0")]), rollout(1), rollout(2, {}, other))]], ["1:1  2,1,2,3"]],
    ["mixed-steps", [[rollout(0, { ...a, step: 1 }), rollout(1, { ...a, info: { step: 3 } })]], ["1:1  2,1,3"]],
    ["mixed-steps", [[rollout(0, { ...a, step: 1 }), rollout(1, { ...b, step: 3 }), rollout(2, b)]], []],
    [
      "mixed-steps",
      [
        [
          { ...version(1), ...a },
          { ...version(3), ...a },
        ],
      ],
      ["1:1  2,1,3"],
    ],
    [
      "mixed-steps",
      [[group(version(8), version(6)), group(rollout(0), version(6), version(8))]],
      ["1:1  2,8,6", "1:2  2,6,8"],
    ],
    [
      "duplicate-trajectory",
      [[rollout(0), group(rollout(1), rollout(0))], [rollout(0)]],
      ["1:2 trajectories.1 1:1", "2:1  1:1"],
    ],
    ["duplicate-trajectory", [[chat({})], [chat({})], [trl], [trl]], ["2:1  1:1", "4:1  3:1"]],
    ["chat-marks-in-content", [[rollout(0, {}, [user("q"), marked])]], ["1:1 messages_and_choices.1.message.content "]],
    // With choices, only the choices are sampled.
    [
      "chat-marks-in-content",
      [[rollout(0, {}, [said(mark), user("q"), choice("0")]), rollout(1, {}, [user("q"), said(mark)])]],
      ["1:2 messages_and_choices.1.content "],
    ],
    [
      "group-key-missing",
      [[1, 1, null].map((id) => rollout(0, { logprobs: { id } }))],
      ["1:3  "],
      "--group-by",
      "logprobs.id",
    ],
    ["group-scattered", [[rollout(0, a), rollout("x", b), rollout(1, a)]], ["1:3 group_id 1"]],
    ["group-scattered", [[a, b, a, b, a].map((id, at) => rollout(at, id)), [rollout(5, a)]], ["1:3 group_id 1,2"]],
    [
      "no-sampled-turns",
      [
        [group(bare(0), bare(1)), group(bare(2))],
        [group(rollout(3), bare(4)), bare(5), group(bare(6), rollout("7"))],
      ],
      [
        "1:1 trajectories.0.messages_and_choices ",
        "1:2 trajectories.0.messages_and_choices ",
        "2:1 trajectories.1.messages_and_choices ",
        "2:2 messages_and_choices ",
      ],
    ],
    ["group-key-missing", [[1, 1, null, 2].map((k) => chat({ k }))], ["1:3  "], "--group-by", "k"],
    [
      "secret-in-content",
      [['{"trajectory_groups":["ghp_bIJgCDdqpnffFICvUYT0PqNHDWfKFQao4RFs"]}']],
      ["1:1 trajectory_groups.0 "],
    ],
  ])("is reported once at its position, with numbers: %s (row %$)", async (rule, files, reports, ...args) => {
    expect(await reportsOf(rule, files, ...args)).toEqual(reports);
  });
});

describe("a group with a warning", () => {
  const toLines = (values: readonly object[]) => values.map((value) => JSON.stringify(value)).join("\n");

  it.each<[form: string, toText: (groups: readonly (readonly object[])[]) => string]>([
    ["lines", (groups) => toLines(groups.map((each) => group(...each)))],
    ["an array", (groups) => JSON.stringify(groups.map((each) => group(...each)))],
    ["a request", (groups) => JSON.stringify({ trajectory_groups: groups.map((each) => group(...each)), split: "t" })],
    ["requests", (groups) => toLines(groups.map((each) => ({ trajectory_groups: [group(...each)], split: "t" })))],
    ["trajectories", (groups) => toLines(groups.flatMap((all, id) => all.map((one) => ({ ...one, group_id: id }))))],
  ])("alone is rejected with --strict, among valid and invalid groups in any order: %s", async (form, toText) => {
    const kinds: Readonly<Record<string, (at: number) => readonly object[]>> = {
      valid: (at) => [rollout(at), rollout(at + 0.5)],
      nullField: (at) => [rollout(at), rollout(at + 0.5, { tools: null })],
      mixedPrompts: (at) => [rollout(at), rollout(at + 0.5, {}, other)],
      invalid: (at) => [{ ...rollout(at), reward: "1" }, rollout(at + 0.5)],
    };
    // Each kind follows each kind.
    const order = Object.keys(kinds).flatMap((kind) => Object.keys(kinds).flatMap((next) => [kind, next]));
    const files = filesOf(toText(order.map((kind, at) => kinds[kind]?.(at) ?? [])));
    for (const strict of [false, true]) {
      const strictness = { ...defaultStrictness, strict };
      const { groups } = await read(files, { strictness, ...(form === "trajectories" ? { groupBy: "group_id" } : {}) });
      expect(order.map((_, at) => groups.isValid(at))).toEqual(
        order.map((kind) => kind === "valid" || (!strict && kind !== "invalid")),
      );
    }
  });
});

it.each([
  [rollout(0), "add a group key to every trajectory, or omit --group-by"],
  [
    rollout(0, { task: 1, "a,b": 1, " ": 1, tusk: 2, metadata: { uid: "u", ["x".repeat(61)]: 1 } }),
    "pass --group-by task or tusk or uid, or a path such as info.prompt_id",
  ],
  [chat({ task: 1, metadata: { uid: "u" } }), "pass --group-by task or uid, or a path such as info.prompt_id"],
])("a key that no trajectory has gets the other keys as advice (row %$)", async (row, advice) => {
  const { problems } = await check([[row]], "--group-by", "tuskx");
  expect(problems).toMatchObject([{ rule: "group-key-missing", severity: "error", advice, file: "1" }]);
});

it("a key that no trajectory has gets up to eight keys as advice, and rejects only what needs the key", async () => {
  const metadata = Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map((at) => [`k${at}`, "v"]));
  const files = [[group(rollout(0), rollout(1)), "{", rollout(2, { metadata }), rollout(3)], [chat({})]];
  const { groups, problems } = await check(files, "--group-by", "x");
  expect(groups).toEqual({ read: 5, rejected: 4 });
  const found = problems.find(({ rule }: Report) => rule === "group-key-missing");
  const keys = "k1 or k2 or k3 or k4 or k5 or k6 or k7 or k8";
  expect(found).toMatchObject({ advice: `pass --group-by ${keys}, or a path such as info.prompt_id` });
});

it("unreadable lines and unreadable records of other tools are counted together", async () => {
  const { unreadable_lines } = await check([
    ["{", rollout(0)],
    [chat({}), "{", "{", chat({ reward: 2 })],
  ]);
  expect(unreadable_lines).toBe(3);
});

it.each<[kinds: string, note: string | undefined, ...args: readonly string[]]>([
  ["bare", "the input has no log probabilities"],
  ["scored", undefined],
  ["bare bare", "the input has no log probabilities"],
  ["bare scored bare", "2 of 3 groups have choices without log probabilities"],
  ["bare single", "1 of 3 groups have choices without log probabilities, and 2 of 3 groups have one trajectory"],
  ["bareSingle bareSingle", "the input has no log probabilities and one trajectory in each group"],
  ["failed scored", "1 of 2 groups have only failures"],
  ["small", undefined],
  ["mixed bare", "2 of 2 groups have choices without log probabilities"],
])(
  "a note counts what lacks something, also the groups of files that all lack it: %s",
  async (kinds, note, ...args) => {
    const turn = (reward: number, more: object) => rollout(reward, {}, [user("q"), choice(`${reward}`, more)]);
    const [scored, failure] = [{ logprobs: { content: [{}] } }, { type: "E", message: "m" }];
    const files: Readonly<Record<string, (at: number) => readonly object[]>> = {
      bare: (at) => [group(turn(at, {}), turn(at + 0.5, {}))],
      scored: (at) => [group(turn(at, scored), turn(at + 0.5, scored))],
      single: (at) => [group(turn(at, scored)), group(turn(at + 0.5, scored))],
      bareSingle: (at) => [group(turn(at, {})), group(turn(at + 0.5, {}))],
      failed: () => [{ trajectories: [], exceptions: [failure] }],
      small: (at) => [group(turn(at, scored)), { trajectories: [], exceptions: [failure] }],
      mixed: (at) => [group(turn(at, scored), turn(at + 0.5, {}))],
    };
    const { notes } = await check(
      kinds.split(" ").map((kind, at) => files[kind]?.(at) ?? []),
      ...args,
    );
    expect(notes).toEqual(note === undefined ? [] : [note]);
  },
);

it("a note counts the groups that --group-by joins across files", async () => {
  const files = [
    [rollout(0, a), rollout(1, b), rollout(2, { group_id: "c" })],
    [rollout(3, a), rollout(4, b)],
  ];
  const { groups, notes } = await check(files, "--group-by", "group_id");
  expect([groups.read, notes[1]]).toEqual([3, "with --group-by, 2 groups consist of trajectories from several files"]);
  const rows = [1, 2, 1].map((k) => [chat({ k }), chat({ k })]);
  const converted = await check(rows, "--group-by", "k");
  expect(converted.notes).toContain("with --group-by, 1 group consists of trajectories from several files");
});

const valid = JSON.stringify(group(rollout(0)));

it.each([
  [`${valid}\n{"logs":[\n${valid}`, "2:10 the line is truncated"],
  [`${valid}\n{"logs":[\n`, "2:10 the line is truncated"],
  [`${valid}\n{"logs":[`, "2:10 the last line is truncated"],
  [`${valid}\n{"logs":["\xc3\xa9\xef\xbc"]}\n`, "2:12 these bytes are not UTF-8"],
  [`${valid}\n{"logs":["\xc3\xa9\xff"]}\n`, "2:12 these bytes are not UTF-8"],
])(
  "an unreadable line is reported after its readable characters, and the last line with its own text (row %$)",
  async (text, report) => {
    const { scan } = await read(filesOf(Buffer.from(text, "latin1")));
    const unreadable = scan.problems.sorted().filter(({ rule }) => /^json|utf/.test(rule));
    expect(unreadable.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([report]);
  },
);

it("each line of a long file can begin with a byte order mark", async () => {
  const { status, trajectories } = await check([
    [...Array(1500).keys()].map((at) => `\ufeff${JSON.stringify(rollout(at))}`),
  ]);
  expect([status, trajectories.read]).toEqual(["valid", 1500]);
});

it("each later file has its first problem of a rule, also after 1,000 of an earlier file", async () => {
  const { scan } = await read(filesOf("7\n".repeat(1002), "7\n7", JSON.stringify({ trajectories: [rollout(0)] })), {});
  const files = scan.problems.sorted().map(({ file = "" }) => file.replace(/.*\//, ""));
  expect([scan.problems.errors, files.length, files.at(-1)]).toEqual([1004, 1001, "2.jsonl"]);
});

it("a request must have the split of the run", async () => {
  const request = JSON.stringify({ trajectory_groups: [group(rollout(0), rollout(1))], split: "val" });
  const found = await Promise.all(["val", "train"].map((split) => problemsOf(filesOf(request), { split })));
  expect(found).toEqual([[], [expect.stringMatching(/^split-mismatch 1:\d+ split$/)]]);
});

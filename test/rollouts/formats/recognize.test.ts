import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";
import { folderOf } from "./converting.ts";
import { turn, user } from "./records.ts";

const messages = [user("q"), { role: "assistant", content: "a" }];
const trajectory = { messages_and_choices: [user("q"), turn("a")], reward: 1 };
const long = { metadata: { text: "x".repeat(2 ** 17) } };

/** Checks a file, and returns the exit code, the group count, the name of the format in the notice, and the error. */
const check = async (content: readonly object[] | string, args: readonly string[] = [], file = "a.jsonl") => {
  const cwd = folderOf({ [file]: content });
  const { code, stdout, stderr } = await runRollcall(["check", ...args, file], { cwd });
  return {
    code,
    groups: /^groups\.read\t(\d+)/m.exec(stdout)?.[1],
    format: /--from ([\w-]+)/.exec(stderr)?.[1],
    stderr,
  };
};

describe("the format of a file", () => {
  it.each<[string, readonly object[], string]>([
    ["a first key split", [{ split: "train", messages, reward: 1 }], "openai-chat"],
    ["a first key trajectory_id", [{ trajectory_id: "t", prompt: "q", completion: "a", reward: 1 }], "trl"],
    ["trajectories in a nested object", [{ info: { trajectories: [1] }, messages, reward: 1 }], "openai-chat"],
    ["trajectories that are names", [{ trajectories: ["a"], messages, reward: 1 }], "openai-chat"],
    [
      "an unusual first record",
      [
        { step: 1, messages: [] },
        { messages, reward: 1 },
      ],
      "openai-chat",
    ],
    ["messages and an output", [{ messages, output: "a", reward: 1 }], "openai-chat"],
    ["messages and a completion", [{ messages, prompt: "q", completion: "a", reward: 1 }], "trl"],
    [
      "a failed first row",
      [
        { prompt: "q", completion: "a", example_id: 0, answer: "4", error: "e" },
        { prompt: "q", completion: "a", example_id: 0, answer: "4", reward: 1 },
      ],
      "verifiers-v0",
    ],
    ["no score", [{ prompt: "q", completion: "a", example_id: 0, answer: "4", reward: null }], "verifiers-v0"],
    ["only failures", [{ exceptions: [{ type: "E", message: "m" }], metadata: {} }], "art"],
    ["messages and exceptions", [{ messages, exceptions: [{ message: "m" }], reward: 1 }], "openai-chat"],
  ])("is the one with the highest score for rows with %s", async (_, rows, name) => {
    expect((await check(rows)).format).toBe(name);
  });

  it.each<[string, readonly object[] | string]>([
    ["a list after 128 kB of metadata", [{ ...long, ...trajectory }]],
    ["trajectories after 128 kB of metadata", [{ ...long, trajectories: [trajectory] }]],
    ["trajectories whose first key is another", [{ trajectories: [{ metadata: {}, ...trajectory }] }]],
    ["an indented request in an array", JSON.stringify([{ split: "s", trajectory_groups: [] }, trajectory], null, 2)],
    ["chat messages too", [{ messages, ...trajectory }]],
  ])("is rollcall's for records with %s", async (_, content) => {
    const { code, groups, format } = await check(content);
    expect({ code, groups, format }).toEqual({ code: 0, groups: "1", format: undefined });
  });

  it("is rollcall's for truncated records and records with NaN, also in a folder with other files", async () => {
    const text = JSON.stringify({ trajectories: [trajectory] });
    const cwd = folderOf({
      "r/cut.jsonl": text.slice(0, 90),
      "r/late.jsonl": [{ event: "log" }, text.slice(0, 90)],
      "r/nan.jsonl": text.replace('"reward":1', '"reward":NaN'),
      "r/wrong.jsonl": [{ trajectories: [{ messages }] }],
      "r/chat.jsonl": [{ messages, reward: 1 }],
    });
    const { code, stdout } = await runRollcall(["check", "r", "--json"], { cwd });
    const { problems } = JSON.parse(stdout);
    const errors = problems.filter(({ severity }: { severity: string }) => severity === "error");
    expect([code, errors.map(({ file, rule }: Record<string, string>) => `${file} ${rule}`)]).toEqual([
      3,
      expect.arrayContaining([
        "r/cut.jsonl json-truncated",
        "r/late.jsonl json-truncated",
        "r/nan.jsonl json-not-finite",
        "r/wrong.jsonl missing-field",
      ]),
    ]);
  });
});

describe("--from with a folder", () => {
  const row = { prompt: "q", response: "a", my_reward: 1 };

  it("reads files that the format does not recognize, also compressed, and skips others with a warning", async () => {
    const cwd = folderOf({
      "r/a.jsonl": [row],
      "r/c.json": '{"seed":1}',
      "r/own.jsonl": [{ trajectories: [trajectory] }],
    });
    writeFileSync(join(cwd, "r/b.jsonl.gz"), gzipSync(JSON.stringify({ ...row, prompt: "r" })));
    writeFileSync(join(cwd, "r/log.eval"), "PK\x03\x04");
    const args = ["check", "r", "--from", "trl", "--reward-from", "my_reward", "--json"];
    const { code, stdout } = await runRollcall(args, { cwd });
    const { groups, warnings } = JSON.parse(stdout);
    const skipped = warnings.flatMap(({ rule, file }: Record<string, string>) => (rule === "skipped-file" ? file : []));
    expect([code, groups.read, skipped]).toEqual([0, 2, ["r/c.json", "r/log.eval", "r/own.jsonl"]]);
  });

  it.each([
    ["verl", { input: "q", output: "a", my_reward: 1 }],
    ["openai-chat", { messages, my_reward: 1, trajectory_format: "a" }],
    ["verifiers-v0", { prompt: "q", completion: "a", example_id: 1, my_reward: 1 }],
  ])("reads rows of %s without the keys that identify them", async (name, one) => {
    const cwd = folderOf({ "r/a.jsonl": [one] });
    const args = ["check", "r", "--from", name, "--reward-from", "my_reward"];
    expect(await runRollcall(args, { cwd })).toMatchObject({ code: 0 });
  });
});

describe("a file of an unknown format", () => {
  it("gets the list of the formats", async () => {
    const { code, stderr } = await check([{ question: "q", reply: "a", reward: 1 }]);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/the keys question, reply, reward.*\n.*--from \(atif, .*rollcall\).*guide/),
    ]);
    const many = await check([Object.fromEntries([..."abcdefghij"].map((key) => [key, 1]))]);
    expect(many.stderr).toMatch(/the keys a, b, c, d, e, f, g, h \[/);
  });

  it.each<[string, object]>([
    ["preferences", { prompt: "q", chosen: "a", rejected: "b", reward: 1 }],
    ["an instruction, an input and an output", { instruction: "q", input: "i", output: "a", reward: 1 }],
    ["a list for each column", { prompt: ["q", "r"], completion: ["a", "b"], reward: [0, 1] }],
    ["an event of a session", { type: "user", sessionId: "s", message: user("q") }],
    ["a batch's answer", { custom_id: "c", response: { body: { choices: [] } } }],
    ["a header of another log", { eval: { task: 1 }, status: "success" }],
    ["token ids", { prompt_tokens: [1], response_tokens: [2], reward: 1 }],
    ["a list of columns named like messages", { messages: [[], []], reward: [0, 1] }],
  ])("is refused with its keys if it has %s", async (_, record) => {
    const { code, stderr } = await check([record]);
    const keys = Object.keys(record).join(", ");
    expect([code, stderr]).toEqual([3, expect.stringContaining(`records with the keys ${keys} [unknown-format]`)]);
  });

  it("reports the fields of rollcall's format if a later record has them", async () => {
    const { stderr } = await check([{ event: "l".repeat(2 ** 20) }, { trajectories: [{ messages }], note: "n" }]);
    expect(stderr).toContain("[missing-field]");
  });

  it("gets no advice to rename a field whose content does not fit", async () => {
    for (const record of [
      { history: [{ kind: "event" }] },
      { messages: {} },
      { chat: "text" },
      { conversations: [] },
    ]) {
      for (const args of [[], ["--from", "rollcall"]]) {
        const { code, stderr } = await check([{ ...record, reward: 1 }], args);
        expect([code, stderr]).toEqual([3, expect.not.stringContaining("rename")]);
      }
    }
  });

  it("gets the options that read a folder of single documents", async () => {
    const row = { prompt: "q", response: "a", a: { score: 1 }, b: { score: 2 } };
    const cwd = folderOf({ "r/1.json": JSON.stringify(row, null, 2), "r/2.json": JSON.stringify(row, null, 2) });
    const { code, stderr } = await runRollcall(["check", "r"], { cwd });
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining("hint: pass --from trl, and --reward-from with one of a.score b.score"),
    ]);
    const args = ["check", "r", "--from", "trl", "--reward-from", "a.score"];
    expect(await runRollcall(args, { cwd })).toMatchObject({ code: 0 });
  });
});

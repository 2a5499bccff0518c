import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/here.ts";
import { itHolds } from "../support/property.ts";

const folder = mkdtempSync(join(tmpdir(), "rows-"));

const convert = async (words: readonly string[]): Promise<readonly string[]> => {
  const { code, stdout, stderr } = await runHere(["convert", "-q", ...words]);
  if (code !== 0) throw new Error(stderr);
  return stdout.split("\n").slice(0, -1);
};

/** JSON that a parser and `JSON.stringify` would not write again as it is. */
const values = fc.constantFrom(
  ...["1.0", "-0", "1e400", "9007199254740993", '"\\u00e9\\/"', '"\\ud800"', '"a\\nb"', "[ 1 ,2 ]", '{ "z":1,"a":"" }'],
);
const contents = fc.constantFrom('"q"', '"\\u0041"', '""', '[{"type":"text","text":"\\t"}]');
const knownKeys = '"name":"n","reasoning_content":"r","refusal":"","weight":0';
/** A turn of a trajectory, and the message of a row. */
const messages = fc
  .record({ role: fc.constantFrom("user", "assistant", "system"), content: contents, value: values })
  .map(({ role, content, value }) => ({
    turn: `{"role": "${role}", "content":${content},${knownKeys},"own_id" :${value}}`,
    message: `{"role": "${role}","content":${content},${knownKeys}}`,
    ...{ role, content, isChoice: false },
  }));
const choices = fc.tuple(contents, values).map(([content, value]) => ({
  turn: `{"finish_reason":"stop","index":0,"message": {"n_id":${value},"role":"assistant","content":${content}}}`,
  message: `{"role":"assistant","content":${content}}`,
  ...{ role: "assistant", content, isChoice: true },
}));
const turns = fc.oneof(messages, choices);
const tools = fc.constantFrom(undefined, "[]", '[{"type":"function","function":{"name":"f","n":1.0}}]');

describe("rows of messages", () => {
  itHolds(
    "have the known keys of the messages up to the last sampled turn, byte for byte, if it answers a prompt",
    fc.asyncProperty(fc.array(fc.tuple(fc.array(turns, { maxLength: 6 }), tools), { minLength: 1 }), async (given) => {
      const trajectories = given.map(
        ([list, offered]) =>
          `{"reward":0,"messages_and_choices":[${list.map(({ turn }) => turn).join(" ,")}]${offered ? `,"tools":${offered}` : ""}}`,
      );
      const file = join(folder, "in.jsonl");
      writeFileSync(file, `{"trajectories":[${trajectories.join(",")}]}\n`);
      const rows = given.flatMap(([list, offered]) => {
        const hasChoice = list.some(({ isChoice }) => isChoice);
        const isSampled = (turn: (typeof list)[number]) => (hasChoice ? turn.isChoice : turn.role === "assistant");
        const [first, last] = [list.findIndex(isSampled), list.findLastIndex(isSampled)];
        const hasPrompt = list.slice(0, Math.max(first, 0)).some(({ content }) => content !== '""');
        if (!hasPrompt || /""|\\t/.test(list[last]?.content ?? "")) return [];
        const texts = list.slice(0, last + 1).map(({ message }) => message);
        return `{"messages":[${texts.join(",")}]${offered && offered !== "[]" ? `,"tools":${offered}` : ""}}`;
      });
      expect(await convert([file, "--to", "messages"])).toEqual(rows);
    }),
    { quick: 15, slow: 120 },
  );
});

const said = (...contents: readonly unknown[]) => contents.map((content) => ({ content }));
const partsOf = (types: string) => said(...types.split(" ").map((type) => [{ type, text: "a" }]));
const calling = (args: string) => ({ id: "c", type: "function", function: { name: "f", arguments: args } });
const call = calling("{}");

it.each<[isAnswer: boolean, messages: readonly object[]]>([
  [true, said("a", [{ text: "a" }], [{ type: "refusal", refusal: "no" }])],
  [false, said("", " \n", [], [{ type: "text", text: " " }], [{ type: "text" }])],
  [true, partsOf("text output_text image image_url audio input_audio output_audio tool_use")],
  [false, partsOf("thinking reasoning other")],
  [true, [{ content: null, tool_calls: [call] }]],
  [true, [{ content: "", refusal: "no" }]],
  [false, [{ content: null, tool_calls: [], refusal: null }]],
  [false, [{ content: "", reasoning_content: "r" }]],
  [true, [{ content: "a", function_call: null }]],
  [false, [{ content: "a", function_call: call.function }]],
  [false, [{ content: "a", toolCalls: [call] }]],
])("a row ends with a text, a medium, a refusal or a tool call (row %$)", async (isAnswer, messages) => {
  const file = join(folder, "answers.jsonl");
  const lines = messages.map((own) => {
    const answer = { finish_reason: "stop", index: 0, message: { role: "assistant", ...own } };
    return JSON.stringify({ messages_and_choices: [{ role: "user", content: "q" }, answer], reward: 0 });
  });
  writeFileSync(file, lines.join("\n"));
  expect(await convert([file, "--to", "messages"])).toHaveLength(isAnswer ? messages.length : 0);
});

it("a row has each list of media of its trajectory, but no counts", async () => {
  const file = join(folder, "media.jsonl");
  const media = { image: "a", images: ["b"], videos: ["c"], audios: ["d"] };
  const messages = ["user", "assistant"].map((role) => ({ role, content: role }));
  writeFileSync(
    file,
    JSON.stringify({ messages_and_choices: messages, reward: 0, pictures: ["e"], frames: 2, ...media }),
  );
  const [row = ""] = await convert([file, "--to", "messages"]);
  expect(JSON.parse(row)).toEqual({ messages, ...media });
});

describe("a row of preferences", () => {
  it("divides the best and the worst trajectory of its group after the prompt", async () => {
    const flat = ["test/samples/wordle.trajectories.jsonl", "--group-by", "prompt_id"];
    const receipt = join(folder, "receipt.json");
    const all = await convert([...flat, "--to", "messages", "--receipt", receipt]);
    const places = JSON.parse(readFileSync(receipt, "utf8")).rows;
    const pairs = join(folder, "pairs.json");
    const words = ["--to", "preferences", "--where", "group.number != 2", "--receipt", pairs];
    const rows = (await convert([...flat, ...words])).map((row) => JSON.parse(row));
    const { records, rows: found } = JSON.parse(readFileSync(pairs, "utf8"));
    expect(found.map(({ group }: { group: number }) => group)).toEqual([1, 3, 4, 5]);
    const messagesOf = (group: number, trajectory: number) => {
      const at = places.find((one: typeof places) => one.group === group && one.trajectory === trajectory);
      return JSON.parse(all[at.row - 1] ?? "").messages;
    };
    for (const [at, { group, chosen, rejected }] of found.entries()) {
      const { prompt, ...row } = rows[at];
      expect([...prompt, ...row.chosen]).toEqual(messagesOf(group, chosen));
      expect([...prompt, ...row.rejected]).toEqual(messagesOf(group, rejected));
      expect(records.filter((record: typeof found) => record.group === group)).toHaveLength(9);
    }
  });
});

it("a row of preferences is that of the prompt whose rewards differ most, with the first of equal rewards", async () => {
  const file = join(folder, "prompts.jsonl");
  const rollouts = ["q 0 a", "r 0 b", "q 1 c", "r 3 d", "r 3 e", "s 9 f", "q 1 g", "r 0 h", "t 4 i", "t 5 j"].map(
    (text) => {
      const [prompt, reward, content] = text.split(" ");
      const messages = [
        { role: "user", content: prompt },
        { role: "assistant", content },
      ];
      return { messages_and_choices: messages, reward: Number(reward) };
    },
  );
  writeFileSync(file, JSON.stringify({ trajectories: rollouts }));
  const [row = "", ...others] = await convert([file, "--to", "preferences"]);
  const { prompt, chosen, rejected } = JSON.parse(row);
  expect([...prompt, ...chosen, ...rejected].map(({ content }) => content).concat(others)).toEqual(["r", "d", "b"]);
});

it.each<[isPair: boolean, first: object, second: object, rewards?: readonly number[]]>([
  [false, {}, { name: null, refusal: "", reasoning_content: null, tool_calls: [], own: 1 }],
  [true, {}, { name: "n" }],
  [true, { reasoning_content: "r" }, { reasoning_content: "s" }],
  [true, {}, { refusal: "no" }],
  [true, {}, { content: "b" }],
  [false, {}, { content: [{ type: "text", text: "a" }] }],
  [true, { tool_calls: [call] }, { tool_calls: [call, call] }],
  [false, { tool_calls: [call] }, { tool_calls: [{ ...call, id: "d" }] }],
  [false, { tool_calls: [calling('{"a":1,"b":2}')] }, { tool_calls: [calling('{ "b": 2, "a": 1.0 }')] }],
  [true, { tool_calls: [calling('{"a":1}')] }, { tool_calls: [calling('{"a":2}')] }],
  [true, { tool_calls: [calling("a")] }, { tool_calls: [calling("a ")] }],
  [false, {}, { name: "", refusal: [] }],
  [false, { content: null, tool_calls: [call] }, { content: [], tool_calls: [call] }],
  [false, {}, { content: "b" }, [1, 1 + 1e-13]],
  [true, {}, { content: "b" }, [1, 1 + 1e-11]],
])("a row of preferences needs answers and rewards that differ (row %$)", async (isPair, first, second, rewards) => {
  const file = join(folder, "pair.jsonl");
  const [low = 0, high = 1] = rewards ?? [];
  const trajectories = [first, second].map((own, at) => {
    const messages = [
      { role: "user", content: "q" },
      { role: "assistant", content: "a", ...own },
    ];
    return { messages_and_choices: messages, reward: at === 0 ? low : high };
  });
  writeFileSync(file, JSON.stringify({ trajectories }));
  expect(await convert([file, "--to", "preferences"])).toHaveLength(isPair ? 1 : 0);
});

describe("a receipt of rows", () => {
  it("counts what rows omit of both trajectories, and names the trajectories as in the input", async () => {
    const [file, receipt] = [join(folder, "omitted.jsonl"), join(folder, "omitted.json")];
    const rollout = (content: string, more: readonly object[], own: object = {}) => ({
      messages_and_choices: [{ role: "user", content: "q" }, { role: "assistant", content, own: 1 }, ...more],
      ...own,
    });
    const history = { additional_histories: [{ messages_and_choices: [{ role: "user", content: "h" }] }] };
    const trajectories = [
      rollout("a", [], { reward: 9 }),
      rollout("b", [{ role: "user", content: "end" }], { reward: 0 }),
      rollout("c", [{ role: "user", content: "end" }], { reward: 1, ...history }),
    ];
    writeFileSync(file, `${JSON.stringify({ trajectories })}\n`);
    await convert([file, "--to", "preferences", "--where", "reward < 5.0", "--receipt", receipt]);
    expect(JSON.parse(readFileSync(receipt, "utf8"))).toMatchObject({
      rows: [{ row: 1, group: 1, chosen: 3, rejected: 2 }],
      omitted: [
        { reason: "after_last_sampled_turn", count: 2 },
        { reason: "additional_histories", count: 1 },
        { path: "messages[].own", count: 2 },
      ],
    });
  });

  it("lists the records of each format, with the group and trajectory of each row", async () => {
    const [own, chat, receipt] = [join(folder, "own.jsonl"), join(folder, "chat.jsonl"), join(folder, "both.json")];
    const turns = '[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]';
    writeFileSync(own, `{"messages_and_choices":${turns},"reward":0}\n`);
    writeFileSync(chat, `{"messages":${turns},"reward":0}\n`);
    await convert([own, chat, "--to", "messages", "--receipt", receipt]);
    expect(JSON.parse(readFileSync(receipt, "utf8"))).toMatchObject({
      records: [
        { file: chat, line: 1, group: 1, trajectory: 1 },
        { file: own, line: 1, group: 2, trajectory: 1 },
      ],
      rows: [
        { row: 1, group: 1, trajectory: 1 },
        { row: 2, group: 2, trajectory: 1 },
      ],
    });
  });
});

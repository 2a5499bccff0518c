import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { readConversation } from "../../src/calls/read-conversation.ts";
import { convertBlocks, convertReply } from "../../src/conversation/apis/anthropic.ts";
import { toTurns } from "../../src/conversation/turns.ts";
import { type Json, JsonWriter } from "../../src/json/output-json.ts";
import * as raw from "../../src/json/raw-json.ts";
import { Value } from "../../src/json/value.ts";
import { countCharacters } from "../../src/text/sentences.ts";
import { page, spoken } from "../output/call.ts";
import { notRollouts, samples, wordsOf } from "../rollouts/formats/samples.ts";
import { runHere } from "../support/here.ts";
import { closePage, openPage, writePage } from "../view/page/open-page.ts";
import { fileOf } from "../view/viewing.ts";

afterEach(closePage);

type Facts = Readonly<Record<"turns" | "characters" | "tool_calls" | "tool_errors" | "unanswered", number>>;

/** The facts as `call read` and the page show messages and choices. */
const countShown = (items: readonly raw.RawJson[]): Facts => {
  const all = toTurns(items);
  const hasChoices = all.some(({ isSampled }) => isSampled);
  const turns = all.filter(({ isSampled, role }) => (hasChoices ? isSampled : role === "assistant"));
  const calls = turns.flatMap(({ at, parts }) =>
    parts.flatMap((part) => (part.kind === "call" ? { ...part, at } : [])),
  );
  const results = all.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
  const lengthOf = (value: raw.RawJson | undefined) => countCharacters(value?.text ?? "");
  const characters = turns.map(({ parts }) => {
    const lengths = parts.map((part) => {
      if (part.kind === "call") return lengthOf(part.callArguments);
      return part.kind === "said" && part.value.kind === "text" ? lengthOf(part.value) : 0;
    });
    const thoughts = parts.flatMap((part) => (part.kind === "thought" ? countCharacters(part.text) : []));
    return lengths.reduce((sum, length) => sum + length, Math.max(0, ...thoughts));
  });
  return {
    turns: turns.length,
    characters: characters.reduce((sum, count) => sum + count, 0),
    tool_calls: calls.length,
    tool_errors: [...calls.map(({ result }) => result), ...all, ...results].filter((one) => one?.isError).length,
    unanswered: calls.filter(({ at, result }) => result === undefined && at < items.length - 1).length,
  };
};

/** The facts that `stats` prints for each trajectory, next to the facts of what the other commands show. */
const compareFacts = async (lines: string) => {
  const fields = "turns,characters,tool_calls,tool_errors,unanswered";
  const words = ["stats", "--each", "trajectory", "--json", "--fields", fields, "--quiet"];
  const { stdout, stderr } = await runHere(words, { stdin: lines });
  const counted: unknown = JSON.parse(stdout || expect.fail(stderr)).data;
  const records = lines.split("\n").filter(Boolean).map(raw.parseRawJson);
  const trajectories = records.flatMap((record) => raw.findValue(record, "trajectories")?.items ?? [record]);
  return [counted, trajectories.map((one) => countShown(raw.itemsOf(raw.findValue(one, "messages_and_choices"))))];
};

const own = readdirSync("test/samples").filter((name) => /(?:groups|trajectories)\.jsonl$/.test(name));
const others = readdirSync(samples).filter((name) => name !== "README.md" && !notRollouts.test(name));

describe("stats, call read and the page", () => {
  it.each(own)("read each message of %s alike", async (name) => {
    const [counted, shown] = await compareFacts(readFileSync(`test/samples/${name}`, "utf8"));
    expect(shown).toEqual(counted);
  });

  it.each(others)("read each message alike that convert writes for %s", async (name) => {
    const { stdout, stderr } = await runHere(["convert", `${samples}/${name}`, ...wordsOf(name), "--quiet"]);
    const [counted, shown] = await compareFacts(stdout || expect.fail(stderr));
    expect(shown).toEqual(counted);
  });
});

const question = { role: "user", content: "q" };
const calling = (id: string, more: object = {}) => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name: "get", arguments: "{}" } }],
  ...more,
});
const choiceOf = (message: object, finish_reason = "tool_calls") => ({ finish_reason, index: 0, message });
const lineOf = (items: readonly object[]) => JSON.stringify({ messages_and_choices: items, reward: 1 });

describe("results, reasoning and calls", () => {
  const results: readonly (readonly [more: object, isError: boolean])[] = [
    [{ content: "found" }, false],
    [{ content: "found", is_error: true }, true],
    [{ content: "found", is_error: false, isError: 1 }, true],
    [{ content: "found", status: "failed" }, true],
    [{ content: "found", status: "success", error: { message: null } }, false],
    [{ content: "found", error: "no page" }, true],
    [{ content: "Traceback (most recent call last)" }, true],
    [{ content: "Errors: 0" }, false],
    [{ content: [{ type: "text", text: "ValueError: 1" }] }, true],
    [
      {
        content: [
          { type: "text", text: "found" },
          { type: "text", text: "Error: 2" },
        ],
      },
      false,
    ],
    [{ content: '{"error":"no page"}' }, true],
    [{ content: '{"error":null,"data":1}' }, false],
    [{ role: "function", name: "get", content: "Error: 3" }, true],
  ];
  const answered = results.flatMap(([more], at) => {
    const older = "role" in more ? { tool_calls: undefined, function_call: { name: "get", arguments: "{}" } } : {};
    const id = "role" in more ? undefined : `call_${at}`;
    return [choiceOf(calling(`call_${at}`, older)), { role: "tool", tool_call_id: id, ...more }];
  });
  const items = [question, ...answered, choiceOf({ role: "assistant", content: "a" }, "stop")];

  it("are the same errors for stats, for call read and on the page", async () => {
    const [counted, shown] = await compareFacts(lineOf(items));
    expect(shown).toEqual(counted);
    const failed = results.map(([, isError]) => isError);
    expect(counted).toMatchObject([{ tool_calls: failed.length, tool_errors: failed.filter(Boolean).length }]);
    const printed = (await page(spoken(items))).match(/← result.*/g);
    expect(printed?.map((line) => line.endsWith(", error"))).toEqual(failed);
    const opened = await openPage(await writePage([fileOf("g.jsonl", lineOf(items))]), {
      query: { group: 1, trajectory: 1 },
    });
    expect(opened.attributesOf(".call .result", "class").map((name) => name === "result failed")).toEqual(failed);
  });

  it("include reasoning under several names once, and texts in lists", async () => {
    const details = [{ type: "reasoning.text", text: "hm" }];
    const turns = [
      { content: "a", reasoning: "hm", reasoning_details: details },
      { content: [{ type: "text", text: "b" }, { text: "c" }], reasoning_details: details },
      { content: "d", refusal: "no" },
    ];
    const lists = [
      { content: ["e", block("text", { text: "f" })], reasoning: [{ text: "hm" }] },
      { content: "g", thinking: ["h", "m"] },
      { content: "i", reasoning_details: "hm" },
    ];
    const said = [question, ...[...turns, ...lists].map((turn) => choiceOf({ role: "assistant", ...turn }, "stop"))];
    const [counted, shown] = await compareFacts(lineOf(said));
    expect(shown).toEqual(counted);
    expect(counted).toMatchObject([{ turns: 6, characters: 18 }]);
    const printed = await page(spoken(said));
    expect(printed.match(/thought|refusal|other fields/g)).toEqual([
      "thought",
      "thought",
      "refusal",
      "thought",
      "thought",
      "thought",
    ]);
  });
});

/** A block or a part of a content. */
const block = (type: string, more: object) => ({ type, ...more });

describe("the messages of an API", () => {
  const toMessages = (json: readonly Json[]): readonly object[] =>
    JSON.parse(new JsonWriter().writeOnOneLine(json).toString("utf8"));
  const parse = (data: unknown): Value => Value.parse(Buffer.from(JSON.stringify(data))) ?? expect.fail("no JSON");
  const skipping = { note: () => {}, skip: () => [] };
  const thinking = block("thinking", { thinking: "hm", signature: "s" });
  const asked = { role: "assistant", content: [thinking, block("tool_use", { id: "a", name: "get", input: {} })] };
  const gave = block("tool_result", { tool_use_id: "a", is_error: true, content: "no page" });
  const anthropic = { messages: [question, asked, { role: "user", content: [gave] }] };
  const reply = { role: "assistant", content: [block("text", { text: "a" })], stop_reason: "end_turn" };
  const responses = {
    input: [
      ...[question, block("reasoning", { summary: [block("summary_text", { text: "hm" })] })],
      block("function_call", { call_id: "a", name: "get", arguments: "{}" }),
      block("function_call_output", { call_id: "a", output: "Error: no page" }),
    ],
  };
  const response = {
    object: "response",
    status: "completed",
    output: [block("message", { role: "assistant", content: "a" })],
  };
  const chat = [
    question,
    calling("a", { reasoning_content: "hm" }),
    { role: "tool", tool_call_id: "a", content: "no page", is_error: true },
  ];

  const itemsOf = (call: object): readonly object[] => {
    const { inputs, output } = readConversation(raw.parseRawJson(JSON.stringify(call)));
    return [...(inputs.items ?? []), ...(output.items ?? [])].map(({ json }) => JSON.parse(json));
  };
  const converted = [
    ...anthropic.messages.map(parse).flatMap((message) => convertBlocks(skipping, message)),
    convertReply(skipping, parse(reply)),
  ];
  const chatCall = {
    inputs: { messages: chat },
    output: { choices: [choiceOf({ role: "assistant", content: "a" }, "stop")] },
  };
  const responsesCall = { inputs: responses, output: response };

  it.each([
    ["chat completions", chatCall, itemsOf(chatCall)],
    ["Responses", responsesCall, itemsOf(responsesCall)],
    ["Anthropic", { inputs: anthropic, output: reply }, toMessages(converted)],
    ["Anthropic, as they are", { inputs: anthropic, output: reply }, [...anthropic.messages, reply]],
  ])("of %s are the same for all commands", async (_, call, items) => {
    const printed = await page({ id: "c", ...call });
    expect(printed.match(/thought|→ get|← result.*/g)?.map((line) => line.replace(" (a)", ""))).toEqual([
      "thought",
      "→ get",
      "← result, error",
    ]);
    // A converter makes choices of the sampled messages.
    const sampled = items.map((item) => ("role" in item && item.role === "assistant" ? choiceOf(item) : item));
    const [counted, shown] = await compareFacts(lineOf(sampled));
    expect(shown).toEqual(counted);
    expect(counted).toEqual([{ turns: 2, characters: 5, tool_calls: 1, tool_errors: 1, unanswered: 0 }]);
    const { stdout } = await runHere(["check", "--json", "--quiet"], { stdin: lineOf(sampled) });
    expect(JSON.parse(stdout).problems).toEqual([]);
  });
});

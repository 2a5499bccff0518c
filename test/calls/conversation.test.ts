import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/calls/read-conversation.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";

describe("a call", () => {
  const user = { role: "user", content: "q" };
  const answer = { role: "assistant", content: "a" };
  const contents = [{ role: "user", parts: [{ text: "q" }] }];
  const candidates = [{ content: { role: "model", parts: [{ text: "a" }] } }];
  const start = [{ type: "message_start", message: { role: "assistant" } }];
  const responses = { object: "response", output: [{ type: "message", ...answer }], id: "r" };
  const spread = (call: object) => {
    const { inputs, output } = readConversation(parseRawJson(JSON.stringify(call)));
    const roleOf = ({ json }: { json: string }) => /"role":"(\w+)"/.exec(json)?.[1];
    return [inputs, output].flatMap(({ items, rest }) => [items?.map(roleOf).join(" "), rest?.json]);
  };

  it.each<[inputs: unknown, messages: string | undefined, rest: unknown]>([
    [{ messages: [user], system: "s", a: 1 }, "system user", { a: 1 }],
    [{ messages: [user], system: [{ type: "text", text: "s" }] }, "system user", undefined],
    [{ messages: [user], system: 7 }, "user", { system: 7 }],
    [{ messages: [{ ...user, role: "developer" }], system: "s" }, "developer", { system: "s" }],
    [{ messages: 7, messages_and_choices: [user] }, "user", { messages: 7 }],
    [{ messages: [7] }, undefined, { messages: [7] }],
    ["text", undefined, "text"],
    [{ contents, config: { seed: 1 } }, undefined, { contents, config: { seed: 1 } }],
  ])("has messages in its inputs, and other values (row %$)", (inputs, messages, rest) => {
    expect(spread({ inputs })).toEqual([messages, rest && JSON.stringify(rest), undefined, undefined]);
  });

  it.each<[output: unknown, messages: string | undefined, rest: unknown, sent?: object]>([
    [{ choices: [{ message: answer }], id: "c" }, "assistant", { id: "c" }],
    [{ choices: [{ message: answer }] }, "assistant", undefined],
    [answer, "assistant", undefined],
    [{ ...answer, choices: [] }, undefined, { ...answer, choices: [] }],
    [[answer, user], "assistant user", undefined],
    [start, undefined, start],
    ["text", undefined, "text"],
    [{ candidates }, undefined, { candidates }],
    [responses, "assistant", { object: "response", id: "r" }, { input: "q", instructions: "s", tools: [] }],
    [[{ response: { output: [] } }, { response: responses }], "assistant", { object: "response", id: "r" }],
  ])("has messages in its output, and other values (row %$)", (output, messages, rest, sent) => {
    const [before, tools] = sent ? ["system user", '{"tools":[]}'] : [undefined, undefined];
    const [inputs, others, ...ended] = spread({ inputs: sent, output });
    expect([inputs || undefined, others]).toEqual([before, tools]);
    expect(ended).toEqual([messages, rest && JSON.stringify(rest)]);
  });
});

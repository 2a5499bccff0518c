import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/calls/read-conversation.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { page } from "../output/call.ts";

/** The items of the inputs and the output, without their finish reasons. */
const messagesOf = (call: object): unknown => {
  const { inputs, output } = readConversation(parseRawJson(JSON.stringify(call)));
  const items = [...(inputs.items ?? []), ...(output.items ?? [])].map(({ json }) => JSON.parse(json));
  return items.map((item) => item.message ?? item);
};

const user = { role: "user", content: "q" };
const said = (content: string | null, more: object = {}) => ({ role: "assistant", content, ...more });

const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Rain." }] };
const response = { object: "response", status: "completed", output: [message] };
const imagePart = (url: string) => ({ type: "image_url", image_url: { url } });
const system = { role: "system", content: "Be brief." };

describe("a call", () => {
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

describe("a call of a model's API", () => {
  const withInput = (input: unknown, more: object = {}) => ({ inputs: { input, ...more }, output: response });

  it.each([
    ["text", "q", [user]],
    [
      "parts with a picture",
      [{ role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AA" }] }],
      [{ role: "user", content: [imagePart("data:image/png;base64,AA")] }],
    ],
    [
      "a custom tool whose result is incomplete",
      [
        user,
        { type: "custom_tool_call", call_id: "b", name: "run", input: "ls" },
        { type: "custom_tool_call_output", call_id: "b", output: "x", status: "incomplete" },
      ],
      [
        user,
        said(null, { tool_calls: [{ id: "b", type: "custom", custom: { name: "run", input: "ls" } }] }),
        { role: "tool", tool_call_id: "b", content: "x", status: "incomplete" },
      ],
    ],
    ["an earlier answer", [{ role: "assistant", content: "Hi." }, user], [said("Hi."), user]],
  ])("has the input of Responses if it is %s", (_, input, expected) => {
    expect(messagesOf(withInput(input))).toEqual([...expected, said("Rain.")]);
  });

  it("has the instructions of the reply if the inputs of Responses have none", () => {
    const call = { inputs: { input: "q" }, output: { ...response, instructions: "Be brief." } };
    expect(messagesOf(call)).toEqual([system, user, said("Rain.")]);
    const listed = withInput("q", { instructions: [{ role: "developer", content: "Be kind." }] });
    expect(messagesOf(listed)).toEqual([...[{ role: "developer", content: "Be kind." }, user, said("Rain.")]]);
  });

  it("is shown with a part of Responses that is no text", async () => {
    const content = [...message.content, { type: "output_audio", transcript: "Sun." }];
    const output = { ...response, output: [{ ...message, content }] };
    expect(await page({ id: "c", ...withInput("x"), output })).toMatch(/Rain\.[\s\S]*Sun\./);
  });

  it.each([{ input: 5 }, { input: [5] }, { input: [{ type: "function_call" }] }])(
    "is shown as data if its inputs are of another shape (row %$)",
    async (inputs) => {
      const call = { id: "c", op_name: "openai.responses.create", inputs };
      expect(await page(call)).toMatch(/│ input:/);
    },
  );
});

import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/calls/read-conversation.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { page } from "../output/call.ts";

const ended = { id: "c", started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:00:01Z" };

/** The items of the inputs and the output, without their finish reasons. */
const messagesOf = (call: object): unknown => {
  const { inputs, output } = readConversation(parseRawJson(JSON.stringify({ ...ended, ...call })));
  const items = [...(inputs.items ?? []), ...(output.items ?? [])].map(({ json }) => JSON.parse(json));
  return items.map((item) => item.message ?? item);
};

const user = { role: "user", content: "Weather in Bern?" };
const answered = (id: string, content: unknown, more: object = {}) => ({
  role: "tool",
  tool_call_id: id,
  content,
  ...more,
});
const said = (content: string | null, more: object = {}) => ({ role: "assistant", content, ...more });

const message = { type: "message", role: "assistant", content: [{ type: "output_text", text: "Rain." }] };
const response = { object: "response", status: "completed", output: [message] };
const imagePart = (url: string) => ({ type: "image_url", image_url: { url } });
const system = { role: "system", content: "Be brief." };
describe("a call of a model's API", () => {
  const withInput = (input: unknown, more: object = {}) => ({ inputs: { input, ...more }, output: response });

  it.each([
    ["text", "Weather in Bern?", [user]],
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
        answered("b", "x", { status: "incomplete" }),
      ],
    ],
    ["an earlier answer", [{ role: "assistant", content: "Hi." }, user], [said("Hi."), user]],
  ])("has the input of Responses if it is %s", (_, input, expected) => {
    expect(messagesOf(withInput(input))).toEqual([...expected, said("Rain.")]);
  });

  it("has the instructions of the reply if the inputs of Responses have none", () => {
    const call = { inputs: { input: "q" }, output: { ...response, instructions: "Be brief." } };
    expect(messagesOf(call)).toEqual([system, { role: "user", content: "q" }, said("Rain.")]);
    const listed = withInput("q", { instructions: [{ role: "developer", content: "Be kind." }] });
    expect(messagesOf(listed)).toEqual([
      ...[{ role: "developer", content: "Be kind." }, { role: "user", content: "q" }, said("Rain.")],
    ]);
  });

  it("is shown with a part of Responses that is no text", async () => {
    const content = [...message.content, { type: "output_audio", transcript: "Sun." }];
    const output = { ...response, output: [{ ...message, content }] };
    expect(await page({ ...ended, ...withInput("x"), output })).toMatch(/Rain\.[\s\S]*Sun\./);
  });

  it.each([{ input: 5 }, { input: [5] }, { input: [{ type: "function_call" }] }])(
    "is shown as data if its inputs are of another shape (row %$)",
    async (inputs) => {
      const call = { ...ended, op_name: "openai.responses.create", inputs };
      expect(await page(call)).toMatch(/│ input:/);
    },
  );
});

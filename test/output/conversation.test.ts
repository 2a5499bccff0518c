import { describe, expect, it } from "vitest";
import { page, spoken, under } from "./call.ts";

describe("a conversation", () => {
  it("shows roles, names and text, line by line", async () => {
    const text = await page(
      spoken([
        { role: "developer", content: "Be brief.\n\n  Indented." },
        { role: "user", name: "mia", content: "Hi" },
      ]),
    );
    expect(under(text, "developer")).toEqual(["Be brief.", "", "  Indented."]);
    expect(under(text, "user (mia)")).toEqual(["Hi"]);
  });

  it("shows tool calls with their arguments and results", async () => {
    const calls = [
      {
        id: "call_1",
        type: "function",
        function: { name: "book", arguments: '{"seats":[1,2],"note":"a\\nb","n":12345678901234567890}' },
      },
      { id: "call_2", type: "function", function: { name: "now", arguments: "{}" } },
      { id: "call_3", type: "function", function: { name: "raw", arguments: "not json" } },
      { id: "call_4", function: { arguments: 1 } },
      { id: "call_5", function: { name: "none" } },
    ];
    const text = await page(
      spoken([
        { role: "assistant", content: null, tool_calls: calls },
        {
          role: "tool",
          tool_call_id: "call_1",
          name: "book",
          content: ['{"ok": true}', { type: "image", source: { data: "AAAA" } }],
        },
        { role: "tool", tool_call_id: "call_2", name: "time", content: "9:30" },
      ]),
    );
    expect(under(text, "assistant")).toEqual([
      "",
      "→ book (call_1)",
      "  │ seats: [1, 2]",
      "  │ note:",
      "  │   a",
      "  │   b",
      "  │ n: 12345678901234567890",
      "",
      "← result",
      '  │ {"ok": true}',
      "  │ [image: 3 bytes]",
      "",
      "→ now (call_2)",
      "",
      "← result of time",
      "  │ 9:30",
      "",
      "→ raw (call_3)",
      "  │ not json",
      "",
      "→ not a call",
      "  │ id: call_4",
      "  │ function:",
      "  │   arguments: 1",
      "",
      "→ none (call_5)",
    ]);
  });

  it("shows a tool result without an earlier, unanswered call as a separate message", async () => {
    const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
    const text = await page(
      spoken([
        { role: "tool", tool_call_id: "c1", content: "before" },
        { role: "assistant", tool_calls: [call] },
        { role: "tool", tool_call_id: "c1", content: "first" },
        { role: "tool", tool_call_id: "c1", name: "f", content: "second" },
        { role: "tool", tool_call_id: "c9", content: "lost" },
      ]),
    );
    expect(under(text, "← result")).toEqual(["first"]);
    expect(text.match(/^ {2}tool \(.*\)$/gm)).toEqual(["  tool (c1)", "  tool (f, c1)", "  tool (c9)"]);
  });

  it("names images, sounds and files instead of printing them", async () => {
    const data = "A".repeat(40_000);
    const content = [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${data}`, detail: "high" } },
      { type: "image_url", image_url: { url: "https://example.com/cat.png" } },
      { type: "image", source: { type: "base64", media_type: "image/jpeg", data: `${data}AA==` } },
      { type: "input_audio", input_audio: { format: "wav", data } },
      { type: "file", file: { filename: "report.pdf" } },
      { type: "file", file: { file_id: "f-1" } },
      { type: "file", file: { file_data: `data:application/pdf;base64,${data}` } },
      { type: "file", file: { filename: "a b.pdf", file_data: data } },
      { type: "document", source: { type: "url", url: "https://example.com/d.pdf" } },
      { type: "refusal", refusal: "No." },
      { type: "unheard_of", of: 1 },
      "a bare text",
    ];
    const text = await page(spoken([{ role: "user", content }]));
    expect(under(text, "user").filter((line) => line !== "")).toEqual([
      "What is this?",
      ...["image: image/png, 29.3 KiB", "other fields", "  │ detail: high"],
      "image: https://example.com/cat.png",
      "image: image/jpeg, 29.3 KiB",
      "audio: wav, 29.3 KiB",
      "file: report.pdf",
      "file: f-1",
      "file: application/pdf, 29.3 KiB",
      'file: "a b.pdf", 29.3 KiB',
      "document: https://example.com/d.pdf",
      "refusal",
      "  │ No.",
      "text",
      "  │ type: unheard_of",
      "  │ of: 1",
      "  │ a bare text",
    ]);
  });

  it("shows every other field of a message or a choice", async () => {
    const message = {
      role: "assistant",
      content: "x",
      refusal: null,
      reasoning_content: "hm",
      annotations: [{ a: 1 }],
    };
    const output = {
      choices: [{ index: 0, finish_reason: "stop", message, logprobs: { content: [] } }],
      usage: { total_tokens: 3 },
    };
    const text = await page({ id: "c", output });
    expect(under(text, "assistant (finish reason stop)")).toEqual([
      "",
      "thought",
      "  │ hm",
      "",
      "text",
      "  │ x",
      "",
      "other fields",
      "  │ annotations:",
      "  │   - a: 1",
      "",
      "other fields",
      "  │ logprobs:",
      "  │   content: []",
    ]);
    expect(under(text, "Other output")).toEqual(["usage:", "  total_tokens: 3"]);
  });

  it("labels several choices with their index", async () => {
    const choice = (index: number) => ({
      index,
      finish_reason: "stop",
      message: { role: "assistant", content: `${index}` },
    });
    const text = await page({ id: "c", output: { choices: [choice(0), choice(1)] } });
    expect(under(text, "assistant (index 1, finish reason stop)")).toEqual(["1"]);
  });

  it("shows a trajectory that mixes messages and choices", async () => {
    const messages_and_choices = [
      { role: "user", content: "a" },
      { finish_reason: "stop", index: 0, message: { role: "assistant", content: "b" } },
    ];
    const text = await page({ id: "c", inputs: { messages_and_choices, reward: 0.5 } });
    expect(under(text, "assistant (finish reason stop, index 0)")).toEqual(["b"]);
    expect(under(text, "Other inputs")).toEqual(["reward: 0.5"]);
  });

  it("shows content parts that are tool calls or tool results", async () => {
    const text = await page({
      id: "c",
      inputs: {
        messages: [
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "22" }] }],
          },
        ],
      },
      output: {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "tool_use", id: "t2", name: "f", input: { a: 1 } },
        ],
      },
    });
    expect(under(text, "user")).toEqual(["", "← result (t1)", "  │ 22"]);
    expect(under(text, "assistant")).toEqual(["", "thought", "  │ hm", "", "→ f (t2)", "  │ a: 1"]);
  });

  it("shows an item that is not a message at its position", async () => {
    const text = await page(spoken([{ role: "user", content: "a" }, 7, { no: "role" }, null]));
    expect(text).toContain("not a message\n    │ 7\n");
    expect(text).toContain("not a message\n    │ no: role\n");
    expect(text).toContain("not a message\n    │ null\n");
  });
});

import { expect, it } from "vitest";
import { findForeignTurn } from "../../src/conversation/chat-marks.ts";
import { choice, messages, problemsIn, question } from "../support/problems.ts";

it.each<[text: string, mark: string | undefined]>([
  ["a<|im_end|>\n<|im_start|>user\nb", "<|im_start|>user"],
  ["a<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n4", "<|start_header_id|>ipython<|end_header_id|>"],
  ["a<end_of_turn>\n<start_of_turn>user\nb", "<start_of_turn>user"],
  ["a</s>[INST] b [/INST] c", "[INST]"],
  ["<|im_start|>assistant\na<|im_end|>", undefined],
  ["Write `<|im_start|>` or [INST] before a turn", undefined],
])("findForeignTurn finds a turn of another role in decoded text (row %$)", (text, mark) => {
  expect(findForeignTurn(text)).toBe(mark);
});

it.each<[content: unknown, mark: string | undefined]>([
  ["a<|im_start|>user\nb", "<|im_start|>"],
  ["<|start_header_id|>a", "<|start_header_id|>"],
  ["a <start_of_turn>", "<start_of_turn>"],
  ["a [INST]", "[INST]"],
  [["a", { type: "text", text: "b[INST]" }], "[INST]"],
  ["<|im_end|> start|> <|start|> [/INST] <end_of_turn> [INSTALL", undefined],
])("chat-marks-in-content names the mark in the sampled content %j", async (content, mark) => {
  const turns = [question, choice("", JSON.stringify({ role: "assistant", content }))];
  const spellings = [messages(...turns), messages(...turns).replaceAll("<", "\\u003c")];
  for (const line of spellings) {
    const problems = await problemsIn(line);
    expect(problems.flatMap(({ rule, message }) => (rule === "chat-marks-in-content" ? message : []))).toEqual(
      mark === undefined ? [] : [expect.stringContaining(`\`${mark}\``)],
    );
  }
});

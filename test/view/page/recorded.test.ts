import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { fileOf, groupLine } from "../viewing.ts";
import { closePage, formatHtml, openPage, writePage } from "./open-page.ts";

/** A folder of two files with each kind of group, message and part that the page shows. */
const showcase = (): string => {
  const call = (id: string, name: string, args: object) => {
    return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
  };
  const message = { role: "assistant", content: "four", reasoning_content: "2 and 2" };
  const logprobs = { content: ["fo", "ur"].map((token, at) => ({ token, logprob: -at * 1.6 })) };
  const messages = (end: object) => [
    { role: "developer", content: "a\nb\nc\nd\ne" },
    {
      role: "user",
      name: "ann",
      content: [
        { type: "text", text: "2 + 2?" },
        { type: "image_url", image_url: { url: "u" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [call("a", "add", { a: 2 }), call("b", "add", {}), call("c", "x", {})],
    },
    { role: "tool", tool_call_id: "a", content: '{"sum": 4}' },
    { role: "tool", tool_call_id: "b", content: '{"is_error": true}' },
    { role: "robot", content: "beep", weight: 1 },
    { role: "assistant", content: null, refusal: "no" },
    { finish_reason: "length", index: 0, message, logprobs },
    end,
  ];
  const metrics = { cost: 0.000123, turns: 12_345 };
  const trajectories = [0.25, 1, -1].map((reward) => ({
    messages_and_choices: messages({ role: "user", content: `it is ${reward} then` }),
    ...{ reward, metrics, metadata: { task_id: "t" } },
  }));
  const exceptions = [{ type: "TimeoutError", message: "no answer\nin 300 s" }, "killed"];
  const one = JSON.stringify({ trajectories, exceptions });
  const file = fileOf("step-10.jsonl", [one, groupLine([1, 1]), groupLine([7]), groupLine([0, 0.5])].join("\n"));
  const invalid = groupLine([0, 1]).replace('"reward":1', '"reward":"1"');
  writeFileSync(
    join(dirname(file), "step-9.jsonl"),
    [invalid, "{", '{"trajectories":[]}', groupLine([2, 4])].join("\n"),
  );
  return dirname(file);
};

afterEach(closePage);

describe("the page of rollcall view", () => {
  it("shows each part of its views as recorded", async () => {
    const folder = showcase();
    const page = await openPage(await writePage([folder]));
    const recorded: string[] = [];
    const record = (name: string, part: string) =>
      recorded.push(`# ${name}`, `${formatHtml(page.find(part).outerHTML)}\n`.replaceAll(folder, "run"));
    for (const [query, part] of [
      [{}, "body > :not(script, noscript)"],
      [{}, ".facts"],
      [{ group: 1 }, ".members"],
      [{ group: 1 }, ".column"],
      [{ group: 1, trajectory: 1 }, "main"],
    ] as const) {
      await page.show(query);
      record(JSON.stringify(query).replaceAll(folder, "run"), part);
    }
    await page.press("?");
    record("the keys", ".help");
    await expect(recorded.join("\n")).toMatchFileSnapshot("golden/page.txt");
  });
});

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runHere } from "../support/here.ts";
import { json, scriptedServer } from "../support/server.ts";

const deep = (open: string, close: string): string => open.repeat(20_000) + close.repeat(20_000);
const long = (text: string): string => JSON.stringify(text.repeat(6_000_000 / text.length));

it.each([
  ["a text like a key", "content", `"sk-${long("aB3").slice(1)}`],
  ["tags of reasoning", "content", long("<think>")],
  ["nested lists", "content", deep("[", "]")],
  [
    "nested blocks",
    "content",
    deep('[{"type":"tool_result","tool_use_id":"a","content":', "}]").replace("}]", "null}]"),
  ],
  ["nested lists in a group key", "group_id", deep("[", "]")],
  ["nested metadata", "metadata", deep('{"metadata":', "}").replace(":}", ":1}")],
])("every command reads %s", { tags: "slow" }, async (_, key, value) => {
  const folder = mkdtempSync(join(tmpdir(), "long-"));
  const file = join(folder, "rows.jsonl");
  const content = key === "content" ? value : '"a"';
  const more = key === "content" ? "" : `,"${key}":${value}`;
  const message = `{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":${content}}}`;
  const line = (reward: number): string =>
    `{"messages_and_choices":[{"role":"user","content":"q"},${message}],"reward":${reward}${more}}`;
  const own = `${line(0)}\n${line(1)}\n`;
  const row = (reward: number): string =>
    `{"prompt":"q","messages":[{"role":"user","content":"q"},{"role":"assistant","content":${content}}],"reward":${reward}${more}}`;
  const commands = [["check"], ["stats"], ["convert"], ["view", "--html", join(folder, "page.html")]];
  for (const text of [own, `${row(0)}\n${row(1)}\n`]) {
    writeFileSync(file, text);
    for (const words of [...commands, ["compare", file], ["log", "m", "--split", "s", "--dry-run", "--no-ledger"]]) {
      const { code, stderr } = await runHere([...words, file]);
      expect([words[0], code === 1, stderr.includes("call stack")]).toEqual([words[0], false, false]);
    }
  }
  const call = `{"call":{"id":"c","inputs":{"messages":[{"role":"user","content":${content}}]},"output":{"output":[{"type":"message","content":${content}${more}}]}}}`;
  const { url } = await scriptedServer([{ answer: { ...json({}), body: call } }]);
  const env = { ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: "key-12345678", ROLLCALL_PROJECT: "a/b" };
  expect(await runHere(["call", "read", "c"], { env })).toMatchObject({ code: 0, stderr: "" });
});

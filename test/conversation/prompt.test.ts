import { expect, it } from "vitest";
import { formatSaid } from "../../src/conversation/prompt.ts";

const keys = `id uid uuid message_id msg_id turn_id event_id tool_call_id call_id source recorder cache_control date time
  created turn_idx timestamp created_at start_time my_timestamp createdAt messageId parentUuid session_id spanId
  timestamp_ms ts latency_ms`;

it.each(["name", "file_id", "imageId", "language", "tool_calls", "format", "extra", "metadata", "video_duration"])(
  "what a message says includes %s",
  (key) => {
    const said = (value: string) => formatSaid(`{"role":"user","content":"q","${key}":"${value}"}`);
    expect(said("a")).not.toBe(said("b"));
  },
);

it("what a message says includes the source of an image", () => {
  const said = (data: string) => formatSaid(JSON.stringify({ content: [{ type: "image", source: { data } }] }));
  expect(said("a")).not.toBe(said("b"));
});

it.each(keys.split(/\s+/))("what a message says does not include %s, also in its parts", (key) => {
  const said = [{ role: "user", content: [{ type: "text", text: "q" }, { type: "image" }] }];
  const recorded = said.map((one) => ({
    ...one,
    [key]: 1,
    content: one.content.map((part) => ({ ...part, [key]: 1 })),
  }));
  expect(formatSaid(JSON.stringify(recorded))).toBe(formatSaid(JSON.stringify(said)));
  expect(formatSaid(JSON.stringify([{ ...said[0], [`${key}s`]: 1 }]))).not.toBe(formatSaid(JSON.stringify(said)));
});

it.each(["null", "[]", "[ ]"])("what a message says does not include calls that are %s", (calls) => {
  const said = (more: string) => formatSaid(`{"content":[{"type":"text","text":"q","parts":[0]}]${more}}`);
  expect(said(`,"tool_calls":${calls}`)).toBe(said(""));
  expect(said(',"tool_calls":[0]')).not.toBe(said(""));
});

it.each([1, 100_000])("the order of keys counts only in very deep contents (%s levels)", (levels) => {
  const said = (content: string) => formatSaid(`{"content":${"[".repeat(levels)}${content}${"]".repeat(levels)}}`);
  expect(said('{"a":1,"b":2}') === said('{"b":2,"a":1}')).toBe(levels === 1);
});

it.each([
  ["1", ["1.0", "1e0", "10E-1"], ["1.5", "-1"]],
  ["0", ["0.0", "0e5"], ["1e-400", "false"]],
  ["1e400", ["1e400"], ["1e401", "1E400"]],
  ["12345678901234567890", [], ["12345678901234567891", "1.234567890123456789e19"]],
  ['"\u00e9/"', ['"\\u00e9\\/"'], ['"e/"']],
])("%s is the same number or text in another spelling, but no other one", (value, same, others) => {
  const said = (argument: string) => formatSaid(`{"content":[{"argument":${argument}}]}`);
  expect(same.map(said)).toEqual(same.map(() => said(value)));
  expect(others.map(said)).not.toContain(said(value));
});

import { expect, it } from "vitest";
import { formatSaid } from "../../../src/rollouts/messages/said-content.ts";

const keys = `id uid uuid message_id msg_id turn_id event_id tool_call_id call_id source recorder cache_control date time
  created turn_idx timestamp created_at start_time my_timestamp`;

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

it.each([1, 100_000])("the order of keys counts only in very deep contents (%s levels)", (levels) => {
  const said = (content: string) => formatSaid(`{"content":${"[".repeat(levels)}${content}${"]".repeat(levels)}}`);
  expect(said('{"a":1,"b":2}') === said('{"b":2,"a":1}')).toBe(levels === 1);
});

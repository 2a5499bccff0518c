import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { findPath, parsePath } from "../../src/calls/path.ts";
import { selectPrinter } from "../../src/commands/call/print-calls.ts";
import { parseRawJson, type RawJson } from "../../src/json/raw-json.ts";
import { everything, repliesWith } from "../output/call.ts";
import { type ScreenFlags, screenOn } from "../output/printed-text.ts";
import { testHost } from "../support/host.ts";
import { damaged, itHolds, type Json } from "../support/property.ts";

const samples: readonly Json[] = ["call", "call.exception", "call.tools"].map(
  (name) => JSON.parse(readFileSync(`test/samples/${name}.json`, "utf8")).call,
);

const parts: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(null, true, 0, -1, 1e308, "", "null", "free", "1e-7", "-1", [], {}, [null], [[]], [{}]),
  fc.constantFrom<Json>(
    { message: 1 },
    { role: {}, content: 7 },
    { role: "assistant", tool_calls: [null, 1, { function: 1 }, { id: {}, function: { name: [], arguments: {} } }] },
    { role: "tool", tool_call_id: "call_a1", content: [{ type: "image_url", image_url: {} }, { type: {} }] },
    { choices: [{ message: { role: "x".repeat(500), content: [[]] } }] },
    { costs: { m: { prompt_tokens_total_cost: "x", completion_tokens_total_cost: [] } }, status: [] },
    { usage: { m: { prompt_tokens: "7", total_tokens: -0.5 }, n: null } },
    "9999-99-99T99:99:99Z",
    "data:image/png;base64,",
  ),
  fc.jsonValue({ maxDepth: 3 }).map((value): Json => JSON.parse(JSON.stringify(value))),
);

const call = damaged(samples, parts);

const printed = async (one: RawJson, typed: ScreenFlags, { columns }: { columns?: number } = {}): Promise<string> => {
  const host = testHost(columns === undefined ? {} : { terminal: { stdout: true, columns } });
  const screen = screenOn(host, typed);
  await selectPrinter(screen, undefined)({ calls: repliesWith([one.json]), requested: () => 1 }, everything);
  return host.printed();
};

describe("a damaged call", () => {
  itHolds(
    "is printed in every form, and unchanged as JSON",
    fc.asyncProperty(call, async (value) => {
      const one = parseRawJson(JSON.stringify(value));
      expect(JSON.parse(await printed(one, { json: true }))).toEqual({ call: value });
      expect(await printed(one, {})).toMatch(/^Call .*\n {2}status/);
      const lines = (await printed(one, { color: "never" }, { columns: 40 })).split("\n");
      expect(lines.length).toBeLessThan(4000);
    }),
    { quick: 4, slow: 30 },
  );

  const path = parsePath("output.choices[0].message.content", "--path");
  itHolds(
    "has a value at a path, or not",
    fc.property(call, (value) => {
      expect(["found", "missing"]).toContain(findPath(parseRawJson(JSON.stringify(value)), path).kind);
    }),
    { quick: 6, slow: 80 },
  );
});

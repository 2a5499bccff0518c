import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect } from "vitest";
import { findPath, parsePath } from "../../src/calls/path.ts";
import { selectPrinter } from "../../src/commands/call/print-calls.ts";
import { parseRawJson, type RawJson } from "../../src/json/raw-json.ts";
import { everything, repliesWith } from "../output/call.ts";
import { type ScreenFlags, screenOn } from "../output/printed-text.ts";
import { testHost } from "../support/host.ts";
import { itHolds } from "../support/property.ts";

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const samples: readonly Json[] = ["call", "call.exception", "call.tools"].map(
  (name) => JSON.parse(readFileSync(`test/samples/${name}.json`, "utf8")).call,
);

const damage: fc.Arbitrary<Json> = fc.oneof(
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

/** Replaces a part of a value. Each fraction of `way` selects a member, one level deeper. */
const damaged = (value: Json, way: readonly number[], by: Json): Json => {
  const [here, ...below] = way;
  if (here === undefined || typeof value !== "object" || value === null) return by;
  if (Array.isArray(value)) {
    const at = Math.floor(here * value.length);
    return value.length === 0 ? by : value.map((one, index) => (index === at ? damaged(one, below, by) : one));
  }
  const entries = Object.entries(value);
  const at = Math.floor(here * entries.length);
  return entries.length === 0
    ? by
    : Object.fromEntries(entries.map(([key, one], index) => [key, index === at ? damaged(one, below, by) : one]));
};

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const call = fc
  .tuple(
    fc.constantFrom(...samples),
    fc.array(fc.tuple(fc.array(fraction, { minLength: 1, maxLength: 7 }), damage), { minLength: 1, maxLength: 4 }),
  )
  .map(([sample, harms]) => harms.reduce((value, [way, by]) => damaged(value, way, by), sample));

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

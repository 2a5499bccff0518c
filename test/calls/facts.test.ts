import { describe, expect, it } from "vitest";
import { findDurationMicros, findModels, findState, readCosts } from "../../src/calls/call-facts.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { formatDecimal } from "../../src/text/decimal.ts";

const callOf = (call: object) => parseRawJson(JSON.stringify(call));

describe("the duration of a call", () => {
  it.each([
    ["2025-01-01T00:00:00Z", "2025-01-01T00:01:01Z", 61_000_000],
    ["2025-01-01T00:00:00.5Z", "2025-01-01T00:00:01.25Z", 750_000],
    ["2025-01-01T00:00:00.000001Z", "2025-01-01T00:00:00.000003Z", 2],
    ["2025-01-01T00:00:00.000000999Z", "2025-01-01T00:00:00.123456789Z", 123_456],
    ["2025-01-01 00:00:00", "2025-01-01T00:00:01z", 1_000_000],
    ["2025-01-01T00:00Z", "2025-01-01T00:01:00 Z", 60_000_000],
    ["2025-01-01T01:00:00+01:00", "2025-01-01T00:00:02-0000", 2_000_000],
    ["2024-12-31T19:00:00-0500", "2025-01-01T00:00:00Z", 0],
    ["2025-01-01T00:00:01Z", "2025-01-01T00:00:00Z", -1_000_000],
    ["2025-13-01T00:00:00Z", "2025-01-01T00:00:00Z", undefined],
    ["2025-02-30T00:00:00Z", "2025-03-01T00:00:00Z", undefined],
    ["2025-01-01", "2025-01-01T00:00:00Z", undefined],
    ["2025-01-01T00:00:00Z", "yesterday", undefined],
    ["2025-01-01T00:00:00Z", null, undefined],
    [null, "2025-01-01T00:00:00Z", undefined],
  ])("from %s to %s is %s microseconds", (started_at, ended_at, micros) => {
    expect(findDurationMicros(callOf({ started_at, ended_at }))).toBe(micros);
  });
});

describe("the state of a call", () => {
  const ended = { ended_at: "2025-01-01T00:00:01Z" };
  const status = (text: string, at = "vendor") => ({ summary: { [at]: { status: text } } });
  it.each([
    ["ok", ended],
    ["ok", { ...ended, exception: "", deleted_at: "" }],
    ["ok", { ...ended, exception: null, deleted_at: null }],
    ["ok", { ...ended, ...status("Success") }],
    ["running", {}],
    ["running", { ended_at: "" }],
    ["running", { ...ended, ...status("running") }],
    ["running", status("success")],
    ["failed", { exception: "boom" }],
    ["failed", { ...ended, omitted_bytes: { exception: 7 } }],
    ["failed", status("error")],
    ["failed", { ...ended, summary: { status: "error" } }],
    ["failed", { ...ended, summary: { vendor: { status: "error" }, status: "success" } }],
    ["failed", { ...ended, ...status("error", "other") }],
    ["ok", { ...ended, summary: { other: { status: "error" }, vendor: { status: "success" } } }],
    ["ok", { ...ended, summary: { other: { status: "error" }, status: "success" } }],
    ["failed", { ...ended, ...status("timeout") }],
    ["deleted", { ...ended, deleted_at: "2025-01-02T00:00:00Z", exception: "boom" }],
    ["deleted", { deleted_at: "2025-01-02T00:00:00Z" }],
  ])("is %s (row %$)", (state, call) => {
    expect(findState(callOf(call), "vendor")).toBe(state);
  });

  it("is failed only after a status that names a failure, and unknown after any other status", () => {
    const state = (text: string) => findState(callOf({ ...ended, ...status(text) }), "vendor");
    const failures = `ERROR errored fail Failed failure timeout time_out timed_out cancelled canceled abort aborted exception
      killed crashed rejected expired`;
    expect(failures.split(/\s+/).filter((text) => state(text) !== "failed")).toEqual([]);
    const others = ["cached", "partial", "warning", "queued", "one two"];
    expect(others.filter((text) => state(text) !== "unknown")).toEqual([]);
  });

  it("is ok after each status of an end", () => {
    const ends = "success succeeded OK completed complete done finished descendant_error incomplete".split(" ");
    expect(ends.filter((text) => findState(callOf({ ...ended, ...status(text) })) !== "ok")).toEqual([]);
  });
});

describe("the models of a call", () => {
  const usage = { a: { prompt_tokens: 1 }, b: {} };
  it.each([
    [{ summary: { usage }, inputs: { model: "x" } }, ["a", "b"]],
    [{ summary: { usage, vendor: { costs: { b: {}, c: {} } } } }, ["a", "b", "c"]],
    [{ summary: { usage: {} }, inputs: { model: "x" }, output: { model: "y" } }, ["y"]],
    [{ inputs: { model: "x" }, output: { model_version: "y" } }, ["x"]],
    [{ inputs: {}, output: { modelVersion: "y" } }, ["y"]],
    [{ inputs: {}, output: { model_version: "z", modelVersion: "y" } }, ["z"]],
    [{ inputs: { model: "" } }, []],
    [{}, []],
  ])("are those with a usage or a cost, otherwise the named model (row %$)", (call, models) => {
    expect(findModels(callOf(call), "vendor")).toEqual(models);
  });
});

describe("the cost of a call", () => {
  const all = (amounts: object) => ({
    ...{ prompt_tokens_total_cost: 0.5, completion_tokens_total_cost: 0.25 },
    ...{ cache_read_input_tokens_total_cost: 0, cache_creation_input_tokens_total_cost: 0, ...amounts },
  });
  const costOf = (amounts: object, output: object = {}) => {
    const call = callOf({ output, summary: { vendor: { costs: { m: amounts } } } });
    return readCosts(call, "vendor").map(({ model, unit, total, known, reason }) => {
      return [model, unit, total && formatDecimal(total), formatDecimal(known), reason];
    });
  };
  const unclear = (named: string) => {
    return ["m", "USD", undefined, "0", `its costs have ${named}, which rollcall does not know`];
  };
  const origin = {
    ...{ prompt_tokens: 3, completion_tokens: 2, requests: 1, total_tokens: 5, prompt_token_cost: 1e-6 },
    ...{ completion_token_cost: 1e-6, cache_read_input_token_cost: 1e-7, effective_date: "2025", created_at: "2025" },
    ...{ created_by: "a", provider_id: "p", pricing_level: "default", pricing_level_id: "default" },
  };
  const unstated = (name: string) => `the service did not state ${name}_tokens_total_cost`;
  it.each([
    [all({}), ["m", "USD", "0.75", "0.75", undefined]],
    [all({ prompt_token_cost_unit: "usd" }), ["m", "USD", "0.75", "0.75", undefined]],
    [all({ a_cost_unit: "eur", b_cost_unit: "EUR", c_cost_unit: "" }), ["m", "EUR", "0.75", "0.75", undefined]],
    [
      all({ a_cost_unit: "USD", b_cost_unit: "EUR" }),
      ["m", "USD", undefined, "0", "its costs are in several currencies"],
    ],
    [all({ a_cost_unit: "one unit" }), ["m", "USD", undefined, "0", "its costs are in an unknown currency"]],
    [all({ reasoning_tokens_total_cost: "1e-3" }), unclear("reasoning_tokens_total_cost 1e-3")],
    [all({ request_cost: 0.5, currency: "EUR" }), unclear("request_cost 0.5, currency EUR")],
    [all({ discount: 0.5 }), unclear("discount 0.5")],
    [all({ image_tokens_total_cost: null, audio_tokens_total_cost: "0.0" }), ["m", "USD", "0.75", "0.75", undefined]],
    [all({ total_tokens_total_cost: 0.75, total_cost: 0.75 }), ["m", "USD", "0.75", "0.75", undefined]],
    [all({ total_cost: 0.9 }), ["m", "USD", undefined, "0.75", "the service stated another cost (0.9 $)"]],
    [all(origin), ["m", "USD", "0.75", "0.75", undefined]],
    [all({ prompt_tokens_total_cost: "x" }), ["m", "USD", undefined, "0.25", "an amount is invalid"]],
    [all({ prompt_tokens_total_cost: -1 }), ["m", "USD", undefined, "0.25", "an amount is invalid"]],
    [all({ completion_tokens_total_cost: undefined }), ["m", "USD", undefined, "0.5", unstated("completion")]],
    [all({ cache_read_input_tokens_total_cost: null }), ["m", "USD", "0.75", "0.75", undefined]],
  ])("is the sum of its parts, if all are known (row %$)", (amounts, cost) => {
    expect(costOf(amounts)).toEqual([cost]);
  });

  it("is absent without amounts, and doubtful if the model's service stated another cost in dollars", () => {
    expect([costOf({}), costOf({ a_cost_unit: "USD", requests: 3 }), costOf({ x_tokens_total_cost: null })]).toEqual([
      ...[[], [], []],
    ]);
    const usage = { prompt_tokens: 3, completion_tokens: 2, cost: 0.8 };
    const other = "the service stated another cost (0.8 $)";
    expect(costOf(all({}), { usage })).toEqual([["m", "USD", undefined, "0.75", other]]);
    expect(costOf(all({}), { usage: { ...usage, cost: 0.75 } })).toEqual([["m", "USD", "0.75", "0.75", undefined]]);
    expect(costOf(all({ a_cost_unit: "EUR" }), { usage })).toEqual([["m", "EUR", "0.75", "0.75", undefined]]);
  });

  const used = (count: number) => ({ prompt_tokens: count, completion_tokens: 0 });
  it.each<[summed: object, stated: object, unknown: readonly string[]]>([
    [{ m: used(1), n: used(1) }, { m: all({}) }, ["n"]],
    [{ m: used(1), n: used(1) }, { m: all({}), n: { prompt_tokens_total_cost: null } }, ["n"]],
    [{ m: used(1), n: used(1), o: {} }, { m: all({}), n: all({}) }, ["o"]],
    [{ m: used(1), n: used(0) }, { m: all({}) }, []],
    [{ m: used(1), n: { ...used(0), completion_tokens: 1 } }, { m: all({}) }, ["n"]],
    [{ m: used(1) }, { "m-2025": all({}) }, []],
  ])("of %j with %j is unknown for %j", (usage, costs, unknown) => {
    const read = readCosts(callOf({ summary: { usage, vendor: { costs } } }), "vendor");
    const unstatedCosts = read.filter(({ reason }) => reason === "the service did not state its cost");
    expect(unstatedCosts.map(({ model, total }) => [model, total])).toEqual(unknown.map((model) => [model, undefined]));
  });
});

import { describe, expect, it } from "vitest";
import { findDurationMicros, findModels, findState } from "../../src/calls/call-facts.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";

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
    ["failed", status("error")],
    ["failed", { ...ended, summary: { status: "error" } }],
    ["failed", { ...ended, summary: { vendor: { status: "error" }, status: "success" } }],
    ["failed", { ...ended, ...status("error", "other") }],
    ["ok", { ...ended, summary: { other: { status: "error" }, vendor: { status: "success" } } }],
    ["ok", { ...ended, summary: { other: { status: "error" }, status: "success" } }],
    ["deleted", { ...ended, deleted_at: "2025-01-02T00:00:00Z", exception: "boom" }],
    ["deleted", { deleted_at: "2025-01-02T00:00:00Z" }],
  ])("is %s (row %$)", (state, call) => {
    expect(findState(callOf(call), "vendor")).toBe(state);
  });

  it("is the status as stated if the interface does not have the status", () => {
    for (const stated of ["completed", "CACHED", "time out"])
      expect(findState(callOf({ ...ended, ...status(stated) }), "vendor")).toBe(stated);
  });
});

describe("the models of a call", () => {
  const usage = { a: { prompt_tokens: 1 }, b: {} };
  it.each([
    [{ summary: { usage }, inputs: { model: "x" } }, ["a", "b"]],
    [{ summary: { usage, vendor: { costs: { b: {}, c: {} } } } }, ["a", "b", "c"]],
    [{ summary: { usage: {} }, inputs: { model: "x" }, output: { model: "y" } }, ["y"]],
    [{ inputs: { model: "x" }, output: {} }, ["x"]],
    [{ inputs: { model: "" } }, []],
    [{}, []],
  ])("are those with a usage or a cost, otherwise the named model (row %$)", (call, models) => {
    expect(findModels(callOf(call), "vendor")).toEqual(models);
  });
});

import { describe, expect, it } from "vitest";
import type { CallViewOptions } from "../../src/commands/call/call-page.ts";
import { everything, findLabeledText, nothing, page, printCall, sample, under } from "./call.ts";

describe("the page of a call", () => {
  it("shows a call that failed", async () => {
    const text = await printCall([sample("call.exception.json")]);
    const lines = text.replaceAll(/((?:\n *│.*){4})(?:\n *│.*){3,}/g, "$1\n[…]").split("\n");
    const excerpt = [...lines.slice(0, 50), "[…]", ...lines.slice(-40)].join("\n");
    await expect(excerpt).toMatchFileSnapshot("golden/call.exception.txt");
  });

  it("shows every field of the interface", async () => {
    const fields = {
      id: "F-id",
      project_id: "F-project",
      op_name: "F-op",
      trace_id: "F-trace",
      started_at: "F-started",
      attributes: { a: "F-attribute" },
      inputs: { a: "F-input" },
      display_name: "F-display",
      parent_id: "F-parent",
      thread_id: "F-thread",
      turn_id: "F-turn",
      ended_at: "F-ended",
      exception: "F-exception",
      output: "F-output",
      summary: { a: "F-summary" },
      vendor_user_id: "F-user",
      vendor_username: "F-username",
      vendor_run_id: "F-run",
      vendor_run_step: 41,
      vendor_run_step_end: 42,
      deleted_at: "F-deleted",
      storage_size_bytes: 4301,
      total_storage_size_bytes: 4402,
      unheard_of: "F-other",
    };
    const text = await page(fields, everything);
    const values = Object.values(fields).map((value) => (typeof value === "object" ? value.a : String(value)));
    const shown = text.replaceAll(",", "");
    expect(values.filter((value) => !shown.includes(value))).toEqual([]);
    expect(under(text, "Other")).toEqual(["unheard_of: F-other"]);
    expect(findLabeledText(text, "run step end")).toBe("42");
  });
});

describe("the head of a call's page", () => {
  const first = async (call: object, asked: CallViewOptions = nothing): Promise<string> =>
    await page({ id: "c", ...call }, asked);

  it.each([
    ["its display name", { display_name: "my rollout", op_name: "vendor:///a/b/op/f:x" }, "my rollout"],
    ["the operation in a reference", { op_name: "vendor:///a/b/op/f.g:8rM2" }, "f.g"],
    ["the operation in a reference with another scheme", { op_name: "weave:///a/b/op/f:*" }, "f"],
    ["an operation that is not a reference", { op_name: "agent.step" }, "agent.step"],
    ["the operation if the display name is empty", { display_name: "", op_name: "agent.step" }, "agent.step"],
    ["nothing if it has no name", { op_name: null }, "without a name"],
  ])("names the call after %s", async (_, call, name) => {
    expect((await first(call)).split("\n")[0]).toBe(`Call ${name}`);
  });

  it.each([
    ["running", { started_at: "2025-01-01T00:00:00Z" }],
    ["running", { ended_at: null }],
    ["ok", { ended_at: "2025-01-01T00:00:00Z" }],
    ["failed", { ended_at: "2025-01-01T00:00:00Z", exception: "boom" }],
    ["ok", { ended_at: "2025-01-01T00:00:00Z", exception: "" }],
    ["failed", { ended_at: "2025-01-01T00:00:00Z", summary: { vendor: { status: "error" } } }],
    ["failed", { ended_at: "2025-01-01T00:00:00Z", exception: { of: "another type" } }],
    ["running", { ended_at: "2025-01-01T00:00:00Z", summary: { vendor: { status: "running" } } }],
    ["cancelled", { ended_at: "2025-01-01T00:00:00Z", summary: { vendor: { status: "cancelled" } } }],
    ["deleted", { ended_at: "2025-01-01T00:00:00Z", exception: "boom", deleted_at: "2025-01-02T00:00:00Z" }],
    ["descendant_error", { ended_at: "2025-01-01T00:00:00Z", summary: { vendor: { status: "descendant_error" } } }],
  ])("shows the status %s (row %$)", async (status, call) => {
    expect(findLabeledText(await first(call), "status")).toBe(status);
  });

  it.each([
    ["2025-11-01T09:14:22.402117Z", "2025-11-01T09:14:23.918640Z", "1.516523 s"],
    ["2025-11-01T09:14:22.402117Z", "2025-11-01T09:14:22.402118Z", "0.001 ms"],
    ["2025-11-01T09:14:22Z", "2025-11-01T09:14:22.335471Z", "335.471 ms"],
    ["2025-11-01T09:14:22+00:00", "2025-11-01T10:14:23+01:00", "1 s"],
    ["2025-11-01T09:14:22.402117999Z", "2025-11-01T09:14:23.918640001Z", "1.516523 s"],
    ["2025-11-01T09:14:22", "2025-11-01T09:16:27.4", "125.4 s"],
    ["2025-11-01 09:14:22Z", "2025-11-02 10:15:22Z", "90060 s"],
    ["2025-11-01T09:14:23Z", "2025-11-01T09:14:22Z", "unknown (the call ended before it started)"],
  ])("shows the time between its ends: $2", async (started_at, ended_at, duration) => {
    expect(findLabeledText(await first({ started_at, ended_at }), "duration")).toBe(duration);
  });

  it.each(["soon", 17619, "2025-11-99T09:14Z"])("shows no time if an end is no time (row %$)", async (ended_at) => {
    expect(findLabeledText(await first({ started_at: "2025-11-01T09:14:23Z", ended_at }), "duration")).toBeUndefined();
  });

  it("reads costs below the deployment's vendor prefix", async () => {
    const cost = { prompt_tokens_total_cost: 0.5, completion_tokens_total_cost: 0 };
    const call = { summary: { acme: { costs: { m: cost } } }, acme_user_id: "u", vendor_user_id: "v" };
    const text = await first(call, { ...nothing, costs: true, vendorPrefix: "acme" });
    expect(text).toContain("prompt_tokens_total_cost: 0.5");
    expect([findLabeledText(text, "model"), findLabeledText(text, "costs")]).toEqual(["m", undefined]);
    expect(findLabeledText(text, "user id")).toBe("u");
    expect(text).toMatch(/user id +u\n +user id +v\n/);
    expect(await first(call, { ...nothing, vendorPrefix: "acme" })).not.toContain("prompt_tokens_total_cost");
  });

  it("finds costs and status below a prefix that no setting names", async () => {
    const m = { prompt_tokens_total_cost: 0.5, completion_tokens_total_cost: 0 };
    const call = { summary: { acme: { status: "error", costs: { m } } } };
    const text = await first(call, { ...nothing, costs: true });
    expect([findLabeledText(text, "status"), findLabeledText(text, "model")]).toEqual(["failed", "m"]);
    expect(text).toContain("prompt_tokens_total_cost: 0.5");
    expect(await first(call)).not.toContain("cost");
  });

  it("shows missing costs and sizes as not provided, not as 0", async () => {
    const text = await first({ storage_size_bytes: null, total_storage_size_bytes: null }, everything);
    expect(findLabeledText(text, "costs")).toBe("not provided by the service");
    expect(findLabeledText(text, "size")).toBe("not provided by the service");
    expect(findLabeledText(text, "total size")).toBe("not provided by the service");
  });

  it("keeps every digit of a size", async () => {
    const text = await page(
      '{"id":"c","storage_size_bytes":1,"total_storage_size_bytes":9007199254740993}',
      everything,
    );
    expect(findLabeledText(text, "size")).toBe("1 byte");
    expect(findLabeledText(text, "total size")).toBe("9,007,199,254,740,993 bytes");
  });
});

describe("the tree of a value", () => {
  it("keeps every digit and every key", async () => {
    const text = await page(
      '{"id":"c","inputs":{"seed":12345678901234567890,"e":1e400,"two":1,"two":2,"10":"b","9":"a","none":null,' +
        '"yes":true,"text":"true","digits":"1","empty":"","object":{},"list":[],"lines":"a\\nb","deep":[[1,2],{"x":[{"y":1}]}]}}',
    );
    expect(under(text, "Inputs")).toEqual([
      "seed: 12345678901234567890",
      "e: 1e400",
      "two: 1",
      "two: 2",
      "10: b",
      "9: a",
      "none: null",
      "yes: true",
      'text: "true"',
      'digits: "1"',
      'empty: ""',
      "object: {}",
      "list: []",
      "lines:",
      "  a",
      "  b",
      "deep:",
      "  - [1, 2]",
      "  - x:",
      "      - y: 1",
    ]);
  });

  it("quotes what could be read as something else, and breaks lists after 72 columns", async () => {
    const [x, y] = ["x".repeat(34), "y".repeat(34)];
    const text = await page({
      output: {
        pad: " a",
        "a: b": "a: b",
        "": -1.5,
        split: ["a,b", "]", ""],
        open: ["[a", "{a"],
        fits: [x, y],
        not: [x, `${y}y`],
      },
    });
    const split = [
      'split: ["a,b", "]", ""]',
      'open: ["[a", "{a"]',
      `fits: [${x}, ${y}]`,
      "not:",
      `  - ${x}`,
      `  - ${y}y`,
    ];
    expect(under(text, "Output")).toEqual(['pad: " a"', '"a: b": a: b', '"": -1.5', ...split]);
  });

  it.each([
    ["a text", "forty-two", ["forty-two"]],
    ["a number", 42, ["42"]],
    ["a list", [1, 2], ["[1, 2]"]],
    ["an empty object", {}, ["{}"]],
    ["an object with empty choices", { choices: [] }, ["choices: []"]],
    ["an object with choices of another type", { choices: "none" }, ["choices: none"]],
  ])("shows an output that is %s", async (_, output, lines) => {
    expect(under(await page({ id: "c", output }), "Output")).toEqual(lines);
  });

  it.each([
    ["image/webp", 4000, "[image/webp, 2.9 KiB]"],
    ["", 51, "[data, 38 bytes]"],
    ["", 50, `data:;base64,${"A".repeat(50)}`],
  ])("names data of the type %j instead of printing it if it has %i letters: %s", async (type, letters, shown) => {
    const text = await page({ id: "c", output: { data: `data:${type};base64,${"A".repeat(letters)}` } });
    expect(under(text, "Output")).toEqual([`data: ${shown}`]);
  });
});

describe("the page of a damaged call", () => {
  const fields: Readonly<Record<string, unknown>> = JSON.parse(sample("call.json"));
  it("shows an empty call", async () => {
    expect(await page("{}")).toBe("Call without a name\n  status  running\n");
  });

  it("shows values of 20,000 levels", async () => {
    const text = await page(
      `{"id":"c","output":${"[".repeat(20_000)}1${"]".repeat(20_000)},"extra":${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}}`,
    );
    expect(text).toContain("[[[[");
  });

  it("prints no control character, on the page or in JSON", async () => {
    const evil = "\u001b]0;owned\u0007\u001b[2J\u0000\u202egnp.exe\u009b31m\r\u2028";
    const call = JSON.stringify({
      ...fields,
      display_name: evil,
      [`key${evil}`]: evil,
      exception: evil,
      inputs: { messages: [{ role: evil, name: evil, content: evil, [evil]: evil }] },
    });
    const text = await printCall([call]);
    expect(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2028]/.test(text)).toBe(false);
    const json = await printCall([call], { typed: { json: true } });
    expect(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2028]/.test(json)).toBe(false);
    expect(JSON.parse(json)).toEqual({ call: JSON.parse(call) });
  });

  it("shows 130,000 messages, models and items", { tags: "slow" }, async () => {
    const many = Array.from({ length: 130_000 }, (_, at) => at);
    const messages = many.map((at) => ({ role: "user", content: `${at}` }));
    const usage = Object.fromEntries(many.map((at) => [`m${at}`, { prompt_tokens: at }]));
    const text = await page({ id: "c", inputs: { messages }, output: many.map(String), summary: { usage } });
    expect(text.split("\n").length).toBeGreaterThan(5 * many.length);
  });
});

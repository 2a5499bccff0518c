import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type CallAsked, openScreen, printCalls, screenWords, type TypedScreen } from "../../src/output/index.ts";
import { testHost } from "../support/host.ts";

const nothing: CallAsked = { costs: false, storageSize: false, totalStorageSize: false, vendorPrefix: "vendor" };
const everything: CallAsked = { ...nothing, costs: true, storageSize: true, totalStorageSize: true };

/** Prints calls the way `call read` does and gives back standard output. */
const printed = async (
  calls: readonly (string | Uint8Array)[],
  { asked = nothing, typed = {} }: { readonly asked?: CallAsked; readonly typed?: TypedScreen } = {},
): Promise<string> => {
  const host = testHost();
  const screen = openScreen({ host, words: screenWords(typed) });
  const printer = await printCalls({ screen, asked });
  for (const call of calls) await printer.print(Buffer.from(call));
  await printer.end({ several: calls.length > 1 });
  return host.printed();
};

/** The page of a call, in a pipe. */
const page = async (call: unknown, asked?: CallAsked): Promise<string> =>
  await printed([typeof call === "string" ? call : JSON.stringify(call)], asked === undefined ? {} : { asked });

/** The lines under a title of a page, without their indent, up to the next title of the same level or above. */
const under = (text: string, title: string): readonly string[] => {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.trim() === title);
  const indent = (line: string): number => line.length - line.trimStart().length;
  const own = indent(lines[at] ?? "");
  const after = lines.slice(at + 1);
  const end = after.findIndex((line) => line !== "" && indent(line) <= own);
  // Every line of text from outside stands behind the rail.
  const held = (end < 0 ? after : after.slice(0, end)).map((line) => line.slice(own + 2).replace(/^│ ?/, ""));
  return held.slice(0, held.findLastIndex((line) => line !== "") + 1);
};

/** The value beside a label. */
const labelled = (text: string, label: string): string | undefined =>
  text
    .split("\n")
    .map((line) => line.trim())
    .find((line) => line.startsWith(`${label}  `))
    ?.slice(label.length)
    .trim();

/** The call of a sample. */
const sample = (name: string): string => {
  const text = readFileSync(`test/samples/${name}`, "utf8");
  return text.slice(text.indexOf(":") + 1, text.lastIndexOf("}"));
};

const spoken = (messages: unknown, rest: object = {}): unknown => ({ id: "c", inputs: { messages }, ...rest });

describe("the page of a call", () => {
  it("shows a completion with a tool call", async () => {
    await expect(await printed([sample("call.json")], { asked: everything })).toMatchFileSnapshot("golden/call.txt");
  });

  it("shows a call that failed", async () => {
    await expect(await printed([sample("call.exception.json")])).toMatchFileSnapshot("golden/call.exception.txt");
  });

  it("stands apart from that of another call", async () => {
    expect(await printed(['{"id":"c"}', '{"id":"d"}'])).toBe(
      `Call without a name\n  status  running\n  id      c\n\n${"─".repeat(80)}\n\nCall without a name\n  status  running\n  id      d\n`,
    );
  });

  it("names every field of the interface", async () => {
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
    expect(labelled(text, "run step end")).toBe("42");
  });
});

describe("what matters first", () => {
  const first = async (call: object, asked: CallAsked = nothing): Promise<string> =>
    await page({ id: "c", ...call }, asked);

  it.each([
    ["its own name", { display_name: "my rollout", op_name: "vendor:///a/b/op/f:x" }, "my rollout"],
    ["the operation's name out of a reference", { op_name: "vendor:///a/b/op/f.g:8rM2" }, "f.g"],
    ["the name out of a reference of another scheme", { op_name: "weave:///a/b/op/f:*" }, "f"],
    ["an operation that is no reference", { op_name: "agent.step" }, "agent.step"],
    ["an empty display name's operation", { display_name: "", op_name: "agent.step" }, "agent.step"],
    ["no name at all", { op_name: null }, "without a name"],
  ])("is called by %s", async (_, call, name) => {
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
    ["deleted", { ended_at: "2025-01-01T00:00:00Z", exception: "boom", deleted_at: "2025-01-02T00:00:00Z" }],
    [
      "ok (descendant_error)",
      { ended_at: "2025-01-01T00:00:00Z", summary: { vendor: { status: "descendant_error" } } },
    ],
  ])("is %s for %j", async (status, call) => {
    expect(labelled(await first(call), "status")).toBe(status);
  });

  it.each([
    ["2025-11-01T09:14:22.402117Z", "2025-11-01T09:14:23.918640Z", "1.516523 s"],
    ["2025-11-01T09:14:22.402117Z", "2025-11-01T09:14:22.402118Z", "0.001 ms"],
    ["2025-11-01T09:14:22Z", "2025-11-01T09:14:22.335471Z", "335.471 ms"],
    ["2025-11-01T09:14:22+00:00", "2025-11-01T10:14:23+01:00", "1 s"],
    ["2025-11-01T09:14:22", "2025-11-01T09:16:27.4", "2 min 05 s"],
    ["2025-11-01 09:14:22Z", "2025-11-02 10:15:22Z", "25 h 01 min 00 s"],
    ["2025-11-01T09:14:23Z", "2025-11-01T09:14:22Z", "not known: it ended before it started"],
    ["2025-11-01T09:14:23Z", "soon", undefined],
    ["2025-11-01T09:14:23Z", 1761988463, undefined],
  ])("from %s to %s took %s", async (started_at, ended_at, took) => {
    expect(labelled(await first({ started_at, ended_at }), "took")).toBe(took);
  });

  it("counts tokens by model, and by the output where the summary has none", async () => {
    const usage = { prompt_tokens: 1234567, completion_tokens: 1, total_tokens: 1234568 };
    const other = { input_tokens: 5, output_tokens: 6 };
    const text = await first({ summary: { usage: { a: usage, b: other, c: { requests: 1 } } } });
    expect(labelled(text, "tokens")).toBe("1,234,567 prompt, 1 completion, 1,234,568 total  a");
    expect(text).toContain("5 prompt, 6 completion  b\n");
    const own = await first({ output: { model: "m", usage: { prompt_tokens: 7 } } });
    expect(labelled(own, "tokens")).toBe("7 prompt  m");
    expect(labelled(await first({ summary: {} }), "tokens")).toBeUndefined();
  });

  it("adds costs without rounding, and shows them only where they were asked for", async () => {
    const call =
      '{"id":"c","summary":{"costs":{"a":{"prompt_tokens_total_cost":0.1,"completion_tokens_total_cost":0.2},' +
      '"b":{"prompt_tokens_total_cost":1e-7,"completion_tokens_total_cost":0.00000000000000000001}}}}';
    const text = await page(call, { ...nothing, costs: true });
    expect(labelled(text, "cost")).toBe("$0.3 = $0.1 prompt + $0.2 completion  a");
    expect(text).toContain("$0.00000010000000000001 = $0.0000001 prompt + $0.00000000000000000001 completion  b\n");
    expect(text).toContain("$0.30000010000000000001 in all\n");
    expect(await page(call)).not.toContain("cost");
  });

  it("reads costs under the deployment's own word", async () => {
    const cost = { prompt_tokens_total_cost: 0.5 };
    const call = { summary: { acme: { costs: { m: cost } } }, acme_user_id: "u", vendor_user_id: "v" };
    const text = await first(call, { ...nothing, costs: true, vendorPrefix: "acme" });
    expect(labelled(text, "cost")).toBe("$0.5 = $0.5 prompt  m");
    expect(labelled(text, "user id")).toBe("u");
    expect(under(text, "Other")).toEqual(["vendor_user_id: v"]);
    expect(await first(call, { ...nothing, vendorPrefix: "acme" })).not.toContain("prompt_tokens_total_cost");
  });

  it("finds costs and status under a word that no setting names", async () => {
    const call = { summary: { acme: { status: "error", costs: { m: { prompt_tokens_total_cost: 0.5 } } } } };
    const text = await first(call, { ...nothing, costs: true });
    expect([labelled(text, "status"), labelled(text, "cost")]).toEqual(["failed", "$0.5 = $0.5 prompt  m"]);
    expect(await first(call)).not.toContain("cost");
  });

  it("says that costs and sizes are not there rather than that they are 0", async () => {
    const text = await first({ parent_id: "p", storage_size_bytes: null, total_storage_size_bytes: null }, everything);
    expect(labelled(text, "cost")).toBe("not given by the service");
    expect(labelled(text, "size")).toBe("not given by the service");
    expect(labelled(text, "total size")).toBe("not known: this is not a root call");
    const root = await first({ parent_id: null, total_storage_size_bytes: null }, everything);
    expect(labelled(root, "total size")).toBe("not given by the service");
  });

  it("keeps every digit of a size", async () => {
    const text = await page(
      '{"id":"c","storage_size_bytes":1,"total_storage_size_bytes":9007199254740993}',
      everything,
    );
    expect(labelled(text, "size")).toBe("1 byte");
    expect(labelled(text, "total size")).toBe("9,007,199,254,740,993 bytes (8.0 PiB)");
  });
});

describe("a conversation", () => {
  it("shows roles, names and what was said, line by line", async () => {
    const text = await page(
      spoken([
        { role: "developer", content: "Be brief.\n\n  Indented." },
        { role: "user", name: "mia", content: "Hi" },
      ]),
    );
    expect(under(text, "developer")).toEqual(["Be brief.", "", "  Indented."]);
    expect(under(text, "user (mia)")).toEqual(["Hi"]);
  });

  it("shows calls of tools with their arguments, and their results", async () => {
    const calls = [
      {
        id: "call_1",
        type: "function",
        function: { name: "book", arguments: '{"seats":[1,2],"note":"a\\nb","n":12345678901234567890}' },
      },
      { id: "call_2", type: "function", function: { name: "now", arguments: "{}" } },
      { id: "call_3", type: "function", function: { name: "raw", arguments: "not json" } },
      { id: "call_4", function: { arguments: 1 } },
    ];
    const text = await page(
      spoken([
        { role: "assistant", content: null, tool_calls: calls },
        { role: "tool", tool_call_id: "call_1", name: "book", content: '{"ok": true}' },
        { role: "assistant", function_call: { name: "old", arguments: '{"a":1}' } },
      ]),
    );
    expect(under(text, "assistant")).toEqual([
      "",
      "→ book (call_1)",
      "  │ seats: [1, 2]",
      "  │ note:",
      "  │   a",
      "  │   b",
      "  │ n: 12345678901234567890",
      "",
      "← result",
      '  │ {"ok": true}',
      "",
      "→ now (call_2)",
      "",
      "→ raw (call_3)",
      "  │ not json",
      "",
      "→ not a call",
      "  │ id: call_4",
      "  │ function:",
      "  │   arguments: 1",
    ]);
    expect(text).toContain("    → old\n      │ a: 1\n");
  });

  it("shows a result that no call asked for, or asked for before, as a message of its own", async () => {
    const call = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
    const text = await page(
      spoken([
        { role: "tool", tool_call_id: "c1", content: "before" },
        { role: "assistant", tool_calls: [call] },
        { role: "tool", tool_call_id: "c1", content: "first" },
        { role: "tool", tool_call_id: "c1", name: "f", content: "second" },
        { role: "tool", tool_call_id: "c9", content: "lost" },
      ]),
    );
    expect(under(text, "← result")).toEqual(["first"]);
    expect(text.match(/^ {2}tool \(.*\)$/gm)).toEqual(["  tool (c1)", "  tool (f, c1)", "  tool (c9)"]);
  });

  it("names images, sounds and files instead of printing them", async () => {
    const data = "A".repeat(40_000);
    const content = [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${data}`, detail: "high" } },
      { type: "image_url", image_url: { url: "https://example.com/cat.png" } },
      { type: "image", source: { type: "base64", media_type: "image/jpeg", data: `${data}AA==` } },
      { type: "input_audio", input_audio: { format: "wav", data } },
      { type: "file", file: { filename: "report.pdf" } },
      { type: "unheard_of", of: 1 },
      "a bare text",
    ];
    const text = await page(spoken([{ role: "user", content }]));
    expect(under(text, "user").filter((line) => line !== "")).toEqual([
      "What is this?",
      "image: image/png, 29.3 KiB",
      "image: https://example.com/cat.png",
      "image: image/jpeg, 29.3 KiB",
      "audio: wav, 29.3 KiB",
      "file: report.pdf",
      "text",
      "  │ type: unheard_of",
      "  │ of: 1",
      "  │ a bare text",
    ]);
  });

  it("keeps whatever else a message or a choice holds", async () => {
    const message = {
      role: "assistant",
      content: "x",
      refusal: null,
      reasoning_content: "hm",
      annotations: [{ a: 1 }],
    };
    const output = {
      choices: [{ index: 0, finish_reason: "stop", message, logprobs: { content: [] } }],
      usage: { total_tokens: 3 },
    };
    const text = await page({ id: "c", output });
    expect(under(text, "assistant (finish reason stop)")).toEqual([
      "",
      "thought",
      "  │ hm",
      "",
      "text",
      "  │ x",
      "",
      "also",
      "  │ annotations:",
      "  │   - a: 1",
      "",
      "also",
      "  │ logprobs:",
      "  │   content: []",
    ]);
    expect(under(text, "Other output")).toEqual(["usage:", "  total_tokens: 3"]);
  });

  it("tells several choices apart", async () => {
    const choice = (index: number) => ({
      index,
      finish_reason: "stop",
      message: { role: "assistant", content: `${index}` },
    });
    const text = await page({ id: "c", output: { choices: [choice(0), choice(1)] } });
    expect(under(text, "assistant (index 1, finish reason stop)")).toEqual(["1"]);
  });

  it("reads trajectories, with messages and choices mixed", async () => {
    const messages_and_choices = [
      { role: "user", content: "a" },
      { finish_reason: "stop", index: 0, message: { role: "assistant", content: "b" } },
    ];
    const text = await page({ id: "c", inputs: { messages_and_choices, reward: 0.5 } });
    expect(under(text, "assistant (finish reason stop, index 0)")).toEqual(["b"]);
    expect(under(text, "Other inputs")).toEqual(["reward: 0.5"]);
  });

  it("shows parts that call tools and parts that answer", async () => {
    const text = await page({
      id: "c",
      inputs: {
        messages: [
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "22" }] }],
          },
        ],
      },
      output: {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "tool_use", id: "t2", name: "f", input: { a: 1 } },
        ],
      },
    });
    expect(under(text, "user")).toEqual(["", "← result (t1)", "  │ 22"]);
    expect(under(text, "assistant")).toEqual(["", "thought", "  │ hm", "", "→ f (t2)", "  │ a: 1"]);
  });

  it("keeps an item that is no message in its place", async () => {
    const text = await page(spoken([{ role: "user", content: "a" }, 7, { no: "role" }, null]));
    expect(text).toContain("not a message\n    │ 7\n");
    expect(text).toContain("not a message\n    │ no: role\n");
    expect(text).toContain("not a message\n    │ null\n");
  });
});

describe("what is no conversation", () => {
  it("stands as an indented tree, with every digit and every key", async () => {
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

  it.each([
    ["a text", "forty-two", ["forty-two"]],
    ["a number", 42, ["42"]],
    ["a list", [1, 2], ["[1, 2]"]],
    ["an empty object", {}, ["{}"]],
    ["choices that are none", { choices: [] }, ["choices: []"]],
    ["choices of another type", { choices: "none" }, ["choices: none"]],
  ])("shows an output that is %s", async (_, output, lines) => {
    expect(under(await page({ id: "c", output }), "Output")).toEqual(lines);
  });

  it("names an image in a tree instead of printing it", async () => {
    const text = await page({ id: "c", output: { image: `data:image/webp;base64,${"A".repeat(4000)}` } });
    expect(under(text, "Output")).toEqual(["image: [image/webp, 3,000 bytes]"]);
  });
});

describe("a call that is damaged", () => {
  const fields: Readonly<Record<string, unknown>> = JSON.parse(sample("call.json"));
  const damages: readonly unknown[] = [
    null,
    0,
    -1,
    "",
    "x",
    true,
    [],
    {},
    [null],
    [[]],
    { message: 1 },
    { choices: [{}] },
  ];

  it.each(Object.keys(fields))("is shown whatever stands in %s", async (field) => {
    const { [field]: _, ...without } = fields;
    for (const call of [without, ...damages.map((damage) => ({ ...fields, [field]: damage }))]) {
      expect(await page(call, everything)).toContain("status");
    }
  });

  it("is shown with nothing in it", async () => {
    expect(await page("{}")).toBe("Call without a name\n  status  running\n");
  });

  it("is shown however deep it is nested", async () => {
    const text = await page(
      `{"id":"c","output":${"[".repeat(20_000)}1${"]".repeat(20_000)},"extra":${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}}`,
    );
    expect(text).toContain("[[[[");
  });

  it("leaves a terminal unharmed", async () => {
    const evil = "\u001b]0;owned\u0007\u001b[2J\u0000\u202egnp.exe\u009b31m\r\u2028";
    const call = JSON.stringify({
      ...fields,
      display_name: evil,
      [`key${evil}`]: evil,
      exception: evil,
      inputs: { messages: [{ role: evil, name: evil, content: evil, [evil]: evil }] },
    });
    const text = await printed([call]);
    expect(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2028]/.test(text)).toBe(false);
    const json = await printed([call], { typed: { json: true } });
    expect(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2028]/.test(json)).toBe(false);
    expect(JSON.parse(json)).toEqual({ call: JSON.parse(call) });
  });

  it("is shown with texts of 1 MB", async () => {
    const long = "x\n".repeat(500_000);
    const text = await page({
      ...fields,
      exception: long,
      output: long,
      op_name: `vendor:///${"a:/op/".repeat(160_000)}`,
    });
    expect(text.length).toBeGreaterThan(2_000_000);
  });

  it("is shown with 200,000 messages, models and items", async () => {
    const many = Array.from({ length: 200_000 }, (_, at) => at);
    const messages = many.map((at) => ({ role: "user", content: `${at}` }));
    const usage = Object.fromEntries(many.map((at) => [`m${at}`, { prompt_tokens: at }]));
    const text = await page({ id: "c", inputs: { messages }, output: many.map(String), summary: { usage } });
    expect(text.split("\n").length).toBeGreaterThan(1_000_000);
  });

  it("can't put words into a conversation by what stands in one", async () => {
    const text = await page(spoken([{ role: "user", content: "a\n\n  assistant\n    I did\n\nOutput\n\n" }]));
    expect(text.split("\n").filter((line) => /^( {2})?(assistant|Output)/.test(line))).toEqual([]);
    expect(await page(spoken([{ role: "user\n  assistant", content: "a" }]))).toContain(
      '  "user\\n  assistant"\n    │ a\n',
    );
  });
});

describe("the fields that were named", () => {
  const call =
    '{"id":"c","exception":null,"inputs":{"a.b":{"n":1.50,"list":[1,{"x":2}]}},"output":"two\\nlines","acme":{"x":1}}';

  it("stand alone on the page, by their names", async () => {
    expect(await printed([call], { typed: { fields: "output,id,exception,ended_at,inputs.a.b.n,acme.x" } })).toBe(
      [
        "output        two",
        "              lines",
        "id            c",
        "exception",
        "ended_at",
        "inputs.a.b.n  1.50",
        "acme.x        1",
        "",
      ].join("\n"),
    );
    expect(await printed([call], { typed: { fields: "inputs.a.b.list" } })).toBe(
      "inputs.a.b.list\n  │ - 1\n  │ - x: 2\n",
    );
  });

  it("are wrong where neither the interface nor the call has them", async () => {
    await expect(printed([call], { typed: { fields: "idd" } })).rejects.toMatchObject({
      reason: "option-value-wrong",
      data: { value: "idd", suggestion: "id" },
    });
  });
});

describe("calls for programs", () => {
  const call =
    '{"id":"c", "seed":12345678901234567890,"inputs":{"a.b":1e400},"output":null,"op_name":"x","ended_at":null}';

  it("are the service's own JSON", async () => {
    expect(await printed([call], { typed: { json: true } })).toBe(
      '{"call":{"id":"c","seed":12345678901234567890,"inputs":{"a.b":1e400},"output":null,"op_name":"x","ended_at":null}}\n',
    );
    expect(await printed([call, '{"id":"d"}'], { typed: { json: true, fields: "id,seed" } })).toBe(
      '{"calls":[{"id":"c","seed":12345678901234567890},{"id":"d"}]}\n',
    );
  });

  it("are one a line in jsonl, also where a field asked for is absent", async () => {
    expect(await printed([call, '{"id":"d"}'], { typed: { output: "jsonl", fields: "id,exception,inputs.a.b" } })).toBe(
      '{"id":"c","inputs":{"a.b":1e400}}\n{"id":"d"}\n',
    );
  });

  it("are rows under the wire's names in csv, free-form fields as JSON", async () => {
    const rows = (await printed([call, '{"id":"d","inputs":{"a":"x,\\"y\\""}}'], { typed: { output: "csv" } })).split(
      "\r\n",
    );
    expect(rows).toEqual([
      "id,project_id,op_name,trace_id,started_at,attributes,inputs,display_name,parent_id,thread_id,turn_id,ended_at," +
        "exception,output,summary,vendor_user_id,vendor_username,vendor_run_id,vendor_run_step,vendor_run_step_end,deleted_at",
      'c,,x,,,,"{""a.b"":1e400}",,,,,,,,,,,,,,',
      'd,,,,,,"{""a"":""x,\\""y\\""""}",,,,,,,,,,,,,,',
      "",
    ]);
    const sizes = await printed([call], { typed: { output: "csv", fields: "id,inputs.a.b" }, asked: everything });
    expect(sizes).toBe("id,inputs.a.b\r\nc,1e400\r\n");
  });
});

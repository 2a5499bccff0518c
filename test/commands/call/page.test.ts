import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { found, service } from "./service.ts";

/** Returns the lines of a section, or of the facts at the top, without the margin and empty lines. */
const linesOf = async (title: string, call: object, ...options: readonly string[]) => {
  const { env } = await service([found("a", call)]);
  const { stdout } = await runHere(["call", "read", "a", ...options], { env: { ...env, COLUMNS: "100" } });
  const sections = stdout.split(/\n\n(?=\S)/).map((section) => section.split("\n"));
  const [, ...lines] = sections.find(([first = ""]) => first.startsWith(title)) ?? [];
  return lines.map((line) => line.replace(/^ {2}(?:│ )?/, "")).filter(Boolean);
};

const image = `data:image/png;base64,${"A".repeat(100)}`;

describe("the page of a call", () => {
  it("prints values as a tree", async () => {
    const trees: readonly (readonly [value: unknown, lines: readonly string[]])[] = [
      ["", ['v: ""']],
      [" a", ['v: " a"']],
      ["a\nb", ["v:", "  a", "  b"]],
      ["a, b: c", ["v: a, b: c"]],
      ["12", ['v: "12"']],
      ["-1.5e3", ['v: "-1.5e3"']],
      ["12a", ["v: 12a"]],
      ["true", ['v: "true"']],
      ["null", ['v: "null"']],
      ["[x", ['v: "[x"']],
      [{}, ["v: {}"]],
      [[], ["v: []"]],
      [{ a: 1, b: { c: [2, 3] } }, ["v:", "  a: 1", "  b:", "    c: [2, 3]"]],
      [
        [[1], { a: 1, b: {} }, "x"],
        ["v:", "  - [1]", "  - a: 1", "    b: {}", "  - x"],
      ],
      [{ "odd: key": 1 }, ["v:", '  "odd: key": 1']],
      [["a,b", "c]", "d e", "1", 1, true], ['v: ["a,b", "c]", d e, "1", 1, true]']],
      [["x".repeat(70)], [`v: [${"x".repeat(70)}]`]],
      [["x".repeat(71)], ["v:", `  - ${"x".repeat(71)}`]],
      [image, ["v: [image/png, 75 bytes]"]],
      [`${image.slice(0, -2)}==`, ["v: [image/png, 73 bytes]"]],
      [`data:;base64,${"A".repeat(51)}`, ["v: [data, 38 bytes]"]],
      [`data:;base64,${"A".repeat(50)}`, [`v: data:;base64,${"A".repeat(50)}`]],
    ];
    const attributes = Object.fromEntries(trees.map(([value], at) => [`v${at}`, value]));
    const lines = trees.flatMap(([, [first = "", ...rest]], at) => [first.replace(/^v/, `v${at}`), ...rest]);
    expect(await linesOf("Attributes", { attributes })).toEqual(lines);
  });

  it("prints each kind of content, with the results below their calls", async () => {
    const content = [
      { type: "text", text: "one" },
      { type: "text", text: "two" },
      { type: "image_url", image_url: { url: image } },
      { type: "image_url", image_url: { url: "https://host/cat.png" } },
      { type: "file", file: { filename: "a.pdf", file_data: image } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    ];
    const calls = ['{"a": 1}', "{}", "not JSON", { b: [1, 2] }, undefined].map((json, at) => {
      return { id: `c${at}`, type: "function", function: { name: `f${at}`, arguments: json } };
    });
    const messages = [
      { role: "user", name: "Ann B", content },
      { role: "assistant", content: null, tool_calls: calls },
      { role: "tool", tool_call_id: "c0", name: "other", content: "r0" },
      { role: "tool", tool_call_id: "c1", name: "f1", content },
      { role: "tool", tool_call_id: "c9", content: "r9" },
      { role: "odd role!", content: "z" },
    ];
    const parts = [
      "│ one",
      "│ two",
      "image: image/png, 75 bytes",
      "image: https://host/cat.png",
      "file: a.pdf, image/png, 75 bytes",
      "audio: wav, 3 bytes",
    ];
    const result = parts.map((part) => (part.startsWith("│") ? part : `│ [${part}]`));
    const shown = await linesOf("Inputs", { inputs: { messages } });
    expect(shown.map((line) => line.trim())).toEqual([
      ...['user ("Ann B")', ...parts, "assistant"],
      ...["→ f0 (c0)", "│ a: 1", "← result of other", "│ r0"],
      ...["→ f1 (c1)", "← result", ...result],
      ...["→ f2 (c2)", "│ not JSON", "→ f3 (c3)", "│ b: [1, 2]", "→ f4 (c4)"],
      ...["tool (c9)", "│ r9", '"odd role!"', "│ z"],
    ]);
  });

  it.each([
    [{ started_at: "2025-01-01T00:00:00Z", ended_at: "2025-01-01T00:00:00.9994Z" }, "duration  999.4 ms"],
    [{ started_at: "2025-01-01T00:00:00Z", ended_at: "2025-01-01T00:00:00Z" }, "duration  0 ms"],
    [{ started_at: "2025-01-01T00:00:00Z", ended_at: "2025-01-01T00:00:01Z" }, "duration  1 s"],
    [
      { started_at: "2025-01-01T00:00:01Z", ended_at: "2025-01-01T00:00:00Z" },
      "duration  unknown (the call ended before it started)",
    ],
    [{ attributes: { reward: 0.123456789 } }, "reward  0.123457"],
    [{ attributes: { reward: true } }, "reward  true"],
  ])("prints the fact of %j", async (call, fact) => {
    const facts = await linesOf("Call", call);
    expect(facts.map((line) => line.replace(/ {2,}/g, "  "))).toContain(fact);
  });

  it("prints the sizes that its options request", async () => {
    const sizes = { storage_size_bytes: 1, total_storage_size_bytes: 12345 };
    const both = ["--storage-size", "--total-storage-size"];
    const none = "not provided by the service";
    expect((await linesOf("Call", sizes, ...both)).slice(1, -1)).toEqual([
      "size        1 byte",
      "total size  12,345 bytes",
    ]);
    expect((await linesOf("Call", sizes, "--storage-size")).slice(1, -1)).toEqual(["size    1 byte"]);
    expect((await linesOf("Call", sizes)).slice(1, -1)).toEqual([]);
    expect((await linesOf("Call", { storage_size_bytes: "big" }, ...both)).slice(1, -1)).toEqual([
      ...["size        big", `total size  ${none}`],
    ]);
  });

  it("titles each of several choices with its index and reason", async () => {
    const choice = (index: number, finish_reason: unknown) => {
      return { index, finish_reason, message: { role: "assistant", content: `answer ${index}` }, logprobs: { a: 1 } };
    };
    const output = async (...choices: readonly object[]) =>
      (await linesOf("Output", { output: { choices } })).map((line) => line.trim());
    const others = ["other fields", "│ logprobs:", "│   a: 1"];
    expect(await output(choice(0, "stop"))).toEqual(["assistant (finish reason stop)", "│ answer 0", ...others]);
    expect(await output(choice(0, "stop"), choice(1, "no more"))).toEqual([
      ...["assistant (index 0, finish reason stop)", "│ answer 0", ...others],
      ...['assistant (index 1, finish reason "no more")', "│ answer 1", ...others],
    ]);
  });

  it("prints each field once, and shows other fields below", async () => {
    const ids = { parent_id: "p", thread_id: "t", turn_id: "u" };
    const ended = { started_at: "2025-01-01T00:00:00Z", ended_at: "2025-01-01T00:00:01Z", deleted_at: "2025-01-02" };
    const names = { display_name: "Name", op_name: "op", project_id: "a/b", trace_id: "tr" };
    const vendor = { vendor_user_id: "w", vendor_username: "ann", vendor_run_id: "r" };
    const steps = { vendor_run_step: 1, vendor_run_step_end: 2 };
    const call = { ...ids, ...ended, ...names, ...vendor, ...steps, custom: "c" };
    expect((await linesOf("Call Name", call)).slice(-4)).toEqual([
      ...["id        a", "parent    p", "thread    t", "turn      u"],
    ]);
    expect((await linesOf("Details", call)).map((line) => line.split(/ {2,}/))).toEqual([
      ...[
        ["display name", "Name"],
        ["operation", "op"],
        ["project", "a/b"],
        ["trace", "tr"],
      ],
      ...[
        ["started", ended.started_at],
        ["ended", ended.ended_at],
        ["deleted", ended.deleted_at],
      ],
      ...[
        ["user id", "w"],
        ["username", "ann"],
        ["run", "r"],
        ["run step", "1"],
        ["run step end", "2"],
      ],
    ]);
    expect(await linesOf("Other", call)).toEqual(["custom: c"]);
  });

  it("omits costs from the summary unless --costs requests them", async () => {
    const call = { summary: { costs: { a: 1 }, usage: { m: { requests: 1 } }, nested: { costs: 1, b: 2 }, list: [1] } };
    const rest = ["usage:", "  m:", "    requests: 1", "nested:"];
    expect(await linesOf("Summary", call)).toEqual([...rest, "  b: 2", "list: [1]"]);
    expect(await linesOf("Summary", call, "--costs")).toEqual([
      ...["costs:", "  a: 1", ...rest, "  costs: 1", "  b: 2", "list: [1]"],
    ]);
  });
});

import { describe, expect, it } from "vitest";
import { type ContentPart, type Turn, toTurns } from "../../src/conversation/turns.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";

const read = (items: readonly object[], from?: number): readonly Turn[] =>
  toTurns(parseRawJson(JSON.stringify(items)).items, from);

/** The part with JSON in place of parsed values, and without absent members. */
const show = (part: ContentPart): unknown => {
  if (part.kind === "said") return part.value.json;
  if (part.kind === "other") return { other: part.members.map(({ key }) => key).join(" ") };
  if (part.kind === "thought" || part.kind === "refusal") return { [part.kind]: part.text };
  if (part.kind === "result") return { result: part.parts.map(show), id: part.id, isError: part.isError };
  if (part.kind === "call") {
    const { kind: _, callArguments, result, ...call } = part;
    return { call, json: callArguments?.json, ...(result && { at: result.at, result: result.parts.map(show) }) };
  }
  return JSON.parse(JSON.stringify(part));
};

const partsOf = (message: object) => read([{ role: "assistant", ...message }])[0]?.parts.map(show);
const media = (category: string, more: object) => ({ kind: "media", category, ...more });

describe("the parts of a message", () => {
  const use = { type: "tool_use", id: "1", name: "get", input: { a: 1 } };
  const result = { type: "tool_result", tool_use_id: "1" };
  it.each<[part: object, shown: readonly unknown[]]>([
    [{ type: "text", text: "a" }, ['"a"']],
    [{ type: "input_text", text: "a", annotations: [] }, ['"a"']],
    [{ type: "output_text", text: "a", citations: [1], b: null, c: 0 }, ['"a"', { other: "citations c" }]],
    [{ type: "texts", text: "a" }, ['{"type":"texts","text":"a"}']],
    [{ type: "text", text: 7 }, ['{"type":"text","text":7}']],
    [{ text: "a" }, ['"a"']],
    [{ type: "refusal", refusal: "no" }, [{ refusal: "no" }]],
    [{ type: "refusal", refusal: "" }, []],
    [{ type: "thinking", thinking: "hm", signature: "s" }, [{ thought: "hm" }]],
    [{ type: "thinking", thinking: "", more: 1 }, [{ other: "more" }]],
    [{ ...use, caller: 2 }, [{ call: { name: "get", id: "1" }, json: '{"a":1}' }, { other: "caller" }]],
    [{ ...result, content: "x" }, [{ result: ['"x"'], id: "1", isError: false }]],
    [{ ...result, content: "", is_error: true }, [{ result: [], id: "1", isError: true }]],
    [{ ...result, status: "error" }, [{ result: [{ other: "status" }], id: "1", isError: true }]],
    [
      { ...result, is_error: false, content: [{ type: "text", text: "y" }, use] },
      [{ result: ['"y"', { call: { name: "get", id: "1" }, json: '{"a":1}' }], id: "1", isError: false }],
    ],
    [{ type: "document", source: { type: "text", data: "abc" }, title: "t" }, ['"abc"', { other: "title" }]],
    [{ type: "document", source: { type: "content", content: [{ type: "text", text: "d" }] } }, ['"d"']],
    [{ type: "document", source: { type: "text" } }, ['{"type":"document","source":{"type":"text"}}']],
    [
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: "AA" }, title: "t" },
      [media("document", { data: "AA", format: "application/pdf" }), { other: "title" }],
    ],
    [{ type: "image", source: { type: "url", url: "u" } }, [media("image", { url: "u" })]],
    [{ type: "image_url", image_url: "u", detail: 1 }, [media("image", { url: "u" }), { other: "detail" }]],
    [
      { type: "image_url", image_url: { url: "u", detail: "low" } },
      [media("image", { url: "u" }), { other: "detail" }],
    ],
    [
      { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
      [media("audio", { data: "AA", format: "wav" })],
    ],
    [{ type: "video_url", video_url: { url: "v" } }, [media("video", { url: "v" })]],
    [
      { type: "file", file: { file_data: "data:text/plain,x", filename: "n" } },
      [media("file", { url: "data:text/plain,x", name: "n" })],
    ],
    [{ type: "input_file", file_data: "AA" }, [media("file", { data: "AA" })]],
    [{ type: "file", file: { file_id: "f" } }, [media("file", { name: "f" })]],
    [{ type: "image", x: 1 }, ['{"type":"image","x":1}']],
    [{ type: "note", source: { type: "text", data: 1 } }, ['{"type":"note","source":{"type":"text","data":1}}']],
    [{ type: "search", url: "u" }, ['{"type":"search","url":"u"}']],
  ])("show a part of its content by its type (row %$)", (part, shown) => {
    expect(partsOf({ content: [part] })).toEqual(shown);
  });

  it("are its thoughts, content, refusal, calls and other members, in this order", () => {
    const call = (more: object) => ({ type: "function", id: "c", ...more });
    const calls = [call({ function: { name: "f", arguments: "{}" } }), call({ custom: { name: "g", input: "in" } })];
    const message = {
      ...{ zeta: 1, nothing: null, tool_calls: [...calls, call({})], refusal: "no", content: "yes" },
      ...{ thinking: "c", reasoning: "b", reasoning_content: "a", name: "bot", tool_call_id: "t" },
    };
    expect(partsOf(message)).toEqual([
      ...[{ thought: "a" }, { thought: "b" }, { thought: "c" }, '"yes"', { refusal: "no" }],
      ...[
        { call: { name: "f", id: "c" }, json: '"{}"' },
        { call: { name: "g", id: "c" }, json: '"in"' },
      ],
      { call: { name: undefined, id: undefined }, json: '{"type":"function","id":"c"}' },
      { other: "zeta" },
    ]);
    expect(partsOf({ content: "", tool_calls: {}, refusal: 7 })).toEqual([{ other: "tool_calls refusal" }]);
    expect([partsOf({ content: null }), partsOf({ content: { a: 1 } })]).toEqual([[], ['{"a":1}']]);
  });
});

describe("turns", () => {
  const call = (id?: string, name = "f") => ({ id, function: { name, arguments: "{}" } });
  const asks = (...calls: readonly object[]) => ({ index: 0, message: { role: "assistant", tool_calls: calls } });
  const tool = (content: string, tool_call_id?: string) => ({ role: "tool", tool_call_id, content });
  const shown = (items: readonly object[], from?: number) =>
    read(items, from).map(({ at, parts }) => [
      at,
      ...parts.map((part) => (part.kind === "call" ? { name: part.name, at: part.result?.at } : show(part))),
    ]);

  it("have an error only in a result", () => {
    const items = [{ role: "user", content: "Error: x" }, tool("Error: x")];
    expect(read(items).map(({ isError }) => isError)).toEqual([false, true]);
  });

  it("have the role, the name and the members of a choice", () => {
    const items = [{ role: "user", content: "q", name: "me" }, { ...asks(), logprobs: 1 }, tool("x", "t"), { a: 1 }];
    expect(
      read(items).map(({ parts, isError, choiceMembers, ...turn }) => [turn, choiceMembers.map(({ key }) => key)]),
    ).toEqual([
      [{ at: 0, role: "user", isSampled: false, name: "me", toolCallId: undefined }, []],
      [{ at: 1, role: "assistant", isSampled: true, name: undefined, toolCallId: undefined }, ["index", "logprobs"]],
      [{ at: 2, role: "tool", isSampled: false, name: undefined, toolCallId: "t" }, []],
      [{ at: 3, role: undefined, isSampled: false, name: undefined, toolCallId: undefined }, []],
    ]);
  });

  it("join each call with its answer by id, or in order without ids", () => {
    const byId = [asks(call("a"), call("b", "g")), tool("B", "b"), tool("A", "a"), tool("C", "c")];
    expect(shown(byId)).toEqual([
      [0, { name: "f", at: 2 }, { name: "g", at: 1 }],
      [3, '"C"'],
    ]);
    expect(shown([asks(call(), call("", "g")), { role: "user", content: "1" }, tool("2"), tool("3")])).toEqual([
      [0, { name: "f", at: 2 }, { name: "g", at: 3 }],
      [1, '"1"'],
    ]);
    expect(shown([asks({ id: "a" }), tool("A", "a")])).toEqual([[0, { name: undefined, at: 1 }]]);
    expect(shown([{ a: 1 }])).toEqual([[0, '{"a":1}']]);
  });

  it("begin at an item, and the calls before it have no answers", () => {
    expect(shown([asks(call("a")), tool("A", "a"), asks(call("b")), tool("B", "b")], 1)).toEqual([
      [1, '"A"'],
      [2, { name: "f", at: 3 }],
    ]);
    expect(shown([tool("0"), asks(call("a")), tool("A", "a")], 1)).toEqual([[1, { name: "f", at: 2 }]]);
  });
});

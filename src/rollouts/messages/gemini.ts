/** Converts contents and candidates of the Gemini API to messages and choices, or throws ConversionError. */
import { buildCall, type ConversionNotes, decidedChoice, toArguments } from "./chat.ts";
import { OpenCalls } from "./open-calls.ts";
import { type Json, literal, nonEmpty, toText } from "./output-json.ts";
import { joinTexts } from "./responses.ts";
import type { Value } from "./value.ts";

type Content = Readonly<{ role: string; parts: readonly Value[] }>;

/** SDKs write `function_call`, and the service writes `functionCall`. */
export const findIn = (value: Value | undefined, key: string) =>
  value?.get(key) ?? value?.get(key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()));

/** Gemini can omit the ids of calls, so one converter is for a whole conversation. */
export class GeminiConverter {
  #calls = 0;
  /** The ids of calls. */
  readonly #open = new OpenCalls<Json>();
  readonly #run: ConversionNotes;

  constructor(run: ConversionNotes) {
    this.#run = run;
  }

  convertSystem(system: Value) {
    const texts = splitContents(system).flatMap(({ parts }) => parts.flatMap((part) => textOf(part) ?? []));
    return { role: "system", content: joinTexts(texts, "\n") ?? "" };
  }

  convertContents(contents: Value) {
    return splitContents(contents).flatMap((content) => this.#convertContent(content));
  }

  /** @param chunks a response, or the parts of a streamed response */
  convertCandidates(chunks: readonly Value[]) {
    const count = chunks.reduce((most, chunk) => Math.max(most, chunk.items("candidates").length), 0);
    return Array.from({ length: count }, (_, at) => {
      const candidates = chunks.flatMap((chunk) => chunk.get("candidates", at) ?? []);
      const message = this.#convertAnswer(candidates.flatMap((candidate) => candidate.items("content", "parts")));
      const last = candidates.findLast((candidate) => findIn(candidate, "finish_reason"));
      if (!last) return message;
      const decided = decidedChoice(this.#run, message, [findIn(last, "finish_reason")]);
      const others = last.members().filter(([key]) => !/^(content|index|finish_?reason)$/i.test(key));
      return { ...decided, index: last.get("index") ?? at, ...Object.fromEntries(others) };
    });
  }

  #convertContent({ role, parts }: Content): readonly Json[] {
    if (role === "model") return [this.#convertAnswer(parts)];
    const results = parts.flatMap((part) => findIn(part, "function_response") ?? []);
    const others = parts.filter((part) => !findIn(part, "function_response"));
    const [only, ...more] = others;
    const text = only && more.length === 0 ? textOf(only) : undefined;
    const message = others.length === 0 ? [] : [{ role, content: text ?? this.#convertParts(others) }];
    return [...results.map((result) => this.#convertResult(result)), ...message];
  }

  #convertAnswer(parts: readonly Value[]) {
    const isThought = (part: Value) => part.get("thought")?.isTrue === true;
    const thoughts = parts.filter(isThought);
    const functionCalls = parts.flatMap((part) => findIn(part, "function_call") ?? []);
    const others = parts.filter((part) => !isThought(part) && !findIn(part, "function_call"));
    const texts = others.flatMap((part) => textOf(part) ?? []);
    return {
      role: "assistant",
      content: texts.length === others.length ? (joinTexts(texts) ?? null) : this.#convertParts(others),
      reasoning_content: joinTexts(thoughts.flatMap((part) => part.get("text") ?? [])),
      tool_calls: nonEmpty(functionCalls.map((call) => this.#convertCall(call))),
    };
  }

  #convertParts(parts: readonly Value[]) {
    return parts.flatMap((part) => toChatPart(this.#run, part));
  }

  #convertCall(call: Value) {
    const recordedId = call.get("id");
    const id = recordedId ?? literal(`call_${this.#calls++}`);
    this.#open.add(id, `id ${recordedId?.text}`, `name ${call.textAt("name")}`);
    return buildCall(id, call.require("name"), toArguments(call.get("args")));
  }

  #convertResult(result: Value) {
    const id = result.get("id");
    const name = result.get("name");
    const callId = this.#open.take(id ? `id ${id.text}` : `name ${name?.text}`);
    const response = result.get("response");
    const only = response?.members().length === 1 ? (response.get("output") ?? response.get("result")) : undefined;
    const content = only?.isText ? only : response && toText(response);
    return { role: "tool", tool_call_id: id ?? callId ?? name, name, content: content ?? "" };
  }
}

const textOf = (part: Value) => (part.isText ? part : part.get("text"));

/** Texts and parts without a content are one content of the user, as in the SDKs. */
const splitContents = (contents: Value): readonly Content[] => {
  const split: { role: string; parts: Value[] }[] = [];
  let loose: Value[] | undefined;
  for (const item of contents.isList ? contents.items() : [contents]) {
    const parts = item.get("parts");
    if (parts) {
      split.push({ role: item.textAt("role") ?? "user", parts: [...parts.items()] });
      loose = undefined;
    } else if (loose) loose.push(item);
    else {
      loose = [item];
      split.push({ role: "user", parts: loose });
    }
  }
  return split;
};

const toChatPart = (run: ConversionNotes, part: Value): readonly Json[] => {
  const text = textOf(part);
  if (text) return [{ type: "text", text }];
  const inline = findIn(part, "inline_data");
  const file = inline ?? findIn(part, "file_data");
  const type = findIn(file, "mime_type");
  const data = inline?.get("data");
  const url = data ? literal(`data:${type?.text ?? ""};base64,${data.text}`, data, type) : findIn(file, "file_uri");
  const keys = part.members().map(([key]) => key);
  if (!url) return run.skip(part, `a part with ${keys.join(", ") || "no keys"}`);
  if (type?.text?.startsWith("image/")) return [{ type: "image_url", image_url: { url } }];
  if (data && type?.text?.startsWith("audio/"))
    return [{ type: "input_audio", input_audio: { data, format: literal(type.text.slice("audio/".length), type) } }];
  const filename = findIn(file, "display_name");
  return [{ type: "file", file: data ? { filename, file_data: url } : { filename, file_id: url } }];
};

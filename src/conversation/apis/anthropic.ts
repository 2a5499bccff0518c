/** Converts messages with content blocks of Anthropic's API to chat messages, or throws ConversionError. */
import { type Json, literal, nonEmpty, replaceMembers } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import { buildCall, type ConversionNotes, decidedChoice, toArguments, toLogprobs } from "./openai.ts";
import { joinTexts } from "./responses.ts";

/** Blocks that chat messages do not have. */
const blockPattern = /^((redacted_)?thinking|document|search_result|container_upload|(.*_)?tool_(use|result))$/;

const isBlock = (block: Value) =>
  blockPattern.test(block.textAt("type") ?? "") || block.get("source")?.isObject === true;

/** Returns messages without such blocks unchanged. */
export const convertBlocks = (run: ConversionNotes, message: Value): readonly Json[] => {
  const blocks = message.items("content");
  if (!blocks.some(isBlock)) return [message];
  if (message.textAt("role") === "assistant") return [convertAnswer(run, message)];
  const isResult = (block: Value) => block.textAt("type") === "tool_result";
  const results = blocks.filter(isResult);
  const others = blocks.filter((block) => !isResult(block)).flatMap((block) => toPart(run, block));
  const messages = results.map((result) => ({
    role: "tool",
    tool_call_id: result.require("tool_use_id"),
    content: result.get("content")?.isList ? toParts(run, result.items("content")) : (result.get("content") ?? ""),
    is_error: result.get("is_error"),
  }));
  return [...messages, ...(others.length === 0 ? [] : [replaceMembers(message, { content: others })])];
};

/** Converts the reply of the API. Without a stop reason, it becomes a message. */
export const convertReply = (run: ConversionNotes, reply: Value): Json => {
  const message = convertAnswer(run, reply);
  const stated = reply.get("stop_reason");
  // ART adds these lists to the reply.
  const [ids, logprobs] = [reply.get("token_ids"), reply.get("logprobs")];
  const tokens = ids && logprobs?.has(0) ? toLogprobs(logprobs, ids.items(), [ids]) : undefined;
  return stated ? decidedChoice(run, message, [stated], tokens) : message;
};

const convertAnswer = (run: ConversionNotes, message: Value) => {
  const content = message.get("content");
  const blocks = content?.items() ?? [];
  const ofType = (type: string) => blocks.filter((block) => block.textAt("type") === type);
  const others = blocks.filter((block) => !/^((redacted_)?thinking|tool_use)$/.test(block.textAt("type") ?? ""));
  const thoughts = ofType("thinking").flatMap((block) => block.get("thinking") ?? []);
  const calls = ofType("tool_use").map((block) =>
    buildCall(block.require("id"), block.require("name"), toArguments(block.get("input"))),
  );
  return {
    role: "assistant",
    content: content?.isList ? (others.length === 0 ? null : toParts(run, others)) : (content ?? null),
    reasoning_content: joinTexts(thoughts, "\n"),
    tool_calls: nonEmpty(calls),
  };
};

/** A single text without other keys, such as citations, becomes a string. */
const toParts = (run: ConversionNotes, blocks: readonly Value[]): Json => {
  const [only, ...more] = blocks;
  const isPlain = only?.members().every(([key, { isNull }]) => key === "type" || key === "text" || isNull);
  const text = isPlain && more.length === 0 ? only?.get("text") : undefined;
  return text ?? blocks.flatMap((block) => toPart(run, block));
};

const toPart = (run: ConversionNotes, block: Value): readonly Json[] => {
  const type = block.textAt("type");
  const source = block.get("source");
  if (!isBlock(block)) return [block];
  const data = source?.get("data");
  const mediaType = source?.get("media_type");
  if (type === "document" && data && source?.textAt("type") === "text") return [{ type: "text", text: data }];
  const inner = type === "document" ? source?.get("content") : undefined;
  if (inner) return inner.isText ? [{ type: "text", text: inner }] : inner.items().flatMap((part) => toPart(run, part));
  const file = data && literal(`data:${mediaType?.text ?? ""};base64,${data.text}`, data, mediaType);
  const url = file ?? source?.get("url");
  if (type === "image" && url) return [{ type: "image_url", image_url: { url } }];
  if (type === "document" && file) return [{ type: "file", file: { filename: block.get("title"), file_data: file } }];
  return run.skip(`a block of type ${type ?? "unknown"}`, block);
};

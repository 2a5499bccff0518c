/** Converts items of the Responses API to messages and choices, or throws ConversionError. */
import { type Json, literal, nonEmpty, toText } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import { deriveFinish, openFinish } from "../finish-reason.ts";
import { buildCall, type ConversionNotes, choice, toArguments, toLogprobs } from "./openai.ts";

type ItemTurn = readonly Value[];
type ResponsePart = ItemTurn | Value;
const isTurn = (part: ResponsePart): part is ItemTurn => Array.isArray(part);

/** @param isSampled true if the policy sampled the items with an id */
export const convertInput = (run: ConversionNotes, input: Value, isSampled = false) => {
  if (input.isText) return [{ role: "user", content: input }];
  return splitTurns(run, input).map((part) => {
    if (!isTurn(part)) return convertItem(part);
    if (!part.some((item) => item.has("id"))) return mergeTurn(run, part);
    if (isSampled)
      return choice(mergeTurn(run, part), deriveFinish(run, findCalls(part).length > 0), convertLogprobs(part));
    run.note(
      "kept turns of `input` with an id as messages, because the record does not say that the policy sampled them",
    );
    return mergeTurn(run, part);
  });
};

/** The messages before the first turn of a model. */
export const convertPrompt = (run: ConversionNotes, input: Value) => {
  if (input.isText) return convertInput(run, input);
  const parts = splitTurns(run, input);
  const first = parts.findIndex(isTurn);
  return parts.slice(0, first < 0 ? parts.length : first).flatMap((part) => (isTurn(part) ? [] : convertItem(part)));
};

export const convertOutput = (run: ConversionNotes, response: Value) => {
  const parts = splitTurns(run, response.require("output"));
  const turns = parts.filter(isTurn);
  const finish = openFinish(run, { record: response }, turns.length);
  let turn = 0;
  return parts.map((part) => {
    if (!isTurn(part)) return convertItem(part);
    const reason = finish(turn++, { callsTools: findCalls(part).length > 0 });
    return choice(mergeTurn(run, part), reason, convertTokens(response, part) ?? convertLogprobs(part));
  });
};

const typeOf = (item: Value) => item.textAt("type") ?? (item.has("role") ? "message" : undefined);

const isMessage = (item: Value) => typeOf(item) === "message";
const isReasoning = (item: Value) => typeOf(item) === "reasoning";
const callTypes = ["function_call", "custom_tool_call"];
const findCalls = (turn: ItemTurn) => turn.filter((item) => callTypes.includes(typeOf(item) ?? ""));
const isResult = (item: Value) => /^(function_call|custom_tool_call)_output$/.test(typeOf(item) ?? "");

/** Agents of NeMo Gym add such a message if no turn has token ids, because trainers need some. */
export const isPlaceholder = (item: Value) =>
  ["prompt_token_ids", "generation_token_ids", "generation_log_probs"].every((key) => {
    const [first, ...others] = item.items(key);
    return first?.number === 0 && others.length === 0;
  });

/**
 * A turn ends after token ids, which can be before its calls, and before a second message, a tool result or a message
 * of another role.
 */
const splitTurns = (run: ConversionNotes, items: Value) => {
  if (!items.isList) throw items.error("the value is neither a list of items nor text");
  const parts: ResponsePart[] = [];
  const turn: Value[] = [];
  const end = (kept = 0) => {
    const ended = turn.splice(0, turn.length - kept);
    if (ended.length > 0) parts.push(ended);
  };
  for (const item of items.items()) {
    const type = typeOf(item);
    if (type === undefined) throw item.error("an item has no type");
    if (isResult(item) || (type === "message" && item.textAt("role") !== "assistant")) {
      end();
      parts.push(item);
    } else if (["message", "reasoning", ...callTypes].includes(type)) {
      const hasIds = item.has("generation_token_ids", 0);
      if (isPlaceholder(item)) {
        run.skip("a placeholder for a turn", item);
        continue;
      }
      if (turn.some((part) => part.has("generation_token_ids", 0)) && (hasIds || !callTypes.includes(type))) end();
      // Reasoning before a second message belongs to the turn of that message.
      if (type === "message" && turn.some(isMessage))
        end(turn.length - 1 - turn.findLastIndex((part) => !isReasoning(part)));
      turn.push(item);
    } else {
      const kept = run.skip(`an item of type ${type}`, item);
      if (kept.length > 0) end();
      parts.push(...kept);
    }
  }
  end();
  return parts;
};

const wordPart = /^(?:(?:output_|input_)?text|refusal)$/;
const reasoningPart = /^(?:reasoning|summary)_text$/;

const mergeTurn = (run: ConversionNotes, turn: ItemTurn) => {
  const message = turn.find(isMessage);
  const content = message?.get("content");
  const parts = content?.items() ?? [];
  const typeOfPart = (part: Value) => part.textAt("type") ?? "text";
  const said = parts.filter((part) => wordPart.test(typeOfPart(part)));
  const thoughts = parts.filter((part) => reasoningPart.test(typeOfPart(part)));
  const others = parts.filter((part) => !wordPart.test(typeOfPart(part)) && !reasoningPart.test(typeOfPart(part)));
  const kept = others.flatMap((part) => run.skip(`a part of type ${typeOfPart(part)}`, part));
  const merged = kept.length > 0 ? [...said, ...kept] : joinTexts(findTexts(said));
  return {
    role: message?.get("role") ?? "assistant",
    content: (content?.isList ? merged : content) ?? null,
    refusal: joinTexts(parts.flatMap((part) => part.get("refusal") ?? [])),
    annotations: nonEmpty(parts.flatMap((part) => part.items("annotations"))),
    reasoning_content: joinTexts([...turn.filter(isReasoning).flatMap(findReasoning), ...findTexts(thoughts)], "\n"),
    tool_calls: nonEmpty(findCalls(turn).map(convertCall)),
  };
};

export const joinTexts = (texts: readonly Value[], between = "") => {
  const [only] = texts;
  return texts.length < 2 ? only : literal(texts.map(({ text = "" }) => text).join(between), ...texts);
};

const findTexts = (parts: readonly Value[]) => parts.flatMap((part) => part.get("text") ?? []);

const findReasoning = (item: Value) => {
  const texts = findTexts(item.items("content"));
  return texts.length > 0 ? texts : findTexts(item.items("summary"));
};

const convertCall = (call: Value) => {
  const id = call.require("call_id");
  const name = call.require("name");
  if (typeOf(call) === "function_call") return buildCall(id, name, toArguments(call.require("arguments")));
  return { id, type: "custom", custom: { name, input: call.require("input") } };
};

const convertLogprobs = (turn: ItemTurn) => {
  const recorded = turn.find((item) => item.has("generation_log_probs", 0));
  if (recorded) {
    const ids = recorded.require("generation_token_ids");
    return toLogprobs(recorded.require("generation_log_probs"), ids.items(), [ids]);
  }
  const parts = turn.filter(isMessage).flatMap((item) => item.items("content"));
  const tokens = parts.flatMap((part) => part.items("logprobs"));
  return tokens.length === 0 ? undefined : { content: tokens };
};

/** ART lists the tokens of each generation next to the items that it became. */
const convertTokens = (response: Value, turn: ItemTurn) => {
  const items = response.items("output");
  const own = new Set(turn.map(({ id }) => id));
  const isOwn = ({ number = -1 }: Value) => own.has(items[number]?.id ?? -1);
  const generations = response.items("token_generations").filter((one) => one.has("output_indices", 0));
  const ownGenerations = generations.filter((one) => one.items("output_indices").every(isOwn));
  const tokens = ownGenerations.flatMap((one) => one.items("output_tokens"));
  const [ids, logprobs] = ["token_id", "logprob"].map((key) => tokens.flatMap((token) => token.get(key) ?? []));
  const [first] = logprobs ?? [];
  return first && ids?.length === tokens.length ? toLogprobs(first, ids, ids, logprobs) : undefined;
};

/** Returns items that are neither messages nor results unchanged. */
export const convertItem = (item: Value, isError: Json | undefined = item.get("is_error")): Json => {
  if (isMessage(item)) return { role: item.get("role"), content: convertContent(item.require("content")) };
  if (!isResult(item)) return item;
  const status = item.get("status");
  return {
    role: "tool",
    tool_call_id: item.require("call_id"),
    content: convertContent(item.require("output")),
    is_error: isError,
    status: status?.text === "completed" ? undefined : status,
  };
};

const convertContent = (content: Value) => {
  if (!content.isList) return toText(content);
  const [only, ...more] = content.items();
  return (more.length === 0 ? only?.get("text") : undefined) ?? content.items().map(convertContentPart);
};

const convertContentPart = (part: Value) => {
  const type = part.get("type");
  const [text, image] = [part.get("text"), part.get("image_url")];
  if (text) return { type: literal("text", type), text };
  if (type?.text === "input_image" && image?.isText)
    return { type: literal("image_url", type), image_url: { url: image, detail: part.get("detail") } };
  if (type?.text !== "input_file") return part;
  const [file_id, filename, file_data] = ["file_id", "filename", "file_data"].map((key) => part.get(key));
  return { type: literal("file", type), file: { file_id, filename, file_data } };
};

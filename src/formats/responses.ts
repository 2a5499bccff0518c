/** Items of the Responses API → chat messages, and choices where a model sampled them. */
import { asText, type Built, list, object, objectOf, said } from "./built.ts";
import { type FormatRun, needed, Unfit } from "./format.ts";
import { logprobsOf } from "./logprobs.ts";
import { choice, derivedFinish } from "./turns.ts";
import type { Value } from "./value.ts";

/** Items of a turn that a model has: reasoning, at most one message, and calls. */
type Turn = readonly Value[];

/** Items in their order: turns of the assistant, and what others say. */
type Part = { readonly kind: "turn"; readonly turn: Turn } | { readonly kind: "other"; readonly item: Value };

/** What items are read for. */
interface Reading {
  readonly run: FormatRun;
  readonly group: string;
}

/** Items that a model was given → messages; a text is what the user says. @throws Unfit */
export const givenItems = (input: Value, reading: Reading): readonly Built[] => {
  if (input.isText) return [object({ role: said("user"), content: input })];
  return partsOf(input, reading).map((part) =>
    part.kind === "turn" ? messageOf(part.turn, reading) : givenItem(part.item, reading),
  );
};

/** A response's items → choices, and messages of what answered its calls. @throws Unfit */
export const sampledItems = (response: Value, reading: Reading): readonly Built[] => {
  const parts = partsOf(needed(response, "output", reading.group), reading);
  const last = parts.findLast(({ kind }) => kind === "turn");
  const cut = response.get("incomplete_details", "reason");
  return parts.map((part) => {
    if (part.kind === "other") return givenItem(part.item, reading);
    const { turn } = part;
    const isCut = part === last && cut?.text === "max_output_tokens";
    const finish = isCut ? said("length", cut) : derivedFinish(reading.run, callsIn(turn).length > 0);
    const logprobs = logprobsIn(turn, reading);
    return choice(messageOf(turn, reading), finish, logprobs === undefined ? {} : { logprobs });
  });
};

const typeOf = (item: Value): string | undefined =>
  item.get("type")?.text ?? (item.get("role") === undefined ? undefined : "message");

const isSaid = (item: Value): boolean => typeOf(item) === "message";
const isReasoning = (item: Value): boolean => typeOf(item) === "reasoning";
const callsIn = (turn: Turn): readonly Value[] => turn.filter((item) => typeOf(item) === "function_call");

/** Items put together to turns: a turn ends where another speaks, where its tokens stand, and before a second message. */
const partsOf = (items: Value, { run, group }: Reading): readonly Part[] => {
  if (!items.isList) throw new Unfit("it is neither items nor text", items, group);
  const parts: Part[] = [];
  const turn: Value[] = [];
  const end = (kept = 0): void => {
    const ended = turn.splice(0, turn.length - kept);
    if (ended.length > 0) parts.push({ kind: "turn", turn: ended });
  };
  for (const item of items.items()) {
    const type = typeOf(item);
    if (type === undefined) throw new Unfit("an item has no type", item, group);
    if (type === "function_call_output" || (type === "message" && item.get("role")?.text !== "assistant")) {
      end();
      parts.push({ kind: "other", item });
    } else if (["message", "reasoning", "function_call"].includes(type)) {
      if (type === "message" && turn.some(isSaid))
        end(turn.length - 1 - turn.findLastIndex((one) => !isReasoning(one)));
      turn.push(item);
      if (item.get("generation_token_ids") !== undefined) end();
    } else {
      run.note(`an item ${type} is left out: chat messages have no place for it`);
      run.leave(item, "chat messages have no place for it");
    }
  }
  end();
  return parts;
};

const messageOf = (turn: Turn, { group }: Reading): Built => {
  const message = turn.find(isSaid);
  const calls = callsIn(turn);
  const parts = message?.get("content");
  const refusals = (parts?.items() ?? []).flatMap((part) => part.get("refusal") ?? []);
  return object({
    role: message?.get("role") ?? said("assistant"),
    content: joined(parts?.isList === true ? textsIn(parts) : parts === undefined ? [] : [parts]) ?? said(null),
    refusal: joined(refusals),
    reasoning_content: joined(turn.filter(isReasoning).flatMap(reasoningIn), "\n"),
    tool_calls: calls.length === 0 ? undefined : list(calls.map((call) => callOf(call, group))),
  });
};

/** Texts as one; a single one stays as it was written. */
const joined = (texts: readonly Value[], between = ""): Built | undefined => {
  const [only] = texts;
  return texts.length < 2 ? only : said(texts.map(({ text = "" }) => text).join(between), ...texts);
};

const textsIn = (parts: Value): readonly Value[] => parts.items().flatMap((part) => part.get("text") ?? []);

/** What was thought, as it was or summarised. */
const reasoningIn = (item: Value): readonly Value[] => {
  const [content, summary] = [item.get("content"), item.get("summary")];
  const own = content === undefined ? [] : textsIn(content);
  return own.length > 0 || summary === undefined ? own : textsIn(summary);
};

const callOf = (call: Value, group: string): Built =>
  object({
    id: needed(call, "call_id", group),
    type: said("function"),
    function: object({
      name: needed(call, "name", group),
      arguments: asText(needed(call, "arguments", group)),
    }),
  });

/** What was recorded of the tokens that were sampled: with their ids for training, else as the API answers it. */
const logprobsIn = (turn: Turn, { group }: Reading): Built | undefined => {
  const recorded = turn.find((item) => item.get("generation_log_probs", 0) !== undefined);
  const logprobs = recorded?.get("generation_log_probs");
  if (recorded !== undefined && logprobs !== undefined) {
    const ids = needed(recorded, "generation_token_ids", group);
    return logprobsOf(logprobs, { ids: ids.items(), of: [ids], group });
  }
  const parts = turn.flatMap((item) => (isSaid(item) ? (item.get("content")?.items() ?? []) : []));
  const tokens = parts.flatMap((part) => part.get("logprobs")?.items() ?? []);
  return tokens.length === 0 ? undefined : object({ content: list(tokens) });
};

/** What a tool answered, or what somebody else than the model said. @throws Unfit */
export const givenItem = (item: Value, { group }: Reading): Built => {
  if (!isSaid(item)) {
    const content = needed(item, "output", group);
    return object({ role: said("tool"), tool_call_id: needed(item, "call_id", group), content: contentOf(content) });
  }
  return object({ role: item.get("role"), content: contentOf(needed(item, "content", group)) });
};

const contentOf = (content: Value): Built => {
  if (!content.isList) return asText(content);
  const parts = content.items();
  const [only] = parts;
  return (parts.length === 1 ? only?.get("text") : undefined) ?? list(parts.map(partOf));
};

/** A part of a message; what chat messages have no shape for stays as it is. */
const partOf = (part: Value): Built => {
  const type = part.get("type");
  const of = (name: string, members: Readonly<Record<string, Built | undefined>>): Built =>
    objectOf([["type", said(name, type)], ...Object.entries(members)]);
  const image = part.get("image_url");
  if (part.get("text") !== undefined) return of("text", { text: part.get("text") });
  if (type?.text === "input_image" && image?.isText === true) {
    return of("image_url", { image_url: object({ url: image, detail: part.get("detail") }) });
  }
  if (type?.text !== "input_file") return part;
  const file = ["file_id", "filename", "file_data"].map((key) => [key, part.get(key)] as const);
  return of("file", { file: objectOf(file) });
};

/** Joins the exchanges that ART records with a service to messages and choices, or throws ConversionError. */
import { convertBlocks, convertReply } from "../../conversation/apis/anthropic.ts";
import { toChatMessage, toTools } from "../../conversation/apis/openai.ts";
import { convertInput, convertOutput } from "../../conversation/apis/responses.ts";
import { readOnlyText } from "../../conversation/prompt.ts";
import { isObject } from "../../json/json-bytes.ts";
import { type Json, JsonWriter, literal } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import type { FormatRun } from "./format.ts";

interface Exchange {
  /** The system prompt, if the API has it next to the messages. In the Responses API, it holds for one request. */
  readonly instructions: readonly Json[];
  readonly prompt: readonly Json[];
  /** Several answers to a prompt are separate branches. */
  readonly answers: readonly (readonly Json[])[];
  readonly request: Value;
  readonly tools: Json | undefined;
}

interface Branch {
  items: readonly Json[];
  /** The items as canonical JSON. */
  keys: readonly string[];
  readonly tools: Json | undefined;
  /** The model and the tools. Other models and tools are other branches. */
  readonly context: string;
  readonly responseId: string | undefined;
  /** The id of the conversation that the service stores. */
  readonly conversation: string | undefined;
  readonly instructions: number;
}

export const hasExchanges = (trajectory: Value) =>
  trajectory.members("exchanges").some(([, list]) => list.has(0)) || trajectory.get("exchanges")?.has(0) === true;

/** Returns the members of a trajectory that replace its exchanges. */
export const joinExchanges = (run: FormatRun, trajectory: Value): Readonly<Record<string, Json | undefined>> => {
  const exchanges = trajectory
    .members("exchanges")
    .flatMap(([api, list]) => list.items().map((value) => ({ api, value })));
  if (exchanges.length === 0) throw trajectory.require("exchanges").error("exchanges is not an object with lists");
  const startOf = ({ value }: { value: Value }) => value.textAt("start_time") ?? "";
  exchanges.sort((a, b) => (startOf(a) < startOf(b) ? -1 : Number(startOf(a) > startOf(b))));
  const branches: Branch[] = [];
  for (const { api, value } of exchanges) addExchange(run, branches, { ...convertExchange(run, api, value), value });
  const models = new Set(exchanges.map(({ value }) => modelOf(value)));
  if (models.size > 1) run.note("the exchanges of a trajectory have several models, and the turns of all are choices");
  const [main, ...others] = branches.reverse();
  const [start] = exchanges.map(({ value }) => value.get("start_time"));
  const histories = others.map(({ items, tools }) => ({ messages_and_choices: items, tools }));
  return {
    exchanges: undefined,
    messages_and_choices: main?.items ?? [],
    tools: main?.tools,
    ...(histories.length > 0 && { additional_histories: histories }),
    ...(/(?:Z|[+-]\d\d:\d\d)$/.test(start?.text ?? "") && { start_time: start }),
  };
};

const modelOf = (exchange: Value) =>
  exchange.get("request", "model")?.text ?? exchange.get("response", "model")?.text ?? "";

const convertExchange = (run: FormatRun, api: string, exchange: Value): Exchange => {
  const [request, response] = [exchange.require("request"), exchange.require("response")];
  const tools = toTools(run, request.get("tools"));
  if (api === "chat_completions") {
    const prompt = request.requireItems("messages").map((message) => toChatMessage(message, false));
    const answers = response.requireItems("choices").map((choice) => [choice]);
    return { request, tools, instructions: [], prompt, answers };
  }
  if (api !== "responses" && api !== "messages")
    throw exchange.error(`exchanges of the API \`${api}\` are not supported (omit the trajectory)`);
  const text = request.get("instructions") ?? request.get("system");
  const instructions = text ? [{ role: "system", content: text }] : [];
  if (api === "messages") {
    const prompt = request.requireItems("messages").flatMap((message) => convertBlocks(run, message));
    return { request, tools, instructions, prompt, answers: [[convertReply(run, response)]] };
  }
  const prompt = convertInput(run, request.require("input"));
  return { request, tools, instructions, prompt, answers: [convertOutput(run, response)] };
};

const addExchange = (run: FormatRun, branches: Branch[], exchange: Exchange & { value: Value }) => {
  const { request, tools, answers, value } = exchange;
  const responseId = value.get("response", "id")?.text;
  const context = `${modelOf(value)} ${request.get("tools")?.raw ?? ""}`;
  const previousId = request.get("previous_response_id")?.text;
  const conversation = request.get("conversation", "id")?.text ?? request.get("conversation")?.text;
  const previous = branches.findLast((branch) =>
    previousId === undefined
      ? conversation !== undefined && branch.conversation === conversation
      : branch.responseId === previousId,
  );
  if (previousId !== undefined && !previous)
    throw request.error(`the response ${previousId}, which an exchange continues, is missing`);
  if (conversation !== undefined && !previous)
    run.note("the first prompts of stored conversations lack earlier turns if the service had some");
  const earlier = (previous?.items ?? []).slice(previous?.instructions).map(toGiven);
  const prompt = [...exchange.instructions, ...earlier, ...exchange.prompt];
  const keys = prompt.map(toKey);
  const isContinued = (branch: Branch) =>
    branch.context === context && branch.keys.every((key, at) => key === keys[at]);
  const parent = branches.filter(isContinued).sort((a, b) => b.keys.length - a.keys.length)[0];
  if (parent) {
    branches.splice(branches.indexOf(parent), 1);
    run.unread?.keep(prompt.slice(0, parent.items.length));
  }
  for (const [at, answer] of answers.entries()) {
    // Only one branch contains an earlier turn as a choice.
    const given = at === 0 && parent ? [...parent.items, ...prompt.slice(parent.items.length)] : prompt;
    const items = [...given, ...answer];
    const instructions = exchange.instructions.length;
    branches.push({ items, keys: items.map(toKey), tools, context, responseId, conversation, instructions });
  }
};

const writer = new JsonWriter();

const toData = (json: Json): unknown => {
  writer.writeOnOneLine(json);
  return JSON.parse(writer.take().toString("utf8"));
};

/** In a message that they send again, clients leave out empty members and move cache marks. */
const isIgnored = (key: string, value: unknown) =>
  key === "annotations" || key === "cache_control" || value === null || value === "";

const toKey = (json: Json) => {
  const data = toData(json);
  const message = isObject(data) && "finish_reason" in data ? data.message : data;
  return JSON.stringify(message, (key, value: unknown) => {
    if (isIgnored(key, value)) return undefined;
    if (key === "content" && Array.isArray(value) && value.length === 1) return readOnlyText(value, isIgnored) ?? value;
    if (Array.isArray(value)) return key !== "" && value.length === 0 ? undefined : value;
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
};

/** An earlier choice, as a message that was given. */
const toGiven = (item: Json): Json => {
  const data = toData(item);
  return isObject(data) && "finish_reason" in data ? literal(data.message) : item;
};

/** Converts the steps of ATIF documents to turns. */
import { buildCall, decidedChoice, toArguments, toLogprobs } from "../../conversation/apis/openai.ts";
import { literal, nonEmpty } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import type { FormatRun } from "./format.ts";

/** @param sampling the model of the agent, if the document states it, and true if it sampled its turns */
export const convertSteps = (
  run: FormatRun,
  steps: readonly Value[],
  { model, isSampled }: Readonly<{ model: string | undefined; isSampled: boolean }>,
) => {
  const models = new Set(steps.flatMap((step) => (isSynthetic(step) ? [] : (step.textAt("model_name") ?? []))));
  const hasPolicy = model !== undefined && models.has(model);
  if (isSampled && models.size > 1 && !hasPolicy)
    run.note("converted the turns of several models to choices, because none of them is the model of the agent");
  const isOther = (step: Value) => hasPolicy && !isSynthetic(step) && (step.textAt("model_name") ?? model) !== model;
  return steps.flatMap((step) => {
    if (isSampled && isOther(step)) run.note("kept the turns of other models than the agent's as messages");
    return [...ownTurn(run, step, isSampled && !isOther(step)), ...convertResults(run, step)];
  });
};

/** Claude Code writes errors of the API as turns. */
const isSynthetic = (step: Value) => step.textAt("model_name") === "<synthetic>";

const roles = new Map(Object.entries({ system: "system", user: "user", agent: "assistant" }));

const markPaths = [["source"], ["step_id"], ["is_copied_context"], ["llm_call_count"], ["extra", "is_sidechain"]];

const ownTurn = (run: FormatRun, step: Value, isSampled: boolean) => {
  const source = step.require("source");
  const role = roles.get(source.text ?? "");
  if (role === undefined) throw source.error("source is not system, user or agent");
  const message = step.get("message");
  const calls = nonEmpty(step.items("tool_calls").map(toCall));
  if (!message && !calls) {
    if (role !== "assistant" && step.has("observation")) return [];
    throw step.error("message is missing");
  }
  const marks = markPaths.map((path) => step.get(...path));
  // Harbor writes this text for OpenCode's turns without text.
  const isPlaceholder = role === "assistant" && message?.text === "(tool use)";
  if (isPlaceholder) run.skip("the text (tool use), which Harbor writes for turns without text");
  const turn = {
    role: literal(role, ...marks),
    content: message && !isPlaceholder ? convertContent(run, message) : null,
    reasoning_content: findReasoning(run, step, message),
    tool_calls: calls,
  };
  if (role !== "assistant" || !isSampled || isGiven(run, step)) return [turn];
  // Harbor writes what Claude Code's API stated.
  const stated = ["stop_reason", "finish_reason"].map((key) => step.get("extra", key));
  return [decidedChoice(run, turn, stated, convertLogprobs(step))];
};

/** Harbor writes the text of mini-swe-agent's turns also as their reasoning. */
const findReasoning = (run: FormatRun, step: Value, message: Value | undefined) => {
  const reasoning = step.get("reasoning_content");
  if (!reasoning?.text || reasoning.text !== message?.text) return reasoning;
  run.skip("reasoning that repeats the text of its turn");
  return undefined;
};

/** True if no model sampled the turn. */
const isGiven = (run: FormatRun, step: Value) => {
  if (isSynthetic(step))
    run.note("kept turns of the model <synthetic> as messages, because Claude Code wrote them itself");
  const calls = step.get("llm_call_count")?.number ?? 1;
  if (calls !== 0 && calls !== 1)
    run.note("made one choice of each step of several calls of the model (llm_call_count), because it has one text");
  return isSynthetic(step) || step.get("is_copied_context")?.isTrue || calls === 0;
};

const toCall = (call: Value) => {
  const name = call.require("function_name");
  return buildCall(call.require("tool_call_id"), name, toArguments(call.get("arguments")));
};

const convertLogprobs = (step: Value) => {
  const [logprobs, ids] = [step.get("metrics", "logprobs"), step.get("metrics", "completion_token_ids")];
  return ids && logprobs?.items()[0] && toLogprobs(logprobs, ids.items(), [ids]);
};

/** Results without a call id answer the calls in order if there are as many. */
const convertResults = (run: FormatRun, step: Value) => {
  const results = step.get("observation")?.requireItems("results") ?? [];
  const idOf = (result: Value) => (result.textAt("source_call_id") === "" ? undefined : result.get("source_call_id"));
  const named = new Set(results.map((result) => idOf(result)?.text));
  const openIds = step.items("tool_calls").flatMap((call) => {
    const id = call.textAt("tool_call_id") ?? "";
    return named.has(id) ? [] : id;
  });
  const isInOrder = results.filter((result) => !idOf(result)).length === openIds.length;
  if (openIds.length > 0 && named.has(undefined))
    run.note(
      isInOrder
        ? "matched results without source_call_id to the calls of their step by order"
        : "converted results without source_call_id to user messages, because a step has another number of calls",
    );
  const nextIds = openIds.values();
  return results.flatMap((result) => {
    const [id, output] = [idOf(result), result.get("content")];
    const content = output && convertContent(run, output);
    const openId = isInOrder && !id ? nextIds.next().value : undefined;
    const callId = id ?? openId;
    // Older versions of Harbor mark the step instead of its only result.
    const [is_error] = [result, step].flatMap((holder) => holder.get("extra", "tool_result_is_error") ?? []);
    if (callId) return { role: "tool", tool_call_id: callId, content: content ?? "", is_error };
    return content ? { role: "user", content } : [];
  });
};

const convertContent = (run: FormatRun, content: Value) => {
  if (content.isText) return content;
  if (!content.isList) throw content.error("the content is neither text nor a list of parts");
  return content.items().map((part) => {
    const [type, path] = [part.get("type"), part.get("source", "path")];
    if (type?.text !== "image" || !path) {
      if (type?.text !== "text") run.note(`kept parts of the type ${type?.plain} as they are`);
      return part;
    }
    return { type: literal("image_url", type), image_url: { url: path } };
  });
};

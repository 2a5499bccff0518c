/** Steps of ATIF documents → messages, and choices if the model sampled them. */
import { type Built, list, object, said } from "./built.ts";
import type { FormatRun } from "./format.ts";
import { argumentsOf, choice, derivedFinish, logprobsOf } from "./messages.ts";
import { needed, neededItems, Unfit, type Value } from "./value.ts";

/** Returns the steps of a document. @throws Unfit */
export const stepsOf = (document: Value): readonly Value[] => {
  const steps = needed(document, "steps");
  const items = steps.items();
  if (items.length === 0) throw new Unfit("steps has none", steps);
  const broken = items.find(({ isObject }) => !isObject);
  if (broken !== undefined) throw new Unfit("a step is no object", broken);
  return items;
};

/**
 * Returns the turns of a step: what it says, and its results.
 * @param isSampled true if the agent's steps are those of the model that is trained; other steps are plain messages
 * @throws Unfit
 */
export const turnsOf = (run: FormatRun, step: Value, isSampled: boolean): readonly Built[] => [
  ...ownTurn(run, step, isSampled),
  ...resultsOf(step),
];

/** Roles by the source of a step. */
const roles: Readonly<Record<string, string>> = { system: "system", user: "user", agent: "assistant" };

/** What a step itself says: nothing if it only has results. */
const ownTurn = (run: FormatRun, step: Value, isSampled: boolean): readonly Built[] => {
  const source = needed(step, "source");
  const role = roles[source.text ?? ""];
  if (role === undefined) throw new Unfit("source is none of system, user and agent", source);
  const message = step.get("message");
  const calls = callsOf(step);
  if (message === undefined && calls === undefined) {
    if (role !== "assistant" && step.get("observation") !== undefined) return [];
    throw new Unfit("message is missing", step);
  }
  const turn = object({
    role: said(role, source, ...["step_id", "is_copied_context", "llm_call_count"].map((key) => step.get(key))),
    content: message === undefined ? said(null) : contentOf(message),
    reasoning_content: step.get("reasoning_content"),
    tool_calls: calls,
  });
  const isGiven = step.get("is_copied_context")?.isTrue === true || step.get("llm_call_count")?.number === 0;
  if (role !== "assistant" || isGiven || !isSampled) return [turn];
  const logprobs = logprobsIn(step);
  return [choice(turn, derivedFinish(run, calls !== undefined), logprobs)];
};

const callsOf = (step: Value): Built | undefined => {
  const calls = step.get("tool_calls")?.items() ?? [];
  if (calls.length === 0) return undefined;
  return list(
    calls.map((call) => {
      const name = needed(call, "function_name");
      const fn = object({ name, arguments: argumentsOf(call.get("arguments")) });
      return object({ id: needed(call, "tool_call_id"), type: said("function"), function: fn });
    }),
  );
};

const logprobsIn = (step: Value): Built | undefined => {
  const [logprobs, ids] = [step.get("metrics", "logprobs"), step.get("metrics", "completion_token_ids")];
  if (logprobs === undefined || ids === undefined || logprobs.items().length === 0) return undefined;
  return logprobsOf(logprobs, ids.items(), [ids]);
};

/** Results: messages of a tool if calls asked for them, otherwise messages of the user; nothing if they say nothing. */
const resultsOf = (step: Value): readonly Built[] => {
  const observation = step.get("observation");
  if (observation === undefined) return [];
  return neededItems(observation, "results").flatMap((result) => {
    const [id, own] = [result.get("source_call_id"), result.get("content")];
    const content = own && contentOf(own);
    if (id !== undefined) return object({ role: said("tool"), tool_call_id: id, content: content ?? said("") });
    return content === undefined ? [] : object({ role: said("user"), content });
  });
};

/** A text, or parts as chat messages have them. */
const contentOf = (content: Value): Built => {
  if (content.isText) return content;
  if (!content.isList) throw new Unfit("it is neither text nor parts", content);
  return list(
    content.items().map((part) => {
      const [type, path] = [part.get("type"), part.get("source", "path")];
      if (type?.text !== "image" || path === undefined) return part;
      return object({ type: said("image_url", type), image_url: object({ url: path }) });
    }),
  );
};

/** True if later steps have a new context: after a summary, or after edits that the agent records. */
export const replacesContext = (step: Value): boolean => {
  const holders = [step, step.get("observation"), ...(step.get("observation", "results")?.items() ?? [])];
  const isEdit = (holder: Value | undefined): boolean =>
    (holder?.get("context_management") ?? holder?.get("extra", "context_management")) !== undefined;
  if (holders.some(isEdit)) return true;
  const text = step.textAt("source") === "system" ? (step.textAt("message") ?? "") : "";
  const isSummary = /summari[sz]|compact|condens/i.test(text) && /context|histor|conversation/i.test(text);
  return text.length < maxNotice && isSummary;
};

/** Length in characters of the longest message about the context: a longer message of the system is a prompt. */
const maxNotice = 2000;

/** Steps of ATIF documents → messages, and choices where the model sampled them. */
import { asText, type Built, list, object, said } from "./built.ts";
import { type FormatRun, needed, Unfit } from "./format.ts";
import { logprobsOf } from "./logprobs.ts";
import { choice, derivedFinish } from "./turns.ts";
import type { Value } from "./value.ts";

/** What steps are read for. */
export interface StepReading {
  readonly run: FormatRun;
  readonly group: string;
  /** Whether the model that is trained took the agent's steps: another's are plain messages. */
  readonly isSampled: boolean;
}

/** The steps of a document. @throws Unfit */
export const stepsOf = (document: Value, group: string): readonly Value[] => {
  const steps = needed(document, "steps", group);
  const items = steps.items();
  if (items.length === 0) throw new Unfit("steps has none", steps, group);
  const broken = items.find(({ isObject }) => !isObject);
  if (broken !== undefined) throw new Unfit("a step is no object", broken, group);
  return items;
};

/** Steps as turns, in their order. @throws Unfit */
export const turnsOf = (steps: readonly Value[], reading: StepReading): readonly Built[] =>
  steps.flatMap((step) => [...ownTurn(step, reading), ...resultsOf(step, reading.group)]);

/** Roles by the source of a step. */
const roles: Readonly<Record<string, string>> = { system: "system", user: "user", agent: "assistant" };

/** What a step itself says: nothing where it holds results alone. */
const ownTurn = (step: Value, { run, group, isSampled }: StepReading): readonly Built[] => {
  const source = needed(step, "source", group);
  const role = roles[source.text ?? ""];
  if (role === undefined) throw new Unfit("source is none of system, user and agent", source, group);
  const message = step.get("message");
  const calls = callsOf(step, group);
  if (message === undefined && calls === undefined) {
    if (role !== "assistant" && step.get("observation") !== undefined) return [];
    throw new Unfit("message is missing", step, group);
  }
  const turn = object({
    role: said(role, source, ...["step_id", "is_copied_context", "llm_call_count"].map((key) => step.get(key))),
    content: message === undefined ? said(null) : contentOf(message, group),
    reasoning_content: step.get("reasoning_content"),
    tool_calls: calls,
  });
  const isGiven = step.get("is_copied_context")?.isTrue === true || step.get("llm_call_count")?.number === 0;
  if (role !== "assistant" || isGiven || !isSampled) return [turn];
  const logprobs = logprobsIn(step, group);
  return [choice(turn, derivedFinish(run, calls !== undefined), logprobs === undefined ? {} : { logprobs })];
};

const callsOf = (step: Value, group: string): Built | undefined => {
  const calls = step.get("tool_calls")?.items() ?? [];
  if (calls.length === 0) return undefined;
  return list(
    calls.map((call) => {
      const args = call.get("arguments");
      const name = needed(call, "function_name", group);
      return object({
        id: needed(call, "tool_call_id", group),
        type: said("function"),
        function: object({ name, arguments: args === undefined ? said("{}") : asText(args) }),
      });
    }),
  );
};

const logprobsIn = (step: Value, group: string): Built | undefined => {
  const [logprobs, ids] = [step.get("metrics", "logprobs"), step.get("metrics", "completion_token_ids")];
  if (logprobs === undefined || ids === undefined || logprobs.items().length === 0) return undefined;
  return logprobsOf(logprobs, { ids: ids.items(), of: [ids], group });
};

/** What came back: from calls a tool's messages, from what no call asked for the user's; from nothing none. */
const resultsOf = (step: Value, group: string): readonly Built[] => {
  const observation = step.get("observation");
  if (observation === undefined) return [];
  const results = needed(observation, "results", group);
  if (!results.isList) throw new Unfit("results is no list", results, group);
  return results.items().flatMap((result) => {
    const [id, own] = [result.get("source_call_id"), result.get("content")];
    const content = own === undefined ? undefined : contentOf(own, group);
    if (id !== undefined) return object({ role: said("tool"), tool_call_id: id, content: content ?? said("") });
    return content === undefined ? [] : object({ role: said("user"), content });
  });
};

/** A text, or parts as chat messages have them. */
const contentOf = (content: Value, group: string): Built => {
  if (content.isText) return content;
  if (!content.isList) throw new Unfit("it is neither text nor parts", content, group);
  return list(
    content.items().map((part) => {
      const [type, path] = [part.get("type"), part.get("source", "path")];
      if (type?.text !== "image" || path === undefined) return part;
      return object({ type: said("image_url", type), image_url: object({ url: path }) });
    }),
  );
};

/** Whether the context of later steps was made anew: by a summary, or by edits that the agent records. */
export const replacesContext = (step: Value): boolean => {
  const places = [step, step.get("observation"), ...(step.get("observation", "results")?.items() ?? [])];
  if (
    places.some(
      (place) => (place?.get("context_management") ?? place?.get("extra", "context_management")) !== undefined,
    )
  )
    return true;
  const text = step.get("source")?.text === "system" ? (step.get("message")?.text ?? "") : "";
  return (
    text.length < longestNotice &&
    /summari[sz]|compact|condens/i.test(text) &&
    /context|histor|conversation/i.test(text)
  );
};

/** Characters of what an agent says of its context at most: a longer message of the system is a prompt. */
const longestNotice = 2000;

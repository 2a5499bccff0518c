/** What formats of chat messages have in common: messages or a text as what was given, and as what was sampled. */
import { type Built, object, replaced, type Said, said } from "./built.ts";
import { type FormatRun, type GroupKey, Unfit } from "./format.ts";
import { callIds, chatMessage, toolCalls } from "./tool-calls.ts";
import type { Value } from "./value.ts";

/** A sampled turn. */
export const choice = (message: Built, finish: Built | undefined, more: Readonly<Record<string, Built>> = {}): Built =>
  object({ finish_reason: finish ?? stopped, index: only, message, ...more });

/** The place of a choice among those of its response: no other is recorded. */
const only = said(0);
const [stopped, calling] = [said("stop"), said("tool_calls")];

/** The finish reason of a turn of which none is recorded; the run is told. */
export const derivedFinish = (run: FormatRun, callsTools: boolean): Said => {
  run.note("finish_reason is not recorded: tool_calls where a turn calls tools, else stop");
  return callsTools ? calling : stopped;
};

/** Where messages are from. */
interface From {
  readonly group: GroupKey;
  /** What holds them, by the name that the format has for it. */
  readonly name: string;
}

/** What was given: messages, or a text. @throws Unfit */
export const givenTurns = (run: FormatRun, prompt: Value, from: From): readonly Built[] => {
  if (prompt.isText) return [object({ role: said("user"), content: prompt })];
  const answers = answersIn(run, from.group);
  return messagesIn(prompt, from).map((message) => answers(message, { isSampled: false }));
};

/**
 * What was sampled: messages, of which the assistant's are choices, or a text.
 * @throws Unfit
 */
export const sampledTurns = (
  run: FormatRun,
  completion: Value,
  {
    lastFinish,
    ...from
  }: From & {
    /** The finish reason of the last turn that was sampled, where it is known. */
    readonly lastFinish?: Built | undefined;
  },
): readonly Built[] => {
  if (completion.isText) {
    const message = object({ role: said("assistant"), content: completion });
    return [choice(message, lastFinish ?? derivedFinish(run, false))];
  }
  const messages = messagesIn(completion, from);
  const last = lastFinish === undefined ? -1 : messages.findLastIndex(isAssistants);
  const answers = answersIn(run, from.group);
  return messages.map((message, at) => {
    const isSampled = isAssistants(message);
    const whole = answers(message, { isSampled });
    if (!isSampled) return whole;
    const finish = at === last ? lastFinish : undefined;
    return choice(whole, finish ?? derivedFinish(run, toolCalls(message) !== undefined));
  });
};

const isAssistants = (message: Value): boolean => message.textAt("role") === "assistant";

const messagesIn = (value: Value, { group, name }: From): readonly Value[] => {
  if (!value.isList) throw new Unfit(`${name} is neither messages nor text`, value, group);
  const broken = value.items().find((message) => message.textAt("role") === undefined);
  if (broken !== undefined) throw new Unfit(`a message of ${name} has no role`, broken, group);
  return value.items();
};

type Whole = (message: Value, options: { readonly isSampled: boolean }) => Built;

/** Makes messages whole, one after the other: results that don't say which call they answer are given the open calls in order. */
const answersIn = (run: FormatRun, group: GroupKey): Whole => {
  let calling: Value | undefined;
  const answered: Value[] = [];
  return (message, options) => {
    const role = message.textAt("role");
    if (role === "assistant") {
      calling = message;
      answered.length = 0;
    }
    if (role !== "tool") return chatMessage(message, options);
    const own = message.get("tool_call_id");
    if (own?.isText === true) {
      answered.push(own);
      return chatMessage(message, options);
    }
    const id = openCalls(calling, answered)[0];
    if (id === undefined) {
      throw new Unfit("tool_call_id is missing, and no call is left that it could answer", message, group);
    }
    answered.push(id);
    run.note("tool_call_id is missing: results answer the calls in their order");
    const saysNone = message.isNullAt("tool_calls");
    return replaced(message, { tool_call_id: said(id.text), ...(saysNone ? { tool_calls: undefined } : {}) });
  };
};

/** The ids of a message's calls that were not answered yet. */
const openCalls = (message: Value | undefined, answered: readonly Value[]): readonly Value[] =>
  message === undefined ? [] : callIds(message).filter(({ text }) => !answered.some((id) => id.text === text));

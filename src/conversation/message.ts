/** Recognizes choices, texts, reasoning, calls, results and errors in messages, and pairs results with calls. */

import * as raw from "../json/raw-json.ts";
import { isObject, type JsonObject, parseJson } from "../json/raw-json.ts";
import { isBlank } from "../text/sentences.ts";

/** Assumed: deployed services accept messages with these roles. */
export const roles: ReadonlySet<string> = new Set(["developer", "system", "user", "assistant", "tool", "function"]);

/** The keys of a message's reasoning. Some services send the same reasoning under several. */
export const thoughtKeys = ["reasoning_content", "reasoning", "thinking", "reasoning_details"] as const;

/** Matches the types of parts of a content that are texts. */
export const textType = /^(?:input_|output_)?text$/;

/** Assumed: a choice has a `message` and no `role`. */
export const isChoice = (item: raw.RawJson | undefined) =>
  raw.findMember(item, "role") === undefined && raw.findMember(item, "message")?.kind === "object";

export const messageOf = (item: raw.RawJson) => (isChoice(item) ? (raw.findMember(item, "message") ?? item) : item);

/** The messages of OpenAI's older API have results of functions. */
export const isResult = (message: raw.RawJson) => /^(?:tool|function)$/.test(raw.textAt(message, "role") ?? "");

/** Returns the reasoning of a message without repetitions. */
export const listThoughts = (message: raw.RawJson): readonly string[] => {
  const texts = thoughtKeys.map((key) => {
    const value = raw.findValue(message, key);
    return value?.kind === "text" ? value.text : raw.itemsOf(value).map(textOfPart).join("");
  });
  return [...new Set(texts)].filter((text) => text !== "");
};

const textOfPart = (part: raw.RawJson) => (part.kind === "text" ? part.text : raw.textAt(part, "text"));

/** A message of OpenAI's older API has one call, without an id. */
export const callsOf = (message: raw.RawJson): readonly raw.RawJson[] => {
  const older = raw.findValue(message, "function_call");
  return [...(older?.kind === "object" ? [older] : []), ...raw.itemsOf(raw.findValue(message, "tool_calls"))];
};

/** Returns the object with the name and the arguments of a call. */
export const calleeOf = (call: raw.RawJson) => raw.findValue(call, "custom") ?? raw.findValue(call, "function") ?? call;

/** Returns the texts of a content. */
export const textsOf = (content: unknown) => {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [{ text: content }];
  return parts.flatMap((part) => {
    const text = isObject(part) ? part.text : part;
    return typeof text === "string" ? text : [];
  });
};

/** True for a result that is an error (metrics.md), by its marks or its content. */
export const isErrorResult = (result: raw.RawJson) => {
  const value = parseJson(result.json)?.value;
  if (!isObject(value)) return false;
  const [text = ""] = textsOf(value.content);
  return hasErrorMark(value) || hasError(value.content) || isErrorText(text);
};

/** @param marks the members of a result */
export const hasErrorMark = (marks: JsonObject) =>
  hasError(marks) || (typeof marks.status === "string" && errorStatus.test(marks.status));

const errorStatus = /^(?:error|errored|failed|failure)$/i;

/** The longest start of a text that can name an exception, in bytes or UTF-16 units. */
export const maxExceptionLength = 200;

/** An exception of Python, Java or JavaScript, or a shell's or a tool's `Error:`. White space can be escaped. */
const exceptionStart =
  /^(?:\s|\\[nrt])*(?:<tool_use_error>|Traceback \(most recent call last\)|(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b(?::|\(|$)|(?:Uncaught )?(?:Error|Exception|ERROR|error):)/;

/** Expects the whole text if it is JSON, or else its start. */
export const isErrorText = (text: string) =>
  /^\s*\{/.test(text) ? hasError(parseJson(text)?.value) : exceptionStart.test(text.slice(0, maxExceptionLength));

export const hasError = (value: unknown) =>
  isObject(value) && (isTrue(value.isError) || isTrue(value.is_error) || !isBlank(value.error));

/** Some writers turn booleans into texts or numbers. */
const isTrue = (flag: unknown) => /^(?:true|1)$/i.test(String(flag));

/** Calls in their order. The calls before `next` have results. */
type Queue<Call> = { readonly calls: { readonly call: Call; isOpen: boolean }[]; next: number };

/** A result answers the first open call with its id or name, or else the one that has waited longest. */
export class OpenCalls<Call> {
  /** The queue of all calls has no key. */
  readonly #queues = new Map<string | undefined, Queue<Call>>();

  /** @param keys such as the id of the call */
  add(call: Call, ...keys: readonly (string | undefined)[]) {
    const waiting = { call, isOpen: true };
    for (const key of new Set([undefined, ...keys])) {
      const queue = this.#queues.get(key);
      if (queue) queue.calls.push(waiting);
      else this.#queues.set(key, { calls: [waiting], next: 0 });
    }
  }

  /**
   * Returns the call that the result answers; undefined if no open call fits.
   * @param key default: any call
   */
  take(key?: string): Call | undefined {
    const queue = this.#queues.get(key);
    while (queue && queue.next < queue.calls.length) {
      const first = queue.calls[queue.next++];
      if (!first?.isOpen) continue;
      first.isOpen = false;
      return first.call;
    }
    return undefined;
  }

  /** Returns the calls without a result, in their order. */
  open(): readonly Call[] {
    const all = this.#queues.get(undefined)?.calls ?? [];
    return all.flatMap(({ call, isOpen }) => (isOpen ? [call] : []));
  }
}

/** A call, the index of its message, and that of the message with its result. */
export type PairedCall = { readonly call: raw.RawJson; readonly at: number; result: number | undefined };

/** Pairs the calls in messages and choices with their results. */
export const pairCalls = (items: readonly raw.RawJson[], from = 0): readonly PairedCall[] => {
  const calls: PairedCall[] = [];
  const open = new OpenCalls<PairedCall>();
  for (const [at, item] of items.entries()) {
    if (at < from) continue;
    const answered = isResult(item) ? open.take(raw.textAt(item, "tool_call_id") || undefined) : undefined;
    if (answered) answered.result = at;
    for (const call of isResult(item) ? [] : callsOf(messageOf(item))) {
      const made: PairedCall = { call, at, result: undefined };
      calls.push(made);
      open.add(made, raw.textAt(call, "id") || undefined);
    }
  }
  return calls;
};

/** Goes over the messages of a trajectory: what is unusual in each, who speaks, and which tools are called and answer. */
import { nodeSize } from "../json/reader.ts";
import { afterOf, endOf, factOf, numbersIn, parsedNode, startOf, type Tabled, textOf } from "../json/table.ts";
import { nearest, nearestAmong } from "../nearest.ts";
import { insteadOfRole, roles, suggestedRole } from "./hints.ts";
import { maxNameLength, shortName } from "./rules/places.ts";
import { describe, Kind, kindAt, kindOf, kindsAlone, Shape } from "./shape.ts";
import { checkElements, type Report } from "./types.ts";

/** What the messages of a trajectory come to. */
export interface Turns {
  /** Messages and choices. */
  turns: number;
  /** Characters of their content, and of the arguments of tool calls. */
  characters: number;
  /** Choices, and those that have logprobs. */
  choices: number;
  scored: number;
  /** True if a message or choice is the assistant's. */
  speaks: boolean;
  /** True if a tool with a name is called. */
  callsTools: boolean;
}

/** What follows from the keys, kinds and role of a message or choice. */
interface MessageFacts {
  /** True if it is a choice: its message is inside of it. */
  readonly isChoice: boolean;
  readonly hasLogprobs: boolean;
  /** Position among the roles; -1 for none. */
  readonly role: number;
  /** Kinds of the content and of the calls. */
  readonly content: number;
  readonly calls: number;
  /** True if something is wrong with it, in a choice or not. */
  readonly isUnusual: boolean;
}

const roleNames = [...roles];
const [assistant, tool] = [roleNames.indexOf("assistant"), roleNames.indexOf("tool")];

const messageShape = new Shape(
  ["role", "content", "tool_calls", "tool_call_id", "message", "logprobs"],
  (kinds, text): MessageFacts => {
    const role = kinds.role === Kind.string ? roleNames.indexOf(textOf(text, messageShape.at(text, slots.role))) : -1;
    return {
      isChoice: kinds.role === Kind.absent && kinds.message === Kind.object,
      hasLogprobs: kinds.logprobs === Kind.object,
      role,
      content: kinds.content,
      calls: kinds.tool_calls,
      isUnusual:
        role < 0 ||
        (kinds.content & contentKinds) === 0 ||
        (role === tool && kinds.tool_call_id !== Kind.string) ||
        (kinds.tool_calls & (Kind.absent | Kind.null | Kind.array)) === 0,
    };
  },
);
const { slots } = messageShape;
const contentKinds = Kind.absent | Kind.null | Kind.string | Kind.array;
const partShape = new Shape(["text"], kindsAlone);
const callShape = new Shape(["id", "function"], kindsAlone);
const functionShape = new Shape(["name", "arguments"], kindsAlone);

const messages = { kind: Kind.object, of: { rule: "message-type" } } as const;

/** Where messages are, and what is done with what is found in them. */
interface MessagesOptions {
  readonly list: number;
  /** What they come to; undefined for a history, whose messages are only checked. */
  readonly turns?: Turns;
  /** Names of the tools that are offered; undefined if they are not known. */
  readonly listed?: ReadonlySet<string> | undefined;
}

/** Reports what is unusual in messages; says what they come to. */
export const inspectMessages = (text: Tabled, { list, turns, listed }: MessagesOptions, report: Report): void => {
  checkElements(text, list, messages, report);
  if (turns !== undefined) {
    turns.turns = numbersIn(text, list);
    turns.characters = 0;
    turns.choices = 0;
    turns.scored = 0;
    turns.speaks = false;
    turns.callsTools = false;
  }
  eventCount = 0;
  /** Where the calls of the last message begin. */
  let last: number | undefined;
  const end = afterOf(text, list);
  for (let entry = list + nodeSize; entry < end; entry = afterOf(text, entry)) {
    if (turns !== undefined) turns.turns++;
    if (kindAt(text, entry) !== Kind.object) continue;
    let facts = messageShape.read(text, entry);
    const { isChoice, hasLogprobs } = facts;
    const message = isChoice ? messageShape.at(text, slots.message) : entry;
    if (isChoice) facts = messageShape.read(text, message);
    const { role, content, calls, isUnusual } = facts;
    // In a choice's message, null is usual.
    if (isUnusual || (calls === Kind.null && !isChoice)) reportUnusual(text, { message, isChoice, role }, report);
    if (turns === undefined) continue;
    if (isChoice) turns.choices++;
    if (isChoice && hasLogprobs) turns.scored++;
    if (content === Kind.string) turns.characters += factOf(text, messageShape.at(text, slots.content));
    else if (content === Kind.array) turns.characters += charactersIn(text, messageShape.at(text, slots.content));
    if (role === assistant) turns.speaks = true;
    if (role === tool) addResult(text, messageShape.at(text, slots.tool_call_id));
    if (calls !== Kind.array) continue;
    if (afterOf(text, entry) === end) last = eventCount;
    addCalls(text, messageShape.at(text, slots.tool_calls), turns);
  }
  if (turns === undefined) return;
  if (eventCount > 0) inspectCalls(text, { listed, last: last ?? eventCount }, report);
  if (!turns.speaks && turns.choices === 0) report("no-assistant-turn", undefined, list);
};

/** Reports what is unusual in the message that was read. */
const reportUnusual = (
  text: Tabled,
  { message, isChoice, role }: { readonly message: number; readonly isChoice: boolean; readonly role: number },
  report: Report,
): void => {
  const content = messageShape.at(text, slots.content);
  const calls = messageShape.at(text, slots.tool_calls);
  if (role < 0) reportRole(text, message, report);
  if ((kindOf(text, content) & contentKinds) === 0) report("content-type", { found: describe(text, content) }, content);
  if (role === tool && kindOf(text, messageShape.at(text, slots.tool_call_id)) !== Kind.string) {
    report("missing-tool-call-id", undefined, message);
  }
  const kind = kindOf(text, calls);
  if (kind === Kind.null && !isChoice) report("tool-calls-null", undefined, calls);
  else if ((kind & (Kind.absent | Kind.null | Kind.array)) === 0) {
    report("tool-calls-type", { found: describe(text, calls) }, calls);
  }
};

const reportRole = (text: Tabled, message: number, report: Report): void => {
  const node = messageShape.at(text, slots.role);
  if (node === 0) {
    report("missing-role", { instead: () => insteadOfRole(parsedNode(text, message)) }, message);
    return;
  }
  const said = kindOf(text, node) === Kind.string ? textOf(text, node) : undefined;
  const role = said === undefined ? describe(text, node) : shortName(said);
  report("unknown-role", { role, suggestion: () => suggestedRole(said) }, node);
};

/** Characters of the parts of a content. */
const charactersIn = (text: Tabled, content: number): number => {
  let characters = 0;
  const end = afterOf(text, content);
  for (let part = content + nodeSize; part < end; part = afterOf(text, part)) {
    if (kindAt(text, part) !== Kind.object) continue;
    if (partShape.read(text, part).text === Kind.string) characters += factOf(text, partShape.at(text, 1));
  }
  return characters;
};

/**
 * The calls and results of a trajectory, in their order: nothing is allocated for each. Three numbers are one: its node, that
 * of its id, and that of its tool's name; 0 for an id or a name that is no string or is empty, -1 for the name of a result.
 */
let events = new Int32Array(2 ** 8);
let eventCount = 0;
const [eventSize, ofResult] = [3, -1];

const addEvent = (node: number, id: number, name: number): void => {
  if (eventCount + eventSize > events.length) {
    const larger = new Int32Array(2 * events.length);
    larger.set(events);
    events = larger;
  }
  events[eventCount] = node;
  events[eventCount + 1] = id;
  events[eventCount + 2] = name;
  eventCount += eventSize;
};

const addResult = (text: Tabled, id: number): void => addEvent(id, kindOf(text, id) === Kind.string ? id : 0, ofResult);

/** Adds the calls in the `tool_calls` of a message. */
const addCalls = (text: Tabled, list: number, turns: Turns): void => {
  const end = afterOf(text, list);
  for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
    if (kindAt(text, node) !== Kind.object) continue;
    const call = callShape.read(text, node);
    const id = call.id === Kind.string ? filled(text, callShape.at(text, 1)) : 0;
    let name = 0;
    if (call.function === Kind.object) {
      const called = functionShape.read(text, callShape.at(text, 2));
      if (called.name === Kind.string) name = filled(text, functionShape.at(text, 1));
      if (called.arguments === Kind.string) turns.characters += factOf(text, functionShape.at(text, 2));
    }
    if (name > 0) turns.callsTools = true;
    addEvent(node, id, name);
  }
};

/** The node of a text; 0 of an empty one. */
const filled = (text: Tabled, node: number): number => (factOf(text, node) > 0 ? node : 0);

/** Tools that a mistyped name is compared with one by one; among more, it is looked up. */
const maxCompared = 200;

/** Reports calls of tools that are not listed, or that have no result. `last` is where those of the last message begin. */
const inspectCalls = (
  text: Tabled,
  { listed, last }: { readonly listed: ReadonlySet<string> | undefined; readonly last: number },
  report: Report,
): void => {
  let near: ((name: string) => string | undefined) | undefined;
  for (let at = 0; listed !== undefined && at < eventCount; at += eventSize) {
    const node = events[at + 2] ?? 0;
    const name = node > 0 ? textOf(text, node) : undefined;
    if (name === undefined || listed.has(name)) continue;
    near ??= listed.size > maxCompared ? nearestAmong(listed) : (own) => nearest(own, listed);
    const find = near;
    report("undeclared-tool", { name: shortName(name), suggestion: () => find(name.slice(0, maxNameLength)) }, node);
  }
  if (last === eventCount && areAnswered(text)) return;
  const { waiting, answered } = matchCalls(text, last);
  for (const at of waiting) {
    const [node = 0, , name = 0] = events.subarray(at);
    report("missing-tool-result", { name: name > 0 ? shortName(textOf(text, name)) : undefined }, node);
  }
  // The calls of the last message may end the trajectory, unless calls of the same tools were answered before.
  for (let at = last; at < eventCount; at += eventSize) {
    const [node = 0, , named = 0] = events.subarray(at);
    const name = named > 0 ? textOf(text, named) : "";
    if (answered.has(name)) report("trailing-tool-call", { name: shortName(name) }, node);
  }
};

/** True if each result plainly is that of the oldest call that waits, and no call waits in the end, as nearly always. */
const areAnswered = (text: Tabled): boolean => {
  let oldest = 0;
  for (let at = 0; at <= eventCount; at += eventSize) {
    // A call without an id cannot be answered.
    while (oldest < at && (events[oldest + 2] === ofResult || events[oldest + 1] === 0)) oldest += eventSize;
    if (at === eventCount || oldest === at || events[at + 2] !== ofResult) continue;
    const id = events[at + 1] ?? 0;
    if (id > 0 && !areSpelledSame(text, events[oldest + 1] ?? 0, id)) return false;
    oldest += eventSize;
  }
  return oldest === eventCount;
};

const areSpelledSame = (text: Tabled, a: number, b: number): boolean => {
  const [start, other] = [startOf(text, a), startOf(text, b)];
  const length = endOf(text, a) - start;
  if (endOf(text, b) - other !== length) return false;
  for (let at = 1; at < length; at++) if (text.bytes[start + at] !== text.bytes[other + at]) return false;
  return true;
};

/**
 * Matches calls with their results by their ids: gives the calls that wait in the end, and the names of tools of which one was
 * answered. A result is that of all calls of its id; one without an id, which another rule tells of, that of the oldest call.
 */
const matchCalls = (
  text: Tabled,
  end: number,
): { readonly waiting: readonly number[]; readonly answered: ReadonlySet<string> } => {
  const waiting = new Map<string, number[]>();
  const answered = new Set<string>();
  for (let at = 0; at < end; at += eventSize) {
    const [, id = 0, name] = events.subarray(at);
    const own = id > 0 ? textOf(text, id) : undefined;
    if (name !== ofResult) {
      if (own !== undefined && waiting.get(own)?.push(at) === undefined) waiting.set(own, [at]);
      continue;
    }
    const key = own ?? waiting.keys().next().value ?? "";
    const calls = waiting.get(key) ?? [];
    for (const call of own === undefined ? calls.splice(0, 1) : calls.splice(0)) {
      const called = events[call + 2] ?? 0;
      if (called > 0) answered.add(textOf(text, called));
    }
    if (calls.length === 0) waiting.delete(key);
  }
  return { waiting: [...waiting.values()].flat(), answered };
};

/** Goes over the messages of a trajectory: what is unusual in each, who speaks, and which tools are called and answer. */

import { nodeSize } from "../json/reader.ts";
import { afterOf, endOf, factOf, isSaid, numbersIn, parsedNode, startOf, type Tabled, textOf } from "../json/table.ts";
import { isObject } from "../json/walk.ts";
import { nearest, nearestAmong } from "../nearest.ts";
import { CallList, Calls } from "./calls.ts";
import { absent, arrayKind, describe, kindAt, kindOf, nullKind, objectKind, stringKind } from "./kinds.ts";
import { none, type Report } from "./report.ts";
import { otherShapeOf, roles, suggestedRole } from "./roles.ts";
import { maxNameLength, shortName } from "./rules/values.ts";
import { Shape } from "./shape.ts";
import { reportNumbers } from "./types.ts";

/** What the messages of a trajectory come to. */
export interface Turns {
  /** Messages and choices. */
  readonly turns: number;
  /** Characters of their content, and of the arguments of tool calls. */
  readonly characters: number;
  /** Choices, and those that have logprobs. */
  readonly choices: number;
  readonly scored: number;
  /** True if a message or choice is the assistant's. */
  readonly speaks: boolean;
  /** True if a tool with a name is called. */
  readonly calls: boolean;
}

const messageShape = new Shape(["role", "content", "tool_calls", "tool_call_id", "message", "logprobs"]);
const slots = messageShape.slots;
const { values } = messageShape;
const partShape = new Shape(["text"]);

const roleNames = [...roles];
const [assistant, tool] = [roleNames.indexOf("assistant"), roleNames.indexOf("tool")];
const noRole = -1;

/** The number of a role; -1 for none. */
const roleOf = (text: Tabled, node: number): number => {
  if (kindOf(text, node) !== stringKind) return noRole;
  const start = startOf(text, node) + 1;
  const length = endOf(text, node) - 1 - start;
  for (let at = 0; at < roleNames.length; at++) {
    const name = roleNames[at] ?? "";
    if (name.length === length && isSaid(name, text.bytes, start)) return at;
  }
  // It may be spelled with escapes.
  return factOf(text, node) < length ? roleNames.indexOf(textOf(text, node)) : noRole;
};

/** The messages of an element: that inside of a choice, or itself; its members are those of the shape then. */
const openMessage = (text: Tabled, entry: number): number => {
  messageShape.read(text, entry);
  const inner = values[slots.message] ?? 0;
  if (values[slots.role] !== 0 || kindOf(text, inner) !== objectKind) return entry;
  messageShape.read(text, inner);
  return inner;
};

/** Reports what is unusual in the messages of a history. */
export const inspectMessages = (text: Tabled, list: number, report: Report): void => {
  reportNumberMessages(text, list, report);
  const end = afterOf(text, list);
  for (let entry = list + nodeSize; entry < end; entry = afterOf(text, entry)) {
    if (kindAt(text, entry) !== objectKind) reportNoMessage(text, entry, report);
    else {
      const message = openMessage(text, entry);
      inspectMessage(text, { message, inChoice: message !== entry }, report);
    }
  }
};

const calls = new Calls();
const own = new CallList();

/** A finding that is reported after those of other kinds. */
type Later = (report: Report) => void;

/**
 * Reports what is unusual in the messages of a trajectory, and gives what they come to.
 * @param listed names of the tools that it offers; undefined if they are not known
 * @param later receives the findings that need all messages
 */
export const inspectTurns = (
  text: Tabled,
  { list, listed, later }: { readonly list: number; readonly listed: Listed | undefined; readonly later: Later[] },
  report: Report,
): Turns => {
  calls.clear();
  if (numbersIn(text, list) > 0) reportNumberMessages(text, list, report);
  let turns = numbersIn(text, list);
  let characters = 0;
  let choices = 0;
  let scored = 0;
  let speaks = false;
  let callsTools = false;
  const end = afterOf(text, list);
  for (let entry = list + nodeSize; entry < end; turns++) {
    const next = afterOf(text, entry);
    if (kindAt(text, entry) !== objectKind) {
      reportNoMessage(text, entry, report);
      entry = next;
      continue;
    }
    messageShape.read(text, entry);
    const inner = values[slots.message] ?? 0;
    const inChoice = values[slots.role] === 0 && kindOf(text, inner) === objectKind;
    if (inChoice) {
      choices++;
      if (kindOf(text, values[slots.logprobs] ?? 0) === objectKind) scored++;
      messageShape.read(text, inner);
    }
    const role = inspectMessage(text, { message: inChoice ? inner : entry, inChoice }, report);
    characters += charactersIn(text, values[slots.content] ?? 0);
    speaks ||= role === assistant;
    if (role === tool) calls.answer(text, values[slots.tool_call_id] ?? 0);
    const called = values[slots.tool_calls] ?? 0;
    if (kindOf(text, called) === arrayKind) {
      own.read(text, called);
      characters += own.characters;
      for (let at = 0; at < own.count; at++) callsTools ||= own.nameOf(at) > 0;
      if (listed !== undefined) inspectNames(text, listed, later);
      if (next < end) calls.wait(text, own);
      else inspectLast(text, later);
    }
    entry = next;
  }
  if (!speaks && choices === 0) reportSilence(list, later);
  if (!calls.areAnswered) reportUnanswered(text, later);
  return { turns, characters, choices, scored, speaks, calls: callsTools };
};

const reportSilence = (list: number, later: Later[]): void => {
  later.push((report) => report("no-assistant", none, list));
};

const reportUnanswered = (text: Tabled, later: Later[]): void => {
  for (const { node, name } of calls.waiting) {
    const data = () => ({ name: name === 0 ? undefined : shortName(textOf(text, name)) });
    later.push((report) => report("tool-call-unanswered", data, node));
  }
};

const charactersIn = (text: Tabled, content: number): number => {
  const kind = kindOf(text, content);
  if (kind === stringKind) return factOf(text, content);
  if (kind !== arrayKind || numbersIn(text, content) > 0) return 0;
  let characters = 0;
  const end = afterOf(text, content);
  for (let part = content + nodeSize; part < end; part = afterOf(text, part)) {
    if (kindAt(text, part) !== objectKind) continue;
    partShape.read(text, part);
    const said = partShape.values[partShape.slots.text] ?? 0;
    if (kindOf(text, said) === stringKind) characters += factOf(text, said);
  }
  return characters;
};

const reportNumberMessages = (text: Tabled, list: number, report: Report): void =>
  reportNumbers(text, list, (found, at) => report("message-type", () => ({ found }), list, at));

const reportNoMessage = (text: Tabled, entry: number, report: Report): void =>
  report("message-type", () => ({ found: describe(text, entry) }), entry);

interface Message {
  readonly message: number;
  readonly inChoice: boolean;
}

/** Reports what is unusual in the message whose members were read; gives its role. */
const inspectMessage = (text: Tabled, { message, inChoice }: Message, report: Report): number => {
  const roleNode = values[slots.role] ?? 0;
  const content = kindOf(text, values[slots.content] ?? 0);
  const toolCalls = kindOf(text, values[slots.tool_calls] ?? 0);
  const role = roleOf(text, roleNode);
  if (role < 0) reportRole(text, message, report);
  if ((content & (absent | nullKind | stringKind | arrayKind)) === 0) reportContent(text, report);
  if (role === tool && kindOf(text, values[slots.tool_call_id] ?? 0) !== stringKind) {
    report("tool-call-id-missing", none, message);
  }
  if ((toolCalls & (absent | arrayKind)) === 0) reportToolCalls(text, inChoice, report);
  return role;
};

const reportRole = (text: Tabled, message: number, report: Report): void => {
  const role = values[slots.role] ?? 0;
  if (role === 0) {
    report("role-missing", () => ({ instead: () => otherShapeOf(objectAt(text, message)) }), message);
    return;
  }
  report(
    "role-unknown",
    () => {
      const said = kindOf(text, role) === stringKind ? textOf(text, role) : undefined;
      return {
        role: said === undefined ? describe(text, role) : shortName(said),
        suggestion: () => suggestedRole(said),
      };
    },
    role,
  );
};

const objectAt = (text: Tabled, node: number) => {
  const value = parsedNode(text, node);
  return isObject(value) ? value : {};
};

const reportContent = (text: Tabled, report: Report): void => {
  const content = values[slots.content] ?? 0;
  report("content-type", () => ({ found: describe(text, content) }), content);
};

const reportToolCalls = (text: Tabled, inChoice: boolean, report: Report): void => {
  const node = values[slots.tool_calls] ?? 0;
  if (kindOf(text, node) !== nullKind) report("tool-calls-type", () => ({ found: describe(text, node) }), node);
  else if (!inChoice) report("tool-calls-null", none, node);
};

/** Names of the tools that a trajectory lists, and the listed name that was probably meant by another. */
export interface Listed {
  readonly names: ReadonlySet<string>;
  readonly near: (name: string) => string | undefined;
}

/** Tools that a mistyped name is compared with one by one; among more, it is looked up. */
const maxCompared = 200;

/** Makes the names of tools ready to be looked up. */
export const listedNames = (names: ReadonlySet<string>): Listed => {
  let among: ((name: string) => string | undefined) | undefined;
  return {
    names,
    near: (name) => {
      if (names.size <= maxCompared) return nearest(name, names);
      among ??= nearestAmong(names);
      return among(name);
    },
  };
};

const inspectNames = (text: Tabled, listed: Listed, later: Later[]): void => {
  for (let at = 0; at < own.count; at++) {
    const name = own.nameOf(at);
    if (name > 0 && !listed.names.has(textOf(text, name))) reportUnlisted(text, { name, listed, later });
  }
};

const reportUnlisted = (
  text: Tabled,
  { name: node, listed, later }: { readonly name: number; readonly listed: Listed; readonly later: Later[] },
): void => {
  const data = () => {
    const name = textOf(text, node);
    return { name: shortName(name), suggestion: () => listed.near(name.slice(0, maxNameLength)) };
  };
  later.push((report) => report("tool-unlisted", data, node));
};

/** The calls of the last message may end the trajectory, unless calls of the same tools were answered before. */
const inspectLast = (text: Tabled, later: Later[]): void => {
  const answered = calls.answered(text);
  for (let at = 0; at < own.count; at++) {
    const node = own.nodeOf(at);
    const name = own.nameOf(at) === 0 ? "" : textOf(text, own.nameOf(at));
    if (answered.has(name))
      later.push((report) => report("last-call-unanswered", () => ({ name: shortName(name) }), node));
  }
};

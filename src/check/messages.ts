/** Goes over the messages of a trajectory: what is unusual in each, who speaks, and which tools are called and answer. */

import { nodeSize } from "../json/reader.ts";
import { afterOf, factOf, numbersIn, parsedNode, type Tabled, textOf } from "../json/table.ts";
import { isObject } from "../json/walk.ts";
import { nearest, nearestAmong } from "../nearest.ts";
import { Calls } from "./calls.ts";
import { absent, arrayKind, describe, kindAt, kindOf, nullKind, objectKind, stringKind } from "./kinds.ts";
import { none, type Report } from "./report.ts";
import { otherShapeOf, roles, suggestedRole } from "./roles.ts";
import { maxNameLength, shortName } from "./rules/values.ts";
import { kindsAlone, Shape } from "./shape.ts";
import { reportNumbers } from "./types.ts";

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
  /** Kind of the content. */
  readonly content: number;
  readonly hasCalls: boolean;
  /** True if nothing is unusual in it; the same of the message in a choice. */
  readonly isUsual: boolean;
  readonly isUsualInChoice: boolean;
}

const roleNames = [...roles];
const [assistant, tool] = [roleNames.indexOf("assistant"), roleNames.indexOf("tool")];

const messageShape = new Shape(
  ["role", "content", "tool_calls", "tool_call_id", "message", "logprobs"],
  (kinds, text, message): MessageFacts => {
    const role = kinds.role === stringKind ? roleNames.indexOf(textOf(text, messageShape.at(text, slots.role))) : -1;
    const isUsual = (inChoice: boolean): boolean => {
      let findings = 0;
      inspectMessage(text, { message, inChoice, role }, () => findings++);
      return findings === 0;
    };
    return {
      isChoice: kinds.role === absent && kinds.message === objectKind,
      hasLogprobs: kinds.logprobs === objectKind,
      role,
      content: kinds.content,
      hasCalls: kinds.tool_calls === arrayKind,
      isUsual: isUsual(false),
      isUsualInChoice: isUsual(true),
    };
  },
);
const { slots } = messageShape;
const partShape = new Shape(["text"], kindsAlone);

/** Reports what is unusual in the messages of a history. */
export const inspectMessages = (text: Tabled, list: number, report: Report): void => {
  reportNumberMessages(text, list, report);
  const end = afterOf(text, list);
  for (let entry = list + nodeSize; entry < end; entry = afterOf(text, entry)) {
    if (kindAt(text, entry) !== objectKind) {
      reportNoMessage(text, entry, report);
      continue;
    }
    const { isChoice, isUsual, role } = messageShape.read(text, entry);
    if (isChoice) openChoice(text, report);
    else if (!isUsual) inspectMessage(text, { message: entry, inChoice: false, role }, report);
  }
};

/** Reads the message in the choice that was read, and reports what is unusual in it. */
const openChoice = (text: Tabled, report: Report): MessageFacts => {
  const message = messageShape.at(text, slots.message);
  const facts = messageShape.read(text, message);
  if (!facts.isUsualInChoice) inspectMessage(text, { message, inChoice: true, role: facts.role }, report);
  return facts;
};

const calls = new Calls();

/** A finding that is reported after those of other kinds. */
type Later = (report: Report) => void;

interface TurnsOptions {
  readonly list: number;
  readonly listed: Listed | undefined;
  readonly later: Later[];
  readonly turns: Turns;
}

/**
 * Reports what is unusual in the messages of a trajectory, and says what they come to.
 * @param listed names of the tools that it offers; undefined if they are not known
 * @param later receives the findings that need all messages
 */
export const inspectTurns = (text: Tabled, { list, listed, later, turns }: TurnsOptions, report: Report): void => {
  calls.clear();
  if (numbersIn(text, list) > 0) reportNumberMessages(text, list, report);
  turns.turns = numbersIn(text, list);
  turns.characters = 0;
  turns.choices = 0;
  turns.scored = 0;
  turns.speaks = false;
  turns.callsTools = false;
  const end = afterOf(text, list);
  for (let entry = list + nodeSize; entry < end; ) {
    const next = afterOf(text, entry);
    turns.turns++;
    if (kindAt(text, entry) === objectKind) {
      let facts = messageShape.read(text, entry);
      if (facts.isChoice) {
        turns.choices++;
        if (facts.hasLogprobs) turns.scored++;
        facts = openChoice(text, report);
      } else if (!facts.isUsual) inspectMessage(text, { message: entry, inChoice: false, role: facts.role }, report);
      const { role, content, hasCalls } = facts;
      if (content === stringKind) turns.characters += factOf(text, messageShape.at(text, slots.content));
      else if (content === arrayKind) turns.characters += charactersIn(text, messageShape.at(text, slots.content));
      if (role === assistant) turns.speaks = true;
      if (role === tool) calls.answer(text, messageShape.at(text, slots.tool_call_id));
      if (hasCalls) inspectCalls(text, { turns, listed, later, isLast: next === end });
    } else reportNoMessage(text, entry, report);
    entry = next;
  }
  if (!turns.speaks && turns.choices === 0) reportSilence(list, later);
  if (!calls.areAnswered) reportUnanswered(text, later);
};

const inspectCalls = (
  text: Tabled,
  { turns, listed, later, isLast }: Omit<TurnsOptions, "list"> & { readonly isLast: boolean },
): void => {
  turns.characters += calls.read(text, messageShape.at(text, slots.tool_calls));
  for (let at = calls.first; at < calls.end; at++) if (calls.nameOf(at) > 0) turns.callsTools = true;
  if (listed !== undefined) inspectNames(text, listed, later);
  if (isLast) inspectLast(text, later);
  else calls.wait(text);
};

const reportSilence = (list: number, later: Later[]): void => {
  later.push((report) => report("no-assistant", none, list));
};

const reportUnanswered = (text: Tabled, later: Later[]): void => {
  for (const at of calls.waiting) {
    const [node, name] = [calls.nodeOf(at), calls.nameOf(at)];
    const data = () => ({ name: name === 0 ? undefined : shortName(textOf(text, name)) });
    later.push((report) => report("tool-call-unanswered", data, node));
  }
};

/** Characters of the parts of a content. */
const charactersIn = (text: Tabled, content: number): number => {
  if (numbersIn(text, content) > 0) return 0;
  let characters = 0;
  const end = afterOf(text, content);
  for (let part = content + nodeSize; part < end; part = afterOf(text, part)) {
    if (kindAt(text, part) !== objectKind) continue;
    if (partShape.read(text, part).text === stringKind) characters += factOf(text, partShape.at(text, 1));
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
  readonly role: number;
}

/** Reports what is unusual in the message whose members were read. */
const inspectMessage = (text: Tabled, { message, inChoice, role }: Message, report: Report): void => {
  const content = kindOf(text, messageShape.at(text, slots.content));
  const toolCalls = kindOf(text, messageShape.at(text, slots.tool_calls));
  if (role < 0) reportRole(text, message, report);
  if ((content & (absent | nullKind | stringKind | arrayKind)) === 0) reportContent(text, report);
  if (role === tool && kindOf(text, messageShape.at(text, slots.tool_call_id)) !== stringKind) {
    report("tool-call-id-missing", none, message);
  }
  if ((toolCalls & (absent | arrayKind)) === 0) reportToolCalls(text, inChoice, report);
};

const reportRole = (text: Tabled, message: number, report: Report): void => {
  const role = messageShape.at(text, slots.role);
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
  const content = messageShape.at(text, slots.content);
  report("content-type", () => ({ found: describe(text, content) }), content);
};

const reportToolCalls = (text: Tabled, inChoice: boolean, report: Report): void => {
  const node = messageShape.at(text, slots.tool_calls);
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
  for (let at = calls.first; at < calls.end; at++) {
    const name = calls.nameOf(at);
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
  for (let at = calls.first; at < calls.end; at++) {
    const [node, named] = [calls.nodeOf(at), calls.nameOf(at)];
    const name = named === 0 ? "" : textOf(text, named);
    if (answered.has(name))
      later.push((report) => report("last-call-unanswered", () => ({ name: shortName(name) }), node));
  }
  calls.drop();
};

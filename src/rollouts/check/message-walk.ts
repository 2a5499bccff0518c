/** The result of a walk over messages, and the texts and calls that it finds. */
import { nodeSize } from "../../json/reader.ts";
import { Kind, kindAt, kindOf, kindsAsFacts, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import type { RuleReporter } from "../rules/rules.ts";
import { scoreKeys } from "./block.ts";
import { makers, type ToolEvent } from "./tool-calls.ts";
import { checkElements } from "./types.ts";

/** The sampled turns: choices or, without choices, messages of the assistant. */
export class SampledTurns {
  count = 0;
  /** Code points of the content, the reasoning and the arguments of calls. */
  characters = 0;
  /** The nodes of the log probabilities. */
  readonly scores: number[] = [];
  /** The nodes of contents with marks of chat templates. */
  readonly marked: { readonly node: number; readonly mark: string }[] = [];
}

/** A class, because V8 would recompile its users when a literal makes a second object. */
export class MessageWalk {
  /** The node of the messages and choices; 0 if they were not walked. */
  list = 0;
  choices = 0;
  choicesWithLogprobs = 0;
  hasAssistantTurn = false;
  /** True if the last turn has no text and no call. */
  isSilent = false;
  /** True if a call has a name. */
  callsTools = false;
  /** Images and other media in contents, if the caller needs turns. */
  media = 0;
  /** The first choice replaces the turns before. */
  turns = new SampledTurns();
  readonly events: ToolEvent[] = [];
  /** The node of the first choice or, without choices, of the first assistant turn; or 0. */
  firstTurn = 0;
  /** The byte after the prompt: the messages before the first turn. 0 without a user message, which has the task. */
  promptEnd = 0;
  /** True if the prompt begins with an assistant message, so that the user may be simulated. */
  hasGreeting = false;
  /** The finish reason of the last choice. */
  finishReason: string | undefined = undefined;
  /** The node of this reason if it is `length`, or 0. */
  cutNode = 0;

  addResult(node: number, id: number) {
    this.events.push({ node, id, name: 0, maker: makers.result, isLast: false, partner: undefined });
  }
}

const partKeys = ["type", "text", "thinking", "id", "name", "tool_use_id", "toolUse", "toolResult"] as const;
const partShape = new Shape(partKeys, kindsAsFacts);

/** Returns the nodes of the texts in a list of parts. */
export const listTexts = (table: JsonTable, list: number) => {
  const texts: number[] = [];
  const end = json.nodeAfter(table, list);
  for (let part = list + nodeSize; part < end; part = json.nodeAfter(table, part)) {
    const kind = kindAt(table, part);
    if (kind === Kind.string) texts.push(part);
    else if (kind === Kind.object && partShape.read(table, part).text === Kind.string)
      texts.push(partShape.at(table, partShape.slots.text));
  }
  return texts;
};

/** In a longer text, blank characters are no answer either, but models write few. */
const maxBlankLength = 16;

/** True for a content without text and media. Reasoning is neither. */
export const hasNoText = (table: JsonTable, content: number): boolean => {
  const kind = kindOf(table, content);
  if (kind === Kind.string)
    return json.detailOf(table, content) <= maxBlankLength && json.readString(table, content).trim() === "";
  if (kind !== Kind.array) return (kind & (Kind.absent | Kind.null)) !== 0;
  return json.elementsOf({ table, node: content }).every(({ node }) => {
    const kinds = kindAt(table, node) === Kind.object ? partShape.read(table, node) : undefined;
    if (kinds?.text === Kind.string) return hasNoText(table, partShape.at(table, partShape.slots.text));
    return kinds?.thinking === Kind.string;
  });
};

/** Counts the parts without a text whose type is that of media. */
export const countMedia = (table: JsonTable, list: number) => {
  let count = 0;
  const end = json.nodeAfter(table, list);
  for (let part = list + nodeSize; part < end; part = json.nodeAfter(table, part)) {
    if (kindAt(table, part) !== Kind.object) continue;
    const kinds = partShape.read(table, part);
    if (kinds.text === Kind.string || kinds.type !== Kind.string) continue;
    if (/image|audio|video|file|document/.test(json.readString(table, partShape.at(table, partShape.slots.type))))
      count++;
  }
  return count;
};

/** Counts the code points of a string or of a list's texts; 0 for another value. */
export const countCharacters = (table: JsonTable, node: number) => {
  const kind = kindOf(table, node);
  if (kind === Kind.array) return listTexts(table, node).reduce((sum, text) => sum + json.detailOf(table, text), 0);
  return kind === Kind.string ? json.detailOf(table, node) : 0;
};

/** Some writers do not serialize the arguments. */
export const countArguments = (table: JsonTable, node: number) => {
  const isSerialized = (kindOf(table, node) & (Kind.object | Kind.array)) === 0;
  return isSerialized ? countCharacters(table, node) : [...json.textOf({ table, node })].length;
};

/** Counts tokens with log probabilities. For a turn without tokens, services write null or no element. */
export const countScores = (table: JsonTable, logprobs: number) => json.countListed(table, logprobs, scoreKeys);

const callShape = new Shape(["id", "function", "custom"], kindsAsFacts);
const functionShape = new Shape(["name", "arguments", "input"], kindsAsFacts);

export interface Caller {
  readonly maker: number;
  readonly isLast: boolean;
  /** True if the arguments count as characters. */
  readonly isCounted: boolean;
}

export const addToolCalls = (
  table: JsonTable,
  list: number,
  walk: MessageWalk,
  caller: Caller,
  report: RuleReporter,
) => {
  let areObjects = json.countNumbers(table, list) === 0;
  const end = json.nodeAfter(table, list);
  for (let node = list + nodeSize; node < end; node = json.nodeAfter(table, node)) {
    if (kindAt(table, node) !== Kind.object) {
      areObjects = false;
      continue;
    }
    const kinds = callShape.read(table, node);
    const id = kinds.id === Kind.string ? nonEmptyNode(table, callShape.at(table, callShape.slots.id)) : 0;
    const isCustom = kinds.custom === Kind.object;
    const slot = isCustom ? callShape.slots.custom : callShape.slots.function;
    const isCalled = isCustom || kinds.function === Kind.object;
    const fault = addCall(table, { node, id, called: isCalled ? callShape.at(table, slot) : 0 }, walk, caller);
    if (fault && !isCustom) report("element-type", { element: "calls", found: `a call without ${fault}` }, node);
  }
  if (!areObjects) checkElements(table, list, { kind: Kind.object, element: "calls" }, report);
};

/** Returns what the call lacks. @param called the object with the name and the arguments; 0 if there is none */
export const addCall = (
  table: JsonTable,
  { node, id, called }: Readonly<{ node: number; id: number; called: number }>,
  walk: MessageWalk,
  { maker, isLast, isCounted }: Caller,
) => {
  let name = 0;
  let hasArguments = false;
  if (called > 0) {
    const kinds = functionShape.read(table, called);
    const { slots } = functionShape;
    if (kinds.name === Kind.string) name = nonEmptyNode(table, functionShape.at(table, slots.name));
    hasArguments = kinds.arguments === Kind.string;
    const slot = kinds.arguments === Kind.absent ? slots.input : slots.arguments;
    if (isCounted) walk.turns.characters += countArguments(table, functionShape.at(table, slot));
  }
  if (name > 0) walk.callsTools = true;
  walk.events.push({ node, id, name, maker, isLast, partner: undefined });
  if (name === 0) return "a name";
  return hasArguments ? undefined : "arguments as text";
};

/** Adds Anthropic's and Bedrock's blocks in a content: reasoning, calls and results. */
export const addBlocks = (table: JsonTable, content: number, walk: MessageWalk, caller: Caller) => {
  const { slots } = partShape;
  const end = json.nodeAfter(table, content);
  for (let node = content + nodeSize; node < end; node = json.nodeAfter(table, node)) {
    const kinds = kindAt(table, node) === Kind.object ? partShape.read(table, node) : undefined;
    const find = (slot: number) => partShape.at(table, slot);
    if (kinds?.toolUse === Kind.object || kinds?.toolResult === Kind.object) {
      const called = kinds.toolUse === Kind.object ? find(slots.toolUse) : 0;
      const id = json.findMemberNode(table, called || find(slots.toolResult), "toolUseId") ?? 0;
      const idText = kindOf(table, id) === Kind.string ? nonEmptyNode(table, id) : 0;
      if (called > 0) addCall(table, { node, id: idText, called }, walk, caller);
      else walk.addResult(node, idText);
      continue;
    }
    if (kinds?.type !== Kind.string) continue;
    const isBlock = (type: string) => json.readString(table, find(slots.type)) === type;
    if (kinds.thinking === Kind.string && isBlock("thinking")) {
      if (caller.isCounted) walk.turns.characters += json.detailOf(table, find(slots.thinking));
    } else if (kinds.tool_use_id === Kind.string && isBlock("tool_result")) {
      walk.addResult(node, nonEmptyNode(table, find(slots.tool_use_id)));
    } else if (kinds.id === Kind.string && kinds.name === Kind.string && isBlock("tool_use")) {
      addCall(table, { node, id: nonEmptyNode(table, find(slots.id)), called: node }, walk, caller);
    }
  }
};

/** Returns 0 for an empty string, which is no id and no name. */
export const nonEmptyNode = (table: JsonTable, node: number) => (json.detailOf(table, node) > 0 ? node : 0);

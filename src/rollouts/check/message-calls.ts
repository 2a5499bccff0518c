/** Adds the calls of a message to a walk. */
import { nodeSize } from "../../json/reader.ts";
import { Kind, kindAt, kindsAsFacts, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import type { RuleReporter } from "../rules/rules.ts";
import { countArguments } from "./message-texts.ts";
import type { MessageWalk } from "./message-walk.ts";
import { checkElements } from "./types.ts";

const callShape = new Shape(["id", "function", "custom"], kindsAsFacts);
const functionShape = new Shape(["name", "arguments", "input"], kindsAsFacts);

export interface Caller {
  readonly maker: number;
  /** True for the last message. */
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
  let [name, hasArguments] = [0, false];
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

/** Returns 0 for an empty string, which is no id and no name. */
export const nonEmptyNode = (table: JsonTable, node: number) => (json.detailOf(table, node) > 0 ? node : 0);

/** Matches the calls of tools in a trajectory with their results. */
import { nodeSize } from "../json/reader.ts";
import { afterOf, endOf, factOf, numbersIn, startOf, type Tabled, textOf } from "../json/table.ts";
import { kindAt, kindOf, objectKind, stringKind } from "./kinds.ts";
import { Shape } from "./shape.ts";

/** A call of a tool: nodes, 0 for an id or name that is not a string, or is empty. */
export interface Call {
  readonly node: number;
  readonly id: number;
  readonly name: number;
  /** The arguments, if they are a string. */
  readonly given: number;
}

const callShape = new Shape(["id", "function"]);
const functionShape = new Shape(["name", "arguments"]);
const { id: idSlot, function: functionSlot } = callShape.slots;
const { name: nameSlot, arguments: argumentsSlot } = functionShape.slots;

/** The calls in the `tool_calls` of a message. */
export const callsIn = (text: Tabled, list: number): readonly Call[] => {
  if (numbersIn(text, list) > 0) return [];
  const calls: Call[] = [];
  const end = afterOf(text, list);
  for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
    if (kindAt(text, node) !== objectKind) continue;
    callShape.read(text, node);
    const id = callShape.values[idSlot] ?? 0;
    const called = callShape.values[functionSlot] ?? 0;
    const isFunction = kindOf(text, called) === objectKind;
    if (isFunction) functionShape.read(text, called);
    const name = isFunction ? (functionShape.values[nameSlot] ?? 0) : 0;
    const given = isFunction ? (functionShape.values[argumentsSlot] ?? 0) : 0;
    calls.push({
      node,
      id: isText(text, id) ? id : 0,
      name: isText(text, name) ? name : 0,
      given: kindOf(text, given) === stringKind ? given : 0,
    });
  }
  return calls;
};

const isText = (text: Tabled, node: number): boolean => kindOf(text, node) === stringKind && factOf(text, node) > 0;

/** Calls of a trajectory that wait for their results: a few in a list, and thousands by their ids. */
export class Calls {
  #few: Call[] = [];
  #many: Map<string, Call[]> | undefined;
  readonly #answered: number[] = [];

  /** Forgets all of them. */
  clear(): void {
    this.#few.length = 0;
    this.#many = undefined;
    this.#answered.length = 0;
  }

  /** Calls wait for their results; a call without an id cannot be answered. */
  wait(text: Tabled, calls: readonly Call[]): void {
    for (const call of calls) if (call.id > 0) this.#add(text, call);
    if (this.#many !== undefined || this.#few.length <= maxFew) return;
    this.#many = new Map();
    for (const call of this.#few) this.#add(text, call);
    this.#few.length = 0;
  }

  #add(text: Tabled, call: Call): void {
    if (this.#many === undefined) {
      this.#few.push(call);
      return;
    }
    const id = textOf(text, call.id);
    const same = this.#many.get(id);
    if (same === undefined) this.#many.set(id, [call]);
    else same.push(call);
  }

  /** Takes a result of the id at a node. A result without an id, which another rule tells of, is that of the oldest call. */
  answer(text: Tabled, id: number): void {
    const isNamed = kindOf(text, id) === stringKind;
    if (this.#many === undefined) this.#answerFew(text, isNamed ? id : 0);
    else this.#answerMany(this.#many, isNamed ? textOf(text, id) : undefined);
  }

  #answerFew(text: Tabled, id: number): void {
    const few = this.#few;
    const [first] = few;
    if (first === undefined) return;
    let kept = 0;
    for (let at = 0; at < few.length; at++) {
      const call = few[at] ?? first;
      if (id === 0 ? call === first : areSame(text, call.id, id)) this.#end(call);
      else few[kept++] = call;
    }
    few.length = kept;
    // The next call of the same id is the oldest one now.
    const next = id === 0 ? few.findIndex((call) => areSame(text, call.id, first.id)) : 0;
    if (next > 0) few.unshift(...few.splice(next, 1));
  }

  #answerMany(many: Map<string, Call[]>, named: string | undefined): void {
    const id = named ?? many.keys().next().value;
    const calls = id === undefined ? undefined : many.get(id);
    if (id === undefined || calls === undefined) return;
    for (const call of named === undefined ? calls.splice(0, 1) : calls.splice(0)) this.#end(call);
    if (calls.length === 0) many.delete(id);
  }

  #end(call: Call): void {
    if (call.name > 0) this.#answered.push(call.name);
  }

  /** Names of tools of which a call was answered. */
  answered(text: Tabled): ReadonlySet<string> {
    return new Set(this.#answered.map((name) => textOf(text, name)));
  }

  /** Calls that still wait. */
  get waiting(): readonly Call[] {
    return this.#many === undefined ? this.#few : [...this.#many.values()].flat();
  }
}

/** Calls that are compared one by one. */
const maxFew = 32;

/** True if a string is spelled as it reads, in ASCII: its bytes are its characters. */
const isPlain = (text: Tabled, node: number): boolean =>
  factOf(text, node) === endOf(text, node) - startOf(text, node) - 2;

const areSame = (text: Tabled, a: number, b: number): boolean => {
  if (!isPlain(text, a) || !isPlain(text, b)) return textOf(text, a) === textOf(text, b);
  if (factOf(text, a) !== factOf(text, b)) return false;
  const { bytes } = text;
  const start = startOf(text, a);
  const other = startOf(text, b);
  for (let at = factOf(text, a); at > 0; at--) if (bytes[start + at] !== bytes[other + at]) return false;
  return true;
};

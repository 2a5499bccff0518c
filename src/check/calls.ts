/** Matches the calls of tools in a trajectory with their results. */
import { nodeSize } from "../json/reader.ts";
import { afterOf, endOf, factOf, numbersIn, startOf, type Tabled, textOf } from "../json/table.ts";
import { kindAt, kindOf, objectKind, stringKind } from "./kinds.ts";
import { kindsAlone, Shape } from "./shape.ts";

const callShape = new Shape(["id", "function"], kindsAlone);
const functionShape = new Shape(["name", "arguments"], kindsAlone);
const { id: idSlot, function: functionSlot } = callShape.slots;
const { name: nameSlot, arguments: argumentsSlot } = functionShape.slots;

/** Calls, side by side: nothing is allocated for each. */
export class CallList {
  /** Of each call: its node, that of its id, and that of the tool's name; 0 for an id or name that is not a string, or is empty. */
  #nodes = new Int32Array(24);
  count = 0;
  /** Characters of the arguments of all calls that were read. */
  characters = 0;

  nodeOf(at: number): number {
    return this.#nodes[callSize * at] ?? 0;
  }

  idOf(at: number): number {
    return this.#nodes[callSize * at + 1] ?? 0;
  }

  nameOf(at: number): number {
    return this.#nodes[callSize * at + 2] ?? 0;
  }

  /** Puts a call at a position up to the end. */
  put(at: number, from: CallList, position: number): void {
    if (callSize * (at + 1) > this.#nodes.length) {
      const larger = new Int32Array(2 * this.#nodes.length);
      larger.set(this.#nodes);
      this.#nodes = larger;
    }
    this.#nodes[callSize * at] = from.nodeOf(position);
    this.#nodes[callSize * at + 1] = from.idOf(position);
    this.#nodes[callSize * at + 2] = from.nameOf(position);
  }

  /** Reads the calls in the `tool_calls` of a message. */
  read(text: Tabled, list: number): void {
    this.count = 0;
    this.characters = 0;
    if (numbersIn(text, list) > 0) return;
    const end = afterOf(text, list);
    for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
      if (kindAt(text, node) !== objectKind) continue;
      const call = callShape.read(text, node);
      const id = call.id === stringKind ? filledText(text, callShape.at(text, idSlot)) : 0;
      let name = 0;
      if (call.function === objectKind) {
        const called = functionShape.read(text, callShape.at(text, functionSlot));
        if (called.name === stringKind) name = filledText(text, functionShape.at(text, nameSlot));
        if (called.arguments === stringKind) this.characters += factOf(text, functionShape.at(text, argumentsSlot));
      }
      // Room for the call is made by what is put there.
      this.put(this.count, nothing, 0);
      this.#nodes[callSize * this.count] = node;
      this.#nodes[callSize * this.count + 1] = id;
      this.#nodes[callSize * this.count + 2] = name;
      this.count++;
    }
  }
}

const callSize = 3;
const nothing = new CallList();

/** The node of a text; 0 of an empty one. */
const filledText = (text: Tabled, node: number): number => (factOf(text, node) > 0 ? node : 0);

/** Calls of a trajectory that wait for their results: a few are compared one by one, of thousands the ids are looked up. */
export class Calls {
  readonly #few = new CallList();
  /** Positions in the list by id, once there are many. */
  #many: Map<string, number[]> | undefined;
  /** Names of tools of which a call was answered, and how many they are: an array that is emptied loses its memory. */
  readonly #answered: number[] = [];
  #answeredCount = 0;

  /** Forgets all of them. */
  clear(): void {
    this.#few.count = 0;
    this.#many = undefined;
    this.#answeredCount = 0;
  }

  /** Calls wait for their results; a call without an id cannot be answered. */
  wait(text: Tabled, calls: CallList): void {
    const few = this.#few;
    for (let at = 0; at < calls.count; at++) {
      if (calls.idOf(at) === 0) continue;
      few.put(few.count, calls, at);
      if (this.#many !== undefined) addTo(this.#many, textOf(text, few.idOf(few.count)), few.count);
      few.count++;
    }
    if (this.#many !== undefined || few.count <= maxFew) return;
    this.#many = new Map();
    for (let at = 0; at < few.count; at++) addTo(this.#many, textOf(text, few.idOf(at)), at);
  }

  /** Takes a result of the id at a node. A result without an id, which another rule tells of, is that of the oldest call. */
  answer(text: Tabled, id: number): void {
    const isNamed = kindOf(text, id) === stringKind;
    if (this.#many === undefined) this.#answerFew(text, isNamed ? id : 0);
    else this.#answerMany(this.#many, isNamed ? textOf(text, id) : undefined);
  }

  #answerFew(text: Tabled, id: number): void {
    const few = this.#few;
    if (few.count === 0) return;
    const oldest = few.idOf(0);
    let kept = 0;
    for (let at = 0; at < few.count; at++) {
      if (id === 0 ? at === 0 : areSame(text, few.idOf(at), id)) this.#end(at);
      else few.put(kept++, few, at);
    }
    few.count = kept;
    if (id === 0) this.#moveFirst(text, oldest);
  }

  /** Makes the next call of an id the oldest one. */
  #moveFirst(text: Tabled, id: number): void {
    const few = this.#few;
    let next = 0;
    while (next < few.count && !areSame(text, few.idOf(next), id)) next++;
    if (next === 0 || next === few.count) return;
    spare.put(0, few, next);
    for (let at = next; at > 0; at--) few.put(at, few, at - 1);
    few.put(0, spare, 0);
  }

  #answerMany(many: Map<string, number[]>, named: string | undefined): void {
    const id = named ?? many.keys().next().value;
    const calls = id === undefined ? undefined : many.get(id);
    if (id === undefined || calls === undefined) return;
    for (const at of named === undefined ? calls.splice(0, 1) : calls.splice(0)) this.#end(at);
    if (calls.length === 0) many.delete(id);
  }

  #end(at: number): void {
    const name = this.#few.nameOf(at);
    if (name > 0) this.#answered[this.#answeredCount++] = name;
  }

  /** Names of tools of which a call was answered. */
  answered(text: Tabled): ReadonlySet<string> {
    return new Set(this.#answered.slice(0, this.#answeredCount).map((name) => textOf(text, name)));
  }

  /** True if no call waits. */
  get areAnswered(): boolean {
    return this.#many === undefined ? this.#few.count === 0 : this.#many.size === 0;
  }

  /** Calls that still wait: the node of each, and that of its name. */
  get waiting(): readonly { readonly node: number; readonly name: number }[] {
    const few = this.#few;
    const positions = this.#many === undefined ? Array(few.count).keys() : [...this.#many.values()].flat();
    return Array.from(positions, (at) => ({ node: few.nodeOf(at), name: few.nameOf(at) }));
  }
}

const spare = new CallList();

/** Calls that are compared one by one. */
const maxFew = 32;

const addTo = (many: Map<string, number[]>, id: string, at: number): void => {
  const same = many.get(id);
  if (same === undefined) many.set(id, [at]);
  else same.push(at);
};

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

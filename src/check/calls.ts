/** Matches the calls of tools in a trajectory with their results. */
import { nodeSize } from "../json/reader.ts";
import { afterOf, endOf, factOf, numbersIn, startOf, type Tabled, textOf } from "../json/table.ts";
import { kindAt, kindOf, objectKind, stringKind } from "./kinds.ts";
import { kindsAlone, Shape } from "./shape.ts";

const callShape = new Shape(["id", "function"], kindsAlone);
const functionShape = new Shape(["name", "arguments"], kindsAlone);
const { id: idSlot, function: functionSlot } = callShape.slots;
const { name: nameSlot, arguments: argumentsSlot } = functionShape.slots;

/** Numbers of a call: its node, that of its id, and that of its tool's name; 0 for an id or name that is not a string, or is empty. */
const callSize = 3;

/** Calls that are compared one by one; the ids of more are looked up. */
const maxFew = 32;

/** Calls of a trajectory that wait for their results, and after them those of the message that was read last. */
export class Calls {
  /** Side by side: nothing is allocated for each. */
  #nodes = new Int32Array(callSize * maxFew);
  #count = 0;
  #first = 0;
  /** Positions of the waiting calls by id, once there are many. */
  #many: Map<string, number[]> | undefined;
  /** Names of tools of which a call was answered, and how many they are: an array that is emptied loses its memory. */
  readonly #answered: number[] = [];
  #answeredCount = 0;

  /** Positions of the calls that were read last: from the first up to, not including, the end. */
  get first(): number {
    return this.#first;
  }

  get end(): number {
    return this.#count;
  }

  nodeOf(at: number): number {
    return this.#nodes[callSize * at] ?? 0;
  }

  nameOf(at: number): number {
    return this.#nodes[callSize * at + 2] ?? 0;
  }

  #idOf(at: number): number {
    return this.#nodes[callSize * at + 1] ?? 0;
  }

  #move(from: number, to: number): void {
    if (from !== to) this.#nodes.copyWithin(callSize * to, callSize * from, callSize * (from + 1));
  }

  /** Forgets all of them. */
  clear(): void {
    this.#count = 0;
    this.#many = undefined;
    this.#answeredCount = 0;
  }

  /** Reads the calls in the `tool_calls` of a message; gives the characters of their arguments. */
  read(text: Tabled, list: number): number {
    this.#first = this.#count;
    if (numbersIn(text, list) > 0) return 0;
    let characters = 0;
    const end = afterOf(text, list);
    for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
      if (kindAt(text, node) !== objectKind) continue;
      const call = callShape.read(text, node);
      const id = call.id === stringKind ? filledText(text, callShape.at(text, idSlot)) : 0;
      let name = 0;
      if (call.function === objectKind) {
        const called = functionShape.read(text, callShape.at(text, functionSlot));
        if (called.name === stringKind) name = filledText(text, functionShape.at(text, nameSlot));
        if (called.arguments === stringKind) characters += factOf(text, functionShape.at(text, argumentsSlot));
      }
      const at = callSize * this.#count++;
      if (at === this.#nodes.length) {
        const larger = new Int32Array(2 * at);
        larger.set(this.#nodes);
        this.#nodes = larger;
      }
      this.#nodes[at] = node;
      this.#nodes[at + 1] = id;
      this.#nodes[at + 2] = name;
    }
    return characters;
  }

  /** The calls that were read last wait for their results; a call without an id cannot be answered. */
  wait(text: Tabled): void {
    let kept = this.#first;
    for (let at = this.#first; at < this.#count; at++) if (this.#idOf(at) > 0) this.#move(at, kept++);
    this.#count = kept;
    const isNew = this.#many === undefined;
    if (isNew && kept <= maxFew) return;
    this.#many ??= new Map();
    for (let at = isNew ? 0 : this.#first; at < kept; at++) addTo(this.#many, textOf(text, this.#idOf(at)), at);
  }

  /** The calls that were read last end the trajectory: they wait for nothing. */
  drop(): void {
    this.#count = this.#first;
  }

  /** Takes a result of the id at a node. A result without an id, which another rule tells of, is that of the oldest call. */
  answer(text: Tabled, id: number): void {
    const isNamed = kindOf(text, id) === stringKind;
    if (this.#many === undefined) this.#answerFew(text, isNamed ? id : 0);
    else this.#answerMany(this.#many, isNamed ? textOf(text, id) : undefined);
  }

  #answerFew(text: Tabled, id: number): void {
    if (this.#count === 0) return;
    const oldest = this.#idOf(0);
    let kept = 0;
    for (let at = 0; at < this.#count; at++) {
      if (id === 0 ? at === 0 : areSame(text, this.#idOf(at), id)) this.#end(at);
      else this.#move(at, kept++);
    }
    this.#count = kept;
    if (id === 0) this.#moveFirst(text, oldest);
  }

  /** Makes the next call of an id the oldest one. */
  #moveFirst(text: Tabled, id: number): void {
    let next = 0;
    while (next < this.#count && !areSame(text, this.#idOf(next), id)) next++;
    if (next === this.#count) return;
    const moved = this.#nodes.slice(callSize * next, callSize * (next + 1));
    this.#nodes.copyWithin(callSize, 0, callSize * next);
    this.#nodes.set(moved);
  }

  #answerMany(many: Map<string, number[]>, named: string | undefined): void {
    const id = named ?? many.keys().next().value;
    const calls = id === undefined ? undefined : many.get(id);
    if (id === undefined || calls === undefined) return;
    for (const at of named === undefined ? calls.splice(0, 1) : calls.splice(0)) this.#end(at);
    if (calls.length === 0) many.delete(id);
  }

  #end(at: number): void {
    if (this.nameOf(at) > 0) this.#answered[this.#answeredCount++] = this.nameOf(at);
  }

  /** Names of tools of which a call was answered. */
  answered(text: Tabled): ReadonlySet<string> {
    return new Set(this.#answered.slice(0, this.#answeredCount).map((name) => textOf(text, name)));
  }

  /** True if no call waits. */
  get areAnswered(): boolean {
    return this.#many === undefined ? this.#count === 0 : this.#many.size === 0;
  }

  /** Positions of the calls that still wait. */
  get waiting(): Iterable<number> {
    return this.#many === undefined ? Array(this.#count).keys() : [...this.#many.values()].flat();
  }
}

const addTo = (many: Map<string, number[]>, id: string, at: number): void => {
  const same = many.get(id);
  if (same === undefined) many.set(id, [at]);
  else same.push(at);
};

/** The node of a text; 0 of an empty one. */
const filledText = (text: Tabled, node: number): number => (factOf(text, node) > 0 ? node : 0);

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

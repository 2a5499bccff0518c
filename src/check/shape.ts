/** Kinds of JSON values, and facts of objects that are computed once for each shape. */
import { nodeSize, registerKey } from "../json/reader.ts";
import type { JsonTable } from "../json/table.ts";
import * as json from "../json/table.ts";
import { openBracket } from "../json/walk.ts";

/** Kinds of values as bits, so that a field can accept several kinds. */
export const Kind = { absent: 1, null: 2, object: 4, array: 8, string: 16, number: 32, boolean: 64 } as const;
const kinds = new Uint8Array(256).fill(Kind.number);
const byFirst = { n: Kind.null, "{": Kind.object, "[": Kind.array, '"': Kind.string, t: Kind.boolean, f: Kind.boolean };
for (const [character, kind] of Object.entries(byFirst)) kinds[character.charCodeAt(0)] = kind;

/** Returns the kind of a member; node 0 means that the member is absent. */
export const kindOf = (text: JsonTable, node: number): number => (node === 0 ? Kind.absent : kindAt(text, node));

/** Returns the kind of any value, including the root at node 0. */
export const kindAt = (text: JsonTable, node: number): number => kinds[json.firstByteAt(text, node)] ?? Kind.number;

export const kindNames: Readonly<Record<number, string>> = {
  [Kind.null]: "null",
  [Kind.object]: "an object",
  [Kind.array]: "an array",
  [Kind.string]: "a string",
  [Kind.number]: "a number",
  [Kind.boolean]: "a boolean",
};

export const describeValue = (text: JsonTable, node: number): string => {
  const kind = kindAt(text, node);
  if (kind === Kind.boolean) return text.bytes.toString("latin1", json.startOf(text, node), json.endOf(text, node));
  if (kind !== Kind.number) return kindNames[kind] ?? "";
  const value = json.readNumber(text, node);
  return Number.isFinite(value) ? `the number ${value}` : "a number";
};

export type Kinds<Name extends string> = Readonly<Record<Name, number>>;

/** Computes facts from the shape of an object: its keys, the kinds of its values, and its role (`shapeTexts`). */
export type DeriveFacts<Name extends string, Facts> = (kinds: Kinds<Name>, text: JsonTable, object: number) => Facts;

export const kindsAsFacts = <Value>(value: Value): Value => value;

interface Layout {
  /**
   * By slot, the number of `JsonTable.words` from the object's node to the node of the key's last value; 0 if absent.
   * After a value with arrays, it starts at the end of that value, because the number of the value's nodes varies.
   */
  readonly distances: Int32Array;
  /** By slot, the number of preceding values with arrays. */
  readonly arraysBefore: Uint8Array;
  /** Distance of each value that is or contains an array, from the object or the end of the previous such value. */
  readonly arrayDistances: readonly number[];
  /** A bit for the slot of each repeated key; the lowest bit has no meaning. */
  readonly repeats: number;
}

/** Key ids are 1 to 256 (src/json/kernel/keys.ts). */
const keyIdCount = 257;

/** Shape numbers are 1,024 to 9,215 (src/json/kernel/shapes.ts). */
const shapeCount = 9216;

/** Finds the values of known keys, and derived facts, by the shape of an object. */
export class Shape<Name extends string, Facts> {
  readonly names: readonly Name[];
  /** From 1. Slot 0 is for all other keys. */
  readonly slots: Readonly<Record<Name, number>>;
  readonly #slotOf = new Uint8Array(keyIdCount);
  readonly #deriveFacts: DeriveFacts<Name, Facts>;
  /** By shape number, for tables whose `shapes` is `#shapeSource`. */
  #knownShapes: ({ readonly layout: Layout; readonly facts: Facts } | undefined)[] = [];
  /** The `JsonTable.shapes` that gives the numbers of `#knownShapes` their meaning. */
  #shapeSource: object | undefined;
  #object = 0;
  #layout: Layout = { distances: new Int32Array(), arraysBefore: new Uint8Array(), arrayDistances: [], repeats: 0 };

  constructor(names: readonly Name[], deriveFacts: DeriveFacts<Name, Facts>) {
    this.names = names;
    this.#deriveFacts = deriveFacts;
    this.slots = toRecord(names, (at) => at + 1);
    for (const [at, name] of names.entries()) this.#slotOf[registerKey(name)] = at + 1;
  }

  /** Returns the facts of an object. After that, `at` and `hasDuplicate` refer to this object. */
  read(text: JsonTable, object: number): Facts {
    const known = text.shapes === this.#shapeSource ? this.#knownShapes[json.detailOf(text, object)] : undefined;
    if (known === undefined) return this.#deriveShape(text, object);
    this.#object = object;
    this.#layout = known.layout;
    return known.facts;
  }

  /** Returns the node of the value of a slot in the object read last; 0 if absent. */
  at(text: JsonTable, slot: number): number {
    const { distances, arraysBefore, arrayDistances } = this.#layout;
    const distance = distances[slot] ?? 0;
    if (distance === 0) return 0;
    let from = this.#object;
    const count = arraysBefore[slot] ?? 0;
    for (let before = 0; before < count; before++) from = json.nodeAfter(text, from + (arrayDistances[before] ?? 0));
    return from + distance;
  }

  hasDuplicate(name: Name): boolean {
    return (this.#layout.repeats & (1 << this.slots[name])) !== 0;
  }

  #deriveShape(text: JsonTable, object: number): Facts {
    const distances = new Int32Array(this.names.length + 1);
    const arraysBefore = new Uint8Array(this.names.length + 1);
    const arrayDistances: number[] = [];
    let repeats = 0;
    let from = object;
    for (let key = object + nodeSize; key < json.nodeAfter(text, object); key = json.nodeAfter(text, key + nodeSize)) {
      const value = key + nodeSize;
      const slot = this.#slotOf[json.keyIdOf(text, key)] ?? 0;
      if (distances[slot] !== 0) repeats |= 1 << slot;
      distances[slot] = value - from;
      arraysBefore[slot] = arrayDistances.length;
      if (!hasArray(text, value)) continue;
      arrayDistances.push(value - from);
      from = json.nodeAfter(text, value);
    }
    const layout = { distances, arraysBefore, arrayDistances, repeats };
    this.#object = object;
    this.#layout = layout;
    const kindsByName = toRecord(this.names, (at) => kindOf(text, this.at(text, at + 1)));
    const facts = this.#deriveFacts(kindsByName, text, object);
    const shape = json.detailOf(text, object);
    if (shape === 0 || text.shapes === undefined) return facts;
    if (text.shapes !== this.#shapeSource) {
      this.#shapeSource = text.shapes;
      this.#knownShapes = Array.from({ length: shapeCount }, () => undefined);
    }
    this.#knownShapes[shape] = { layout, facts };
    return facts;
  }
}

/** True if a value is or contains an array, so that its number of nodes varies. */
const hasArray = (text: JsonTable, value: number): boolean => {
  for (let node = value; node < json.nodeAfter(text, value); node += nodeSize) {
    if (json.firstByteAt(text, node) === openBracket) return true;
  }
  return false;
};

/** Returns the node of the last value of each key. */
export const mapMembers = (text: JsonTable, object: number): ReadonlyMap<string, number> => {
  const members = new Map<string, number>();
  const end = json.nodeAfter(text, object);
  for (let key = object + nodeSize; key < end; key = json.nodeAfter(text, key + nodeSize)) {
    members.set(json.readString(text, key), key + nodeSize);
  }
  return members;
};

const toRecord = <Name extends string>(names: readonly Name[], of: (at: number) => number): Record<Name, number> =>
  // biome-ignore lint: the object has all of these names
  Object.fromEntries(names.map((name, at) => [name, of(at)])) as Record<Name, number>;

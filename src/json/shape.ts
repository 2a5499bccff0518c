/** Names the kinds of JSON values, and computes facts once for each shape of objects. */

import { maxKeys, nodeSize, registerKey, type ShapeSource } from "./reader.ts";
import type { JsonTable } from "./table.ts";
import * as json from "./table.ts";

export const Kind = { absent: 1, null: 2, object: 4, array: 8, string: 16, number: 32, boolean: 64 } as const;
const kindsByByte = new Uint8Array(256).fill(Kind.number);
const byFirst = { n: Kind.null, "{": Kind.object, "[": Kind.array, '"': Kind.string, t: Kind.boolean, f: Kind.boolean };
for (const [character, kind] of Object.entries(byFirst)) kindsByByte[character.charCodeAt(0)] = kind;

export const kindOf = (table: JsonTable, node: number) => (node === 0 ? Kind.absent : kindAt(table, node));

/** Node 0 is the root here, and an absent value in `kindOf`. */
export const kindAt = (table: JsonTable, node: number) => kindsByByte[json.firstByteAt(table, node)] ?? Kind.number;

/** True for an absent value, null, and an empty string, list or object. */
export const isNothing = (table: JsonTable, node: number) => {
  const kind = kindOf(table, node);
  if ((kind & (Kind.object | Kind.array)) !== 0)
    return json.nodeAfter(table, node) === node + nodeSize && json.countNumbers(table, node) === 0;
  return kind === Kind.string ? json.detailOf(table, node) === 0 : (kind & (Kind.absent | Kind.null)) !== 0;
};

export const kindNames: Readonly<Record<number, string>> = {
  [Kind.null]: "null",
  [Kind.object]: "an object",
  [Kind.array]: "an array",
  [Kind.string]: "a string",
  [Kind.number]: "a number",
  [Kind.boolean]: "a boolean",
};

export const describeValue = (table: JsonTable, node: number) => {
  const kind = kindAt(table, node);
  if (kind === Kind.boolean) return String(json.parseNode(table, node));
  if (kind !== Kind.number) return kindNames[kind] ?? "";
  const value = json.readNumber(table, node);
  return Number.isFinite(value) ? `the number ${value}` : "a number";
};

/** What the objects of a shape share. A deriver reads nothing else, because its facts serve all of them. */
export interface SharedMembers<Name extends string> {
  /** The kind of the last value of each name. */
  readonly kinds: Readonly<Record<Name, number>>;
  /** Lists all members in their order, with repeated keys. */
  list(): readonly Readonly<{ key: string; kind: number }>[];
  /** Undefined for a value that is no string. Without `shapeTexts` for the name, objects share no facts. */
  textOf(name: Name): string | undefined;
}

export type FactsDeriver<Name extends string, Facts> = (members: SharedMembers<Name>) => Facts;

export const kindsAsFacts = <Name extends string>({ kinds }: SharedMembers<Name>) => kinds;

interface Layout {
  /**
   * For each slot, the distance in words from the object's node to the last value of the key; 0 if the key is missing.
   * Arrays and objects have no fixed size. Distances after such a value start at the end of the value.
   */
  readonly distances: Int32Array;
  readonly arraysBefore: Uint8Array;
  /** The distances to the arrays and objects, measured like `distances`. */
  readonly arrayDistances: readonly number[];
  /** Bit n is 1 if the key of slot n is repeated. Bit 0 has no meaning. */
  readonly repeats: number;
}

export const keyIdCount = maxKeys + 1;

/** Shape numbers are 1,024 to 9,215 (src/json/kernel/shapes.ts). */
export const shapeCount = 9216;

export class Shape<Name extends string, Facts> {
  readonly names: readonly Name[];
  /** Numbers from 1, in the order of `names`. All other keys have slot 0. */
  readonly slots: Readonly<Record<Name, number>>;
  readonly #slotOf = new Uint8Array(keyIdCount);
  readonly #deriveFacts: FactsDeriver<Name, Facts>;
  #knownShapes: ({ readonly layout: Layout; readonly facts: Facts } | undefined)[] = [];
  /** `#knownShapes` is valid for tables with this `shapes`. */
  #shapeSource: ShapeSource | undefined;
  #object = 0;
  #layout: Layout = { distances: new Int32Array(), arraysBefore: new Uint8Array(), arrayDistances: [], repeats: 0 };

  constructor(names: readonly Name[], deriveFacts: FactsDeriver<Name, Facts>) {
    this.names = names;
    this.#deriveFacts = deriveFacts;
    this.slots = toRecord(names, (at) => at + 1);
    for (const [at, name] of names.entries()) this.#slotOf[registerKey(name)] = at + 1;
  }

  /** Selects the object that `at` and `hasDuplicate` read. */
  read(table: JsonTable, object: number) {
    const known = table.shapes === this.#shapeSource ? this.#knownShapes[json.detailOf(table, object)] : undefined;
    if (!known) return this.#deriveShape(table, object);
    this.#object = object;
    this.#layout = known.layout;
    return known.facts;
  }

  at(table: JsonTable, slot: number) {
    const { distances, arraysBefore, arrayDistances } = this.#layout;
    const distance = distances[slot] ?? 0;
    if (distance === 0) return 0;
    let from = this.#object;
    const count = arraysBefore[slot] ?? 0;
    for (let before = 0; before < count; before++) from = json.nodeAfter(table, from + (arrayDistances[before] ?? 0));
    return from + distance;
  }

  /** The repeated keys of the object. */
  get duplicates(): readonly Name[] {
    return this.#layout.repeats < 2 ? [] : this.names.filter((name) => this.hasDuplicate(name));
  }

  hasDuplicate(name: Name) {
    return (this.#layout.repeats & (1 << this.slots[name])) !== 0;
  }

  #deriveShape(table: JsonTable, object: number) {
    const distances = new Int32Array(this.names.length + 1);
    const arraysBefore = new Uint8Array(this.names.length + 1);
    const arrayDistances: number[] = [];
    let [repeats, from] = [0, object];
    const end = json.nodeAfter(table, object);
    for (let key = object + nodeSize; key < end; key = json.nodeAfter(table, key + nodeSize)) {
      const value = key + nodeSize;
      const slot = this.#slotOf[json.keyIdOf(table, key)] ?? 0;
      if (distances[slot] !== 0) repeats |= 1 << slot;
      distances[slot] = value - from;
      arraysBefore[slot] = arrayDistances.length;
      if ((kindAt(table, value) & (Kind.object | Kind.array)) === 0) continue;
      arrayDistances.push(value - from);
      from = json.nodeAfter(table, value);
    }
    const layout = { distances, arraysBefore, arrayDistances, repeats };
    this.#object = object;
    this.#layout = layout;
    const kinds = toRecord(this.names, (at) => kindOf(table, this.at(table, at + 1)));
    const shape = json.detailOf(table, object);
    let areShared = shape > 0;
    const textOf = (name: Name) => {
      areShared &&= table.shapes?.textKeys.has(name) ?? false;
      return kinds[name] === Kind.string ? json.readString(table, this.at(table, this.slots[name])) : undefined;
    };
    const facts = this.#deriveFacts({ kinds, list: () => listMembers(table, object), textOf });
    if (!areShared || table.shapes === undefined) return facts;
    if (table.shapes !== this.#shapeSource) {
      this.#shapeSource = table.shapes;
      this.#knownShapes = new Array(shapeCount);
    }
    this.#knownShapes[shape] = { layout, facts };
    return facts;
  }
}

const listMembers = (table: JsonTable, node: number) =>
  Array.from(json.childrenOf({ table, node }), ([key, value]) => ({
    key: String(key),
    kind: kindAt(table, value.node),
  }));

/** Maps each key to the node of its last value. */
export const mapMembers = (table: JsonTable, node: number): ReadonlyMap<string, number> =>
  new Map(Array.from(json.childrenOf({ table, node }), ([key, value]) => [String(key), value.node]));

const toRecord = <Name extends string>(names: readonly Name[], of: (at: number) => number) =>
  // biome-ignore lint: the object has all of these names
  Object.fromEntries(names.map((name, at) => [name, of(at)])) as Record<Name, number>;

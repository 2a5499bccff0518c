/** Kinds of JSON values, and facts of objects that are computed once for each shape. */
import { nodeSize, registerKey } from "../json/reader.ts";
import type { JsonTable } from "../json/table.ts";
import * as json from "../json/table.ts";
import { openBracket } from "../json/walk.ts";

/** Kinds as bits, so that a field can accept several. Node 0 means an absent value. */
export const Kind = { absent: 1, null: 2, object: 4, array: 8, string: 16, number: 32, boolean: 64 } as const;

const kinds = new Uint8Array(256).fill(Kind.number);
const byFirst = { n: Kind.null, "{": Kind.object, "[": Kind.array, '"': Kind.string, t: Kind.boolean, f: Kind.boolean };
for (const [character, kind] of Object.entries(byFirst)) kinds[character.charCodeAt(0)] = kind;

/** Returns the kind of a member; node 0 is absent. */
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

/** Describes a value for a message, with the value of a number or boolean. */
export const describeValue = (text: JsonTable, node: number): string => {
  const kind = kindAt(text, node);
  if (kind === Kind.boolean) return text.bytes.toString("latin1", json.startOf(text, node), json.endOf(text, node));
  if (kind !== Kind.number) return kindNames[kind] ?? "";
  const value = json.readNumber(text, node);
  return Number.isFinite(value) ? `the number ${value}` : "a number";
};

/** Kinds of the values of an object by key. */
export type Kinds<Name extends string> = Readonly<Record<Name, number>>;

/** Computes facts from the keys and kinds of an object, and from strings that are part of its shape. */
export type DeriveFacts<Name extends string, Facts> = (kinds: Kinds<Name>, text: JsonTable, object: number) => Facts;

export const onlyKinds = <Value>(value: Value): Value => value;

interface ValueLayout {
  /**
   * By slot, the distance of the key's last value; 0 if absent. The distance starts at the object, or at the end of the
   * last preceding value that contains arrays, because such a value varies in its number of nodes.
   */
  readonly distances: Int32Array;
  /** By slot, the number of preceding values that contain arrays. */
  readonly after: Uint8Array;
  /** Distance of each value that contains arrays, from the object or from the end of the previous such value. */
  readonly open: readonly number[];
  /** A bit for the slot of each repeated key; the lowest bit has no meaning. */
  readonly repeated: number;
}

interface KnownShape<Facts> {
  readonly layout: ValueLayout;
  readonly facts: Facts;
}

/** Limits of key ids and shape numbers (src/json/kernel/shapes.ts). */
const [maxIds, maxShapes] = [257, 9216];

/** Finds the values of known keys, and derived facts, by the shape of an object. */
export class Shape<Name extends string, Facts> {
  readonly names: readonly Name[];
  readonly slots: Readonly<Record<Name, number>>;
  readonly #slotOf = new Uint8Array(maxIds);
  readonly #deriveFacts: DeriveFacts<Name, Facts>;
  /** By shape number, for tables with the same `#shapes`. */
  #knownShapes: (KnownShape<Facts> | undefined)[] = [];
  #shapes: object | undefined;
  /** The object read last. */
  #object = 0;
  #layout: ValueLayout = { distances: new Int32Array(), after: new Uint8Array(), open: [], repeated: 0 };

  constructor(names: readonly Name[], deriveFacts: DeriveFacts<Name, Facts>) {
    this.names = names;
    this.#deriveFacts = deriveFacts;
    this.slots = toRecord(names, (at) => at + 1);
    for (const [at, name] of names.entries()) this.#slotOf[registerKey(name)] = at + 1;
  }

  read(text: JsonTable, object: number): Facts {
    const known = text.shapes === this.#shapes ? this.#knownShapes[json.detailOf(text, object)] : undefined;
    if (known === undefined) return this.#deriveShape(text, object);
    this.#object = object;
    this.#layout = known.layout;
    return known.facts;
  }

  /** Returns the value of a slot in the object read last; 0 if absent. */
  at(text: JsonTable, slot: number): number {
    const { distances, after, open } = this.#layout;
    const distance = distances[slot] ?? 0;
    if (distance === 0) return 0;
    let from = this.#object;
    const count = after[slot] ?? 0;
    for (let before = 0; before < count; before++) from = json.nodeAfter(text, from + (open[before] ?? 0));
    return from + distance;
  }

  /** True if the object read last repeats the key. */
  hasDuplicate(name: Name): boolean {
    return (this.#layout.repeated & (1 << this.slots[name])) !== 0;
  }

  #deriveShape(text: JsonTable, object: number): Facts {
    const distances = new Int32Array(this.names.length + 1);
    const after = new Uint8Array(this.names.length + 1);
    const open: number[] = [];
    let repeated = 0;
    let from = object;
    for (let key = object + nodeSize; key < json.nodeAfter(text, object); key = json.nodeAfter(text, key + nodeSize)) {
      const value = key + nodeSize;
      const slot = this.#slotOf[json.keyIdOf(text, key)] ?? 0;
      if (distances[slot] !== 0) repeated |= 1 << slot;
      distances[slot] = value - from;
      after[slot] = open.length;
      if (!hasArray(text, value)) continue;
      open.push(value - from);
      from = json.nodeAfter(text, value);
    }
    const layout = { distances, after, open, repeated };
    this.#object = object;
    this.#layout = layout;
    const kindsByName = toRecord(this.names, (at) => kindOf(text, this.at(text, at + 1)));
    const facts = this.#deriveFacts(kindsByName, text, object);
    const shape = json.detailOf(text, object);
    if (shape === 0 || text.shapes === undefined) return facts;
    if (text.shapes !== this.#shapes) {
      this.#shapes = text.shapes;
      this.#knownShapes = Array.from({ length: maxShapes }, () => undefined);
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

const toRecord = <Name extends string>(names: readonly Name[], of: (at: number) => number): Record<Name, number> =>
  // biome-ignore lint: the object has all of these names
  Object.fromEntries(names.map((name, at) => [name, of(at)])) as Record<Name, number>;

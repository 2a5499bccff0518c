/** Kinds of JSON values; and objects by their shapes: what follows from keys and kinds is found once for each shape. */
import { registerKey } from "../json/keys.ts";
import { nodeSize } from "../json/reader.ts";
import {
  detailOf,
  endOf,
  firstByteAt,
  type JsonTable,
  keyIdOf,
  nodeAfter,
  readNumber,
  startOf,
} from "../json/table.ts";
import { openBracket } from "../json/walk.ts";

/** Kinds as bits, so that a field takes several. No value of an object has node 0: it stands for one that is absent. */
export const Kind = { absent: 1, null: 2, object: 4, array: 8, string: 16, number: 32, boolean: 64 } as const;

/** Kinds by the first byte of a value. */
const kinds = new Uint8Array(256).fill(Kind.number);
const firsts = { n: Kind.null, "{": Kind.object, "[": Kind.array, '"': Kind.string, t: Kind.boolean, f: Kind.boolean };
for (const [character, kind] of Object.entries(firsts)) kinds[character.charCodeAt(0)] = kind;

/** The kind of the value of a key; of node 0, that it is absent. */
export const kindOf = (text: JsonTable, node: number): number => (node === 0 ? Kind.absent : kindAt(text, node));

/** The kind of any value, the outermost included. */
export const kindAt = (text: JsonTable, node: number): number => kinds[firstByteAt(text, node)] ?? Kind.number;

/** The kind of a value in a sentence; a short value is shown. */
export const describeValue = (text: JsonTable, node: number): string => {
  const kind = kindAt(text, node);
  if (kind === Kind.null) return "null";
  if (kind === Kind.array) return "an array";
  if (kind === Kind.string) return "a string";
  if (kind === Kind.object) return "an object";
  if (kind === Kind.boolean) return text.bytes.toString("latin1", startOf(text, node), endOf(text, node));
  const value = readNumber(text, node);
  return Number.isFinite(value) ? `the number ${value}` : "a number";
};

/** The kinds of an object's values by their keys. */
export type Kinds<Name extends string> = Readonly<Record<Name, number>>;

/** Gives what follows from an object's keys and kinds alone, and from texts that are a part of its shape; it may use the values. */
export type DeriveFacts<Name extends string, Facts> = (kinds: Kinds<Name>, text: JsonTable, object: number) => Facts;

/** For objects of which nothing else is asked. */
export const onlyKinds = <Own>(own: Own): Own => own;

interface ValueLayout {
  /**
   * By slots, the distance of the value, the last of a key that appears twice, from the object, or from the end of an array
   * before it, or of an object with arrays: it may have any number of nodes. 0 if the value is absent.
   */
  readonly distances: Int32Array;
  /** By slots, how many such values are before it. */
  readonly after: Uint8Array;
  /** Of each such value, its distance from the object, or from the end of the one before. */
  readonly open: readonly number[];
  /** A bit for the slot of each key that appears twice, and the lowest one, which has no meaning. */
  readonly twice: number;
}

interface KnownShape<Facts> {
  readonly layout: ValueLayout;
  readonly facts: Facts;
}

/** Ids of keys with a slot, and numbers of shapes, are smaller (src/json/kernel/shapes.ts). */
const [maxIds, maxShapes] = [257, 9216];

/** A kind of object: the keys that are asked for, and where the object that was read last has its values. */
export class Shape<Name extends string, Facts> {
  readonly names: readonly Name[];
  readonly slots: Readonly<Record<Name, number>>;
  readonly #slotOf = new Uint8Array(maxIds);
  readonly #deriveFacts: DeriveFacts<Name, Facts>;
  /** What is known by shapes, as long as the texts have the same ones. */
  #knownShapes: (KnownShape<Facts> | undefined)[] = [];
  #shapes: object | undefined;
  /** The object that was read last. */
  #object = 0;
  #layout: ValueLayout = { distances: new Int32Array(), after: new Uint8Array(), open: [], twice: 0 };

  constructor(names: readonly Name[], factsOf: DeriveFacts<Name, Facts>) {
    this.names = names;
    this.#deriveFacts = factsOf;
    this.slots = toRecord(names, (at) => at + 1);
    for (const [at, name] of names.entries()) this.#slotOf[registerKey(name)] = at + 1;
  }

  /** Reads an object; gives what follows from its keys and kinds. */
  read(text: JsonTable, object: number): Facts {
    const known = text.shapes === this.#shapes ? this.#knownShapes[detailOf(text, object)] : undefined;
    if (known === undefined) return this.#deriveShape(text, object);
    this.#object = object;
    this.#layout = known.layout;
    return known.facts;
  }

  /** The value of a slot in the object that was read last, which is of the same text; 0 if it is absent. */
  at(text: JsonTable, slot: number): number {
    const { distances, after, open } = this.#layout;
    const distance = distances[slot] ?? 0;
    if (distance === 0) return 0;
    let from = this.#object;
    const count = after[slot] ?? 0;
    for (let before = 0; before < count; before++) from = nodeAfter(text, from + (open[before] ?? 0));
    return from + distance;
  }

  /** True if a key appears more than once. */
  hasDuplicate(name: Name): boolean {
    return (this.#layout.twice & (1 << this.slots[name])) !== 0;
  }

  #deriveShape(text: JsonTable, object: number): Facts {
    const distances = new Int32Array(this.names.length + 1);
    const after = new Uint8Array(this.names.length + 1);
    const open: number[] = [];
    let twice = 0;
    let from = object;
    for (let key = object + nodeSize; key < nodeAfter(text, object); key = nodeAfter(text, key + nodeSize)) {
      const value = key + nodeSize;
      const slot = this.#slotOf[keyIdOf(text, key)] ?? 0;
      if (distances[slot] !== 0) twice |= 1 << slot;
      distances[slot] = value - from;
      after[slot] = open.length;
      if (!hasArray(text, value)) continue;
      open.push(value - from);
      from = nodeAfter(text, value);
    }
    const plan = { distances, after, open, twice };
    this.#object = object;
    this.#layout = plan;
    const own = toRecord(this.names, (at) => kindOf(text, this.at(text, at + 1)));
    const facts = this.#deriveFacts(own, text, object);
    const shape = detailOf(text, object);
    if (shape === 0 || text.shapes === undefined) return facts;
    if (text.shapes !== this.#shapes) {
      this.#shapes = text.shapes;
      this.#knownShapes = Array.from({ length: maxShapes }, () => undefined);
    }
    this.#knownShapes[shape] = { layout: plan, facts };
    return facts;
  }
}

/** True if a value is an array, or has one inside of it: it may have any number of nodes. */
const hasArray = (text: JsonTable, value: number): boolean => {
  for (let node = value; node < nodeAfter(text, value); node += nodeSize) {
    if (firstByteAt(text, node) === openBracket) return true;
  }
  return false;
};

const toRecord = <Name extends string>(names: readonly Name[], of: (at: number) => number): Record<Name, number> =>
  // biome-ignore lint: an object of these names has them
  Object.fromEntries(names.map((name, at) => [name, of(at)])) as Record<Name, number>;

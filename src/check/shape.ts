/** Finds the members of objects that the interface knows, by the ids that tables have for their keys. */
import { idOfOwnKey } from "../json/keys.ts";
import { nodeSize } from "../json/reader.ts";
import { idOf, type Tabled } from "../json/table.ts";

/** Ids of keys are smaller. */
const maxIds = 257;

/** The keys of a kind of object, and the members that the object which was read last has of them. */
export class Shape<Name extends string> {
  /** Where the value of each key is among `values`. */
  readonly slots: Readonly<Record<Name, number>>;
  /** The node of each value, the last of a key that appears twice; 0 if it is absent. The first number has no meaning. */
  readonly values: Int32Array;
  /** A bit for the slot of each key that appears twice, and the lowest one, which has no meaning. */
  twice = 0;
  readonly #slotOf = new Uint8Array(maxIds);

  constructor(names: readonly Name[]) {
    const slots = names.map((name, at) => [name, at + 1] as const);
    // biome-ignore lint: an object of these names has them
    this.slots = Object.fromEntries(slots) as Record<Name, number>;
    this.values = new Int32Array(names.length + 1);
    for (const [name, slot] of slots) this.#slotOf[idOfOwnKey(name)] = slot;
  }

  /** Reads the members of an object. */
  read(text: Tabled, object: number): void {
    const { words, base } = text;
    const { values } = this;
    const slotOf = this.#slotOf;
    for (let slot = 0; slot < values.length; slot++) values[slot] = 0;
    this.twice = 0;
    const end = words[base + object + 2] ?? 0;
    for (let key = object + nodeSize; key < end; ) {
      const value = key + nodeSize;
      let id = words[base + key + 3] ?? 0;
      if (id < 0) id = idOf(text, key);
      const slot = slotOf[id] ?? 0;
      if (values[slot] !== 0) this.twice |= 1 << slot;
      values[slot] = value;
      key = words[base + value + 2] ?? end;
    }
  }

  /** True if a key appears more than once. */
  hasTwice(name: Name): boolean {
    return (this.twice & (1 << this.slots[name])) !== 0;
  }
}

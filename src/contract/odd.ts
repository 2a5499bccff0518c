/** What the fields of a reply may hold beside values of their type. */

/** A value of a reply that is not of the interface's type: kept as it came, shown as it came, never calculated with. */
export class Odd {
  readonly value: unknown;
  constructor(value: unknown) {
    this.value = value;
  }
}

/** The names of an object's fields that are not of their types. */
export const oddNames = (object: object): readonly string[] =>
  Object.entries(object).flatMap(([name, value]) => (value instanceof Odd ? [name] : []));

/** What `field` reads: the value where it is of its type, else `undefined`. */
export const known = <Value>(value: Value | Odd | null | undefined): Value | undefined =>
  value instanceof Odd || value === null ? undefined : value;

/** Kinds of JSON values by their first bytes: as bits, so that a field takes several, and in words. */
import { endOf, firstOf, numberAt, startOf, type Tabled } from "../json/table.ts";

/** A value that is absent: no value of an object has node 0. */
export const absent = 1;
export const nullKind = 2;
export const objectKind = 4;
export const arrayKind = 8;
export const stringKind = 16;
export const numberKind = 32;
export const booleanKind = 64;

const kinds = new Uint8Array(256).fill(numberKind);
for (const [character, kind] of Object.entries({
  n: nullKind,
  "{": objectKind,
  "[": arrayKind,
  '"': stringKind,
  t: booleanKind,
  f: booleanKind,
})) {
  kinds[character.charCodeAt(0)] = kind;
}

/** The kind of the value of a key; of node 0, that it is absent. */
export const kindOf = (text: Tabled, node: number): number =>
  node === 0 ? absent : (kinds[firstOf(text, node)] ?? numberKind);

/** The kind of any value, the outermost included. */
export const kindAt = (text: Tabled, node: number): number => kinds[firstOf(text, node)] ?? numberKind;

/** The kind of a value in a sentence; a short value is shown. */
export const describe = (text: Tabled, node: number): string => {
  const kind = kindAt(text, node);
  if (kind === nullKind) return "null";
  if (kind === arrayKind) return "an array";
  if (kind === stringKind) return "a string";
  if (kind === objectKind) return "an object";
  if (kind === booleanKind) return text.bytes.toString("latin1", startOf(text, node), endOf(text, node));
  const value = numberAt(text, node);
  return Number.isFinite(value) ? `the number ${value}` : "a number";
};

/** JSON that was gone over, node by node: where each stands, what it begins with, and which is the value of a key. */
import { type Nodes, nodeSize } from "../../json/nodes.ts";
import { isSaid, wordAt } from "./spelling.ts";
import type { Value } from "./value.ts";

/** JSON that was gone over, and where it is from. */
export interface JsonText extends Pick<Nodes, "table" | "base"> {
  readonly bytes: Buffer;
  /** Values that were asked for, by the places of their nodes. */
  readonly values: (Value | undefined)[];
  /** What the text is called where it stands beside the record. */
  readonly document: string | undefined;
  /** The value whose text it is; undefined of a record and of a document. */
  readonly holder: Value | undefined;
}

/** First bytes of values, which say what they are. */
export const firstOfNull = 0x6e;
export const firstOfTrue = 0x74;

/** The last of the bytes that numbers begin with: digits, and the minus before them. */
export const digitNine = 0x39;

/** The byte that a node starts at. */
export const startOf = ({ table, base }: JsonText, node: number): number => table[base + node] ?? 0;

/** The byte behind it. */
export const endOf = ({ table, base }: JsonText, node: number): number => table[base + node + 1] ?? 0;

/** The node behind all that is inside of a value. */
export const afterOf = ({ table, base }: JsonText, node: number): number => table[base + node + 2] ?? 0;

/** The first byte of a node. */
export const firstOf = (text: JsonText, node: number): number => text.bytes[startOf(text, node)] ?? 0;

/** The node of the value that an object has for a key, the last of one that stands twice; undefined where it has none. */
export const nodeOfKey = (text: JsonText, object: number, key: string): number | undefined => {
  const end = afterOf(text, object);
  let found: number | undefined;
  for (let at = object + nodeSize; at < end; at = afterOf(text, at + nodeSize)) {
    if (isCalled(text, at, key)) found = at + nodeSize;
  }
  return found;
};

const isCalled = (text: JsonText, node: number, key: string): boolean => {
  const start = startOf(text, node);
  const end = endOf(text, node);
  // Whether the bytes of a key are its characters.
  if (afterOf(text, node) === 0) return wordAt(text.bytes, start, end) === key;
  return end - start === key.length + 2 && isSaid(key, text.bytes, start + 1);
};

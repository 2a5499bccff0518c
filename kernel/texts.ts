/** A program of its own: goes over texts of JSON, one after the other, and tells what they are (src/json/nodes.ts). */
import { full, nodesOf, table } from "./nodes";

export { input } from "./nodes";

/** What is told of a text, in words (`told` in src/json/nodes.ts): what is asked for one by one takes longer than a text. */
const facts: usize = memory.data(8, 16);

export function told(): usize {
  return facts;
}

/** What a text is. */
const noJson: u32 = 0;
const isJson: u32 = 1;
const isTooMuch: u32 = 2;

/** Goes over the text, which is of so many bytes; tells what it is. */
export function read(length: usize): u32 {
  const bytes = nodesOf(length);
  if (bytes === 0) return full ? isTooMuch : noJson;
  store<u32>(facts, u32(table));
  store<u32>(facts, u32(bytes), 4);
  return isJson;
}

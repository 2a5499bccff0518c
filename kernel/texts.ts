/** A program of its own: goes over texts of JSON, one after the other, and tells what they are (src/json/nodes.ts). */
import { alike } from "./alike";
import { full, hasLines, nodesOf, shape, table } from "./nodes";

export { forget, keep } from "./alike";
export { input } from "./nodes";

/** What is told of a text, in words (`told` in src/json/nodes.ts): what is asked for one by one takes longer than a text. */
const facts: usize = memory.data(32, 16);

export function told(): usize {
  return facts;
}

/** What a text is. */
const noJson: u32 = 0;
const isJson: u32 = 1;
const isTooMuch: u32 = 2;

/** Goes over the text, which is of so many bytes; tells what it is, and, where it is wanted, which that was kept it is like. */
export function read(length: usize, withAlike: bool): u32 {
  const bytes = nodesOf(length);
  if (bytes === 0) return full ? isTooMuch : noJson;
  store<u32>(facts, u32(table));
  store<u32>(facts, u32(bytes), 4);
  store<u32>(facts, shape, 8);
  store<u32>(facts, hasLines ? 1 : 0, 12);
  store<u32>(facts, withAlike && !hasLines ? alike(facts) : 0, 16);
  return isJson;
}

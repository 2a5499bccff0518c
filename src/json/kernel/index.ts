/** The program that reads JSON (src/json/reader.ts). */
import { fault, faultAt } from "./faults";
import { generation } from "./shapes";
import { input, readElements, readLines, readText, rest, table, tableEnd, token } from "./table";

export { fingerprint } from "./fingerprint";
export { addKey, keyRoom, setKeyUse } from "./keys";
export { findRun } from "./runs";
export { beginElements, input } from "./table";

/** What is told of a text, in words (`told` in src/json/reader.ts): what is asked for one by one takes longer than a text. */
const facts: usize = memory.data(28, 4);

export function told(): usize {
  return facts;
}

/** Reads a text of so many bytes. */
export function read(length: usize, isSkipping: bool): u32 {
  return tell(readText(length, isSkipping));
}

/** Reads the lines of a block. */
export function readBlock(length: usize): u32 {
  return tell(readLines(length));
}

/** Reads the elements of a list that end in a piece; tells where the list ends, or the next piece has to begin. */
export function readList(length: usize, isLast: bool, isTolerant: bool): u32 {
  return tell(readElements(length, isLast, isTolerant));
}

/** Tells where the table is, and where the fault. */
function tell(found: u32): u32 {
  store<u32>(facts, u32(table));
  store<u32>(facts, u32(tableEnd - table), 4);
  store<u32>(facts, fault, 8);
  store<u32>(facts, u32(faultAt - input()), 12);
  store<u32>(facts, u32(token - input()), 16);
  store<u32>(facts, u32(rest - input()), 20);
  store<u32>(facts, generation, 24);
  return found;
}

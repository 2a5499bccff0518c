/** The kernel that reads JSON for src/json/reader.ts. */
import { fault, faultAt } from "./faults";
import { generation } from "./shapes";
import { input, readElements, readLines, readText, rest, table, tableEnd } from "./table";

export { fingerprint } from "./fingerprint";
export { addKey, keyAddress, setKeyUse } from "./keys";
export { findRun } from "./runs";
export { beginElements, input } from "./table";

/** Six results of the last read (`resultFields` in src/json/reader.ts), in memory because a call for each is slow. */
const fields: usize = memory.data(24, 4);

export function results(): usize {
  return fields;
}

export function read(length: usize, isSkipping: bool): u32 {
  return setResults(readText(length, isSkipping));
}

export function readBlock(length: usize): u32 {
  return setResults(readLines(length));
}

export function readList(length: usize, isLast: bool, isTolerant: bool): u32 {
  return setResults(readElements(length, isLast, isTolerant));
}

function setResults(result: u32): u32 {
  store<u32>(fields, u32(table));
  store<u32>(fields, u32(tableEnd - table), 4);
  store<u32>(fields, fault, 8);
  store<u32>(fields, u32(faultAt - input()), 12);
  store<u32>(fields, u32(rest - input()), 16);
  store<u32>(fields, generation, 20);
  return result;
}

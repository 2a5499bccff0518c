/** The program that reads JSON (src/json/reader.ts). */
import { fault, faultAt } from "./faults";
import { input, readLines, readPiece, readText, table, tableEnd, token } from "./table";

export { addKey, keyRoom } from "./keys";
export { beginPieces, input, makeRoom } from "./table";

/** What is told of a text, in words (`told` in src/json/reader.ts): what is asked for one by one takes longer than a text. */
const facts: usize = memory.data(20, 4);

export function told(): usize {
  return facts;
}

/** Reads a text of so many bytes. */
export function read(length: usize): u32 {
  return tell(readText(length));
}

/** Reads the lines of a block. */
export function readBlock(length: usize): u32 {
  return tell(readLines(length));
}

/** Reads a piece of a text; tells of one that is not the last where the next has to begin. */
export function readNext(length: usize, isLast: bool): u32 {
  return tell(readPiece(length, isLast));
}

/** Tells where the table is, and where the fault. */
function tell(found: u32): u32 {
  store<u32>(facts, u32(table));
  store<u32>(facts, u32(tableEnd - table), 4);
  store<u32>(facts, fault, 8);
  store<u32>(facts, u32(faultAt - input()), 12);
  store<u32>(facts, u32(token - input()), 16);
  return found;
}

/** Exports the functions of the kernel for src/json/reader.ts. */
import { fault, faultAt } from "./faults";
import { generation } from "./shapes";
import { input, rest, table, tableEnd } from "./table";

export { countEqual, fingerprint } from "./bytes";
export { addKey, keyAddress, setKeyUse } from "./keys";
export { addRunPrefix, findMark, findRun } from "./runs";
export { beginElements, continueText, input, limitTable, readElements, readLines, readText } from "./table";
export { findTurnMark } from "./turn-marks";

/** The values of `resultFields` in src/json/reader.ts. A call for each value would be slow. */
const fields: usize = memory.data(24, 4);

export function results(): usize {
  store<u32>(fields, u32(table));
  store<u32>(fields, u32(tableEnd - table), 4);
  store<u32>(fields, fault, 8);
  store<u32>(fields, u32(faultAt - input()), 12);
  store<u32>(fields, u32(rest - input()), 16);
  store<u32>(fields, generation, 20);
  return fields;
}

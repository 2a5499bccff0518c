/** Exports the functions and results of the kernel for src/json/reader.ts. */
export { countEqual, fingerprint } from "./bytes";
export { fault, faultAt } from "./faults";
export { addKey, keyAddress, setKeyUse } from "./keys";
export { addRunPrefix, findMark, findRun } from "./runs";
export { generation } from "./shapes";
export {
  beginElements,
  continueText,
  input,
  limitTable,
  readElements,
  readLines,
  readText,
  rest,
  table,
  tableEnd,
} from "./table";
export { findTurnMark } from "./turn-marks";

/** Exports the functions and results of the kernel for src/json/reader.ts. */
export { countEqual } from "./bytes";
export { sampledDigest } from "./content";
export { addEnding, findEnding } from "./endings";
export { fault, faultAt } from "./faults";
export { fingerprint } from "./hash";
export { addKey, keyAddress, setKeyUse } from "./keys";
export { input } from "./nodes";
export { generation } from "./shapes";
export {
  beginElements,
  continueText,
  limitTable,
  readElements,
  readLines,
  readText,
  rest,
  table,
  tableEnd,
} from "./table";

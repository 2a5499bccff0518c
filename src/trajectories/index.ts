/** Bytes on disk → requests, and back from a refusal to a line. */
export type { Problem } from "../failure.ts";

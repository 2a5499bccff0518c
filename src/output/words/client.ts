/** The words of what a request to the service can end with. */
import type { ReasonsOf } from "../../failure.ts";
import type { Words } from "./sentences.ts";

export const clientWords: Words<ReasonsOf["client"]> = {};

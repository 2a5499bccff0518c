/** The words of what reading models, catalogs and calls can end with. */
import type { ReasonsOf } from "../../failure.ts";
import type { Words } from "./sentences.ts";

export const readingWords: Words<ReasonsOf["reading"]> = {};

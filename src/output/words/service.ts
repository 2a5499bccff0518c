/** The words of what the local service and the files rollcall keeps can end with. */
import type { ReasonsOf } from "../../failure.ts";
import type { Words } from "./sentences.ts";

export const serviceWords: Words<ReasonsOf["service"]> = {};

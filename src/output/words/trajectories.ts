/** The words of what reading, planning and sending trajectories can end with. */
import type { ReasonsOf } from "../../failure.ts";
import type { Words } from "./sentences.ts";

export const trajectoriesWords: Words<ReasonsOf["trajectories"]> = {};

/** `rollcall completion`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `completion`. */
export const declareCompletion = (parent: Command, _start: Start): void => {
  parent.command("completion");
};

/** `rollcall call`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `call`. */
export const declareCall = (parent: Command, _start: Start): void => {
  parent.command("call");
};

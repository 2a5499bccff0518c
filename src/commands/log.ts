/** `rollcall log`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `log`. */
export const declareLog = (parent: Command, _start: Start): void => {
  parent.command("log");
};

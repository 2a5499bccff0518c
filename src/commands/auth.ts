/** `rollcall auth`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `auth`. */
export const declareAuth = (parent: Command, _start: Start): void => {
  parent.command("auth");
};

/** `rollcall check`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `check`. */
export const declareCheck = (parent: Command, _start: Start): void => {
  parent.command("check");
};

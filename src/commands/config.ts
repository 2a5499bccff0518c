/** `rollcall config`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `config`. */
export const declareConfig = (parent: Command, _start: Start): void => {
  parent.command("config");
};

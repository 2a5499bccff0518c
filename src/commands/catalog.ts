/** `rollcall catalog`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `catalog`. */
export const declareCatalog = (parent: Command, _start: Start): void => {
  parent.command("catalog");
};

/** `rollcall models`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `models`. */
export const declareModels = (parent: Command, _start: Start): void => {
  parent.command("models");
};

/** `rollcall serve`. */
import type { Command } from "commander";
import type { Start } from "../context.ts";

/** Declares `serve`. */
export const declareServe = (parent: Command, _start: Start): void => {
  parent.command("serve").description("run the local service in the foreground, its data kept on disk");
};

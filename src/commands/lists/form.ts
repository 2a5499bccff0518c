/** What several commands ask of their context. */
import type { Context } from "../../context.ts";

/** Whether a program reads the result: it gets JSON, and what is only for a person is left out. */
export const isForProgram = ({ screen: { format } }: Context): boolean => format === "json" || format === "jsonl";

/** Reads, summarizes and converts traced calls. */
export * from "./conversation.ts";
export * from "./convert.ts";
export * from "./facts.ts";
export * from "./ids.ts";
export * from "./path.ts";
export * from "./read-conversation.ts";
export * from "./summary.ts";
export * from "./usage.ts";

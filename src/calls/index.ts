/** Reads, summarizes and converts traced calls. */

export * from "./call-facts.ts";
export * from "./conversation.ts";
export * from "./convert-call.ts";
export * from "./parse-ids.ts";
export * from "./path.ts";
export * from "./read-conversation.ts";
export * from "./summary.ts";
export * from "./usage.ts";

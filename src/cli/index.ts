/** Defines commands, and parses argv. */
export * from "./argv.ts";
export * from "./command.ts";
export * from "./globals.ts";
export * from "./kinds.ts";
export * from "./outputs.ts";

/** Defines commands, parses argv, and formats help. */
export * from "./argv.ts";
export * from "./command.ts";
export * from "./globals.ts";
export * from "./help.ts";
export * from "./kinds.ts";
export * from "./outputs.ts";

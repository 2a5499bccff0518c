/** Definitions of commands, and the parser, help and data that derive from them. */
export * from "./argv.ts";
export * from "./command.ts";
export * from "./globals.ts";
export * from "./help.ts";
export * from "./kinds.ts";

/** Definitions of commands, and the parser, help and data that derive from them. */

export {
  listOptions,
  type ParsedArgv,
  parseArgv,
  runCommand,
} from "./argv.ts";
export {
  type Command,
  command,
  formatInvocation,
  lastWord,
  listCommands,
  loadTree,
  type Program,
  visibleVerbs,
} from "./command.ts";
export {
  fallbackScreenOptions,
  type GlobalValues,
  globalOptions,
  toGlobalFlags,
  toScreenOptions,
} from "./globals.ts";
export { describeCommands, shortHelp } from "./help.ts";
export {
  choice,
  choices,
  contradiction,
  count,
  custom,
  flag,
  type Kind,
  type Kinds,
  list,
  port,
  repeated,
  required,
  text,
  toOptionName,
  type Values,
  withDefault,
  withExtra,
  wrongValue,
} from "./kinds.ts";

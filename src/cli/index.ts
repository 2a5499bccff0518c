/** A command's definition, and what is made from it: the parser of argv, help, and data about commands. */

export {
  listOptions as allOptions,
  type ParsedArgv as Typed,
  parseArgv as readWords,
  runCommand as obey,
} from "./argv.ts";
export {
  type Command,
  command,
  formatInvocation as pathOf,
  lastWord as nameOf,
  listCommands as commandsIn,
  loadTree as wholeTree,
  type Program,
  visibleVerbs as verbsOf,
} from "./command.ts";
export {
  fallbackScreenOptions as screenForWrong,
  type GlobalValues as Globals,
  globalOptions as globals,
  toGlobalFlags as flagsFrom,
  toScreenOptions as screenFor,
} from "./globals.ts";
export { describeCommands, shortHelp as screenHelp } from "./help.ts";
export {
  choice,
  choices,
  contradiction,
  count,
  custom as parsed,
  flag,
  type Kind,
  type Kinds,
  list,
  port,
  repeated as several,
  required,
  text,
  toOptionName as optionName,
  type Values,
  withDefault,
  withExtra as each,
  wrongValue,
} from "./kinds.ts";

/** A command's definition, and what is made from it: the parser of argv, help, and data about commands. */
export { type Command, command, commandsIn, nameOf, type Program, pathOf, verbsOf, wholeTree } from "./command.ts";
export { flagsFrom, type Globals, globals, screenFor, screenForWrong } from "./globals.ts";
export { describeCommands, screenHelp } from "./help.ts";
export {
  choice,
  choices,
  contradiction,
  count,
  each,
  flag,
  type Kind,
  type Kinds,
  list,
  optionName,
  parsed,
  port,
  required,
  several,
  text,
  type Values,
  withDefault,
  wrongValue,
} from "./kinds.ts";
export { allOptions, obey, readWords, type Typed } from "./words.ts";

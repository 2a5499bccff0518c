/** Names this program in commands, as the user started it. */
import { formatCommandLine } from "../text/shell-words.ts";

let programName = "rollcall";

/**
 * A package starts through a link in the PATH, a checkout with `node bin/rollcall.js`.
 * @param folder the current folder
 */
export const nameProgramAfter = (script: string, folder: string) => {
  const isInstalled = /[\\/]node_modules[\\/]/.test(script);
  const name = script.split(/[\\/]/).at(-1) ?? script;
  const path = script.startsWith(`${folder}/`) ? script.slice(folder.length + 1) : script;
  const words = /\.[cm]?js$/.test(name) ? ["node", path] : [name];
  programName = isInstalled ? "rollcall" : formatCommandLine(words);
};

/** @param args the words after the program's name */
export const formatOwnCommand = (args: readonly string[]) => `${programName} ${formatCommandLine(args)}`;

/** Replaces `rollcall` at the start of commands in backticks. */
export const nameProgram = (text: string) =>
  text.replace(/`[^`]+`/g, (command) => command.replace(/(?<=^`|[|;] )rollcall(?= )/g, () => programName));

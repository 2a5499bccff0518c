/** The commands and options that each build knows, so that one that a build lacks is one difference. */
import { openProgram } from "./program.js";

/**
 * Asks a build for its commands.
 * @returns the options of each command, by its words
 */
export const commandsOf = async (build, folder) => {
  const program = openProgram(build);
  const { code, stdout } = await program.run({
    args: ["commands", "--json"],
    env: { HOME: folder },
    cwd: folder,
    now: 0,
    seed: 0,
  });
  await program.close();
  if (code !== 0) throw new Error(`rollcall commands --json ended with ${code} in ${build}`);
  const reference = JSON.parse(stdout);
  const names = (options) => options.flatMap(({ name, short }) => (short === null ? [name] : [name, short]));
  const inherited = names(reference.options);
  const all = new Map([["", new Set(inherited)]]);
  for (const { name, options } of reference.commands) all.set(name, new Set([...inherited, ...names(options)]));
  return all;
};

/** Returns a function that gives the command or option of a command line that one of the builds lacks, and which build. */
export const missingFrom = (builds) => (args) => {
  for (const [name, commands] of Object.entries(builds)) {
    const other = name === "old" ? builds.new : builds.old;
    const what = [wordsOf(args, commands), wordsOf(args, other)].sort((a, b) => b.length - a.length)[0];
    const command = what.join(" ");
    if (!commands.has(command)) return { in: `absent in the ${name} build`, what: command };
    for (const arg of args) {
      const option = /^--[a-z][a-z-]*/.exec(arg)?.[0];
      if (option === undefined || commands.get(command).has(option) || !other.get(command)?.has(option)) continue;
      return { in: `absent in the ${name} build`, what: `${command} ${option}` };
    }
  }
  return undefined;
};

/** The longest command that the first words of a command line name. */
const wordsOf = (args, commands) => {
  for (let count = Math.min(args.length, 3); count > 0; count--) {
    if (commands.has(args.slice(0, count).join(" "))) return args.slice(0, count);
  }
  return [];
};

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeCommands } from "../../src/commands/commands/command.ts";
import { program } from "../../src/commands/program.ts";

const textsIn = (folder: string, ending: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(folder, name), "utf8"));

/** Command lines of sessions and of pages, and the other tests, where words can be in an array. */
const lines = [
  ...textsIn("test/commands/golden/screens", ".txt"),
  ...textsIn("docs", ".md"),
  readFileSync("README.md", "utf8"),
]
  .join("\n")
  .split("\n")
  .filter((line) => /^(?:\$ |> ?\$ )?.*\brollcall /.test(line));
const tests = textsIn("test", ".test.ts").join("\n");

describe("the sessions and tests", async () => {
  const commands = await describeCommands(program);

  it.each(commands.filter(({ verbs }) => verbs.length === 0))(
    "use $name, and each of its options",
    ({ name, options }) => {
      const own = lines.filter((line) => new RegExp(`\\brollcall ${name}\\b`).test(line));
      expect(own.length).toBeGreaterThan(0);
      const unused = options.filter(({ name: option }) => {
        const word = new RegExp(`${option}(?![\\w-])`);
        return !own.some((line) => word.test(line)) && !word.test(tests);
      });
      expect(unused.map((option) => option.name)).toEqual([]);
    },
  );
});

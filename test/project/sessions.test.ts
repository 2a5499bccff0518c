import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listCommands, loadTree } from "../../src/cli/command.ts";
import { program } from "../../src/commands/program.ts";
import { facts } from "../../src/rollouts/facts.ts";
import { formatNames } from "../../src/rollouts/formats/recognize.ts";
import { Tally } from "../../src/rollouts/index/metrics.ts";

const textsIn = (folder: string, ending: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(folder, name), "utf8"));

const sessions = textsIn("test/commands/golden/screens", ".txt").join("\n");

/** Command lines of sessions and of pages, and the other tests, where words can be in an array. */
const lines = [sessions, ...textsIn("docs", ".md"), readFileSync("README.md", "utf8")]
  .join("\n")
  .split("\n")
  .filter((line) => /^(?:\$ |> ?\$ )?.*\brollcall /.test(line));
const tests = textsIn("test", ".test.ts").join("\n");

describe("the sessions and tests", async () => {
  const commands = listCommands(await loadTree(program));

  it.each(commands.filter(({ subcommands }) => subcommands.length === 0))(
    "use $words, and each of its options",
    ({ words, options }) => {
      const own = lines.filter((line) => new RegExp(`\\brollcall ${words}\\b`).test(line));
      expect(own.length).toBeGreaterThan(0);
      const unused = Object.keys(options).filter((option) => {
        const word = new RegExp(`--${option}(?![\\w-])`);
        return !own.some((line) => word.test(line)) && !word.test(tests);
      });
      expect(unused).toEqual([]);
    },
  );

  it("read each format", () => {
    expect(formatNames.filter((name) => ![sessions, tests].join().includes(`(--from ${name})`))).toEqual([]);
  });

  it("show each fact, and docs/reference/metrics.md describes each metric", () => {
    expect(facts.filter(({ name }) => !new RegExp(`^# ?.*\\b${name}\\b`, "m").test(sessions))).toEqual([]);
    const tally = new Tally();
    tally.addGroup({ rewards: [0, 1], exceptions: 0 });
    const page = readFileSync("docs/reference/metrics.md", "utf8");
    expect(
      Object.keys(tally.metrics("train")).filter((name) => !page.includes(`\`${name.replace("train/", "")}\``)),
    ).toEqual([]);
  });
});

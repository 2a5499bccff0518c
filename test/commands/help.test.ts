import { spawnSync } from "node:child_process";
import { mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { command, listCommands, loadTree } from "../../src/cli/command.ts";
import { formatShortHelp } from "../../src/cli/help.ts";
import { flag } from "../../src/cli/kinds.ts";
import { program } from "../../src/commands/program.ts";
import { commandPaths } from "../project/docs/commands.ts";
import { runHere, runHereOnTerminal } from "../support/here.ts";
import { newHome, runRollcall } from "../support/run.ts";

const commands = commandPaths().map((path) => path.slice(1));
const nameOf = (path: readonly string[]): string => ["rollcall", ...path].join(" ");

/** The examples of a command, each with all of its lines. */
const examplesIn = (help: string): readonly string[] => {
  const [, listed = ""] = /\nExamples:\n((?: {2}.*\n)+)/.exec(help) ?? [];
  return listed
    .trimEnd()
    .split(/\n(?= {2}\S)/)
    .filter((example) => example.trim() !== "");
};

/** The shorter descriptions that `-h` has instead of those of `--help`. */
const findUsualTexts = async (path: readonly string[]): Promise<ReadonlySet<string>> => {
  const found = listCommands(await loadTree(program)).find(({ words }) => words === path.join(" "));
  return new Set(Object.values(found?.usual ?? {}));
};

const helpOf = async (path: readonly string[]): Promise<string> => {
  const help = shortHelps.get(nameOf(path)) ?? (await runHere([...path, "-h"])).stdout;
  shortHelps.set(nameOf(path), help);
  return help;
};

const shortHelps = new Map<string, string>();

const wholeHelp = async (path: readonly string[], columns: number): Promise<string> =>
  (await runHere([...path, "--help"], { env: { COLUMNS: `${columns}` } })).stdout;

/** The words of a text with single spaces, which do not depend on the layout. */
const wordsOf = (text: string): string => text.split(/\s+/).join(" ");

describe("the help", () => {
  it.each([
    [39, "  --abc  text"],
    [38, "  --abc\n      text"],
  ])("has a description next to its term in %d columns if it has 30 columns of its own", (columns, lines) => {
    const options = { abc: flag("text") };
    expect(formatShortHelp(command({ words: "x", about: "a", options }), columns)).toContain(`\n${lines}\n`);
  });

  it.each([
    [["first", "second", "third22"], "x first|second|third22"],
    [["first", "second", "third333"], "x first|second|…"],
  ])("lists at most 20 letters of verbs next to their noun: %j", (verbs, term) => {
    const subcommands = verbs.map((verb) => command({ words: `x ${verb}`, about: "a" }));
    const noun = command({ words: "x", about: "b", subcommands });
    expect(formatShortHelp(command({ words: "", about: "a", subcommands: [noun] }))).toContain(`\n  ${term}  b\n`);
  });

  it("for log -h has its usual arguments and options with short descriptions", async () => {
    const help = wordsOf(await helpOf(["log"]));
    const usual = [...(await findUsualTexts(["log"]))].map(wordsOf);
    expect(usual).not.toEqual([]);
    for (const text of [...usual, "--dry-run"]) expect(help).toContain(text);
  });

  it.each([
    [17, true],
    [18, false],
  ])(
    "for -h has blank lines between its parts only if it fits one screen with them: %d examples",
    (count, isSpaced) => {
      const help = formatShortHelp(command({ words: "x", about: "a", examples: Array(count).fill("rollcall x") }));
      expect(help.split("\n").slice(0, -1)).toHaveLength(23);
      expect(help.includes("\n\nAll options")).toBe(isSpaced);
    },
  );

  it.each(commands.map((path) => [nameOf(path), path] as const))(
    "fits one screen for %s -h, with examples, and ends with the command for all options",
    async (name, path) => {
      const { code, stdout, stderr } = await runHere([...path, "-h"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      shortHelps.set(name, stdout);
      const lines = stdout.split("\n").slice(0, -1);
      // The prompt takes one line of the screen.
      expect(lines.length).toBeLessThan(24);
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
      expect(lines.at(-1)).toMatch(/^All options.*: /);
      expect(lines.at(-1)?.endsWith(`: ${name} --help`)).toBe(true);
      expect(examplesIn(stdout).length).toBeGreaterThan(0);
      for (const example of examplesIn(stdout)) expect(example).toContain(name);
    },
  );

  it.each(commands.map((path) => [nameOf(path), path] as const))(
    "contains only texts of %s --help in its -h",
    async (_, path) => {
      const reference = wordsOf((await wholeHelp(path, 80)) + (await wholeHelp([], 80)));
      const usual = await findUsualTexts(path);
      const items = (await helpOf(path)).matchAll(/^ {2}(\S.*?) {2,}(\S.*(?:\n {3,}\S.*)*)$/gm);
      const texts = Array.from(items, ([, term = "", text = ""]) => {
        const about = wordsOf(text).replace(/ \([^ ]*\)$/, "");
        // The help gives only the names of grouped options, and of the commands in the last line of rollcall's list.
        if (about.startsWith("--") || term === "more") return about.split(/, | (?=--)/);
        if (usual.has(wordsOf(text))) return [];
        return term.startsWith("-") ? `${term} ${about}` : about;
      });
      expect(texts.flat().filter((text) => !reference.includes(text))).toEqual([]);
    },
  );

  it.each(commands.map((path) => [nameOf(path), path] as const))(
    "has the same text at 40 and 80 columns, and no longer line, for %s --help",
    async (_, path) => {
      const [narrow, wide] = [await wholeHelp(path, 40), await wholeHelp(path, 80)];
      expect(wordsOf(narrow)).toBe(wordsOf(wide));
      const examples = examplesIn(wide).flatMap((example) => example.split("\n"));
      for (const [help, columns] of [
        [narrow, 40],
        [wide, 80],
      ] as const) {
        const lines = help.split("\n").filter((line) => !examples.includes(line));
        expect(lines.filter((line) => line.length > columns)).toEqual([]);
      }
    },
  );

  it("fits the width of the terminal for a noun without its verb", async () => {
    const { stdout } = await runRollcall(["catalog", "-h"], { env: { COLUMNS: "40" } });
    const written = stdout.replaceAll("\n", "\r\n");
    expect(await runHereOnTerminal(["catalog"], { columns: 40 })).toEqual({ code: 2, written });
  });

  it("has examples that work in an empty folder of a new machine", {
    tags: "slow",
  }, async () => {
    const bin = mkdtempSync(join(tmpdir(), "bin-"));
    symlinkSync(resolve("bin/rollcall.js"), join(bin, "rollcall"));
    const all: string[] = [];
    for (const path of commands) all.push(...examplesIn(await helpOf(path)));
    const runnable = [...new Set(all)].filter((line) => /--local|^ {2}echo|^ {2}rollcall config/.test(line));
    const home = newHome();
    const run = async (line: string) => {
      // A line without shell syntax needs no shell.
      if (!/[|<>"\\\n]/.test(line)) {
        const [, ...args] = line.trim().replaceAll("'", "").split(" ");
        return await runRollcall(args, { env: home, cwd: bin });
      }
      const env = { PATH: `${bin}:${process.env.PATH}`, ...home };
      const { status: code, stderr } = spawnSync("/bin/sh", ["-c", line], { env, cwd: bin, encoding: "utf8" });
      return { code, stderr };
    };
    const failed: unknown[] = [];
    for (const line of runnable) {
      const { code, stderr } = await run(line);
      if (code !== 0 || stderr.includes("no model matches")) failed.push({ line, code, stderr });
    }
    expect(failed).toEqual([]);
    expect(runnable.length).toBeGreaterThan(5);
  });

  it.each([
    ["a command", "modles", "models"],
    ["a verb", "catalog anlysis", "analysis"],
    ["an option", "models --jsn", "--json"],
    ["an option with a value", "models --sotr id", "--sort"],
    ["a column", "models --sort creatd", "created"],
    ["a format", "models -o jsno", "json"],
    ["a shell", "completion fsih", "fish"],
    ["a choice", "log m --on-invalid skp", "skip"],
    ["a command after help", "help ledgr", "ledger"],
    ["a verb after help", "help ledger verfy", "verify"],
    ["a command before -h", "ledgr -h", "ledger"],
    ["a use of a key", "auth status --for inferense", "inference"],
    ["a verb without its noun", "login", "auth login"],
    ["a verb of another noun", "resolve", "ledger resolve"],
  ])("exits with 2 for a mistyped word, and suggests %s", async (_, words, meant) => {
    const { code, stderr } = await runRollcall(words.split(" "));
    expect(code).toBe(2);
    expect(stderr.toLowerCase()).toContain(`did you mean ${meant}?`);
  });

  it("exits with 2 for an unknown verb, and suggests no verb with another meaning", async () => {
    for (const words of ["catalog list", "profile create", "profile remove -h"]) {
      const [noun = "", ...verb] = words.split(" ");
      const { code, stderr } = await runRollcall([noun, ...verb]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`see \`rollcall ${noun} --help\``)]);
      expect(stderr).not.toMatch(/did you mean/i);
    }
  });

  it("has one text for all command lines that ask for a verb's help", async () => {
    const { stdout: asked } = await runRollcall(["ledger", "status", "--help"]);
    const ways = [
      ["ledger", "status", "-h", "--help"],
      ["help", "ledger", "status"],
      ["ledger", "help", "status"],
      ["--profile", "help", "ledger", "help", "status"],
      ["help", "ledger", "status", "--json"],
    ];
    for (const words of ways) expect(await runRollcall(words)).toEqual({ code: 0, stdout: asked, stderr: "" });
  });
});

describe("rollcall with -h in any position", () => {
  it.each([
    ["before the command", "-h models", "models -h"],
    ["in full, before the noun", "--help ledger", "ledger --help"],
    ["after another option", "--json -h ledger status", "ledger status -h"],
    ["between noun and verb", "--profile work ledger -h status", "ledger status -h"],
    ["before arguments", "-h log my-model file.jsonl", "log -h"],
    ["between arguments", "models -h pattern", "models -h"],
    ["among short options", "models pattern --sort -h -qh", "models -h"],
  ])("prints the help of the command %s", async (_, typed, same) => {
    const [one, other] = await Promise.all([typed, same].map((words) => runRollcall(words.split(" "))));
    expect(one).toEqual({ ...other, code: 0 });
    expect(one?.stdout).not.toBe((await runRollcall(["-h"])).stdout);
  });
});

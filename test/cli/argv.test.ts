import { describe, expect, it } from "vitest";
import { parseArgv } from "../../src/cli/argv.ts";
import { toScreenOptions } from "../../src/cli/globals.ts";
import * as kinds from "../../src/cli/kinds.ts";
import { program } from "../../src/commands/program.ts";
import { runHere } from "../support/here.ts";

describe("a command line", () => {
  it("has values from options in any order, and the last word of a noun's command", async () => {
    const { command, given, globals, help } = await parseArgv(program, [
      "--json",
      "catalog",
      "router",
      "--sort",
      "-id",
      "qwen",
      "-o",
      "json",
    ]);
    expect([command.words, globals.json, globals.output, help]).toEqual(["catalog router", true, "json", undefined]);
    expect(Object.fromEntries(given)).toMatchObject({ sort: ["-id"], output: ["json"] });
    const helpOf = async (...words: readonly string[]) => (await parseArgv(program, words)).help;
    expect([await helpOf(), await helpOf("log", "-h"), await helpOf("log", "--help")]).toEqual([
      "short",
      "short",
      "full",
    ]);
  });

  it.each([
    ["models --limit 0", 'invalid --limit "0": expected a whole number of at least 1'],
    ["serve --port 65536", 'invalid --port "65536": expected a whole number from 0 to 65535'],
    ["models --color red", 'invalid --color "red": expected auto, always or never'],
    ["models -o tvs", "did you mean tsv?"],
    ["models --timeout 1s --timeout 2s", "--timeout is given 2 times, but takes one value"],
    ["models --sorts id", "did you mean --sort?"],
    ["models --quiet=yes", "--quiet takes no value"],
    ["models --nonsense=yes", "unknown option '--nonsense'"],
    ["stats --k 1000001", 'invalid --k "1000001": expected whole numbers such as 1,2,4,8 (at most 1000000)'],
    ["catlog", "did you mean catalog?"],
    ["chek groups.jsonl stats", "did you mean check?"],
    ["models a b", "too many arguments"],
    ["models --sort --", "expected a value before --"],
    ["catlog --help", "did you mean catalog?"],
    ["status", "did you mean stats?"],
    ["call read -5 --nonsense", "unknown option '--nonsense'"],
  ])("fails for %s", async (line, said) => {
    const { code, stderr } = await runHere(line.split(" "));
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
  });

  it("sets the format and the color of the screen", async () => {
    const read = async (line: string) => toScreenOptions((await parseArgv(program, line.split(" "))).globals);
    const usual = { format: undefined, color: undefined };
    for (const line of ["models --json", "models --json -o json"]) expect((await read(line)).format).toBe("json");
    expect(await read("models -o tsv --fields a,b")).toMatchObject({ format: "tsv", fields: ["a", "b"] });
    expect(await read("models")).toMatchObject(usual);
    expect(await read("models --color always")).toMatchObject({ ...usual, color: "always" });
    expect(await read("models --no-color --color always")).toMatchObject({ ...usual, color: "never" });
  });

  const toDocument = (message: string) =>
    `${JSON.stringify({ error: { code: "usage", message, exit_code: 2, retryable: false } })}\n`;

  it.each(["table", "tsv"])("fails with a JSON document for --json with -o %s", async (format) => {
    const stderr = toDocument(`cannot combine --json and -o ${format}: --json means -o json`);
    for (const options of [`--json -o ${format}`, `-o ${format} --json`, `--quiet --json --output=${format}`])
      expect(await runHere(["models", ...options.split(" ")])).toEqual({ code: 2, stdout: "", stderr });
  });

  it.each([
    ["--quiet", false],
    ["-o table", false],
    ["-o tsv", false],
    ["-o json", true],
    ["--json", true],
    ["--json -o json", true],
  ])("fails for invalid --fields with %s, as a JSON document: %s", async (options, isDocument) => {
    const message = 'invalid --fields "a,,b": expected names separated by commas, such as id,name';
    const stderr = isDocument ? toDocument(message) : `rollcall: ${message}\n`;
    const args = ["models", "--fields", "a,,b", ...options.split(" ")];
    expect(await runHere(args)).toEqual({ code: 2, stdout: "", stderr });
  });
});

describe("a kind of option", () => {
  it("parses a list, and keeps the initial value of a list, a flag and a default", () => {
    const words = kinds.commaList("a", "words", (item) => item.toUpperCase());
    expect([words.parse("a, b"), kinds.repeated("a").parse("a,b")]).toEqual([["A", "B"], ["a,b"]]);
    expect([words.initial, kinds.flag("a").initial, kinds.text("a").initial]).toEqual([[], false, undefined]);
    expect(kinds.withDefault(kinds.count("a"), "8")).toMatchObject({ default: "8", initial: 8 });
    expect(kinds.camelCase("max-request-size")).toBe("maxRequestSize");
  });

  const small = kinds.count("a", { min: 2, max: 4 });
  const side = kinds.choice("a", ["left", "right", "both"]);
  it.each<[string, kinds.OptionKind<unknown, unknown>, accepted: readonly string[], refused: readonly string[]]>([
    ["a whole number of at least 1", kinds.count("a"), ["1", "999999999"], ["0", "1000000000", "-1", "1.5", "1e3", ""]],
    ["a whole number from 2 to 4", small, ["2", "3", "4"], ["1", "5"]],
    ["a whole number from 0 to 65535", kinds.port("8700"), ["0", "65535"], ["65536"]],
    ["left, right or both", side, ["left", "right", "both"], ["Left", "up", "", "left,right"]],
  ])("accepts %s", (wanted, { parse }, accepted, refused) => {
    expect(accepted.map((word) => String(parse(word)))).toEqual(accepted);
    for (const word of refused) expect(parse(word)).toMatchObject({ wanted });
  });
});

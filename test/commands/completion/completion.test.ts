import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { listCommands, loadTree } from "../../../src/cli/command.ts";
import { program } from "../../../src/commands/program.ts";
import { runHere } from "../../support/here.ts";
import { runRollcall } from "../../support/run.ts";
import { hasShell, openDesk, type Shell } from "../../support/shell.ts";

const committed = {
  bash: "completions/rollcall.bash",
  zsh: "completions/_rollcall",
  fish: "completions/rollcall.fish",
  powershell: "completions/rollcall.ps1",
} as const;

describe("rollcall completion", () => {
  it.each(Object.entries(committed))("prints for %s the script in completions/", async (shell, path) => {
    expect(await runRollcall(["completion", shell])).toEqual({
      code: 0,
      stdout: readFileSync(path, "utf8"),
      stderr: "",
    });
  });

  it.each(Object.values(committed))("evaluates nothing in %s", (path) => {
    const code = readFileSync(path, "utf8").replaceAll(/^\s*#.*$/gm, "");
    expect(code).not.toMatch(/\beval\b|Invoke-Expression|\biex\b|compgen|\(e\)/);
  });
});

/** Completes `current` after these words. Returns the text of each candidate. */
const asked = async (before: readonly string[], current: string): Promise<readonly string[]> => {
  const { stdout } = await runHere(["__complete", "zsh", "--", `:${current}`, ...before]);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t")[0] ?? "");
};

/** Every command of the help. */
const tree = listCommands(await loadTree(program)).map((command) => ({
  path: command.words.split(" ").filter((word) => word !== ""),
  command,
}));

describe("the completions of a command", () => {
  it.each(tree.map(({ path, command }) => ({ words: ["rollcall", ...path].join(" "), path, command })))(
    "contain all options of `$words`",
    async ({ path, command }) => {
      const above = tree.filter(
        (one) => one.path.length < path.length && one.path.every((word, at) => word === path[at]),
      );
      const names = [command, ...above.map((one) => one.command)].flatMap(({ options }) =>
        Object.entries(options).flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])]),
      );
      const offered = await asked(path, "-");
      expect(offered[0]).toBe("words");
      expect(offered.slice(1).toSorted()).toEqual([...new Set(names)].toSorted());
    },
  );

  it("contain a given option only if it can be repeated", async () => {
    const offered = await asked(["check", "--allow", "no-prompt", "--strict"], "--");
    expect(offered.filter((name) => /^--(?:allow|strict|split)$/.test(name))).toEqual(["--split", "--allow"]);
  });

  it("contain the choices of a value, and files and folders", async () => {
    const kinds: Readonly<Record<string, string>> = { file: "files", dir: "folders" };
    for (const { path, command } of tree) {
      for (const [name, { choices = [], placeholder }] of Object.entries(command.options)) {
        const expected = [kinds[placeholder ?? ""] ?? "words", ...choices];
        if (placeholder) expect(await asked([...path, `--${name}`], ""), name).toEqual(expected);
      }
      for (const [at, [name, { choices = [], placeholder = "" }]] of Object.entries(command.args).entries()) {
        const before = [...path, ...Array<string>(at).fill("x")];
        expect(await asked(before, ""), name).toEqual([kinds[name] ?? kinds[placeholder] ?? "words", ...choices]);
      }
    }
  });

  it("contain every command except the hidden one", async () => {
    expect(await asked([], "")).toEqual([
      "words",
      ...tree.filter(({ path }) => path.length === 1).map(({ path }) => path[0]),
      "help",
    ]);
    expect(await asked(["help"], "")).toContain("models");
    expect((await runRollcall(["--help"])).stdout).not.toContain("__complete");
    expect((await runRollcall(["__complet"])).stderr).not.toContain("__complete");
  });
});

describe("rollcall __complete", () => {
  it.each([
    ["the values of an option before them", ["-o"], "", ["table", "tsv", "json"]],
    ["the values of an option with =", [], "--output=", ["--output=table", "--output=tsv", "--output=json"]],
    ["the values of the last of several short options", ["-qo"], "", ["table", "tsv", "json"]],
    ["nothing after an option without a value", [], "--json=", []],
    ["commands after an option and its value", ["--profile", "log", "call"], "", ["read", "help"]],
    ["commands after an option with =", ["--profile=log", "call"], "", ["read", "help"]],
    ["the values of a short option with =", [], "-o=", ["-o=table", "-o=tsv", "-o=json"]],
    ["nothing if no word is known", ["models"], "", []],
    ["nothing after an unknown command", ["modles"], "", []],
    ["nothing after an unknown option with =", [], "--nonsense=", []],
  ])("prints %s", async (_, before, current, words) => {
    expect(await asked(before, current)).toEqual(["words", ...words]);
  });

  it.each([
    ["an argument", ["log", "m"], ""],
    ["a later argument", ["log", "m", "a.jsonl"], "b"],
    ["an argument after --", ["log", "m", "--"], "--output"],
    ["a redirection of input", ["models", "<"], ""],
    ["a redirection of errors", ["models", "2>"], ""],
    ["a redirection of output and errors", ["models", "&>"], ""],
    ["a redirection that appends both", ["models", "&>>"], ""],
    ["a redirection that replaces a file", ["models", ">|"], ""],
  ])("prints that files match %s", async (_, before, current) => {
    expect(await asked(before, current)).toEqual(["files"]);
  });

  it("omits options that the line already has", async () => {
    const offered = await asked(["models", "--json", "-o", "tsv"], "--");
    expect(offered).toContain("--header");
    expect(offered).not.toContain("--json");
    expect(offered).not.toContain("--output");
    expect(await asked(["models", "-h"], "--")).not.toContain("--help");
  });

  it.each([
    ["a broken environment", { ROLLCALL_PROFILE: "nobody", ROLLCALL_TIMEOUT: "soon" }, ["bash", "--", "rollcall ", ""]],
    ["an unknown shell", {}, ["tcsh", "--", ":"]],
    ["no words", {}, ["bash"]],
    ["no base64", {}, ["powershell", "%%%"]],
    ["an unclosed quote", {}, ["bash", "--", "rollcall 'mod", "mod"]],
    ["a cursor in the name of the program", {}, ["bash", "--", "roll", "roll"]],
  ])("exits with 0 and prints no error with %s", async (_, env, args) => {
    const { code, stderr } = await runRollcall(["__complete", ...args], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("reads words in base64 for PowerShell", async () => {
    const words = Buffer.from([":'js", "models", "it''s \"x\" $(y)", "--output"].join("\0")).toString("base64");
    expect((await runRollcall(["__complete", "powershell", words])).stdout).toBe("words\njson\t\n");
  });

  it.each([
    [" sk", "sk", "skip"],
    [" s\\k", "s\\k", "skip"],
    [' "sk', '"sk', '"skip'],
    ["='sk", "'sk", "'skip"],
    [' s"k', 's"k', '"skip'],
    [" x", "x", undefined],
  ])("replaces the last part of `--on-invalid%s` for bash as bash reads it (row %$)", async (typed, replaced, word) => {
    const { stdout } = await runHere(["__complete", "bash", "--", `rollcall log m --on-invalid${typed}`, replaced]);
    expect(stdout).toBe(word === undefined ? "words\n" : `words\n${word}\n`);
  });
});

const load: Readonly<Record<Shell, (script: string) => string>> = {
  bash: (script) => `source ${script}; source ${script}`,
  // Without this, zsh expands the word at the cursor when Tab is typed.
  zsh: (script) =>
    `autoload -U compinit; compinit -u -D; bindkey '^I' complete-word; source ${script}; source ${script}`,
  fish: (script) => `source ${script}; source ${script}`,
};

/** Keys before a Tab, and the line after the Tab. */
const lines: readonly (readonly [keys: string, line: string])[] = [
  ["rollcall mod", "rollcall models "],
  ["true; rollcall mod", "true; rollcall models "],
  ["rollcall call re", "rollcall call read "],
  ['rollcall "call" re', 'rollcall "call" read '],
  ["rollcall models --head", "rollcall models --header "],
  ["rollcall models -o ts", "rollcall models -o tsv "],
  ["rollcall models --output=js", "rollcall models --output=json "],
  ["rollcall log m --on-invalid sk", "rollcall log m --on-invalid skip "],
  ['rollcall log m --on-invalid "sk', 'rollcall log m --on-invalid "skip" '],
  ["rollcall log m --on-invalid=sk", "rollcall log m --on-invalid=skip "],
  ['rollcall --profile "$(touch pwned)" mod', 'rollcall --profile "$(touch pwned)" models '],
  ["rollcall --profile=$(touch pwned)", "rollcall --profile=$(touch pwned)"],
  ["rollcall $(touch pwned", "rollcall $(touch pwned"],
  ["rollcall log m ot", "rollcall log m other.jsonl "],
  ["rollcall log m runs", "rollcall log m runs\\ one.jsonl "],
  ["rollcall log m < ot", "rollcall log m < other.jsonl "],
  ["rollcall models ot", "rollcall models ot"],
  ["rollcall log m --rejects=ot", "rollcall log m --rejects=other.jsonl "],
  ["rollcall serve --data-dir stor", "rollcall serve --data-dir store/"],
  ["rollcall serve --data-dir=stor", "rollcall serve --data-dir=store/"],
];

describe.each(["bash", "zsh", "fish"] as const)("completion in %s", (shell) => {
  const expectCompleted = async (typed: typeof lines): Promise<void> => {
    const desk = await openDesk(shell, {
      load: load[shell](resolve(committed[shell])),
      files: ["runs one.jsonl", "other.jsonl", "store/"],
    });
    const seen: string[] = [];
    for (const [keys] of typed) seen.push(await desk.type(`${keys}\t`));
    expect(seen).toEqual(typed.map(([, line]) => line));
    expect(desk.files()).toEqual(["other.jsonl", "runs one.jsonl", "store"]);
    expect(desk.printed()).not.toMatch(/error|command not found|Unknown|syntax/i);
  };

  it.skipIf(!hasShell(shell))("completes words and evaluates none", { tags: "slow" }, async () => {
    await expectCompleted(lines);
  });
});

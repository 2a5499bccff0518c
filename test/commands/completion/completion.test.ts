import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { describeCommands } from "../../../src/commands/commands/command.ts";
import { program } from "../../../src/commands/program.ts";
import { runHere } from "../../support/here.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";
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
const asked = async (
  before: readonly string[],
  current: string,
  env: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> => {
  const words = ["__complete", "zsh", "--", `:${current}`, ...before];
  const { stdout } = await runHere(words, { env: { XDG_CONFIG_HOME: "/nowhere", ...env } });
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split("\t")[0] ?? "");
};

/** Every command of the help. */
const tree = (await describeCommands(program)).map((command) => ({
  path: command.name.split(" ").filter((word) => word !== ""),
  command,
}));

type CommandDescription = (typeof tree)[number]["command"];

const optionsOf = ({ options }: CommandDescription) => options;

/** Options that others need. */
const neededBy: ReadonlyMap<string, readonly string[]> = new Map([
  ["stats", ["test/samples/airline.groups.jsonl", "--each", "trajectory"]],
]);

describe("the completions of a command", () => {
  it.each(tree.map(({ path, command }) => ({ words: ["rollcall", ...path].join(" "), path, command })))(
    "contain all options of `$words`",
    async ({ path, command }) => {
      const above = tree.filter(
        (one) => one.path.length < path.length && one.path.every((word, at) => word === path[at]),
      );
      const inherited = above.flatMap((one) => optionsOf(one.command));
      const names = [...optionsOf(command), ...inherited].flatMap(({ name, short }) => [name, short]);
      const offered = await asked(path, "-");
      expect(offered[0]).toBe("words");
      expect(offered.slice(1).toSorted()).toEqual(
        [...new Set(names.filter((name) => typeof name === "string"))].toSorted(),
      );
    },
  );

  it("contain a given option only if it can be repeated", async () => {
    const offered = await asked(["check", "--allow", "no-prompt", "--strict"], "--");
    expect(offered.filter((name) => /^--(?:allow|strict|split)$/.test(name))).toEqual(["--split", "--allow"]);
  });

  it("contain the ids of the last list of models, if there is a data folder", async () => {
    const { url } = await scriptedServer([
      { answer: json({ object: "list", data: [{ id: "qwen3-8b" }, { id: "a\nb" }, { id: "\u001b[2J" }] }) },
    ]);
    const folder = newHome().HOME;
    const env = { ROLLCALL_DATA_DIR: folder, ROLLCALL_INFERENCE_BASE_URL: url, ROLLCALL_API_KEY: "key-1234" };
    await runRollcall(["models"], { env });
    expect(await asked(["log"], "", { ROLLCALL_DATA_DIR: folder })).toEqual(["words", "qwen3-8b"]);
  });

  it("contain the known values and arguments, without a request", async () => {
    const { url } = await scriptedServer([]);
    const env = { ROLLCALL_BASE_URL: url, ROLLCALL_INFERENCE_BASE_URL: url, ROLLCALL_API_KEY: "key-1234" };
    // Equal completions of several commands are one line.
    const commandsOf = new Map<string, string[]>();
    const add = async (path: readonly string[], what: string, before: readonly string[]) => {
      const [kind, ...values] = await asked(before, "", env);
      const line = `${what}: ${kind === "words" ? values.join(" ") || "anything" : kind}`;
      commandsOf.set(line, [...(commandsOf.get(line) ?? []), path.join(" ")]);
    };
    for (const { path, command } of tree) {
      for (const { short, name, value } of command.options) {
        if (value === null) continue;
        await add(path, `${short === null ? "" : `${short}, `}${name} <${value.name}>`, [...path, name]);
      }
      for (const [at, argument] of command.arguments.entries()) {
        await add(path, `<${argument.name}>`, [...path, ...Array<string>(at).fill("x")]);
      }
    }
    const lines = Array.from(commandsOf, ([line, commands]) => `${commands.join(", ") || "rollcall"}: ${line}`);
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("golden/completion.txt");
  });

  it("contain only values that filters, --sort and --fields accept", { tags: "slow" }, async () => {
    const takers = ["filters", "order"].flatMap((group) =>
      tree.flatMap(({ path, command }) =>
        command.options
          .filter((option) => option.value !== null && option.group === group)
          .map(({ name }) => ({ path, option: name })),
      ),
    );
    expect(takers.length).toBeGreaterThan(10);
    const local = newHome();
    const taken = new Set<string>();
    for (const { path, option } of takers) {
      const needed = neededBy.get(path.join(" ")) ?? [];
      const [, ...values] = await asked([...path, ...needed, option], "");
      const given = values.filter((value) => value !== "").map((value) => (value.endsWith("=") ? `${value}1` : value));
      const key = `${option} ${given}`;
      // An option with equal values is tested with one command.
      if (given.length === 0 || taken.has(key)) continue;
      taken.add(key);
      const words = [...path, ...needed, option, given.join(","), "--local"];
      const { code, stderr } = await runRollcall(words, { env: local });
      expect({ path, option, code, stderr: /invalid .*/.exec(stderr)?.[0] }).toEqual({ path, option, code: 0 });
    }
    expect(taken.size).toBeGreaterThan(1);
  });

  it("contain exactly the columns that each command prints", async () => {
    const call = json({ call: { id: "c", op_name: "chat" } });
    const { url } = await scriptedServer([{ answer: call }]);
    const home = newHome();
    const groups = "test/samples/airline.groups.jsonl";
    const env = { ...home, ROLLCALL_API_KEY: "key-1234", ROLLCALL_PROJECT: "team/project" };
    const toService = ["--base-url", url, "--insecure-http"];
    const lines: readonly (readonly [words: readonly string[], ...others: readonly string[]])[] = [
      [["models"], "--local"],
      [["catalog", "analysis"], "--local"],
      [["catalog", "router"], "--local"],
      [["call", "read", "c"], ...toService],
      [["stats", groups], "--quiet"],
      [["stats", groups, "--by", "file"], "--quiet"],
      [["stats", groups, "--each", "group"], "--quiet"],
      [["stats", groups, "--each", "trajectory"], "--quiet"],
      [["compare", groups, groups], "--quiet"],
    ];
    for (const [words, ...others] of lines) {
      const { stdout } = await runHere([...words, ...others, "-o", "csv"], { env });
      const columns = (stdout.split("\r\n")[0] ?? "").split(",");
      expect([words, await asked([...words, "--fields"], "")]).toEqual([words, ["words", ...columns]]);
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
    ["the values of an option before them", ["-o"], "", ["table", "tsv", "json", "jsonl", "csv"]],
    [
      "the values of an option with =",
      [],
      "--output=",
      ["--output=table", "--output=tsv", "--output=json", "--output=jsonl", "--output=csv"],
    ],
    ["the values of the last of several short options", ["-qo"], "", ["table", "tsv", "json", "jsonl", "csv"]],
    ["nothing after an option without a value", [], "--json=", []],
    ["commands after an option and its value", ["--profile", "log", "call"], "", ["read", "help"]],
    ["commands after an option with =", ["--profile=log", "call"], "", ["read", "help"]],
    ["columns in descending order", ["models", "--sort"], "-", ["-id", "-created", "-owned_by", "-root", "-object"]],
    [
      "names that the list does not have yet",
      ["models", "--fields"],
      "root,id,",
      ["root,id,created", "root,id,owned_by", "root,id,object"],
    ],
    [
      "a later column in descending order",
      ["models", "--sort"],
      "id,-",
      ["id,-id", "id,-created", "id,-owned_by", "id,-root", "id,-object"],
    ],
    ["the values of a short option with =", [], "-o=", ["-o=table", "-o=tsv", "-o=json", "-o=jsonl", "-o=csv"]],
    ["nothing if no word is known", ["models"], "", []],
    ["nothing after an unknown command", ["modles"], "", []],
    ["nothing after an unknown option with =", [], "--nonsense=", []],
  ])("prints %s", async (_, before, current, words) => {
    expect(await asked(before, current)).toEqual(["words", ...words]);
  });

  it("omits names with invisible characters", async () => {
    const home = newHome();
    const names = ["plain", "a\u202eb", "a\u200bb", "a\u2028b", "a\u2029b", "a\ufeffb"];
    const folder = `${home.XDG_CONFIG_HOME}/rollcall`;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const profiles = Object.fromEntries(names.map((batch, at) => [`p${at}`, { batch }]));
    writeFileSync(`${folder}/settings.json`, JSON.stringify({ profiles }), { mode: 0o600 });
    for (const before of [
      ["log", "--batch"],
      ["config", "set", "batch"],
    ])
      expect(await asked(before, "", home)).toEqual(["words", "plain"]);
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

  it("prints columns for --fields and --sort, also with --json", async () => {
    expect(await asked(["models", "--json", "--fields"], "id,")).toContain("id,owned_by");
    expect(await asked(["catalog", "router", "--json", "--sort"], "")).toContain("pricing.prompt");
    expect(await asked(["stats", "--fields"], "")).toContain("reward.mean");
    expect(await asked(["stats", "--each", "group", "--fields"], "")).toContain("std_dev");
    expect(await asked(["compare", "--fields"], "")).toContain("difference");
  });

  it("prints the words that follow a schema, a setting, and a command", async () => {
    expect(await asked(["schema"], "")).toEqual(expect.arrayContaining(["models", "catalog", "error"]));
    expect(await asked(["schema", "catalog"], "")).toContain("router");
    expect(await asked(["schema", "models"], "")).toEqual(["words"]);
    expect(await asked(["config", "set", "idempotency"], "")).toEqual(["words", "auto", "never"]);
    expect(await asked(["config", "set", "insecure_http"], "")).toEqual(["words", "true", "false"]);
    expect(await asked(["ledger", "status", "--fields"], "")).toEqual(expect.arrayContaining(["state", "last_tried"]));
    expect(await asked(["profile", "list", "--fields"], "name,")).toContain("name,base_url");
    expect(await asked(["models"], "--vers")).toContain("--version");
    expect(await asked(["ledger", "status"], "-")).toContain("-V");
  });

  it("omits options that the line already has", async () => {
    const offered = await asked(["models", "--json", "-o", "csv"], "--");
    expect(offered).toContain("--header");
    expect(offered).not.toContain("--json");
    expect(offered).not.toContain("--output");
    expect(await asked(["models", "-h"], "--")).not.toContain("--help");
  });

  it.each([
    ["broken settings", "{"],
    ["settings of another shape", '{"profiles":[1]}'],
  ])("prints the built-in profiles without an error for %s", async (_, text) => {
    const home = newHome();
    mkdirSync(`${home.XDG_CONFIG_HOME}/rollcall`, { recursive: true });
    writeFileSync(`${home.XDG_CONFIG_HOME}/rollcall/settings.json`, text);
    const ran = await runRollcall(["__complete", "zsh", "--", ":", "--profile"], { env: home });
    expect(ran).toEqual({ code: 0, stdout: "words\ndefault\t\nlocal\t\n", stderr: "" });
  });

  it.each([
    [
      "no home",
      { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined },
      ["zsh", "--", ":", "--profile"],
    ],
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
    expect((await runRollcall(["__complete", "powershell", words])).stdout).toBe("words\njson\t\njsonl\t\n");
  });

  it.each([
    [" ho", "ho", "hold\\ out"],
    [" h\\ol", "h\\ol", "hold\\ out"],
    [' "ho', '"ho', '"hold out'],
    ["='ho", "'ho", "'hold out"],
    [' "hold o', "o", "out"],
    [" prod:", "", "eu"],
    [' "prod:', "", "eu"],
    [" it", "it", "it\\'s"],
    [' "it', '"it', "\"it's"],
    [" 'it", "'it", "'it'\\''s"],
    [' "x', '"x', '"x\\$(touch pwned)'],
    [' tr"a', 'tr"a', '"train'],
    [" te", "x", "test"],
    [' "no', '"no', undefined],
  ])("replaces the last part of `--split%s` for bash as bash reads it (row %$)", async (typed, replaced, word) => {
    const home = newHome();
    mkdirSync(`${home.XDG_CONFIG_HOME}/rollcall`, { recursive: true, mode: 0o700 });
    const profiles = { ...settings.profiles, other: { split: "now!" } };
    writeFileSync(`${home.XDG_CONFIG_HOME}/rollcall/settings.json`, JSON.stringify({ profiles }), { mode: 0o600 });
    const args = ["__complete", "bash", "--", `rollcall log m --split${typed}`, replaced];
    expect((await runHere(args, { env: home })).stdout).toBe(word === undefined ? "words\n" : `words\n${word}\n`);
  });
});

const hostile = "$(touch pwned)";
const names = ["hold out", "prod:eu", "it's", "`touch pwned`", `x${hostile}`, "a;touch pwned", "line\nend"];
const settings = {
  profiles: {
    default: { base_url: "http://127.0.0.1:1" },
    "staging.eu": {},
    ...Object.fromEntries(names.map((split, at) => [`p${at}`, { split }])),
  },
};

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
  ["rollcall models -o c", "rollcall models -o csv "],
  ["rollcall models --output=jsonl", "rollcall models --output=jsonl "],
  ["rollcall --profile st", "rollcall --profile staging.eu "],
  ["rollcall log m --split ho", "rollcall log m --split hold\\ out "],
  ['rollcall log m --split "ho', 'rollcall log m --split "hold out" '],
  ["rollcall log m --split 'ho", "rollcall log m --split 'hold out' "],
  ["rollcall log m --split prod", "rollcall log m --split prod:eu "],
  ["rollcall log m --split prod:", "rollcall log m --split prod:eu "],
  ["rollcall log m --split=prod:", "rollcall log m --split=prod:eu "],
  ['rollcall log m --split "prod:', 'rollcall log m --split "prod:eu" '],
  ["rollcall log m --split it", "rollcall log m --split it\\'s "],
  ["rollcall log m --split x", "rollcall log m --split x\\$\\(touch\\ pwned\\) "],
  ["rollcall log m --split a", "rollcall log m --split a\\;touch\\ pwned "],
  ['rollcall --profile "$(touch pwned)" mod', 'rollcall --profile "$(touch pwned)" models '],
  ["rollcall --profile=$(touch pwned)", "rollcall --profile=$(touch pwned)"],
  ["rollcall $(touch pwned", "rollcall $(touch pwned"],
  ["rollcall config set proj", "rollcall config set project"],
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
      settings,
    });
    const seen: string[] = [];
    for (const [keys] of typed) seen.push(await desk.type(`${keys}\t`));
    expect(seen).toEqual(typed.map(([, line]) => line));
    expect(desk.files()).toEqual(["other.jsonl", "runs one.jsonl", "store"]);
    expect(desk.printed()).not.toMatch(/error|command not found|Unknown|syntax/i);
  };

  it.skipIf(!hasShell(shell))("quotes a value instead of evaluating it", async () => {
    await expectCompleted(lines.filter(([keys]) => keys.endsWith("--split x")));
  });

  it.skipIf(!hasShell(shell))("completes words and evaluates none", { tags: "slow" }, async () => {
    await expectCompleted(lines);
  });
});

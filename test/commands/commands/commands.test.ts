import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parseArgv } from "../../../src/cli/argv.ts";
import { lastWord, loadTree } from "../../../src/cli/command.ts";
import { program } from "../../../src/commands/program.ts";
import { exitCodes } from "../../../src/failure.ts";
import { commandPaths } from "../../project/docs/commands.ts";
import { newHome, runRollcall } from "../../support/run.ts";

const names = commandPaths()
  .slice(1)
  .map((path) => path.slice(1).join(" "));

const described = async () => JSON.parse((await runRollcall(["commands", "--json"])).stdout);

describe("rollcall commands", () => {
  it("lists every command of the help on its own line", async () => {
    const { code, stdout, stderr } = await runRollcall(["commands"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.split("\t")[0])).toEqual(names);
    expect(lines.filter((line) => line.split("\t").some((cell) => cell === ""))).toEqual([]);
  });

  it("prints arguments, options, values and examples with --json", async () => {
    const { commands } = await described();
    const log = commands.find(({ name }: { name: string }) => name === "log");
    expect(log.arguments).toMatchObject([
      { name: "model-id", choices: null, required: true, repeatable: false },
      { name: "file", choices: null, required: false, repeatable: true },
    ]);
    const option = (name: string) => log.options.find((one: { name: string }) => one.name === name);
    const choices = ["stop", "resend", "leave"];
    expect(option("--on-unknown").value).toEqual({ name: "stop|resend|leave", choices });
    expect(option("--every").value).toEqual({ name: "duration", choices: null });
    expect([option("--allow"), option("--rejects")]).toMatchObject([{ repeatable: true }, { repeatable: false }]);
    expect(option("--dry-run").value).toBeNull();
    expect(log.examples[0]).toBe("rollcall log my-model groups.jsonl --split train --dry-run");
    expect(log.schema).toBe("log");
    const serve = commands.find(({ name }: { name: string }) => name === "serve");
    expect(serve.options.find(({ name }: { name: string }) => name === "--port").default).toBe("8700");
    expect(serve.schema).toBeNull();
    const ledger = commands.find(({ name }: { name: string }) => name === "ledger");
    expect(ledger.verbs).toEqual(["status", "resolve", "verify", "forget", "calls"]);
  });

  it("prints the global options and the exit codes with --json", async () => {
    const { options, exit_codes, version } = await described();
    expect(options.map(({ name }: { name: string }) => name)).toContain("--inference-base-url");
    expect(options.find(({ name }: { name: string }) => name === "--output")).toMatchObject({
      short: "-o",
      value: { choices: ["table", "tsv", "json", "jsonl", "csv"] },
    });
    const numbers = Object.values(exitCodes).flatMap((code) =>
      typeof code === "number" ? [code] : Object.values(code),
    );
    expect(exit_codes.map(({ exit_code }: { exit_code: number }) => exit_code)).toEqual([0, ...numbers]);
    expect((await runRollcall(["--version"])).stdout).toBe(`${version}\n`);
  });
});

describe("the command tree", () => {
  it("has only the command that argv names, or all commands if argv names none", async () => {
    const all = (await loadTree(program)).subcommands.map(lastWord);
    const loaded = async (words: readonly string[]) => {
      const { root } = await parseArgv(program, words);
      return root.subcommands.map(lastWord);
    };
    expect(await loaded(["models"])).toEqual(["models"]);
    expect(await loaded(["--profile", "log", "check", "log"])).toEqual(["check"]);
    for (const words of [
      ["-h", "log"],
      ["-qo", "json", "log", "check"],
    ])
      expect(await loaded(words)).toEqual(["log"]);
    for (const words of [[], ["help", "log"], ["toString"]]) expect(await loaded(words)).toEqual(all);
  });
});

/** Commands that print lists, from the local service. */
const lists = [
  "models --local",
  "catalog analysis --local",
  "catalog router --local",
  "ledger status --local",
  "ledger calls --local",
  "config list",
  "auth status",
  "profile list",
  "commands",
  "schema",
];

describe("a list in a table", () => {
  const env = newHome();
  let call = "";
  const saved = join(env.HOME, "models.json");

  beforeAll(async () => {
    writeFileSync(saved, '{"data":[{"id":"gone"}]}');
    const stdin = '{"messages_and_choices":[{"role":"assistant","content":"hi"}],"reward":1}';
    await runRollcall(["log", "moonshotai/Kimi-K2.5", "--split", "train", "--local"], { env, stdin });
    call = (await runRollcall(["ledger", "calls", "--local"], { env })).stdout.split("\t")[0] ?? "";
  });

  const expectFit = async (line: string, widths: readonly number[]): Promise<void> => {
    const words = line.replace("CALL", call).replace("SAVED", saved).split(" ");
    const printed = async (form: string, columns?: number) =>
      await runRollcall([...words, "-o", form], { env: { ...env, COLUMNS: columns?.toString() } });
    const [heading = "", first = ""] = (await printed("csv")).stdout.split("\r\n");
    const names = heading.split(",");
    const [, id = ""] = /^"?([^",]*)/.exec(first) ?? [];
    expect(id).not.toBe("");
    for (const columns of widths) {
      const { stdout, stderr } = await printed("table", columns);
      const rows = stdout.split("\n");
      for (const row of rows) expect(row.length).toBeLessThanOrEqual(columns);
      const [, count = "0", left] =
        /note: omitted (\d+) columns? to fit .*?: (.*) \(choose with --fields/.exec(stderr) ?? [];
      const leftOut = left?.split(", ") ?? [];
      expect(leftOut).toHaveLength(Number(count));
      expect(names).toEqual(expect.arrayContaining(leftOut));
      const at = rows.findIndex((row) => row.startsWith(id.slice(0, 12)));
      // Cells below each other have no heading, and none is omitted.
      if (at === 0) expect(leftOut).toEqual([]);
      else expect(rows[at - 1]?.trim().split(/ {2,}/)).toHaveLength(names.length - leftOut.length);
    }
  };

  it.each(lists)("fits 60 columns, and names the omitted columns (list %$)", async (line) => {
    await expectFit(line, [60]);
  });

  it.each(lists)("fits 40, 80 and 120 columns (list %$)", { tags: "slow" }, async (line) => {
    await expectFit(line, [40, 80, 120]);
  });
});

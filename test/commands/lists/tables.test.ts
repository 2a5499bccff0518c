import { beforeAll, describe, expect, it } from "vitest";
import { parseArgv } from "../../../src/cli/argv.ts";
import { lastWord, loadTree } from "../../../src/cli/command.ts";
import { program } from "../../../src/commands/program.ts";
import { newHome, runRollcall } from "../../support/run.ts";

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
  "config list",
  "auth status",
  "profile list",
];

describe("a list in a table", () => {
  const env = newHome();

  beforeAll(async () => {
    const stdin = '{"messages_and_choices":[{"role":"assistant","content":"hi"}],"reward":1}';
    await runRollcall(["log", "moonshotai/Kimi-K2.5", "--split", "train", "--local"], { env, stdin });
  });

  it.each(lists)("fits 60 columns, and names the omitted columns (list %$)", async (line) => {
    const columns = 60;
    const printed = async (form: string) =>
      await runRollcall([...line.split(" "), "--header", "-o", form], { env: { ...env, COLUMNS: `${columns}` } });
    const [heading = "", first = ""] = (await printed("tsv")).stdout.split("\n");
    const names = heading.split("\t");
    const [id = ""] = first.split("\t");
    expect(id).not.toBe("");
    const { stdout, stderr } = await printed("table");
    const rows = stdout.split("\n");
    for (const row of rows) expect(row.length).toBeLessThanOrEqual(columns);
    const [, count = "0", left] =
      /note: omitted (\d+) columns? to fit .*?: (.*) \(choose with --fields/.exec(stderr) ?? [];
    const leftOut = left?.split(", ") ?? [];
    expect(leftOut).toHaveLength(Number(count));
    const at = rows.findIndex((row) => row.startsWith(id.slice(0, 12)));
    // Cells below each other have no heading, and none is omitted.
    if (at === 0) expect(leftOut).toEqual([]);
    else expect(rows[at - 1]?.trim().split(/ {2,}/)).toHaveLength(names.length - leftOut.length);
  });
});

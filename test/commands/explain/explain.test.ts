import { describe, expect, it } from "vitest";
import { topics } from "../../../src/commands/explain/topics.ts";
import { runHere } from "../../support/here.ts";
import { runRollcall } from "../../support/run.ts";

const names = [...new Set(topics.map(({ name }) => name))];

describe("rollcall explain", () => {
  it("prints the page of a rule", async () => {
    const { code, stdout, stderr } = await runRollcall(["explain", "unknown-role"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    await expect(stdout).toMatchFileSnapshot("golden/explain.rule.txt");
  });

  it("prints the page of a code for its name and for its exit code", async () => {
    const byName = await runRollcall(["explain", "unknown_outcome"]);
    expect(byName).toMatchObject({ code: 0, stderr: "" });
    await expect(byName.stdout).toMatchFileSnapshot("golden/explain.code.txt");
    expect(await runRollcall(["explain", "8"])).toEqual(byName);
    expect((await runRollcall(["explain", "130"])).stdout).toMatch(/^interrupted\n/);
    expect((await runRollcall(["explain", "0"])).stdout).toMatch(/^success\n.*exit code 0\n/);
  });

  it("refuses rows of a page, unless --fields chooses their columns", async () => {
    const refused = await runHere(["explain", "unknown-role", "-o", "tsv"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("--output tsv needs rows, but this result is a page");
    for (const format of [[], ["-o", "tsv"]])
      expect((await runHere(["explain", "3", "--fields", "name,kind", ...format])).stdout).toBe(
        "invalid_input\tcode\n",
      );
    expect(await runHere(["explain", "3", "--fields", "nope"])).toMatchObject({ code: 2, stdout: "" });
  });

  it("accepts a rule in brackets, as copied from a problem", async () => {
    expect(await runRollcall(["explain", "[unknown-role]"])).toEqual(await runRollcall(["explain", "unknown-role"]));
  });

  it("exits with 2 for a reason of a failure, which has no page", async () => {
    expect(await runRollcall(["explain", "subcommand-missing"])).toMatchObject({ code: 2, stdout: "" });
  });

  it("lists every code and every rule, each rule about input or a lock file with an example", async () => {
    const listed = (await runRollcall(["explain", "-o", "jsonl"])).stdout.trimEnd().split("\n");
    expect(listed.map((line) => JSON.parse(line).name)).toEqual(topics.map(({ name }) => name));
    expect(listed.filter((line) => JSON.parse(line).about === "")).toEqual([]);
    expect(names.length).toBeGreaterThan(100);
    for (const name of names.filter((_, at) => at % 12 === 0)) {
      const { topics: found } = JSON.parse((await runRollcall(["explain", name, "--json"])).stdout);
      const hasExample = topics.some((topic) => topic.name === name && topic.example !== undefined);
      for (const { example } of found) expect(example, name).toEqual(hasExample ? expect.any(String) : null);
    }
  });

  it("prints a row of CSV for a rule", async () => {
    const { stdout } = await runHere(["explain", "unknown-role", "-o", "csv"]);
    expect(stdout).toMatch(/^name,.*\r\nunknown-role,.*\r\n$/);
  });

  it("completes every name", async () => {
    const { stdout } = await runRollcall(["__complete", "zsh", "--", ":", "explain"]);
    const offered = stdout.split("\n").map((line) => line.split("\t")[0] ?? "");
    expect(names.filter((name) => !offered.includes(name))).toEqual([]);
  });
});

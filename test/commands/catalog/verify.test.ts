import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nowHere, runHere } from "../../support/here.ts";
import { type RunOptions, runRollcall } from "../../support/run.ts";
import { entry, locked, newFolder, openLockedCatalog, served } from "./locked.ts";

/** Locks the first list and verifies the second. */
const verifying = async (args: readonly string[], options: RunOptions = {}, now: readonly object[] = served) => {
  const { run, ...rest } = await openLockedCatalog(locked, now);
  expect(await run("lock")).toMatchObject({ code: 0 });
  return { ...(await run("verify", args, options)), ...rest };
};

const rulesIn = ({ stdout }: { readonly stdout: string }) =>
  JSON.parse(stdout).problems.map(({ rule, severity }: { rule: string; severity: string }) => `${severity} ${rule}`);

/** Returns the date a number of days after the date of a run in this process. */
const dayIn = (days: number): string => new Date(nowHere + days * 86_400_000).toISOString().slice(0, 10);

describe("rollcall catalog verify", () => {
  it("exits with 0 if every model is better, whatever other models are new", async () => {
    const better = locked.map((one) => ({
      ...one,
      quantization: "bf16",
      context_length: 262144,
      pricing: { prompt: "0", completion: "0", input_cache_read: "0", web_search: "0" },
    }));
    expect(await verifying([], {}, [...better, entry("maker/new")])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "note: 11 models in rollcall.lock.json verified\n",
    });
  });

  it("prints each problem in JSON, with the line of the locked fact", async () => {
    const ran = await verifying(["--json"]);
    expect(ran.code).toBe(10);
    const { problems, replacements } = JSON.parse(ran.stdout);
    const [text, lines] = [ran.text(), ran.text().split("\n")];
    for (const { line, column, path } of problems) {
      const value = path.reduce(
        (one: object | undefined, step: string) => one && Reflect.get(one, step),
        JSON.parse(text),
      );
      // A fact that is not in the lock file has the location of its model.
      const spelled = value === undefined ? "{" : JSON.stringify(value);
      expect(lines[line - 1]?.slice(column - 1, column - 1 + spelled.length)).toBe(spelled);
    }
    expect(
      replacements.map(({ id, replacement }: { id: string; replacement: { id: string } | null }) => [
        id,
        replacement?.id,
      ]),
    ).toEqual([
      ["maker/coarser", "maker/cheaper"],
      ["maker/dearer", "maker/cheaper"],
      ["maker/ending", "maker/cheaper"],
      ["maker/gone", "maker/cheaper"],
      ["maker/moved", "maker/cheaper"],
      ["maker/smaller", "maker/cheaper"],
    ]);
    expect([...new Set<string>(rulesIn(ran))].sort()).toEqual([
      ...[
        "context-decreased",
        "country-removed",
        "model-deprecated",
        "model-removed",
        "price-increased",
        "quantization-decreased",
      ].map((rule) => `error ${rule}`),
      ...[
        "context-unknown",
        "countries-unknown",
        "feature-removed",
        "max-output-decreased",
        "modality-removed",
        "parameter-removed",
        "price-unknown",
      ].map((rule) => `warning ${rule}`),
      "warning quantization-changed",
    ]);
  });

  it("exits with 10 for warnings with --strict, and omits the rules of --allow", async () => {
    const allowed = [
      "price-increased",
      "country-removed",
      "model-deprecated",
      "quantization-decreased",
      "context-decreased",
      "model-removed",
    ];
    const args = allowed.flatMap((rule) => ["--allow", rule]);
    expect((await verifying([...args, "-q"])).code).toBe(0);
    const strict = await verifying([...args, "--strict", "--json"]);
    expect(strict.code).toBe(10);
    expect(new Set(rulesIn(strict).map((rule: string) => rule.split(" ")[0]))).toEqual(new Set(["error"]));
  });

  it("shows id, field and both values at 80 columns, and names a replacement", async () => {
    const { stdout, stderr } = await verifying(["-o", "table"], { env: { COLUMNS: "80" } });
    expect(stdout).toMatch(/^id +rule +field +locked +now/m);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("hint: use maker/cheaper in place of maker/coarser, ");
    expect(stdout).toMatch(/maker\/dearer +price-increased +prompt +0\.3 \$\/M +0\.31 \$\/M/);
  });

  it.each([
    ["model-removed", [entry("c", { context_length: 1 })], "pass --allow model-removed"],
    ["model-deprecated", [entry("a", { deprecation_date: dayIn(0) })], "pass --allow model-deprecated"],
    [
      "context-decreased",
      [entry("a", { context_length: 1 })],
      "accept the change with `rollcall catalog lock --file FILE`",
    ],
  ])("advises a fix for %s if no model can replace the locked model", async (rule, now, fix) => {
    const { file, env } = await openLockedCatalog([entry("a")], now, now, now);
    await runHere(["catalog", "lock", "--file", file], { env });
    const { stdout } = await runHere(["catalog", "verify", "--file", file, "--json"], { env });
    const advice = `${fix.replace("FILE", file)}, because no other model in the router catalog can replace a`;
    expect(JSON.parse(stdout).problems).toMatchObject([{ rule, advice }]);
    const fixing = fix.startsWith("pass") ? ["verify", "--allow", rule] : ["lock"];
    expect((await runHere(["catalog", ...fixing, "--file", file], { env })).code).toBe(0);
    const again = fix.startsWith("pass") ? fixing : ["verify"];
    expect((await runHere(["catalog", ...again, "--file", file], { env })).code).toBe(0);
  });

  it("rounds up the rise of a price", async () => {
    const messages = async (was: string, is: string) => {
      const { run } = await openLockedCatalog(...[was, is].map((prompt) => [entry("a", { pricing: { prompt } })]));
      await run("lock");
      return JSON.parse((await run("verify", ["--json"])).stdout).problems.map(
        (one: { message: string }) => one.message,
      );
    };
    expect(await messages("3", "4")).toEqual([expect.stringContaining("by 33.4%")]);
    expect(await messages("100000", "100001")).toEqual([expect.stringContaining("by 0.1%")]);
  });

  it("names no replacement if no equivalent model costs less", async () => {
    const risen = { pricing: { prompt: "0.000001", completion: "0.000001" } };
    const { run } = await openLockedCatalog(
      [entry("a"), entry("b")],
      [entry("a", risen), entry("c", { ...risen, context_length: 1 })],
    );
    await run("lock");
    const { stdout } = await run("verify", ["--report", "github"]);
    expect(stdout).toContain("can replace a at a lower price");
    expect(stdout).toContain("use a, the cheapest replacement: 1 $/M in, 1 $/M out");
  });

  it("verifies the cached catalog with --offline", async () => {
    const { run } = await openLockedCatalog(locked);
    await run("lock");
    expect(await run("verify", ["--offline", "--json"])).toMatchObject({ code: 0 });
  });

  it.each([
    ["something else", '{"lockfileVersion": 3}', "it is not a lock file"],
    [
      "edited wrongly",
      '{"rollcall_lock": 1, "models": [{"catalog": "router", "id": "a", "context_length": "128k"}]}',
      "models.0.context_length",
    ],
    [
      "edited wrongly below",
      '{"rollcall_lock": 1, "models": [{"catalog": "router", "id": "a", "pricing": {"prompt": 1}}]}',
      "models.0.pricing",
    ],
    ["of another catalog", '{"rollcall_lock": 1, "models": [{"catalog": "x", "id": "a"}]}', "models.0.catalog"],
    ["of no objects", '{"rollcall_lock": 1, "models": [5]}', "models.0"],
  ])("exits with 3 if the lock file is %s", async (_, content, words) => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "rollcall.lock.json"), content);
    const ran = await runRollcall(["catalog", "verify", "--local"], { cwd });
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(ran.stderr).toContain(words);
  });
});

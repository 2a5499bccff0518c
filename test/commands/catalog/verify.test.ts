import { existsSync, readFileSync, writeFileSync } from "node:fs";
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
  it("exits with 0 if every model is unchanged or better", async () => {
    const ran = await verifying(["--json"], {}, [...locked, entry("maker/new")]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(ran.stdout)).toEqual({
      status: "verified",
      file: "rollcall.lock.json",
      models: 11,
      problems: [],
      replacements: [],
    });
    const better = locked.map((one) => ({
      ...one,
      quantization: "bf16",
      context_length: 262144,
      pricing: { prompt: "0", completion: "0", input_cache_read: "0", web_search: "0" },
    }));
    expect(await verifying([], {}, better)).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "note: 11 models in rollcall.lock.json verified\n",
    });
  });

  it("prints each problem in JSON, with the line of the locked fact", async () => {
    const ran = await verifying(["--json"]);
    expect(ran.code).toBe(10);
    const { status, problems, replacements } = JSON.parse(ran.stdout);
    expect(status).toBe("differs");
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
    const { error } = JSON.parse(ran.stderr);
    expect([error.code, error.exit_code, error.problems.length]).toEqual(["differs", 10, 7]);
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

  it("exits with 10 if a price rose by more than --max-rise, to the last digit", async () => {
    const risen = (prompt: string) => [entry("a", { pricing: { prompt } })];
    const verdict = async (from: string, to: string, most: string) => {
      const { file, env } = await openLockedCatalog(risen(from), risen(to));
      await runHere(["catalog", "lock", "--file", file], { env });
      return (await runHere(["catalog", "verify", "--file", file, "--max-rise", most, "-q"], { env })).code;
    };
    expect(await verdict("0.0000003", "0.00000033", "10%")).toBe(0);
    expect(await verdict("0.0000003", "0.000000330000000000001", "10%")).toBe(10);
    expect(await verdict("3e-7", "0.00000030", "0")).toBe(0);
    expect(await verdict("0.0000003", "0.000000300375", "0.125%")).toBe(0);
    expect(await verdict("0", "0.0000000001", "1000%")).toBe(10);
    expect(await verdict("free", "0.1", "0%")).toBe(0);
  });

  it("exits with 10 for a deprecation date within --within, and with 0 for a later date", async () => {
    const ending = [entry("a", { deprecation_date: dayIn(40) })];
    const { file, env } = await openLockedCatalog([entry("a")], ending, ending);
    await runHere(["catalog", "lock", "--file", file], { env });
    const verify = async (...args: readonly string[]) =>
      await runHere(["catalog", "verify", "--file", file, ...args], { env });
    expect(await verify("-q")).toMatchObject({ code: 0, stdout: "" });
    const near = await verify("--within", "60d");
    expect(near).toMatchObject({ code: 10, stdout: `a\tdeprecation-near\t\t\t${dayIn(40)}\terror\t\t\t4\trouter\n` });
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

  it("reports missing data centers as unknown, not as removed", async () => {
    const ran = await verifying(["--json"], {}, [...locked.slice(1), { ...locked[0], datacenters: [] }]);
    expect(ran.code).toBe(0);
    expect(rulesIn(ran)).toEqual(["warning countries-unknown"]);
  });

  it("shows id, field and both values at 80 columns, and names a replacement", async () => {
    const widths = [80, 100];
    const { run } = await openLockedCatalog(locked, ...widths.map(() => served));
    await run("lock");
    for (const columns of widths) {
      const { stdout, stderr } = await run("verify", ["-o", "table"], { env: { COLUMNS: String(columns) } });
      expect({ columns, stdout }).toMatchObject({ stdout: expect.stringMatching(/^id +rule +field +locked +now/m) });
      expect(stderr.replaceAll(/\s+/g, " ")).toContain("hint: use maker/cheaper in place of maker/coarser, ");
      expect(stdout).toMatch(/maker\/dearer +price-increased +prompt +0\.3 \$\/M +0\.31 \$\/M/);
    }
  });

  it("distinguishes past from near deprecation dates, and gives no advice without a replacement", async () => {
    const [past, near] = [dayIn(0), dayIn(1)].map((deprecation_date) => [entry("a", { deprecation_date })]);
    const { file, env } = await openLockedCatalog([entry("a")], past ?? [], near ?? []);
    await runHere(["catalog", "lock", "--file", file], { env });
    const today = await runHere(["catalog", "verify", "--file", file], { env });
    expect(today.stdout).toMatch(/^a\tmodel-deprecated\t/);
    expect(today.stderr).toContain(
      `found 1 error for a in ${file}\nhint: ignore the error with --allow model-deprecated\n`,
    );
    const tomorrow = await runHere(["catalog", "verify", "--file", file], { env });
    expect(tomorrow.stdout).toMatch(/^a\tdeprecation-near\t/);
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

  it("rounds up the rise of a price, and reports a deprecation on the last day of --within", async () => {
    const now = (prompt: string, deprecation_date: string) => [
      entry("maker/one", { pricing: { prompt }, deprecation_date }),
    ];
    const messages = async (was: string, is: string, day: string) => {
      const { file, env } = await openLockedCatalog(now(was, ""), now(is, day));
      await runHere(["catalog", "lock", "--file", file], { env });
      const verify = ["catalog", "verify", "--file", file, "--json", "--within", "30d"];
      const { stdout } = await runHere(verify, { env });
      return JSON.parse(stdout).problems.map(({ message }: { message: string }) => message);
    };
    expect(await messages("3", "4", dayIn(31))).toEqual([expect.stringContaining("by 33.4%")]);
    expect(await messages("100000", "100001", "")).toEqual([expect.stringContaining("by 0.1%")]);
    expect(await messages("1", "1", dayIn(30))).toEqual([
      expect.stringContaining(`will be deprecated on ${dayIn(30)}`),
    ]);
    expect(await messages("1", "1", dayIn(0))).toEqual([expect.stringContaining(`was deprecated on ${dayIn(0)}`)]);
  });

  it("writes reports for GitHub and JUnit", async () => {
    const github = await verifying(["--report", "github"]);
    expect(github.code).toBe(10);
    expect(github.stdout.split("\n")[0]).toBe(
      "::error file=rollcall.lock.json,line=25,col=23,title=quantization-decreased::maker/coarser changed its quantization from fp8 to int4%0Ause maker/cheaper, the cheapest replacement: 0 $/M in, 1.1 $/M out",
    );
    const junit = await verifying(["--report", "junit=report.xml", "-q", "--json"]);
    expect(JSON.parse(junit.stdout).status).toBe("differs");
    const xml = readFileSync(join(junit.cwd, "report.xml"), "utf8");
    expect(xml).toContain('<testsuites name="rollcall catalog verify"');
    expect(xml).toContain('<testcase classname="rollcall.lock.json" name="model-removed at');
  });

  it("names no replacement if no equivalent model costs less", async () => {
    const risen = { pricing: { prompt: "0.000001", completion: "0.000001" } };
    const ran = await (async () => {
      const { run } = await openLockedCatalog(
        [entry("a"), entry("b")],
        [entry("a", risen), entry("c", { ...risen, context_length: 1 })],
      );
      await run("lock");
      return await run("verify", ["--report", "github"]);
    })();
    expect(ran.stdout).toContain("can replace a at a lower price");
    expect(ran.stdout).toContain("use a, the cheapest replacement: 1 $/M in, 1 $/M out");
  });

  it("compares the better of two models with equal ids", async () => {
    const { run } = await openLockedCatalog([entry("a")], [entry("a", { context_length: 5 }), entry("a")]);
    await run("lock");
    expect(await run("verify", ["-q"])).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("verifies the cached catalog with --offline", async () => {
    const { run } = await openLockedCatalog(locked);
    await run("lock");
    expect(await run("verify", ["--offline", "--json"])).toMatchObject({ code: 0 });
  });

  it.each([
    ["missing", undefined, "does not exist"],
    ["not JSON", '{"rollcall_lock": 1,\n  oops', "it is not JSON"],
    ["something else", '{"lockfileVersion": 3}', "it is not a lock file"],
    ["of a newer rollcall", '{"rollcall_lock": 2, "models": []}', "a newer rollcall wrote it"],
    ["without models", '{"rollcall_lock": 1}', "missing `models`"],
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
    if (content !== undefined) writeFileSync(join(cwd, "rollcall.lock.json"), content);
    const ran = await runRollcall(["catalog", "verify", "--local"], { cwd });
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(ran.stderr).toContain(words);
    expect(existsSync(join(cwd, "rollcall.lock.json"))).toBe(content !== undefined);
  });
});

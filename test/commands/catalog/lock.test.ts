import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

const entry = (id: string, more: object = {}) => ({
  id,
  name: `Name of ${id}`,
  created: 1737331200,
  input_modalities: ["text", "image"],
  output_modalities: ["text"],
  quantization: "fp8",
  context_length: 131072,
  max_output_length: 65536,
  pricing: { completion: "0.0000012", prompt: "0.0000003", input_cache_read: "3e-8", web_search: "0.01" },
  supported_sampling_parameters: ["top_p", "temperature"],
  supported_features: ["tools", "json_mode"],
  datacenters: [{ country_code: "US" }, { country_code: "FI" }, { country_code: "US" }],
  ...more,
});

/** A catalog now: what was locked, changed for each rule, and models that could be used instead. */
const { quantization: _, ...plain } = entry("maker/plain");
const locked = [
  ...["same", "gone", "dearer", "cheaper", "coarser", "smaller", "moved", "ending", "less", "unstated"].map((name) =>
    entry(`maker/${name}`),
  ),
  plain,
];
const served = [
  entry("maker/same"),
  entry("maker/dearer", {
    pricing: { prompt: "0.00000031", completion: "0.0000012", input_cache_read: "0.00000003", web_search: "0.011" },
  }),
  entry("maker/cheaper", { pricing: { prompt: "0", completion: "0.0000011", input_cache_read: "0", web_search: "0" } }),
  entry("maker/coarser", { quantization: "int4" }),
  entry("maker/smaller", { context_length: 131071, max_output_length: 1000 }),
  entry("maker/moved", { datacenters: [{ country_code: "US" }] }),
  entry("maker/ending", { deprecation_date: "2020-01-31" }),
  entry("maker/less", {
    supported_features: ["tools"],
    input_modalities: ["text"],
    supported_sampling_parameters: ["seed", "top_p"],
  }),
  { id: "maker/unstated" },
  entry("maker/plain", { quantization: "int4" }),
  entry("other/small", { context_length: 8000, pricing: { prompt: "0", completion: "0" } }),
  entry("other/large", { context_length: 262144, pricing: { prompt: "0.0000004", completion: "0.0000014" } }),
];

const newFolder = () => mkdtempSync(join(tmpdir(), "lock-"));

/** A service that lists these in turn, and a folder to work in. */
const asking = async (...lists: readonly (readonly object[])[]) => {
  const server = await scriptedServer(lists.map((data) => ({ answer: json({ data }) })));
  const env = { ...newHome(), ROLLCALL_BASE_URL: server.url, ROLLCALL_ROUTER_PROVIDER: "r" };
  const cwd = newFolder();
  const file = join(cwd, "rollcall.lock.json");
  const run = (verb: "lock" | "verify", args: readonly string[] = [], options: RunOptions = {}) =>
    runRollcall(["catalog", verb, ...args], {
      cwd,
      ...options,
      env: { ...env, ...options.env },
    });
  return { run, file, cwd, text: () => readFileSync(file, "utf8") };
};

/** Locks the first list and verifies the second. */
const verifying = async (args: readonly string[], options: RunOptions = {}, now: readonly object[] = served) => {
  const { run, ...rest } = await asking(locked, now);
  expect(await run("lock")).toMatchObject({ code: 0 });
  return { ...(await run("verify", args, options)), ...rest };
};

const rulesIn = ({ stdout }: { readonly stdout: string }) =>
  JSON.parse(stdout).problems.map(({ rule, severity }: { rule: string; severity: string }) => `${severity} ${rule}`);

describe("rollcall catalog lock", () => {
  it("writes a fact a line, the same for the same facts, for people and their diffs", async () => {
    const { run, text, file } = await asking(
      [entry("b/two", { deprecation_date: "2027-01-31" }), { id: "a/one" }],
      [{ id: "a/one" }, entry("b/two", { deprecation_date: "2027-01-31" })],
    );
    expect(await run("lock")).toEqual({ code: 0, stdout: "", stderr: "note: locked 2 models in rollcall.lock.json\n" });
    await expect(text()).toMatchFileSnapshot("golden/rollcall.lock.json");
    const before = statSync(file).mtimeMs;
    expect(await run("lock")).toMatchObject({
      stderr: "note: rollcall.lock.json holds 2 models as they are already\n",
    });
    expect(statSync(file).mtimeMs).toBe(before);
  });

  it("locks the models that are named, and the same ones again where none is", async () => {
    const { run, text } = await asking(locked, [...locked, entry("maker/new")], locked);
    const first = await run("lock", ["maker/same", "maker/s*", "--json"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(first.stdout)).toEqual({
      file: "rollcall.lock.json",
      changed: true,
      models: ["same", "smaller"].map((name) => ({ catalog: "router", id: `maker/${name}` })),
    });
    expect(JSON.parse((await run("lock", ["--json"])).stdout)).toMatchObject({ changed: false, models: [{}, {}] });
    expect(JSON.parse((await run("lock", ["maker/gone", "--json"])).stdout).models.length).toBe(1);
    expect(text()).toContain('"id": "maker/gone"');
  });

  it("leaves the file as it is where a model is in no catalog", async () => {
    const { run, text } = await asking(locked, served);
    await run("lock", ["maker/gone"]);
    const before = text();
    const ran = await run("lock");
    expect(ran).toMatchObject({ code: 9, stdout: "" });
    expect(ran.stderr).toContain("not in the router catalog: maker/gone");
    expect(text()).toBe(before);
  });

  it("keeps what is locked of a catalog that is left out", async () => {
    const { run, text } = await asking(locked, [entry("x/analysis")], locked);
    const env = { ROLLCALL_ANALYSIS_PROVIDER: "a" };
    await run("lock", ["maker/same"]);
    writeFileSync(join(newFolder(), "x"), "");
    expect(await run("lock", ["x/*", "--catalog", "analysis", "--file", "other.json"], { env })).toMatchObject({
      code: 0,
    });
    expect(await run("lock", ["--catalog", "router"], { env })).toMatchObject({ code: 0 });
    expect(text()).toContain("maker/same");
  });

  it.each([
    ["another JSON file", '{"name":"x"}'],
    ["no JSON", "# notes\n"],
  ])("never overwrites %s", async (_, content) => {
    const { run, text, file } = await asking(locked);
    writeFileSync(file, content);
    const ran = await run("lock", ["maker/same"]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain("rollcall.lock.json is no lock file, and was left as it is");
    expect(text()).toBe(content);
  });

  it("replaces what a link points at, keeps its mode, and leaves nothing else behind", async () => {
    const { run, cwd, file } = await asking(locked, locked);
    const real = join(newFolder(), "real.json");
    await run("lock", ["maker/same", "--file", real]);
    chmodSync(real, 0o640);
    symlinkSync(real, file);
    await run("lock", ["maker/less"]);
    expect(readFileSync(real, "utf8")).toContain("maker/less");
    expect([statSync(real).mode & 0o777, readdirSync(cwd)]).toEqual([0o640, ["rollcall.lock.json"]]);
  });

  it.each(["/dev/zero", "."])("is no device or folder: %s", async (file) => {
    for (const verb of ["lock", "verify"]) {
      const ran = await runRollcall(["catalog", verb, "--local", "--file", file]);
      expect(ran).toMatchObject({ code: 3, stdout: "" });
      expect(ran.stderr).toContain(`can't read the lock file ${file}`);
    }
  });

  it("ends with exit code 11 where it can't write", async () => {
    const { run } = await asking(locked);
    const ran = await run("lock", ["maker/same", "--file", "nowhere/rollcall.lock.json", "--json"]);
    expect(ran).toMatchObject({ code: 11, stdout: "" });
    expect(JSON.parse(ran.stderr).error).toMatchObject({
      code: "storage",
      where: { file: "nowhere/rollcall.lock.json" },
    });
  });
});

describe("rollcall catalog verify", () => {
  it("is content where everything is as it was, or better", async () => {
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
      stderr: "note: 11 models are as they were locked in rollcall.lock.json\n",
    });
  });

  it.each([60, 100])("is a table that fits %i columns", async (columns) => {
    const { code, stdout, stderr } = await verifying(["-o", "table"], { env: { COLUMNS: String(columns) } });
    expect(code).toBe(10);
    await expect(stdout + stderr).toMatchFileSnapshot(`golden/catalog-verify.${columns}.txt`);
  });

  it("is JSON with each finding as a problem of the lock file, at the line of the fact", async () => {
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
      // Where a fact is not in the lock, the place is the model's.
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
        "context-fell",
        "country-left",
        "deprecation-near",
        "model-not-served",
        "price-rose",
        "quantization-fell",
      ].map((rule) => `error ${rule}`),
      ...[
        "context-unstated",
        "countries-unstated",
        "feature-left",
        "modality-left",
        "output-fell",
        "parameter-left",
        "price-unstated",
      ].map((rule) => `warning ${rule}`),
      "warning quantization-changed",
    ]);
  });

  it("lets prices rise by as much as --max-rise allows, to the last digit", async () => {
    const risen = (prompt: string) => [entry("a", { pricing: { prompt } })];
    const verdict = async (from: string, to: string, most: string) => {
      const { run } = await asking(risen(from), risen(to));
      await run("lock");
      return (await run("verify", ["--max-rise", most, "-q"])).code;
    };
    expect(await verdict("0.0000003", "0.00000033", "10%")).toBe(0);
    expect(await verdict("0.0000003", "0.000000330000000000001", "10%")).toBe(10);
    expect(await verdict("3e-7", "0.00000030", "0")).toBe(0);
    expect(await verdict("0.0000003", "0.000000300375", "0.125%")).toBe(0);
    expect(await verdict("0", "0.0000000001", "1000%")).toBe(10);
    expect(await verdict("free", "0.1", "0%")).toBe(0);
  });

  it("fails deprecations that come within --within, and passes later ones", async () => {
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const ending = [entry("a", { deprecation_date: day(40) })];
    const { run } = await asking([entry("a")], ending, ending);
    await run("lock");
    expect(await run("verify", ["-q"])).toMatchObject({ code: 0, stdout: "" });
    const near = await run("verify", ["--within", "60d"]);
    expect(near).toMatchObject({ code: 10, stdout: `a\tdeprecation-near\t\t\t${day(40)}\terror\t\t\t4\trouter\n` });
  });

  it("fails for warnings too with --strict, and says nothing of a rule with --allow", async () => {
    const allowed = [
      "price-rose",
      "country-left",
      "deprecation-near",
      "quantization-fell",
      "context-fell",
      "model-not-served",
    ];
    const args = allowed.flatMap((rule) => ["--allow", rule]);
    expect((await verifying([...args, "-q"])).code).toBe(0);
    const strict = await verifying([...args, "--strict", "--json"]);
    expect(strict.code).toBe(10);
    expect(new Set(rulesIn(strict).map((rule: string) => rule.split(" ")[0]))).toEqual(new Set(["error"]));
  });

  it("takes data centres that are not stated any more for unknown, not for gone", async () => {
    const ran = await verifying(["--json"], {}, [...locked.slice(1), { ...locked[0], datacenters: [] }]);
    expect(ran.code).toBe(0);
    expect(rulesIn(ran)).toEqual(["warning countries-unstated"]);
  });

  it.each([20, 30, 40, 60, 80, 120])("names the lock's line and the replacement in %i columns", async (columns) => {
    const { stdout } = await verifying(["-o", "table"], { env: { COLUMNS: String(columns) } });
    expect(stdout).toMatch(/maker\/dearer/);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/maker\/cheaper .*\b47\b.*\b50\b/);
  });

  it("says by how much a price rose, rounded up, and takes a day for near on its edge", async () => {
    const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const now = (prompt: string, deprecation_date: string) => [
      entry("maker/one", { pricing: { prompt }, deprecation_date }),
    ];
    const messages = async (was: string, is: string, day: string) => {
      const { run } = await asking(now(was, ""), now(is, day));
      await run("lock");
      return JSON.parse((await run("verify", ["--json", "--within", "30d"])).stdout).problems.map(
        ({ message }: { message: string }) => message,
      );
    };
    expect(await messages("3", "4", dayIn(31))).toEqual([expect.stringContaining("rose by 33.4%")]);
    expect(await messages("100000", "100001", "")).toEqual([expect.stringContaining("rose by 0.1%")]);
    expect(await messages("1", "1", dayIn(30))).toEqual([
      expect.stringContaining(`will be deprecated on ${dayIn(30)}`),
    ]);
    expect(await messages("1", "1", dayIn(0))).toEqual([expect.stringContaining(`was deprecated on ${dayIn(0)}`)]);
  });

  it("is reported to build systems as check reports", async () => {
    const github = await verifying(["--report", "github"]);
    expect(github.code).toBe(10);
    expect(github.stdout.split("\n")[0]).toBe(
      "::error file=rollcall.lock.json,line=25,col=23,title=quantization-fell::maker/coarser ran in fp8, and its quantization is int4%0Athe cheapest that can do the same is maker/cheaper: 0 $/M in, 1.1 $/M out",
    );
    const junit = await verifying(["--report", "junit=report.xml", "-q", "--json"]);
    expect(JSON.parse(junit.stdout).status).toBe("differs");
    const xml = readFileSync(join(junit.cwd, "report.xml"), "utf8");
    expect(xml).toContain('<testsuites name="rollcall catalog verify"');
    expect(xml).toContain('<testcase classname="rollcall.lock.json" name="model-not-served at');
  });

  it("names no replacement where only a price rose and none costs less, or none can do the same", async () => {
    const risen = { pricing: { prompt: "0.000001", completion: "0.000001" } };
    const ran = await (async () => {
      const { run } = await asking(
        [entry("a"), entry("b")],
        [entry("a", risen), entry("c", { ...risen, context_length: 1 })],
      );
      await run("lock");
      return await run("verify", ["--report", "github"]);
    })();
    expect(ran.stdout).toContain("no other model of the router catalog can do the same for less");
    expect(ran.stdout).toContain("the cheapest that can do the same is a: 1 $/M in, 1 $/M out");
  });

  it("takes the better one of two models of the same id", async () => {
    const { run } = await asking([entry("a")], [entry("a", { context_length: 5 }), entry("a")]);
    await run("lock");
    expect(await run("verify", ["-q"])).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("verifies a kept copy with --offline", async () => {
    const { run } = await asking(locked);
    await run("lock");
    expect(await run("verify", ["--offline", "--json"])).toMatchObject({ code: 0 });
  });

  it.each([
    ["missing", undefined, "there is no lock file"],
    ["not JSON", '{"rollcall_lock": 1,\n  oops', "it is not JSON"],
    ["something else", '{"lockfileVersion": 3}', "it is no lock file"],
    ["of a newer rollcall", '{"rollcall_lock": 2, "models": []}', "a newer rollcall wrote it"],
    ["without models", '{"rollcall_lock": 1}', "models is not what a lock file has there"],
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
  ])("ends with exit code 3 where the lock file is %s", async (_, content, words) => {
    const cwd = newFolder();
    if (content !== undefined) writeFileSync(join(cwd, "rollcall.lock.json"), content);
    const ran = await runRollcall(["catalog", "verify", "--local"], { cwd });
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(ran.stderr).toContain(words);
    expect(existsSync(join(cwd, "rollcall.lock.json"))).toBe(content !== undefined);
  });

  it.each([
    [["--max-rise", "much"], "a percentage such as 10%"],
    [["--max-rise", "-5%"], "a percentage such as 10%"],
    [["--within", "soon"], "a duration such as"],
    [["--allow", "price-rise"], "price-rose"],
    [["--report", "xml"], "github, junit"],
    [["--report", "github", "--json"], "--report"],
  ])("%j is a usage error", async (args, words) => {
    const ran = await runRollcall(["catalog", "verify", "--local", ...args]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(words);
  });
});

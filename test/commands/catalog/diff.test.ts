import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type HereOptions, runHere } from "../../support/here.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

const entry = (id: string, more: object = {}) => ({
  id,
  context_length: 131072,
  pricing: { prompt: "0.0000003", completion: "0.0000012" },
  supported_features: ["tools"],
  datacenters: [{ country_code: "FI" }, { country_code: "US" }],
  ...more,
});

/** A model for each kind of change. */
const before = [
  entry("maker/same"),
  entry("maker/gone"),
  entry("maker/dearer", { quantization: "fp8" }),
  entry("maker/smaller"),
  entry("maker/moved", { supported_features: ["tools", "json_mode", "reasoning"] }),
  entry("maker/odd", { pricing: { prompt: "free" } }),
];
const after = [
  entry("maker/same"),
  entry("maker/new"),
  entry("maker/dearer", {
    quantization: "int4",
    pricing: { prompt: "0.0000004", completion: "0.0000011", input_cache_read: "3e-8", image: "0.00125" },
  }),
  entry("maker/smaller", { context_length: 32768, deprecation_date: "2027-01-31" }),
  entry("maker/moved", { supported_features: ["tools", "logprobs"], datacenters: [{ country_code: "SE" }] }),
  entry("maker/odd", { pricing: { prompt: "-1" } }),
];

const files = () => {
  const folder = mkdtempSync(join(tmpdir(), "diff-"));
  const [older, newer] = [join(folder, "older.json"), join(folder, "newer.json")];
  writeFileSync(older, JSON.stringify({ data: before }));
  writeFileSync(newer, JSON.stringify({ data: after }));
  return { older, newer, folder };
};

const diff = (args: readonly string[], options: HereOptions = {}) => runHere(["catalog", "diff", ...args], options);

describe("rollcall catalog diff", () => {
  it("rounds the change of a price to a tenth of a percent, and omits it if a price is zero or invalid", async () => {
    const changes = [
      ["0.0000003", "0.0000004", "+33.3%"],
      ["0.0000003", "0.0000002", "-33.3%"],
      ["0.000001", "0.0000010005", "+0.1%"],
      ["0.000001", "0.00000100049", "+0%"],
      ["0.000001", "0.0000009995", "-0.1%"],
      ["0.000002", "1e-5", "+400%"],
      ["0.000001", "0", "-100%"],
      ["0", "0.000001", ""],
      ["0.000001", "-0.000001", ""],
      ["-0.000001", "0.000001", ""],
    ] as const;
    const folder = mkdtempSync(join(tmpdir(), "diff-"));
    const names = ([0, 1] as const).map((side) => {
      const name = join(folder, `${side}.json`);
      const data = changes.map((change, at) => entry(`${at}`, { pricing: { prompt: change[side] } }));
      writeFileSync(name, JSON.stringify({ data }));
      return name;
    });
    const rows = (await diff(names)).stdout.split("\n").slice(0, -1);
    expect(rows.map((row) => row.split("\t").at(-1))).toEqual(changes.map(([, , shown]) => shown));
  });

  it("skips and counts entries that are null, and rejects a file of trajectories", async () => {
    const folder = mkdtempSync(join(tmpdir(), "diff-"));
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const one = file("one.json", JSON.stringify({ data: [null, entry("maker/a"), null] }));
    const lines = file("lines.jsonl", '{"messages_and_choices":[],"reward":1}\n'.repeat(2));
    expect(await diff([one, one])).toEqual({
      code: 0,
      stdout: "",
      stderr: `note: skipped 2 null entries of ${one}\n`.repeat(2).concat("note: no differences\n"),
    });
    expect(await diff([one, lines])).toMatchObject({ code: 3, stdout: "" });
    const { url } = await scriptedServer([{ answer: json({ data: [null, entry("maker/a")] }) }]);
    const env = { ROLLCALL_BASE_URL: url, ROLLCALL_ROUTER_PROVIDER: "r" };
    const listed = await runHere(["catalog", "router", "--fields", "id", "-o", "csv"], { env });
    expect(listed).toEqual({
      code: 0,
      stdout: "id\r\nmaker/a\r\n",
      stderr: "note: skipped 1 null entry of the router catalog\n",
    });
  });

  it.each([40, 60, 80])("shows both values, and enough of each id, in %i columns", async (columns) => {
    const folder = mkdtempSync(join(tmpdir(), "diff-"));
    const [older, newer] = [join(folder, "older.json"), join(folder, "newer.json")];
    const ids = ["1", "2"].map((end) => `maker/a-name-as-long-as-${end}`);
    const write = (file: string, prompt: string) =>
      writeFileSync(file, JSON.stringify({ data: ids.map((id) => entry(id, { pricing: { prompt } })) }));
    write(older, "0.0000003");
    write(newer, "0.0000004");
    const { stdout } = await diff([older, newer, "-o", "table"], { env: { COLUMNS: String(columns) } });
    const [, first = "", second = ""] = stdout.split("maker/");
    expect([first, second].map((row) => `maker/${row.split(/\s/)[0]}`)).toEqual(ids);
    for (const row of [first, second]) expect(row).toMatch(/price[\s\S]* 0\.3 \$\/M[\s\S]* 0\.4 \$\/M/);
    expect(stdout).toMatch(/from(?: +to$| older\.json)/m);
  });

  it("prints the service's values in JSON", async () => {
    const { older, newer } = files();
    const { stdout } = await diff([older, newer, "--json"]);
    const { compared, changes } = JSON.parse(stdout);
    const side = { catalog: null, provider: null, as_of: null };
    expect(compared).toEqual([
      {
        from: { ...side, file: older },
        to: { ...side, file: newer },
        models: { from: 6, to: 6, same: 1, without_id: 0 },
      },
    ]);
    const price = { catalog: null, id: "maker/dearer", name: null, change: "price" };
    expect(changes.slice(0, 2)).toEqual([
      { ...price, field: "pricing.prompt", from: "0.0000003", to: "0.0000004" },
      { ...price, field: "pricing.completion", from: "0.0000012", to: "0.0000011" },
    ]);
    expect(changes.map(({ change }: { change: string }) => change)).toEqual([
      "price",
      "price",
      "price",
      "price",
      "quantization",
      "gone",
      "features",
      "countries",
      "added",
      "price",
      "context",
      "deprecation",
    ]);
  });

  it("prints a row or a line for each change in CSV and JSON Lines", async () => {
    const { older, newer } = files();
    expect(
      (await diff([older, newer, "-o", "csv", "--fields", "id,change,field,from,to"])).stdout.split("\r\n"),
    ).toContain("maker/moved,features,supported_features,tools;json_mode;reasoning,tools;logprobs");
    expect((await diff([older, newer, "-o", "jsonl"])).stdout.split("\n").length).toBe(13);
  });

  it("compares the two catalogs by default", async () => {
    const server = await scriptedServer([
      {
        when: ({ path }) => path.includes("/analysis/"),
        answer: json({ data: [entry("a"), entry("b"), { name: "?" }] }),
      },
      { when: ({ path }) => path.includes("/router/"), answer: json({ data: [entry("b"), entry("c")] }) },
    ]);
    const env = { ROLLCALL_BASE_URL: server.url, ROLLCALL_ANALYSIS_PROVIDER: "x", ROLLCALL_ROUTER_PROVIDER: "y" };
    expect(await diff([], { env })).toEqual({
      code: 0,
      stdout: "a\tonly in analysis\t\t\t\t\nc\tonly in router\t\t\t\t\n",
      stderr: "note: skipped 1 entry without an id\n",
    });
  });

  it("shortens a long file name in a table only", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sides-"));
    const fileOf = (name: string, ...ids: readonly string[]): string => {
      const file = join(folder, name);
      writeFileSync(file, JSON.stringify({ data: ids.map((id) => entry(id)) }));
      return file;
    };
    const pair = [fileOf("saved.catalog.analysis.json", "a", "b"), fileOf("saved.catalog.router.json", "b", "c")];
    expect((await diff([...pair, "--header"])).stdout).toBe(
      [
        "id\tchange\tof\tfrom saved.catalog.analysis.json\tto saved.catalog.router.json\tdifference",
        "a\tonly in saved.catalog.analysis.json\t\t\t\t",
        "c\tonly in saved.catalog.router.json\t\t\t\t",
        "",
      ].join("\n"),
    );
    expect((await diff([...pair, "-o", "table"])).stdout).toMatch(/only in ….{1,18}\.analysis\.json/);
  });

  it("prints the changes since a date from the cached history", async () => {
    const answers = [before, after, after].map((data) => ({ answer: json({ data }) }));
    const server = await scriptedServer(answers);
    const env = { ...newHome(), ROLLCALL_BASE_URL: server.url, ROLLCALL_ROUTER_PROVIDER: "y" };
    await runRollcall(["catalog", "router"], { env });
    const between = new Date().toISOString();
    await runRollcall(["catalog", "router"], { env });
    const since = await runRollcall(["catalog", "diff", "--since", between, "--json"], { env });
    expect(JSON.parse(since.stdout).compared[0]).toMatchObject({
      from: { catalog: "router", provider: "y" },
      models: { same: 1 },
    });
    expect(JSON.parse(since.stdout).changes.length).toBe(12);
    const past = await runRollcall(
      ["catalog", "diff", "--since", between, "--until", new Date().toISOString(), "--catalog", "router"],
      { env },
    );
    expect(past.stdout.split("\n").length).toBe(13);
    const none = await runRollcall(["catalog", "diff", "--since", "1d", "--until", between], { env });
    expect(none).toMatchObject({ code: 0, stdout: "" });
    expect(none.stderr).toMatch(
      /^note: comparing with the oldest saved router catalog, of .* UTC\nnote: no differences\n$/,
    );
  });

  it("compares only the catalog of --catalog with its history", async () => {
    const server = await scriptedServer([
      { when: ({ path }) => path.includes("/analysis/"), answer: json({ data: before }) },
      { when: ({ path }) => path.includes("/router/"), answer: json({ data: before }) },
      { when: ({ path }) => path.includes("/router/"), answer: json({ data: after }) },
    ]);
    const env = {
      ROLLCALL_BASE_URL: server.url,
      ROLLCALL_ANALYSIS_PROVIDER: "x",
      ROLLCALL_ROUTER_PROVIDER: "y",
      ROLLCALL_DATA_DIR: files().folder,
    };
    await runHere(["catalog", "all"], { env });
    const { code, stdout } = await diff(["--since", "1d", "--catalog", "router", "--json"], { env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).compared).toMatchObject([{ from: { catalog: "router" }, to: { catalog: "router" } }]);
  });

  it("prints the result and exits with 10 with --exit-code if the catalogs differ", async () => {
    const { older, newer } = files();
    expect(await diff([older, older, "--exit-code", "-q"])).toEqual({ code: 0, stdout: "", stderr: "" });
    const differs = await diff([older, newer, "--exit-code", "--json"]);
    expect(differs.code).toBe(10);
    expect(JSON.parse(differs.stdout).changes.length).toBe(12);
    expect(JSON.parse(differs.stderr).error).toMatchObject({ code: "differs", message: "12 differences found" });
  });

  it.each([
    ["an array", (data: object[]) => JSON.stringify(data)],
    [
      "JSON lines with a byte order mark",
      (data: object[]) => `\ufeff${data.map((one) => JSON.stringify(one)).join("\n")}\n`,
    ],
    ["a whole reply", (data: object[]) => JSON.stringify({ data, note: 1 }, null, 2)],
  ])("reads %s from standard input", async (_, spelled) => {
    const { older } = files();
    expect(await diff([older, "-", "--exit-code"], { stdin: spelled(before) })).toMatchObject({ code: 0, stdout: "" });
  });

  it.each([
    ["missing", undefined, "cannot read"],
    ["not JSON", '{"data":\n [,]}', "it is not JSON"],
    ["no catalog", '{"models":[]}', "it has no list of models"],
    ["empty", "", "it is not JSON"],
  ])("exits with 3 for a file that is %s", async (_, text, words) => {
    const { older, folder } = files();
    const path = join(folder, "broken.json");
    if (text !== undefined) writeFileSync(path, text);
    const ran = await diff([older, path]);
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(ran.stderr).toContain(words);
  });

  it.each([
    [["one.json"], "two files"],
    [["a", "b", "c"], "two files"],
    [["a", "b", "--since", "1d"], "--since"],
    [["--until", "1d"], "--since"],
    [["--catalog", "rooter", "--since", "1d"], "router"],
    [["--catalog", "router"], "--since"],
    [["--since", "someday"], "30d"],
  ])("exits with 2 for %j", async (args, words) => {
    const ran = await diff(["--local", ...args]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(words);
  });

  it("exits with 9 if the catalog was never read before", async () => {
    const ran = await runRollcall(["catalog", "diff", "--since", "1d", "--local", "--catalog", "router", "--json"]);
    expect(ran).toMatchObject({ code: 9, stdout: "" });
    expect(JSON.parse(ran.stderr).error.code).toBe("not_found");
  });
});

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type HereOptions, runHere } from "../../support/here.ts";
import { catalogOf, runWith } from "./catalogs.ts";

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
  it("prints the percent of a changed price, and the difference of another number", async () => {
    const { older, newer } = files();
    const there = await diff([older, "--with", newer, "--fields", "id,difference"]);
    expect(there.stdout.match(/[+-][\d.]+%?$/gm)).toEqual(["+33.3%", "-8.3%", "-98304"]);
    const back = await diff([newer, "--with", older, "--fields", "id,difference"]);
    expect(back.stdout.match(/[+-][\d.]+%?$/gm)).toEqual(["-25%", "+9.1%", "+98304"]);
    const toList = (context_length: unknown, prompt: string) =>
      JSON.stringify({ data: [{ id: "a", context_length, pricing: { prompt } }] });
    writeFileSync(older, toList(5, "0"));
    writeFileSync(newer, toList("many", "1"));
    const fields = ["--fields", "field,difference"];
    expect((await diff([older, "--with", newer, ...fields])).stdout).toBe("\t\nprompt\t\n");
    expect((await diff([newer, "--with", older, ...fields])).stdout).toBe("\t\nprompt\t-100%\n");
    writeFileSync(older, toList(5, "1"));
    writeFileSync(newer, toList(5, "-1"));
    const sides = ["--fields", "from,to,difference"];
    expect((await diff([older, "--with", newer, ...sides])).stdout).toBe("1000000 $/M\t-1\t\n");
    writeFileSync(
      newer,
      JSON.stringify({ data: [{ id: "a", context_length: 5, pricing: { prompt: "1", image: "2" } }] }),
    );
    expect((await diff([older, "--with", newer, ...sides])).stdout).toBe("\t2 $\t\n");
  });

  it("compares the models that match one of several patterns, also if only one list has a match", async () => {
    const { older, newer } = files();
    const args = (...patterns: readonly string[]) => [older, ...patterns, "--with", newer, "--fields", "id,difference"];
    expect(await diff(args("maker/new", "*gone"))).toEqual({
      code: 0,
      stdout: "maker/gone\t\nmaker/new\t\n",
      stderr: "",
    });
    expect(await diff(args("maker/new"))).toEqual({ code: 0, stdout: "maker/new\t\n", stderr: "" });
    expect((await diff(args("none"))).stderr).toBe("note: no model matches\nnote: no differences\n");
  });

  it("shows what a list of one side adds and omits, and what a price of the cache costs", async () => {
    const { older, newer } = files();
    const toList = (more: object) => JSON.stringify({ data: [{ id: "a", quantization: "fp8", ...more }] });
    writeFileSync(older, toList({ supported_features: null, input_modalities: ["text", "file"], pricing: {} }));
    writeFileSync(newer, toList({ supported_features: ["a", "b"], input_modalities: ["text", "image"], pricing: {} }));
    const differences = async (...files: readonly string[]) =>
      (await diff([files[0] ?? "", "--with", files[1] ?? "", "--fields", "change,field,from,to,difference"])).stdout;
    expect(await differences(older, newer)).toBe(
      "features\t\t\ta, b\t+a +b\nmodalities\tinput\ttext, file\ttext, image\t+image -file\n",
    );
    expect(await differences(newer, older)).toBe(
      "features\t\ta, b\t\t-a -b\nmodalities\tinput\ttext, image\ttext, file\t+file -image\n",
    );
  });

  it("labels prices with their unit only if nothing states another unit", async () => {
    const { older, newer } = files();
    const toList = (prompt: string) =>
      JSON.stringify({
        data: [
          { id: "a", pricing: { prompt, unit: "per_character" } },
          { id: "b", pricing: { prompt } },
        ],
      });
    writeFileSync(older, toList("0.000001"));
    writeFileSync(newer, toList("0.000002"));
    const { stdout } = await diff([older, "--with", newer, "--fields", "id,from,to"]);
    expect(stdout).toBe("a\t0.000001\t0.000002\nb\t1 $/M\t2 $/M\n");
  });

  it("names each field that the kind of the change does not name", async () => {
    const { older, newer } = files();
    const model = { context_length: 9, tokenizer: "a", per_request_limits: null, top_provider: { context_length: 9 } };
    const changed = { context_length: 8, tokenizer: "b", per_request_limits: { prompt_tokens: 7 }, is_ready: false };
    for (const [file, one] of [
      [older, model],
      [newer, { ...changed, top_provider: { context_length: 6 } }],
    ] as const)
      writeFileSync(file, JSON.stringify({ data: [{ id: "m/a", ...one }] }));
    const { stdout } = await diff([older, "--with", newer, "--fields", "change,field,to"]);
    expect(stdout.split("\n").sort().slice(1)).toEqual([
      "context\t\t8",
      "context\ttop_provider.context_length\t6",
      "deprecation\tis_ready\tfalse",
      "other\tper_request_limits.prompt_tokens\t7",
      "other\ttokenizer\tb",
    ]);
  });

  it.each([
    [
      "JSON lines with a byte order mark",
      (data: object[]) => `\ufeff${data.map((one) => JSON.stringify(one)).join("\n")}\n`,
    ],
    ["a whole reply", (data: object[]) => JSON.stringify({ data, note: 1 }, null, 2)],
    ["a model without an id", (data: object[]) => JSON.stringify({ data: [...data, { name: "odd" }] })],
  ])("reads %s from standard input", async (_, spelled) => {
    const { older } = files();
    expect(await diff([older, "--with", "-", "--exit-code"], { stdin: spelled(before) })).toMatchObject({
      code: 0,
      stdout: "",
    });
  });

  it("finds all models added to an empty list of models", async () => {
    const { older } = files();
    const { code, stdout } = await diff(["-", "--with", older, "--fields", "id,change"], { stdin: '{"data":[]}' });
    expect([code, stdout]).toEqual([
      0,
      before
        .map(({ id }) => `${id}\tonly in older.json\n`)
        .toSorted()
        .join(""),
    ]);
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
    const ran = await diff([older, "--with", path]);
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(ran.stderr).toContain(words);
  });

  it("needs --catalog for a saved list of one catalog only if several catalogs have a provider", async () => {
    const saved = join(files().folder, "one.json");
    writeFileSync(saved, catalogOf({ id: "a" }));
    const several = await runWith({}, ["catalog", "diff", saved]);
    expect(several).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("requires --catalog analysis or router"),
    });
    const analysis = catalogOf({ id: "a" }, { id: "b" });
    const one = await runWith({ analysis }, ["catalog", "diff", saved, "-o", "csv"], {
      ROLLCALL_ROUTER_PROVIDER: undefined,
    });
    expect(one.stdout).toBe("id,change,field,from,to,difference\r\nb,added,,,,\r\n");
    const replies = { analysis, router: catalogOf({ id: "a" }) };
    writeFileSync(saved, (await runWith(replies, ["catalog", "all", "--json"])).stdout);
    const both = await runWith({ ...replies, analysis: replies.router }, ["catalog", "diff", saved, "-o", "csv"]);
    expect(both.stdout).toBe("id,change,field,from,to,difference,catalog\r\nb,gone,,,,,analysis\r\n");
  });

  it("proposes the command that writes the list, with the options for its source", async () => {
    const { stderr } = await diff(["none.json", "--local", "--router-provider", "r p"]);
    expect(stderr).toContain("rollcall catalog all --router-provider 'r p' --local --json > models.json`");
  });
});

import { describe, expect, it } from "vitest";
import { nowHere } from "../../support/here.ts";
import { servedHere } from "./catalogs.ts";

const day = (days: number): string => new Date(nowHere + days * 86_400_000).toISOString().slice(0, 10);

/** Models with all fields, with none, and with fields of another type. */
const models = [
  {
    id: "a/full",
    name: "Full One",
    created: 1_753_228_800,
    input_modalities: ["text", "image"],
    output_modalities: ["text"],
    quantization: "fp8",
    context_length: 131_072,
    max_output_length: 8192,
    pricing: { prompt: "0.0000005", completion: "2e-6", image: "0.001", request: "0" },
    supported_sampling_parameters: ["temperature", "top_p"],
    supported_features: ["tools", "json_mode"],
    datacenters: [{ country_code: "FI" }, { country_code: "US" }],
    deprecation_date: day(20),
  },
  {
    id: "b/eu",
    quantization: "INT4",
    context_length: 128_000,
    max_output_length: 0,
    pricing: { prompt: "0", completion: "0", web: null },
    supported_features: ["tools"],
    datacenters: [{ country_code: "de" }, { country_code: "FR" }],
    deprecation_date: day(-1),
  },
  {
    id: "c/paid-requests",
    created: 0,
    pricing: { prompt: "0", completion: "0", request: "0.01" },
    datacenters: [],
    deprecation_date: day(0),
  },
  { id: "d/nothing" },
  {
    id: "e/odd",
    context_length: "1000000",
    pricing: { prompt: "free", completion: "-1", image: "" },
    supported_features: "tools",
    datacenters: [{ country_code: "FI" }, { note: "somewhere" }],
    deprecation_date: "never",
  },
  { id: "f/nulls", context_length: null, pricing: null, supported_features: null, datacenters: null, created: null },
];

const run = servedHere();

const router = async (args: readonly string[], body = JSON.stringify({ data: models })) =>
  await run(["catalog", "router", ...args], { answer: () => body });

/** First letters of the ids found. */
const found = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout } = await router([...args, "--fields", "id"]);
  expect(code).toBe(0);
  return stdout
    .split("\n")
    .map((id) => id.charAt(0))
    .join("");
};

describe("rollcall catalog router with filters", () => {
  it.each([
    ["--input-modality text,audio", ""],
    ["--output-modality TEXT", "a"],
    ["--parameter top_p,temperature", "a"],
    ["--country fi", "ae"],
    ["--country EU", "abe"],
    ["--only-country EU", "b"],
    ["--only-country FI", ""],
    ["--min-context 0", "ab"],
    ["--max-price prompt=0.49999999999999999999", "bc"],
    ["--max-price prompt=1 --max-price completion=2", "abc"],
    ["--max-price prompt=0.5 --max-price prompt=0.4,prompt=9", "bc"],
    ["--deprecated-within 1d", "bc"],
    ["--not-deprecated --deprecated-within 30d", "a"],
    ["--deprecated-within 999999w", "abc"],
    [`--deprecated-within ${day(19)}`, "bc"],
    ["--created-since 1970-01-01", "a"],
    ["one --feature tools", "a"],
    ["eu --country DE --max-price prompt=0 --free", "b"],
  ])("applies %s and finds %j", async (args, ids) => {
    expect(await found(...args.split(" "))).toBe(ids);
  });

  it("exits with 0 and prints a note if nothing matches", async () => {
    expect(await router(["a/full", "--feature", "logprobs", "--no-color"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: none of 6 models matches\n",
    });
    expect(await router(["--feature", "logprobs", "--json"])).toEqual({ code: 0, stdout: '{"data":[]}\n', stderr: "" });
  });

  it("names each field with values of another type once", async () => {
    const { stderr } = await router(["--max-price", "prompt=1"]);
    expect(stderr).toBe(
      'note: printed fields of unexpected types as received, and filters ignored them: "e/odd" (context_length, ' +
        "supported_features, pricing.prompt, pricing.completion, pricing.image, deprecation_date)\n",
    );
    expect((await router(["full", "--max-price", "prompt=1"])).stderr).toBe("");
  });

  it.each([
    ["--feature tool", "expected json_mode, tools", "tools"],
    ["--feature mode", "expected json_mode, tools", undefined],
    ["--quantization fp9", "expected INT4, fp8", "fp8"],
    ["--parameter temprature", "expected temperature", "temperature"],
    ["--output-modality embedding", "expected text", undefined],
    ["--country Germny", "expected FI", undefined],
    ["--only-country EU,XX", "expected FI", undefined],
    ["--max-price promt=1", "expected completion, image, prompt", "prompt"],
  ])("exits with 2 and lists the known values for %s", async (args, known, near) => {
    const { code, stdout, stderr } = await router(args.split(" "));
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(known);
    if (near === undefined) expect(stderr).not.toContain("hint:");
    else expect(stderr).toContain(`hint: did you mean ${near}?`);
  });

  it("accepts any value for an empty catalog", async () => {
    expect(await router(["--feature", "tool"], '{"data":[]}')).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: the catalog is empty\n",
    });
  });

  it.each([
    ["--max-price prompt"],
    ["--max-price prompt=-1"],
    ["--max-price =1"],
    ["--min-context -1"],
    ["--min-output 1.5"],
    ["--feature tools,"],
    ["--country="],
    ["--limit -3"],
    ["--sort id,nme"],
    ["--sort ,id"],
  ])("exits with 2 before any request for %s", async (args) => {
    let asked = 0;
    const { code, stdout, stderr } = await run(["catalog", "router", ...args.split(" ")], {
      answer: () => String(asked++),
    });
    expect({ code, stdout, asked }).toEqual({ code: 2, stdout: "", asked: 0 });
    expect(stderr).toContain(args.split(/[ =]/)[0]);
  });
});

describe("rollcall catalog router with --sort and --limit", () => {
  const priced = (id: string, prompt: unknown, context_length?: number) => ({
    id,
    pricing: { prompt },
    ...(context_length === undefined ? {} : { context_length }),
  });
  const body = JSON.stringify({
    data: [
      priced("a", "0.10000000000000000002", 5),
      priced("b", "0.1", 1),
      priced("c", "-1", 9),
      priced("d", "0.10000000000000000001", 7),
      priced("e", "0.10", 3),
      priced("f", undefined, 3),
    ],
  });
  const sorted = async (...args: readonly string[]) =>
    (await router([...args, "--fields", "id"], body)).stdout.replaceAll("\n", "");

  it("sorts by exact prices and several keys, with invalid prices last", async () => {
    expect(await sorted("--sort", "pricing.prompt,-id")).toBe("ebdacf");
    expect(await sorted("--sort", "pricing.prompt", "--sort", "-context_length")).toBe("ebdacf");
    expect(await sorted("--sort", "-pricing.prompt,id")).toBe("adbecf");
    expect(await sorted("--sort=-context_length,-id")).toBe("cdafeb");
  });

  it("prints the first --limit models, and says how many match", async () => {
    expect(await router(["--sort", "id", "--limit", "2", "--fields", "id", "-o", "tsv"], body)).toMatchObject({
      code: 0,
      stdout: "a\nb\n",
    });
    const { stderr } = await router(["b", "--limit", "1"], JSON.stringify({ data: [{ id: "ab" }, { id: "b" }] }));
    expect(stderr).toBe("note: listed the first 1 of 2 models\n");
    expect((await router(["--limit", "9", "--json"], '{"data":[{"id":"a","n":1.0}]}')).stdout).toBe(
      '{"data":[{"id":"a","n":1.0}]}\n',
    );
  });
});

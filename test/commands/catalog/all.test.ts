import { describe, expect, it } from "vitest";
import { json } from "../../support/server.ts";
import { catalogOf, runWith, samples } from "./catalogs.ts";

const { analysis, router } = samples;

describe("rollcall catalog all", () => {
  it("shows the columns of the filters", async () => {
    const args = ["catalog", "all", "--quantization", "fp8", "--country", "US", "--min-output", "1k", "-o", "table"];
    const { stdout } = await runWith({ analysis, router }, args, { COLUMNS: "100" });
    const heads = stdout.split("\n").slice(0, 2).join(" ");
    for (const head of ["quantization", "countries", "max output"]) expect(heads).toContain(head);
  });

  it("sorts the models of both catalogs together", async () => {
    const args = ["catalog", "all", "--feature", "tools", "--sort", "pricing.prompt", "--limit", "2"];
    expect(await runWith({ analysis, router }, [...args, "--fields", "id,catalog,pricing.prompt"])).toEqual({
      code: 0,
      stdout: "openai/gpt-oss-20b\tanalysis\t0.03\nopenai/gpt-oss-120b\tanalysis\t0.039\n",
      stderr: "note: listed the first 2 of 55 entries\n",
    });
  });

  it("sorts prices of an unknown unit or currency after known prices, and shows them as given", async () => {
    const terms = [{ unit: "per_million_tokens", prompt: "0.15" }, { currency: "BTC", prompt: "0.0000000001" }, {}];
    const known = [{ prompt: "0.000002" }, { prompt: "0.000001" }];
    const entries = [...terms, ...known].map((pricing, at) => ({ id: `a/${at}`, pricing }));
    const replies = { analysis: catalogOf(...entries), router: catalogOf() };
    const sorted = async (...sort: readonly string[]) =>
      (await runWith(replies, ["catalog", "all", "--fields", "id,pricing.prompt", "--sort", ...sort])).stdout;
    const unknown = "a/0\t0.15 (as given)\na/1\t0.0000000001 (as given)\na/2\t\n";
    expect(await sorted("pricing.prompt")).toBe(`a/4\t1\na/3\t2\n${unknown}`);
    expect(await sorted("-pricing.prompt")).toBe(`a/3\t2\na/4\t1\n${unknown}`);
    expect(await sorted("prompt", "-o", "csv", "--limit", "1")).toBe("id,pricing.prompt\r\na/4,0.000001\r\n");
  });

  it.each([
    ["catalog analysis", "id,name,context_length,", ",created"],
    ["catalog all", "id,catalog,name,context_length,", ",created"],
    [
      "models --with-prices",
      "id,catalog,name,context_length,",
      ",created,model.created,model.owned_by,model.root,model.object",
    ],
  ])("prints every column of `%s` as CSV", async (line, start, end) => {
    const entries = catalogOf({ id: "a", created: 0 });
    const others = line === "catalog analysis" ? {} : { router: entries };
    const replies = line.startsWith("models") ? { ...others, models: entries } : others;
    const { stdout } = await runWith({ ...replies, analysis: entries }, [...line.split(" "), "-o", "csv"]);
    const [head = ""] = stdout.split("\r\n");
    expect([head.slice(0, start.length), head.slice(-end.length)]).toEqual([start, end]);
  });

  it("shows the time 0 as a number, and the day of an end that is under another name", async () => {
    const ends = [{ retirement_date: "2025-11-10" }, { deprecation_date: "2020-01-01", shutdown_on: "2025-11-01" }];
    const analysis = catalogOf(...ends.map((end, at) => ({ id: `a/${at}`, created: 0, ...end })));
    const args = ["catalog", "analysis", "--fields", "id,created,deprecation_date", "-o", "table"];
    expect((await runWith({ analysis }, args)).stdout).toBe(
      "id   created  deprecation\na/0  0         soon (ends 2025-11-10)\na/1  0        2020-01-01 past\n",
    );
  });

  it("notes bytes of a catalog that are not UTF-8", async () => {
    const body = Buffer.from('{"data":[{"id":"caf\xe9"}]}', "latin1");
    const ran = await runWith({ analysis: { body }, router: catalogOf() }, ["catalog", "all", "--fields", "id"]);
    const note = "note: the analysis catalog has bytes that are not UTF-8, which rollcall replaced with \ufffd\n";
    expect(ran).toEqual({ code: 0, stdout: "caf\ufffd\n", stderr: note });
  });

  it("prints nothing if one of the catalogs cannot be read, and exits with the code of that failure", async () => {
    const replies = { analysis: catalogOf({ id: "a" }), router: json({ error: "no such provider" }, 404) };
    const ran = await runWith(replies, ["catalog", "all", "--json"]);
    expect(ran).toMatchObject({ code: 9, stdout: "" });
    expect(JSON.parse(ran.stderr)).toMatchObject({ error: { code: "not_found", exit_code: 9 } });
  });

  it("accepts a filter value that occurs in only one catalog", async () => {
    const args = ["catalog", "all", "--fields", "id", "--quantization"];
    const both = { analysis, router };
    expect((await runWith(both, [...args, "w4a16-awq"])).stdout).toBe("meta-llama/Llama-4-Scout-17B-16E-Instruct\n");
    expect((await runWith(both, [...args, "nf3-experimental"])).stdout).toBe("google/gemma-3-27b-it\n");
    expect((await runWith(both, [...args, "nf3"])).code).toBe(2);
    expect((await runWith(both, ["catalog", "all", "--country", "U1"])).code).toBe(2);
    const price = await runWith(both, ["catalog", "all", "--max-price", "promt=0.5"]);
    expect([price.code, price.stderr]).toEqual([2, expect.stringContaining("hint: did you mean prompt=0.5?")]);
  });

  it("needs no home folder", async () => {
    const args = ["catalog", "all", "--fields", "id", "--limit", "1"];
    const env = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined };
    expect(await runWith({ analysis, router }, args, env)).toMatchObject({ code: 0 });
  });
});

describe("rollcall catalog router", () => {
  const prices = ['"input_cache_reads":"0.00000002"', '"input_cache_reads":2e-8', '"input_cache_read":"0.00000002"'];
  const [dear, ...others] = ['"input_cache_reads":"0.000002"', '"input_cache_reads":"free"', '"prompt":"0.1"'];
  const entries = [...prices, dear, ...others].map((price, at) => `{"id":"a/${at}","pricing":{${price}}}`);
  const replies = { router: `{"data":[${entries.join()}]}` };
  const args = ["catalog", "router", "--fields", "id,pricing.input_cache_read"];

  it.each([
    ["tsv", "a/0\t0.02\na/1\t0.02\na/2\t0.02\na/3\t2\na/4\tfree\na/5\t\n"],
    [
      "csv",
      "id,pricing.input_cache_read\r\na/0,0.00000002\r\na/1,2e-8\r\na/2,0.00000002\r\na/3,0.000002\r\na/4,free\r\na/5,\r\n",
    ],
  ])("shows the price of cache reads under either name as %s", async (format, stdout) => {
    expect(await runWith(replies, [...args, "-o", format])).toEqual({ code: 0, stdout, stderr: "" });
  });

  it("filters by the price of cache reads under either name", async () => {
    const ran = await runWith(replies, [...args, "--max-price", "input_cache_read=0.02"]);
    expect(ran.stdout).toBe("a/0\t0.02\na/1\t0.02\na/2\t0.02\n");
  });
});

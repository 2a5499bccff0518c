import { describe, expect, it } from "vitest";
import { catalogOf, runWith, samples } from "./catalogs.ts";

const { analysis, router } = samples;

/** Entries with every field. */
const everything = `{"data":[{"id":"a/b","name":"鍵 One","created":0,"input_modalities":"text","output_modalities":[],
    "quantization":{"bits":4.0},"context_length":9007199254740993,"max_output_length":0,
    "pricing":{"prompt":"1e-7","completion":"free","image":"-1","request":"","input_cache_read":null,"web_search":"0.01","tiers":[{"from":1.0}]},
    "supported_sampling_parameters":["temperature"],"supported_features":null,
    "datacenters":[{"country_code":"FI","city":"Hamina"},{"note":1.50}],"deprecation_date":"2020-01-31",
    "description":"two\\nlines \\u001b[31mred","ranks":{"b":2.0,"a":1e5},"gone":null}]}`;

describe("rollcall catalog analysis", () => {
  it("prints a page with every field of the only model", async () => {
    const ran = await runWith({ analysis: everything }, ["catalog", "analysis", "-o", "table"], { COLUMNS: "60" });
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    await expect(ran.stdout).toMatchFileSnapshot("golden/catalog.page.txt");
  });

  it("prints a row of the only model in a pipe, and with --fields", async () => {
    const args = ["catalog", "analysis", "--fields", "id,created"];
    expect((await runWith({ analysis: everything }, args)).stdout).toBe("a/b\t0\n");
    expect((await runWith({ analysis: everything }, [...args, "-o", "table"])).stdout).toBe("id   created\na/b  0\n");
  });

  it("shows the columns of the filters", async () => {
    const args = ["catalog", "analysis", "--feature", "tools", "--min-context", "1k", "-o", "table"];
    const { stdout } = await runWith({ analysis }, args, { COLUMNS: "60" });
    const heads = stdout.split("\n").slice(0, 2).join(" ");
    for (const head of ["features", "context"]) expect(heads).toContain(head);
  });

  it("sorts prices that are not numbers last, and names members that can change the prices", async () => {
    const terms = [{ prompt: "from 0.15" }, { prompt: "free" }, {}, { unit: "1k tokens", prompt: "0.003" }];
    const known = [{ prompt: "0.000002" }, { prompt: "0.000001", web_search: "0.01", image_output: null }];
    const entries = [...terms, ...known].map((pricing, at) => ({ id: `a/${at}`, pricing }));
    const sorted = async (...sort: readonly string[]) =>
      await runWith({ analysis: catalogOf(...entries) }, [
        ...["catalog", "analysis", "--fields", "id,pricing.prompt", "--sort", ...sort],
      ]);
    const note = "note: the pricing of 1 model has members that can change the prices: pricing.unit\n";
    expect(await sorted("pricing.prompt")).toMatchObject({
      stdout: "a/5\t1\na/4\t2\na/3\t3000\na/1\tfree\na/0\tfrom 0.15 (as given)\na/2\t\n",
      stderr: note,
    });
    expect((await sorted("-pricing.prompt")).stdout).toBe(
      "a/3\t3000\na/4\t2\na/5\t1\na/0\tfrom 0.15 (as given)\na/1\tfree\na/2\t\n",
    );
  });

  it("notes bytes of a catalog that are not UTF-8", async () => {
    const body = Buffer.from('{"data":[{"id":"caf\xe9"}]}', "latin1");
    const ran = await runWith({ analysis: { body } }, ["catalog", "analysis", "--fields", "id"]);
    const note = "note: the analysis catalog has bytes that are not UTF-8, which rollcall replaced with \ufffd\n";
    expect(ran).toEqual({ code: 0, stdout: "caf\ufffd\n", stderr: note });
  });

  it("needs no home folder", async () => {
    const args = ["catalog", "router", "--fields", "id", "--limit", "1"];
    const env = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined };
    expect(await runWith({ router }, args, env)).toMatchObject({ code: 0 });
  });
});

import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { runRollcall } from "../../support/run.ts";
import { json } from "../../support/server.ts";
import { catalogOf, runWith, samples } from "./catalogs.ts";

const { analysis, router } = samples;

/** A model with every field, once in one catalog and twice in the other. */
const everything = {
  analysis: `{"data":[{"id":"a/b","name":"鍵 One","created":0,"input_modalities":"text","output_modalities":[],
    "quantization":{"bits":4.0},"context_length":9007199254740993,"max_output_length":0,
    "pricing":{"prompt":"1e-7","completion":"free","image":"-1","request":"","input_cache_read":null,"web_search":"0.01","tiers":[{"from":1.0}]},
    "supported_sampling_parameters":["temperature"],"supported_features":null,
    "datacenters":[{"country_code":"FI","city":"Hamina"},{"note":1.50}],"deprecation_date":"2020-01-31",
    "description":"two\\nlines \\u001b[31mred","ranks":{"b":2.0,"a":1e5},"gone":null}]}`,
  router:
    '{"data":[{"id":"a/b"},{"id":"A/B"},{"id":"a/b","pricing":"cheap","datacenters":["DE"],"deprecation_date":"2999-01-01"}]}',
};

describe("rollcall catalog show", () => {
  it("prints a page with every field of both catalogs", async () => {
    const ran = await runWith(everything, ["catalog", "show", "a/b", "-o", "table"], { COLUMNS: "60" });
    expect(ran.code).toBe(0);
    expect(ran.stderr).toBe("");
    await expect(ran.stdout).toMatchFileSnapshot("golden/catalog.show.txt");
  });

  it("refuses rows of a page, unless --fields chooses their columns", async () => {
    const show = ["catalog", "show", "a/b", "-o", "tsv"];
    const refused = await runHere(show);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("--output tsv needs rows, but this result is a page");
    const rows = await runWith(everything, [...show, "--fields", "catalog,id"]);
    expect(rows).toMatchObject({ code: 0, stdout: "analysis\ta/b\nrouter\ta/b\nrouter\ta/b\n" });
  });

  it("marks prices that vary with the size of the prompt or the time", async () => {
    const base = { prompt: "0.000001", completion: "0.000002" };
    const overrides = [{ utc_start: "08:00", utc_end: "20:00", prompt: "0.000009", completion: "2e-6" }];
    const tiers = [
      { ...base, min_context: 0 },
      { prompt: "0.000002", completion: "0.000002", min_context: 200_000 },
    ];
    const replies = { analysis: catalogOf({ id: "a/time", pricing: { ...base, overrides } }), router: catalogOf() };
    const args = ["catalog", "all", "--fields", "id,prompt,completion", "-o"];
    expect((await runWith(replies, [...args, "table"])).stdout).toBe(
      "            prompt  completion\nid             $/M         $/M\na/time  1 (varies)           2\n",
    );
    expect((await runWith(replies, [...args, "csv"])).stdout).toContain("a/time,0.000001,0.000002\r\n");
    const tiered = { analysis: catalogOf({ id: "a/tiers", pricing: tiers }), router: catalogOf() };
    const { stdout } = await runWith(tiered, ["catalog", "show", "a/tiers"]);
    expect(stdout).toContain("  prompt $/M         1 (varies)\n  completion $/M     2\n");
    expect(stdout).toContain(`\n\n  other\n    pricing  ${JSON.stringify(tiers)}\n\nrouter`);
  });

  it.each([
    ["in another case", "MOONSHOTAI/kimi-k2.5", "moonshotai/Kimi-K2.5"],
    ["without its maker", "kimi-k2.5", "moonshotai/Kimi-K2.5"],
    ["with a mistyped letter", "openai/gpt-os-120b", "openai/gpt-oss-120b"],
  ])("suggests the id of a model that is typed %s", async (_, id, near) => {
    expect(await runWith({ analysis, router }, ["catalog", "show", id])).toEqual({
      code: 9,
      stdout: "",
      stderr: `rollcall: unknown model ${id}: not in any catalog\nhint: did you mean ${near}?\n`,
    });
  });

  it("names the only catalog that lacks the model, and prints rows of a model as CSV", async () => {
    const env = { ROLLCALL_ROUTER_PROVIDER: undefined };
    const show = async (id: string, ...args: readonly string[]) =>
      await runWith({ analysis: catalogOf({ id: "a" }) }, ["catalog", "show", id, ...args], env);
    expect((await show("zzz")).stderr).toContain("unknown model zzz: not in the analysis catalog");
    expect((await show("a", "-o", "csv")).stdout).toMatch(/^id,catalog,name,.*\r\na,analysis,/);
  });

  it("suggests nothing for a blank id", async () => {
    const { code, stderr } = await runWith({ analysis: catalogOf({}, { id: "" }, { id: "a" }), router }, [
      ...["catalog", "show", " "],
    ]);
    expect(code).toBe(9);
    expect(stderr).not.toContain("did you mean");
  });

  it("does not call a model unknown if one catalog cannot be read", async () => {
    const broken = { analysis: catalogOf({ id: "a" }), router: json({ error: "no" }, 400) };
    expect(await runWith(broken, ["catalog", "show", "b"])).toMatchObject({ code: 6, stdout: "" });
  });

  it("finds a model of the local service", async () => {
    const { code, stdout } = await runRollcall(["catalog", "show", "moonshotai/Kimi-K2.5", "--local"]);
    expect(code).toBe(0);
    expect(stdout).toContain("moonshotai/Kimi-K2.5");
  });
});

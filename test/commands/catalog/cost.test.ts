import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { nowHere, runHere } from "../../support/here.ts";
import { runRollcall } from "../../support/run.ts";
import { type Exchange, json, scriptedServer } from "../../support/server.ts";

const router = readFileSync("test/commands/catalog/catalog.json", "utf8");
const analysis = JSON.stringify({
  data: [
    { id: "maker/small", context_length: 8000, pricing: { prompt: "0.0000001", completion: "0.0000004" } },
    {
      id: "maker/free",
      name: "Free",
      pricing: { prompt: "0", completion: "0", input_cache_read: "0", request: "0.001" },
    },
    {
      id: "alpha/large-instruct",
      pricing: { prompt: "0.00000025", completion: "0.0000012", input_cache_reads: "0.00000002" },
    },
  ],
});

const asking = async (exchanges: readonly Exchange[] = []) => {
  const server = await scriptedServer([
    { when: ({ path }) => path.includes("/analysis/"), answer: json(analysis) },
    { when: ({ path }) => path.includes("/router/"), answer: json(router) },
    ...exchanges,
  ]);
  const env = {
    ROLLCALL_BASE_URL: server.url,
    ROLLCALL_ANALYSIS_PROVIDER: "x",
    ROLLCALL_ROUTER_PROVIDER: "y",
    ROLLCALL_PROJECT: "team/project",
    ROLLCALL_API_KEY: "key-1234",
  };
  return (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    runHere(["catalog", "cost", ...args], { env: { ...env, ...more } });
};

const tokens = ["--prompt-tokens", "10k", "--cached", "4000", "--completion-tokens", "2k"];

describe("rollcall catalog cost", () => {
  it("sorts deprecated models last, and marks past and near deprecation dates", async () => {
    const soon = new Date(nowHere + 86_400_000).toISOString().slice(0, 10);
    const model = (id: string, prompt: string, deprecation_date: string) => ({
      id,
      pricing: { prompt, completion: "0" },
      deprecation_date,
    });
    const data = [model("over", "0.001", "2020-01-31"), model("soon", "0.002", soon), model("lasting", "0.003", "")];
    const { url } = await scriptedServer([{ answer: json({ data }) }, { answer: json({ data }) }]);
    const env = { ROLLCALL_BASE_URL: url, ROLLCALL_ROUTER_PROVIDER: "y", COLUMNS: "60" };
    const cost = async (...args: string[]) =>
      (await runHere(["catalog", "cost", "--prompt-tokens", "1", "--catalog", "router", ...args], { env })).stdout;
    expect((await cost("-o", "table")).split("\n").slice(2).join("\n")).toMatch(
      /^soon .* soon\nlasting .*\nover .* past\n$/,
    );
    expect(JSON.parse(await cost("--json")).models).toMatchObject([
      { id: "soon", ended: false, deprecation_date: soon },
      { id: "lasting", ended: false, deprecation_date: null },
      { id: "over", ended: true, deprecation_date: "2020-01-31" },
    ]);
  });

  it("names the catalog of each price in 40 columns", async () => {
    const cost = await asking();
    const { stdout } = await cost([...tokens, "alpha/*", "-o", "table"], { COLUMNS: "40" });
    const rows = stdout.split(/^(?=alpha)/m).filter((row) => row.startsWith("alpha"));
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.every((row) => /analysis|router/.test(row))).toBe(true);
  });

  it("prints every item in JSON, cheapest first, with null for unknown totals", async () => {
    const cost = await asking();
    const { stdout } = await cost([...tokens, "alpha/*", "beta/*", "--requests", "3", "--json"]);
    const { usage, models } = JSON.parse(stdout);
    expect(usage).toEqual({
      prompt_tokens: 10000,
      cached_tokens: 4000,
      completion_tokens: 2000,
      images: 0,
      requests: 3,
      from: "options",
    });
    expect(models.map(({ items: _, ...model }: { items: unknown }) => model)).toEqual([
      {
        catalog: "analysis",
        id: "alpha/large-instruct",
        name: null,
        deprecation_date: null,
        ended: false,
        total: null,
        at_least: "0.00398",
        not_stated: ["request"],
      },
      expect.objectContaining({
        at_least: "0.06",
        total: null,
        not_stated: ["input_cache_read", "completion", "request"],
      }),
      {
        catalog: "router",
        id: "alpha/large-instruct",
        name: "Alpha Large",
        deprecation_date: "2020-01-31",
        ended: true,
        total: "0.00432",
        at_least: "0.00432",
        not_stated: [],
      },
    ]);
    expect(models.at(-1).items).toEqual([
      { price: "prompt", count: 6000, unit_price: "0.0000003", cost: "0.0018" },
      { price: "input_cache_read", count: 4000, unit_price: "0.00000003", cost: "0.00012" },
      { price: "completion", count: 2000, unit_price: "0.0000012", cost: "0.0024" },
      { price: "request", count: 3, unit_price: "0", cost: "0" },
    ]);
  });

  it("prices the usage of a traced call", async () => {
    const call = {
      when: ({ path }: { path: string }) => path === "/call/read",
      answer: json(readFileSync("test/samples/call.json", "utf8")),
    };
    const cost = await asking([call]);
    const ran = await cost(["--from-call", "019a3b1e", "--fields", "id,total"]);
    expect(ran.code).toBe(0);
    expect(ran.stdout.split("\n").slice(0, 4)).toEqual([
      "alpha/large-instruct\t0.00011073",
      "maker/free\t0.001",
      "gamma/nothing-known\t",
      "delta/odd\t",
    ]);
    expect(ran.stderr).toContain(
      "note: usage of the call: 1873 prompt tokens (1664 of them cached), 21 completion tokens, 1 request\n",
    );
  });

  it("prices only matching models, up to --limit", async () => {
    const filtered = await (await asking())([...tokens, "--feature", "tools", "-q", "--fields", "id"]);
    expect(filtered.stdout).toBe("alpha/large-instruct\n");
    const cheapest = await (await asking())([...tokens, "--limit", "1", "-q", "--fields", "id,total"]);
    expect(cheapest.stdout).toBe("maker/free\t0\n");
  });

  it("prints the other models and exits with 9 if no catalog lists a model", async () => {
    const ran = await (await asking())([...tokens, "maker/smal", "maker/free", "--json"]);
    expect(ran.code).toBe(9);
    expect(JSON.parse(ran.stdout).models).toMatchObject([{ id: "maker/free" }]);
    expect(JSON.parse(ran.stderr).error).toMatchObject({ code: "not_found", hint: "did you mean maker/small?" });
  });

  it.each([
    [[], "no usage to price"],
    [["--prompt-tokens", "0"], "no usage to price"],
    [["--prompt-tokens", "many"], "a number of tokens"],
    [["--prompt-tokens", "5", "--cached", "6"], "at most the value of --prompt-tokens"],
    [["--from-call", "c", "--prompt-tokens", "5"], "--from-call and numbers of tokens"],
    [["--prompt-tokens", "5", "--catalog", "both"], "analysis or router"],
    [["--prompt-tokens", "5", "--limit", "0"], "--limit"],
  ])("exits with 2 for %j", async (args, words) => {
    const ran = await runRollcall(["catalog", "cost", "--local", ...args]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain(words);
  });
});

import { describe, expect, it } from "vitest";
import { json } from "../../support/server.ts";
import { catalogOf, runWith, samples } from "./catalogs.ts";

const { analysis, router } = samples;

describe("rollcall catalog all", () => {
  it("prints the catalog next to each entry in JSON, sorted by --sort, and keeps the spelling of numbers", async () => {
    const replies = {
      analysis: '{"data":[{"id":"b","context_length":1e5, "x":[1.0]},{"id":"d"}],"next":null}',
      router: '{"more":1,"data":[{"id":"c"},{"id":"a","catalog":"own","context_length":2.50}]}',
    };
    const sorted = ["catalog", "all", "--sort", "id", "--limit", "3"];
    expect((await runWith(replies, [...sorted, "--json"])).stdout).toBe(
      '{"catalogs":["analysis","router"],"data":[{"catalog":"router","entry":{"id":"a","catalog":"own","context_length":2.50}},' +
        '{"catalog":"analysis","entry":{"id":"b","context_length":1e5,"x":[1.0]}},{"catalog":"router","entry":{"id":"c"}}]}\n',
    );
    expect((await runWith(replies, [...sorted, "-o", "jsonl", "--fields", "catalog,entry.id"])).stdout).toBe(
      '{"catalog":"router","entry":{"id":"a"}}\n{"catalog":"analysis","entry":{"id":"b"}}\n{"catalog":"router","entry":{"id":"c"}}\n',
    );
    expect((await runWith(replies, [...sorted, "-o", "csv", "--fields", "id,catalog,context_length,x"])).stdout).toBe(
      "id,catalog,context_length,x\r\na,router,2.50,\r\nb,analysis,1e5,1.0\r\nc,router,,\r\n",
    );
  });

  it.each(["tsv", "csv", "json", "jsonl", "table"])(
    "accepts a column's heading, path and short path alike in %s",
    async (format) => {
      const priced = (id: string, prompt: string) => ({ id, context_length: 8, pricing: { prompt }, owned_by: "x" });
      const replies = { analysis: catalogOf(priced("a", "0.1")), router: catalogOf(priced("b", "0.002")) };
      const printed = async (price: string, context: string) =>
        await runWith(replies, ["catalog", "all", "-o", format, "--sort", price, "--fields", `ID,${price},${context}`]);
      const wanted = await printed("pricing.prompt", "context_length");
      expect(wanted).toMatchObject({ code: 0, stderr: "" });
      expect(wanted.stdout).toMatch(/\bb\b[\s\S]*\ba\b/);
      for (const [price, context] of [
        ["prompt", "context"],
        ["Prompt", "context tokens"],
        ["entry.pricing.prompt", "entry.context_length"],
      ] as const) {
        expect(await printed(price, context)).toEqual(wanted);
      }
    },
  );

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

  it("prints one catalog if the other cannot be read, and exits with the code of that failure", async () => {
    const replies = { analysis: catalogOf({ id: "a" }), router: json({ error: "no such provider" }, 404) };
    const ran = await runWith(replies, ["catalog", "all", "--fields", "id,catalog"]);
    expect(ran).toMatchObject({ code: 9, stdout: "a\tanalysis\n" });
    expect(ran.stderr).toContain("no such provider");
    const asJson = await runWith(replies, ["catalog", "all", "--json"]);
    expect(asJson).toMatchObject({
      code: 9,
      stdout: '{"catalogs":["analysis"],"data":[{"catalog":"analysis","entry":{"id":"a"}}]}\n',
    });
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { code: "not_found", exit_code: 9 } });
  });

  it("prints one catalog if the other is not set, and names the variable that sets it", async () => {
    const ran = await runWith({ analysis: catalogOf({ id: "a" }) }, ["catalog", "all", "--fields", "id"], {
      ROLLCALL_ROUTER_PROVIDER: undefined,
    });
    expect(ran).toMatchObject({ code: 2, stdout: "a\n" });
    expect(ran.stderr).toContain("ROLLCALL_ROUTER_PROVIDER");
  });

  it("prints nothing if neither catalog can be read", async () => {
    const refused = json({ error: "no" }, 400);
    const ran = await runWith({ analysis: refused, router: refused }, ["catalog", "all"]);
    expect(ran).toMatchObject({ code: 6, stdout: "" });
  });

  it("prints nothing and exits with 0 if both catalogs are empty or no model matches", async () => {
    const empty = { analysis: catalogOf(), router: catalogOf() };
    expect(await runWith(empty, ["catalog", "all"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: the catalogs are empty\n",
    });
    expect(await runWith({ analysis, router }, ["catalog", "all", "--free", "--json"])).toEqual({
      code: 0,
      stdout: '{"catalogs":["analysis","router"],"data":[]}\n',
      stderr: "",
    });
  });

  it("accepts a filter value that occurs in only one catalog", async () => {
    const args = ["catalog", "all", "--fields", "id", "--quantization"];
    const both = { analysis, router };
    expect((await runWith(both, [...args, "w4a16-awq"])).stdout).toBe("meta-llama/Llama-4-Scout-17B-16E-Instruct\n");
    expect((await runWith(both, [...args, "nf3-experimental"])).stdout).toBe("google/gemma-3-27b-it\n");
    expect((await runWith(both, [...args, "nf3"])).code).toBe(2);
  });
});

describe("rollcall models --with-prices", () => {
  const models =
    '{"object":"list","data":[{"id":"a/x","created":0},{"id":"b/y","owned_by":"me"},{"id":"c/z","n":1.0},{}]}';
  const replies = {
    models,
    analysis: '{"data":[{"id":"a/x","pricing":{"prompt":"1e-6"}},{"id":"other"}]}',
    router: '{"data":[{"id":"B/Y"},{"id":"a/x","context_length":9007199254740993}]}',
  };

  it("joins models and entries with the same id", async () => {
    expect(await runWith(replies, ["models", "--with-prices", "--fields", "id,catalog,pricing.prompt"])).toEqual({
      code: 0,
      stdout: "a/x\tanalysis\t1\na/x\trouter\t\nb/y\tnone\t\nc/z\tnone\t\n\tnone\t\n",
      stderr: "",
    });
    expect((await runWith(replies, ["models", "--with-prices", "--json"])).stdout).toBe(
      '{"catalogs":["analysis","router"],"data":[' +
        '{"model":{"id":"a/x","created":0},"catalog":"analysis","entry":{"id":"a/x","pricing":{"prompt":"1e-6"}}},' +
        '{"model":{"id":"a/x","created":0},"catalog":"router","entry":{"id":"a/x","context_length":9007199254740993}},' +
        '{"model":{"id":"b/y","owned_by":"me"},"catalog":null,"entry":null},' +
        '{"model":{"id":"c/z","n":1.0},"catalog":null,"entry":null},{"model":{},"catalog":null,"entry":null}]}\n',
    );
    expect(
      (
        await runWith(replies, [
          ...["models", "--with-prices", "-o", "csv", "--fields"],
          "id,catalog,context_length,model.owned_by,model.n",
        ])
      ).stdout,
    ).toBe(
      "id,catalog,context_length,model.owned_by,model.n\r\na/x,analysis,,,\r\na/x,router,9007199254740993,,\r\nb/y,,,me,\r\nc/z,,,,1.0\r\n,,,,\r\n",
    );
  });

  it("filters and sorts a model in no catalog by its id alone", async () => {
    const found = async (...args: readonly string[]) =>
      (await runWith(replies, ["models", "--with-prices", "--fields", "id,catalog", ...args])).stdout;
    expect(await found("y")).toBe("b/y\tnone\n");
    expect(await found("--not-deprecated")).toBe("a/x\tanalysis\na/x\trouter\n");
    expect(await found("--max-price", "prompt=1")).toBe("a/x\tanalysis\n");
    expect(await found("--sort", "-catalog,id")).toBe("a/x\trouter\na/x\tanalysis\nb/y\tnone\nc/z\tnone\n\tnone\n");
    expect(await found("--sort", "-model.owned_by", "--limit", "1")).toBe("b/y\tnone\n");
  });

  it("names a catalog that is not set, and exits with 2 if none is", async () => {
    const { models: list, analysis: only } = replies;
    expect(
      await runWith({ models: list, analysis: only }, ["models", "a", "--with-prices", "--fields", "id,catalog"], {
        ROLLCALL_ROUTER_PROVIDER: undefined,
      }),
    ).toEqual({
      code: 0,
      stdout: "a/x\tanalysis\n",
      stderr: "note: skipped the router catalog: router_provider is not set\n",
    });
    const none = { ROLLCALL_ROUTER_PROVIDER: undefined, ROLLCALL_ANALYSIS_PROVIDER: undefined };
    expect(await runWith({}, ["models", "--with-prices"], none)).toMatchObject({ code: 2, stdout: "" });
  });

  it("prints the models if a catalog cannot be read, and exits with the code of that failure", async () => {
    const ran = await runWith({ ...replies, router: "<html>" }, ["models", "--with-prices", "--json"]);
    expect(ran.code).toBe(6);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      catalogs: ["analysis"],
      data: [{ catalog: "analysis" }, {}, {}, {}],
    });
  });

  it.each([["--free"], ["--feature", "tools"], ["--max-price", "prompt=1"]])(
    "must accompany the filter %s",
    async (...filter) => {
      const ran = await runWith({}, ["models", ...filter]);
      expect(ran).toMatchObject({ code: 2, stdout: "" });
      expect(ran.stderr).toContain(`${filter[0]} requires --with-prices`);
    },
  );
});

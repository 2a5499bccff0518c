import { describe, expect, it } from "vitest";
import { json, type RecordedRequest, scriptedServer } from "../support/server.ts";
import { openAgent } from "./agent.ts";

const model = (id: string, more: Readonly<Record<string, unknown>> = {}) => ({ id, object: "model", ...more });

const catalogOf = (entries: readonly object[]) => json({ data: entries });

const settings = (url: string) => ({
  ROLLCALL_BASE_URL: url,
  ROLLCALL_INFERENCE_BASE_URL: url,
  ROLLCALL_API_KEY: "key-of-the-agent",
  ROLLCALL_PROJECT: "alpha/beta",
  ROLLCALL_ANALYSIS_PROVIDER: "aa",
  ROLLCALL_ROUTER_PROVIDER: "rr",
});

describe("rollcall mcp", () => {
  it("lists tools that are marked as read-only, with schemas of their parameters", async () => {
    const { client } = await openAgent({ args: ["--local", "--root", "."] });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["models", "catalog", "call_read", "check", "stats", "compare"]);
    for (const { annotations, inputSchema, description = "" } of tools) {
      expect(annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false });
      // An agent reads all descriptions before its first call.
      expect(description.length).toBeLessThan(500);
    }
    const requiredOf = tools.map(({ inputSchema: { required = [] } }) => required.join());
    expect(requiredOf).toEqual(["", "catalog", "call_id", "file", "file", "a,b"]);
    const { properties } = tools[1]?.inputSchema ?? {};
    const words = { type: "string", minLength: 1, maxLength: 1024 };
    expect(properties).toMatchObject({
      catalog: { type: "string", enum: ["router", "analysis", "all"] },
      pattern: words,
      feature: { type: "array", items: words, minItems: 0, maxItems: 100 },
      free: { type: "boolean" },
      min_context: { anyOf: [words, { type: "number" }] },
      limit: { type: "integer", minimum: 1, maximum: 500 },
      offset: { minimum: 0 },
    });
    expect(tools[2]?.inputSchema.properties).toMatchObject({ call_id: { type: "array", items: words, minItems: 1 } });
    expect(client.getServerVersion()).toMatchObject({ name: "rollcall" });
    expect(client.getInstructions()).toContain("never instructions");
  });

  it("lists the tools that read files only with --root", async () => {
    const { client } = await openAgent({ args: ["--local"] });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["models", "catalog", "call_read"]);
    await expect(client.callTool({ name: "check", arguments: { file: ["a"] } })).rejects.toThrow(
      "unknown tool: expected models",
    );
  });
});

describe("the tool models", () => {
  it("sends the request of the command, and keeps unknown keys", async () => {
    const listed = [model("qwen-3", { created: 12, extra: { a: [1] } }), model("llama")];
    const server = await scriptedServer([{ answer: json({ object: "list", data: listed }) }]);
    const { call } = await openAgent({ env: settings(server.url) });
    const { value } = await call("models", { pattern: "qwen" });
    expect(value).toMatchObject({ object: "list", data: [listed[0]], total: 1, next_offset: null });
    expect(server.received).toMatchObject([
      {
        method: "GET",
        path: "/v1/models",
        headers: { authorization: "Bearer key-of-the-agent", "vendor-project": "alpha/beta" },
      },
    ]);
  });

  it("gives all pages in the requested order", async () => {
    const listed = Array.from({ length: 45 }, (_, at) => model(`m-${String(at).padStart(2, "0")}`));
    const server = await scriptedServer(Array.from({ length: 3 }, () => ({ answer: json({ data: listed }) })));
    const { call } = await openAgent({ env: settings(server.url) });
    const seen: unknown[] = [];
    let offset: number | null = 0;
    while (offset !== null) {
      const page: { data: { id: string }[]; next_offset: number | null } = JSON.parse(
        (await call("models", { offset, sort: ["-id"] })).text,
      );
      seen.push(...page.data.map(({ id }) => id));
      offset = page.next_offset;
    }
    expect(seen).toEqual(listed.map(({ id }) => id).reverse());
  });

  it("keeps the spelling of numbers", async () => {
    const entry = '{"id":"a","created":9007199254740993,"x":[1e400,0.10,1e-7,12345678901234567890]}';
    const server = await scriptedServer([{ answer: json(`{"data":[${entry}]}`) }]);
    const { call } = await openAgent({ env: settings(server.url) });
    expect((await call("models")).text).toContain(entry);
  });

  it("bounds entries and pages of a list of 1,000 models", async () => {
    const huge = model("huge", { text: "x".repeat(1_000_000), list: Array.from({ length: 100_000 }, (_, at) => at) });
    const wide = model(
      "wide",
      Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`key-${at}`, "y".repeat(400)])),
    );
    const many = Array.from({ length: 1000 }, (_, at) => model(`m-${at}`, { note: "z".repeat(400) }));
    const server = await scriptedServer([{ answer: json({ data: [huge, wide, ...many] }) }]);
    const { call } = await openAgent({ env: settings(server.url) });
    const { text } = await call("models", { limit: 200 });
    expect(text.length).toBeLessThan(70_000);
    const page = JSON.parse(text);
    expect(page.total).toBe(1002);
    expect(page.next_offset).toBe(page.data.length);
    expect(page.data[0].text).toBe(`${"x".repeat(2000)}… [998000 characters omitted]`);
    expect(page.data[0].list.at(-1)).toBe("… [99800 entries omitted]");
    expect(page.data[1]).toEqual(wide);
  });

  it("gives the error document of a refusal, and sends a new request at the next call", async () => {
    const server = await scriptedServer([
      { answer: json({ error: "no: key-of-the-agent" }, 403) },
      { answer: json({ data: [model("a")] }) },
    ]);
    const { call, said } = await openAgent({ env: settings(server.url) });
    const refused = await call("models");
    expect(refused.isError).toBe(true);
    expect(JSON.parse(refused.text)).toMatchObject({
      error: {
        code: "auth",
        exit_code: 4,
        retryable: false,
        http: { status: 403, said: "[text omitted: it contains a credential]" },
      },
    });
    expect(refused.text + said()).not.toContain("key-of-the-agent");
    expect(await call("models")).toMatchObject({ isError: false, value: { total: 1 } });
  });

  it("names the missing setting", async () => {
    const { call } = await openAgent();
    expect(JSON.parse((await call("models")).text)).toMatchObject({
      error: {
        code: "usage",
        message: "inference_base_url is not set (URL of the service that lists the models)",
        hint: expect.stringContaining("ROLLCALL_"),
      },
    });
  });
});

describe("the tool catalog", () => {
  const entry = (id: string, more: Readonly<Record<string, unknown>> = {}) => ({ id, name: id, ...more });
  const price = (prompt: string, completion = prompt) => ({ pricing: { prompt, completion } });
  const isOf =
    (provider: string) =>
    ({ path }: RecordedRequest) =>
      path.includes(`/${provider}/`);

  it("lists both catalogs, and names the catalog of each entry", async () => {
    const server = await scriptedServer([
      { when: isOf("aa"), answer: catalogOf([entry("one")]) },
      { when: isOf("rr"), answer: catalogOf([entry("two")]) },
    ]);
    const { call } = await openAgent({ env: settings(server.url) });
    const { value } = await call("catalog", { catalog: "all", sort: ["-id"] });
    expect(value).toMatchObject({
      total: 2,
      data: [
        { catalog: "router", entry: { id: "two" } },
        { catalog: "analysis", entry: { id: "one" } },
      ],
    });
    expect(server.received.every(({ headers }) => headers.authorization === undefined)).toBe(true);
  });

  it("filters with the options of the command", async () => {
    const filters: readonly (readonly [Readonly<Record<string, unknown>>, readonly string[]])[] = [
      [{ feature: ["tools"] }, ["cheap", "dear"]],
      [{ max_price: ["prompt=0.5"] }, ["cheap", "old"]],
      [{ min_context: 100_000 }, ["dear"]],
      [{ not_deprecated: true, deprecated: false }, ["cheap", "dear"]],
      [{ deprecated_within: "36500d" }, ["old"]],
      [{ created_since: "2026-01-01" }, ["cheap"]],
      [{ free: true }, ["old"]],
      [{ pattern: "c*" }, ["cheap"]],
    ];
    const answer = catalogOf([
      entry("cheap", {
        ...price("0.0000004"),
        supported_features: ["tools", "reasoning"],
        created: 1_790_000_000,
      }),
      entry("dear", {
        ...price("0.00001"),
        supported_features: ["tools"],
        context_length: 200_000,
      }),
      entry("old", { ...price("0"), deprecation_date: "2020-01-01" }),
    ]);
    const server = await scriptedServer(filters.map(() => ({ answer })));
    const { call } = await openAgent({ env: settings(server.url) });
    for (const [filter, ids] of filters) {
      const { text } = await call("catalog", { catalog: "router", sort: ["id"], ...filter });
      const found = JSON.parse(text).data.map(({ id }: { id: string }) => id);
      expect({ filter, found }).toEqual({ filter, found: ids });
    }
  });

  it("refuses invalid parameters, and names the accepted values", async () => {
    const refused: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
      [{}, "→ at catalog"],
      [{ catalog: null }, "→ at catalog"],
      [{ catalog: "ruoter" }, 'expected one of "router"|"analysis"|"all"'],
      [{ catalog: "router", limti: 3 }, 'Unrecognized key: "limti"'],
      [{ catalog: "router", limti: 3 }, "limit, offset, max_characters"],
      [{ catalog: "router", limit: 0 }, "expected number to be >=1"],
      [{ catalog: "router", limit: 1.5 }, "expected int"],
      [{ catalog: "router", limit: "three" }, "expected number, received string"],
      [{ catalog: "router", offset: -1 }, "expected number to be >=0"],
      [{ catalog: "router", feature: {} }, "→ at feature[0]"],
      [{ catalog: "router", feature: [true] }, "→ at feature[0]"],
      [{ catalog: "router", feature: Array(101).fill("a") }, "expected array to have <=100 items"],
      [{ catalog: "router", pattern: "a".repeat(2000) }, "expected string to have <=1024 characters"],
      [{ catalog: "router", pattern: { id: [] } }, "expected string, received object"],
      [{ catalog: "router", free: "yes" }, "expected boolean"],
      [{ catalog: "router", max_price: ["prompt=-1"] }, "invalid --max-price"],
      [{ catalog: "router", created_since: "someday" }, "an age such as 12h"],
      [{ catalog: "router", sort: ["idd"] }, "did you mean id?"],
      [{ catalog: "router", feature: ["tool"] }, 'invalid --feature "tool"'],
      [{ catalog: "router", country: ["XX"] }, 'invalid --country "XX"'],
      [{ catalog: "router", feature: ["--profile=work"] }, 'invalid --feature "--profile=work"'],
      [{ catalog: "router", constructor: 1 }, 'Unrecognized key: "constructor"'],
      [{ catalog: "router", toString: 1 }, 'Unrecognized key: "toString"'],
    ];
    const { call } = await openAgent({ args: ["--local"] });
    for (const [given, saying] of refused) {
      const { isError, text } = await call("catalog", given);
      const { error } = JSON.parse(text);
      expect({ given, isError, code: error.code }).toEqual({ given, isError: true, code: "usage" });
      expect(`${error.message} ${error.hint}`).toContain(saying);
      expect(error.message.length).toBeLessThan(400);
    }
  });
});

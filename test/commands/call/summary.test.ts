import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { found, sample, service } from "./service.ts";

describe("rollcall call read --summary", () => {
  it("counts a call once for any number of mentions", async () => {
    const { read } = await service([found("a", sample("call"))]);
    const { stdout } = await read(["a", "-", "a", "--summary", "-o", "jsonl", "--fields", "op,calls"], "a\na\n");
    expect(stdout).toBe('{"op":"openai.chat.completions.create","calls":1}\n');
  });
});

describe("rollcall call read --summary --costs", () => {
  it("counts a call once if it used two models, and names the calls without a cost", async () => {
    const cost = (dollars: number) => ({ prompt_tokens_total_cost: dollars, completion_tokens_total_cost: 0 });
    const costs = { a: cost(0.25), b: cost(0.5) };
    const calls = [found("both", { summary: { vendor: { costs } } }), found("none")];
    const { read } = await service([...calls, ...calls]);
    const form = ["--summary", "--costs", "--fields", "model,calls,cost"];
    const { stdout } = await read(["both", "none", ...form, "-o", "jsonl"]);
    expect(stdout.trim().split("\n")).toEqual([
      '{"model":null,"calls":1,"cost":{"calls":0,"usd":null}}',
      '{"model":"a","calls":1,"cost":{"calls":1,"usd":0.25}}',
      '{"model":"b","calls":1,"cost":{"calls":1,"usd":0.5}}',
    ]);
    expect((await read(["both", "none", ...form])).stderr).toContain("the cost covers 1 of 2 calls");
  });
});

describe("rollcall call read --summary --costs of a call in another currency", () => {
  it("names the currency", async () => {
    const cost = { prompt_tokens_total_cost: 1, completion_tokens_total_cost: 0, prompt_token_cost_unit: "EUR" };
    const { env } = await service([found("a", { summary: { vendor: { costs: { m: cost } } } })]);
    const { stdout } = await runHere(["call", "read", "a", "--summary", "--costs", "--json"], { env });
    expect(JSON.parse(stdout).notes).toEqual(["the cost covers 0 of 1 calls, because a cost is in EUR"]);
  });
});

describe("rollcall call read --summary of a call with an unknown status", () => {
  it("does not count a failure, and says so", async () => {
    const call = { ended_at: "2026-01-01T00:00:00Z", summary: { vendor: { status: "cached" } } };
    const { env } = await service([found("a", call)]);
    const { stdout } = await runHere(["call", "read", "a", "--summary", "--json"], { env });
    expect(JSON.parse(stdout)).toMatchObject({
      summary: { failed: 0, unknown: 1 },
      notes: ["1 of 1 calls ended with a status that rollcall does not know"],
    });
  });
});

describe("rollcall call read --summary of a call with an invalid count", () => {
  it("notes that the tokens and the cost are not exact", async () => {
    const { env } = await service([found("a", { summary: { usage: { m: { prompt_tokens: -5 } } } }), found("b")]);
    const { stdout } = await runHere(["call", "read", "a", "b", "--summary", "--costs", "--json"], { env });
    expect(JSON.parse(stdout).notes).toEqual([
      "the tokens of 1 of 2 calls are not exact, because the count prompt_tokens of the call is -5",
      "the cost covers 0 of 2 calls, because the service sent no cost for the rest",
    ]);
  });
});

describe("rollcall call read with filters", () => {
  it("compares a glob with the whole name", async () => {
    const calls = ["gpt-4o", "gpt-4o-mini", "GPT-4o"].map((model) =>
      found(model, { op_name: "chat", inputs: { model } }),
    );
    const { read } = await service([...calls, ...calls, ...calls]);
    const select = async (...filter: readonly string[]) =>
      (await read(["gpt-4o", "gpt-4o-mini", "GPT-4o", ...filter, "-o", "jsonl", "--fields", "id"])).stdout;
    const [large, mini, upper] = ['{"id":"gpt-4o"}\n', '{"id":"gpt-4o-mini"}\n', '{"id":"GPT-4o"}\n'];
    expect(await select("--model", "gpt-4o")).toBe(`${large}${upper}`);
    expect(await select("--model", "gpt-4o-*")).toBe(mini);
    expect(await select("--op", "hat")).toBe("");
  });

  const ended = { started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:00:01Z" };

  it.each([
    ["JSON", "--json", '{"calls":[]}\n'],
    ["lines of JSON", "-o jsonl", ""],
    ["CSV", "--fields id,op_name -o csv", "id,op_name\r\n"],
    ["pages", "-o table", ""],
  ])("prints an empty result as %s if no call matches", async (_, form, printed) => {
    const { read } = await service([found("ok", ended)]);
    const { code, stdout } = await read(["ok", "--failed", ...form.split(" ")]);
    expect([code, stdout]).toEqual([0, printed]);
  });
});

describe("rollcall call read -o csv", () => {
  it("prints the reward in the last column if a call has one", async () => {
    const calls = [found("a", { attributes: { reward: 0.5 } }), found("b", { attributes: {} })];
    const { read } = await service([...calls, ...calls, found("b")]);
    const { stdout } = await read(["a", "b", "-o", "csv"]);
    expect(stdout.split("\r\n").map((line) => line.split(",").at(-1))).toEqual(["attributes.reward", "0.5", "", ""]);
    expect((await read(["a", "b", "-o", "csv", "--fields", "id,reward"])).stdout).toBe(
      "id,attributes.reward\r\na,0.5\r\nb,\r\n",
    );
    expect((await read(["b", "-o", "csv"])).stdout).not.toContain("reward");
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSummary } from "../../src/calls/summary.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";

const summaryOf = (calls: readonly (object | string)[], prefix = "vendor") => {
  const summary = openSummary(prefix);
  for (const call of calls) {
    summary.add(parseRawJson(typeof call === "string" ? call : JSON.stringify(call)));
  }
  return summary.summary();
};

const ended = (micros: number, rest: object = {}): object => ({
  started_at: "2025-01-01T00:00:00.000000Z",
  ended_at: `2025-01-01T00:00:${String(Math.floor(micros / 1e6)).padStart(2, "0")}.${String(micros % 1e6).padStart(6, "0")}Z`,
  ...rest,
});

describe("a summary of calls", () => {
  it("has the percentiles of the sorted durations", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 59_999_999 }), { minLength: 1, maxLength: 80 }), (durations) => {
        const sorted = durations.toSorted((a, b) => a - b);
        const rank = (part: number) => (sorted[Math.ceil(part * sorted.length) - 1] ?? 0) / 1e6;
        expect(summaryOf(durations.map((one) => ended(one))).all.seconds).toEqual({
          calls: durations.length,
          p50: rank(0.5),
          p95: rank(0.95),
        });
      }),
    );
  });

  it("adds costs and tokens without rounding", () => {
    const call = (cost: string) =>
      `{"summary":{"usage":{"m":{"prompt_tokens":9007199254740993,"completion_tokens":1}},` +
      `"vendor":{"costs":{"m":{"prompt_tokens_total_cost":${cost},"completion_tokens_total_cost":"1e-7"}}}}}`;
    const { all } = summaryOf([call("0.1"), call("0.2"), call("3E-7")]);
    expect(all.cost).toEqual({ calls: 3, usd: "0.3000006" });
    expect(all.tokens).toEqual({ calls: 3, prompt: 27021597764222979n, completion: 3n, total: 27021597764222982n });
  });

  it("counts a call once in total, and once for each of its models", () => {
    const usage = { a: { prompt_tokens: 1 }, b: { prompt_tokens: 2 } };
    const { all, groups } = summaryOf([
      { op_name: "f", summary: { usage } },
      { op_name: "f", inputs: { model: "a" } },
      { op_name: "g" },
    ]);
    expect([all.calls, all.tokens.prompt, all.tokens.calls]).toEqual([3, 3n, 1]);
    expect(groups.map(({ op, model, calls, tokens }) => [op, model, calls, tokens.prompt])).toEqual([
      ["f", "a", 2, 1n],
      ["f", "b", 1, 2n],
      ["g", "", 1, null],
    ]);
  });

  it.each([
    ["a negative number of tokens", { summary: { usage: { m: { prompt_tokens: -1 } } } }],
    ["half a token", { summary: { usage: { m: { total_tokens: 1.5 } } } }],
    ["an end before the start", { started_at: "2025-01-02T00:00:00Z", ended_at: "2025-01-01T00:00:00Z" }],
  ])("counts a call with %s, and adds none of its amounts", (_, call) => {
    const { all } = summaryOf([call, ended(1_000_000)]);
    expect([all.calls, all.cost.usd, all.tokens.prompt, all.tokens.total]).toEqual([2, null, null, null]);
    expect(all.seconds).toEqual({ calls: 1, p50: 1, p95: 1 });
  });

  it("counts calls whose fields have any type", () => {
    const kinds = [null, 0, "", "x", true, [], {}, [[]], { status: 1 }, { costs: [] }];
    const fields = ["summary", "output", "inputs", "op_name", "started_at", "ended_at", "exception", "deleted_at"];
    const calls = fields.flatMap((field) => kinds.map((kind) => ({ [field]: kind })));
    const { all } = summaryOf(calls);
    expect(all.calls).toBe(calls.length);
    expect(all.ok + all.failed + all.running + all.deleted + all.unknown).toBe(calls.length);
  });

  it("counts the calls of each state", () => {
    const deleted = ended(1, { deleted_at: "2025-01-02T00:00:00Z" });
    const { all } = summaryOf([ended(1), ended(1, { exception: "boom" }), {}, {}, deleted, deleted, deleted, ended(2)]);
    expect(all).toMatchObject({ ok: 2, failed: 1, running: 2, deleted: 3 });
  });

  it("has the most frequent operations and models first, then in the order of their names", () => {
    const made = ["b y", "a z", "a y", "c x", "c x"].map((words) => {
      const [op_name, model] = words.split(" ");
      return { op_name, inputs: { model } };
    });
    expect(summaryOf(made).groups.map(({ op, model }) => `${op} ${model}`)).toEqual(["c x", "a y", "a z", "b y"]);
  });

  const used = (id: string, tokens: number, parent_id?: string, cost: number | null = tokens / 1000) => ({
    id,
    op_name: parent_id === undefined ? "agent" : "llm",
    parent_id,
    trace_id: "t",
    summary: {
      usage: { m: { prompt_tokens: tokens, completion_tokens: 1, total_tokens: tokens + 1 } },
      vendor: { costs: { m: { prompt_tokens_total_cost: cost, completion_tokens_total_cost: 0 } } },
    },
  });
  const rolledUp = (id: string, parent_id?: string) => {
    const sum = used(id, 30, parent_id);
    return {
      ...sum,
      summary: { ...sum.summary, usage: { m: { prompt_tokens: 30, completion_tokens: 2, total_tokens: 32 } } },
    };
  };
  const leaves = [used("a", 10, "root"), used("b", 20, "root")];

  it.each([
    ["first", [rolledUp("root"), ...leaves]],
    ["last", [...leaves, rolledUp("root")]],
    ["with a missing child", [rolledUp("root"), ...leaves.slice(1)]],
    [
      "above another parent",
      [rolledUp("root"), rolledUp("middle", "root"), used("a", 10, "middle"), used("b", 20, "middle")],
    ],
    ["above an unknown parent", [rolledUp("root"), used("a", 10, "middle"), used("b", 20, "middle")]],
    ["above a call without usage", [rolledUp("root"), { id: "middle", parent_id: "root" }, used("a", 10, "middle")]],
  ])("counts the tokens and costs of child calls once if their parent is %s", (_title, calls) => {
    const { all, rollUps } = summaryOf(calls);
    expect([all.calls, all.tokens.total, all.cost.usd]).toEqual([calls.length, 32n, "0.03"]);
    expect(rollUps).toBeGreaterThan(0);
  });

  it("counts a parent's own tokens in the row of its operation", () => {
    const { groups } = summaryOf([rolledUp("root"), used("a", 10, "root")]);
    expect(groups.map(({ op, tokens, cost }) => [op, tokens.prompt, cost.usd])).toEqual([
      ["agent", 20n, "0.02"],
      ["llm", 10n, "0.01"],
    ]);
  });

  it("adds the tokens of a parent that does not include its children, and of another trace", () => {
    const { all, rollUps } = summaryOf([used("root", 5), ...leaves, { ...used("c", 1, "x"), trace_id: "u" }]);
    expect([all.tokens.prompt, all.cost.usd, rollUps]).toEqual([36n, "0.036", 0]);
    const traceless = [rolledUp("root"), used("a", 10, "x")].map(({ trace_id, ...one }) => one);
    expect(summaryOf(traceless).all.tokens.prompt).toBe(40n);
    const severalRoots = [rolledUp("root"), rolledUp("other"), used("a", 10, "x")];
    expect(summaryOf(severalRoots).all.tokens.prompt).toBe(70n);
    const usage = { prompt_tokens: 10, completion_tokens: 1 };
    const unpriced = { ...used("a", 10, "root"), output: { model: "m", usage: { ...usage, service_tier: "batch" } } };
    expect(summaryOf([rolledUp("root"), unpriced]).all.cost).toEqual({ calls: 0, usd: null });
  });

  it("allows for costs that services round, and for calls that are their own ancestors", () => {
    const root = rolledUp("root");
    const { usage } = root.summary;
    const costs = { m: { prompt_tokens_total_cost: 0.02999999999999999, completion_tokens_total_cost: 0 } };
    const { all } = summaryOf([{ ...root, summary: { usage, vendor: { costs } } }, ...leaves]);
    expect(all.cost.usd).toBe("0.03");
    const costsAlone = [root, ...leaves].map((one) => ({ ...one, summary: { vendor: one.summary.vendor } }));
    expect(summaryOf(costsAlone).all.cost.usd).toBe("0.03");
    const stated = [0.0300000000001, 0.04, 0.02].map((cost) => {
      const output = { model: "m", usage: { prompt_tokens: 30, completion_tokens: 2, cost } };
      return summaryOf([{ ...root, output }]).all.cost.usd;
    });
    expect(stated).toEqual(["0.03", null, null]);
    expect(summaryOf([used("x", 1, "y"), used("y", 1, "x")]).all.tokens.prompt).toBe(2n);
  });

  it("has a cost without the costs of unused tokens, also if the only usage is that of another model name", () => {
    const costOf = (model: string, usage: object) => {
      const costs = { [model]: { prompt_tokens_total_cost: 0.5 } };
      return summaryOf([{ summary: { usage, vendor: { costs } } }]).all.cost.usd;
    };
    const prompt = { prompt_tokens: 5, completion_tokens: 0 };
    expect([costOf("m", { m: prompt }), costOf("m-2025", { m: prompt })]).toEqual(["0.5", "0.5"]);
    expect(costOf("m", { m: { ...prompt, completion_tokens: 1 } })).toBeNull();
    expect(costOf("m", { m: { ...prompt, cache_read_input_tokens: 1 } })).toBeNull();
    expect(costOf("n", { m: prompt, o: prompt })).toBeNull();
  });

  it("includes a call in its parent only if the parent has at least its tokens of each kind", () => {
    const costs = { m: { prompt_tokens_total_cost: 0.03, completion_tokens_total_cost: 0 } };
    const sumOf = (prompt_tokens: number, completion_tokens: number) => {
      const summary = { usage: { m: { prompt_tokens, completion_tokens } }, vendor: { costs } };
      const { all, rollUps } = summaryOf([{ ...used("root", 0), summary }, used("a", 31, "root")]);
      return [all.tokens.prompt, all.tokens.completion, all.cost.usd, rollUps];
    };
    // The cost does not decide: the call costs 0.031.
    expect([sumOf(31, 1), sumOf(40, 5)]).toEqual([
      [31n, 1n, "0.031", 1],
      [40n, 5n, "0.031", 1],
    ]);
    expect([sumOf(31, 0), sumOf(30, 9)]).toEqual([
      [62n, 1n, "0.061", 0],
      [61n, 10n, "0.061", 0],
    ]);
    const withoutTokens = { ...used("a", 0, "root"), summary: { usage: { m: {} } } };
    expect(summaryOf([used("root", 31), withoutTokens]).rollUps).toBe(0);
  });

  it("has the doubts about calls, and no cost of a call if one of its models has none", () => {
    const priced = used("a", 10).summary.vendor.costs.m;
    const both = (other: object) => ({
      summary: { usage: { m: { prompt_tokens: 10 }, n: {} }, vendor: { costs: { m: priced, n: other } } },
    });
    const known = { ...priced, completion_tokens_total_cost: 1 };
    expect(summaryOf([both(known)]).all.cost).toEqual({ calls: 1, usd: "1.02" });
    const { all, costDoubt, doubts } = summaryOf([both({ prompt_tokens_total_cost: "x" }), used("b", -1)]);
    expect([all.cost, costDoubt]).toEqual([{ calls: 0, usd: null }, "an amount is invalid"]);
    expect(doubts).toEqual(["the count prompt_tokens of the call is -1"]);
  });

  it("does not count a cost without the cost of the prompt", () => {
    const { all } = summaryOf([used("a", 10, undefined, null), used("b", 20)]);
    expect(all.cost).toEqual({ calls: 1, usd: "0.02" });
  });
});

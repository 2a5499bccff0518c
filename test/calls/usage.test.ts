import { describe, expect, it } from "vitest";
import { countCompletion, readUsages, sumTokens } from "../../src/calls/usage.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";

/** Lists prompt, cached, written and completion tokens of each model. */
const countsOf = (call: unknown) =>
  readUsages(parseRawJson(JSON.stringify(call))).map(({ prompt, cached, written, completion }) =>
    [prompt, cached, written, completion].map((count) => (count === undefined ? undefined : Number(count))),
  );

const none = undefined;
const contradiction = "the counts of the call's usage contradict each other";
const responses = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 80 },
  output_tokens: 10,
  total_tokens: 110,
};
const gemini = {
  prompt_token_count: 1200,
  candidates_token_count: 30,
  thoughts_token_count: 500,
  total_token_count: 1730,
  cached_content_token_count: 1000,
};

describe("the usage of a call", () => {
  it.each([
    [
      "OpenAI",
      { prompt_tokens: 5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 2 } },
      [5, 2, none, 3],
    ],
    ["OpenAI's Responses", responses, [100, 80, none, 10]],
    ["a count that is empty", { ...responses, cache_read_input_tokens: "" }, [100, 80, none, 10]],
    [
      "OpenAI's Responses with written tokens",
      { ...responses, input_tokens_details: { cached_tokens: 80, cache_write_tokens: 5 } },
      [100, 80, 5, 10],
    ],
    [
      "Anthropic",
      { input_tokens: 5, output_tokens: 3, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 },
      [8, 2, 1, 3],
    ],
    [
      "a tracer whose stated total includes the cached tokens",
      { input_tokens: 100, output_tokens: 10, total_tokens: 110, cache_read_input_tokens: 80 },
      [100, 80, none, 10],
    ],
    [
      "Bedrock, whose stated total has cached tokens in addition",
      { inputTokens: 100, outputTokens: 10, totalTokens: 190, cacheReadInputTokens: 80 },
      [180, 80, none, 10],
    ],
    [
      "LangChain",
      { input_tokens: 100, output_tokens: 10, total_tokens: 110, input_token_details: { cache_read: 80 } },
      [100, 80, none, 10],
    ],
    [
      "the AI SDK",
      { inputTokens: 100, inputTokenDetails: { noCacheTokens: 20, cacheReadTokens: 80 }, outputTokens: 10 },
      [100, 80, none, 10],
    ],
    ["Gemini", gemini, [1200, 1000, none, 530]],
    ["Gemini over HTTP", { promptTokenCount: 12, candidatesTokenCount: 3, thoughtsTokenCount: 5 }, [12, none, none, 8]],
    [
      "Gemini with results of tools",
      { ...gemini, tool_use_prompt_token_count: 7, total_token_count: 1737 },
      [1207, 1000, none, 530],
    ],
    [
      "xAI, whose total has reasoning in addition",
      { prompt_tokens: 5, completion_tokens: 3, total_tokens: 12, completion_tokens_details: { reasoning_tokens: 4 } },
      [5, none, none, 7],
    ],
    [
      "OpenAI with reasoning",
      { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, completion_tokens_details: { reasoning_tokens: 4 } },
      [5, none, none, 7],
    ],
    [
      "an API that counts cached tokens in prompt_tokens, next to the names of Anthropic",
      { prompt_tokens: 100, completion_tokens: 10, cache_read_input_tokens: 80 },
      [100, 80, none, 10],
    ],
    [
      "more cached tokens than prompt tokens",
      { prompt_tokens: 5, completion_tokens: 3, cached_tokens: 9 },
      [5, 5, none, 3],
    ],
    ["an embedding", { prompt_tokens: 5, total_tokens: 5 }, [5, none, none, none]],
  ])("counts each token of %s once", (_, usage, [prompt, cached, written, completion]) => {
    const counts = [[prompt, cached, written, completion]];
    expect(countsOf({ output: { usage } })).toEqual(counts);
    expect(countsOf({ output: { usage_metadata: usage } })).toEqual(counts);
    expect(countsOf({ output: [{}, { usageMetadata: usage }] })).toEqual(counts);
    expect(countsOf({ summary: { usage: { m: usage } } })).toEqual(counts);
    expect(countsOf({ output: { usage }, summary: { usage: { m: usage } } })).toEqual(counts);
  });

  it.each([
    ["null", null],
    ["a list", [1]],
  ])("is unknown if it is %s", (_, usage) => {
    expect(countsOf({ output: { usage }, summary: { usage: { m: usage } } })).toEqual([]);
  });

  const { thoughts_token_count: _, cached_content_token_count: __, ...shortGemini } = gemini;

  it.each([
    ["has no cached tokens", responses, { input_tokens: 100, output_tokens: 10 }, [100, 80, none, 10]],
    [
      "has no total and other keys for cached tokens",
      responses,
      { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 80 },
      [100, 80, none, 10],
    ],
    [
      "adds the cached tokens of Anthropic to the input",
      { input_tokens: 20, output_tokens: 10, cache_read_input_tokens: 80 },
      { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 80 },
      [100, 80, none, 10],
    ],
    ["has no thoughts of Gemini", gemini, shortGemini, [1200, 1000, undefined, 530]],
    [
      "renames the counts of Gemini",
      gemini,
      { prompt_tokens: 1200, completion_tokens: 30, total_tokens: 1730 },
      [1200, 1000, undefined, 530],
    ],
  ])("is completed from the output if the summary %s", (_title, own, summed, counts) => {
    expect(countsOf({ output: { usage: own }, summary: { usage: { m: summed } } })).toEqual([counts]);
  });

  it.each([
    ["prompt", { prompt_tokens: 6, completion_tokens: 3 }],
    ["completion", { prompt_tokens: 5, completion_tokens: 4 }],
  ])("comes from the summary if only its %s tokens differ from the output", (_title, summed) => {
    const output = { usage: { prompt_tokens: 5, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } } };
    const counts = [summed.prompt_tokens, undefined, undefined, summed.completion_tokens];
    expect(countsOf({ output, summary: { usage: { m: summed } } })).toEqual([counts]);
  });

  it.each([
    ["has more requests", 200, "the call has 4 cached tokens, which can have another price", undefined],
    ["has fewer tokens", 5, "the call has 4 cached tokens, which can have another price", contradiction],
    ["has the same tokens", 9, undefined, undefined],
  ])("has no exact price for cached tokens that only the output counts, if the summary %s", (_title, count, ...why) => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 } };
    const summary = { usage: { m: { prompt_tokens: count, completion_tokens: 3 } } };
    const [read] = readUsages(parseRawJson(JSON.stringify({ output: { usage }, summary })));
    expect([read?.unpriced, read?.doubt]).toEqual(why);
  });

  it("has no exact price for written tokens that only the output counts", () => {
    const usage = { input_tokens: 9, output_tokens: 3, cache_creation_input_tokens: 4 };
    const call = { output: { usage }, summary: { usage: { m: { prompt_tokens: 200, completion_tokens: 3 } } } };
    const [read] = readUsages(parseRawJson(JSON.stringify(call)));
    expect(read?.unpriced).toBe("the call has 4 cache-write tokens, which can have another price");
  });

  it.each<[usage: object, totals: readonly unknown[], doubt?: string]>([
    [{ prompt_tokens: 5, completion_tokens: 3 }, [none, 8, 3]],
    [{ prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }, [8, 8, 3]],
    [{ prompt_tokens: 5, completion_tokens: 3, total_tokens: 9 }, [9, 9, 3], contradiction],
    [{ prompt_tokens: 5, completion_tokens: 3, total_tokens: 7 }, [8, 8, 3], contradiction],
    [
      { prompt_tokens: -1, completion_tokens: 3, total_tokens: 3 },
      [3, 3, 3],
      "the count prompt_tokens of the call is -1",
    ],
    [
      { prompt_tokens: -1, completion_tokens: 3, total_tokens: 2 },
      [none, none, 3],
      "the count prompt_tokens of the call is -1",
    ],
    [{ prompt_tokens: 5, total_tokens: 7 }, [7, 7, 2]],
    [{ input_tokens: 9, cached_tokens: 4, cache_creation_input_tokens: 3, total_tokens: 9 }, [9, 9, 0]],
    [{ input_tokens: 9, cached_tokens: 4, cache_creation_input_tokens: 3, output_tokens: 1 }, [none, 10, 1]],
    [{ input_tokens: 9, cache_creation_input_tokens: 3, output_tokens: 1 }, [none, 13, 1]],
    [{ prompt_tokens: 0, completion_tokens: 0, input_tokens: 100, output_tokens: 20 }, [none, 120, 20]],
    [{ prompt_tokens: 10, completion_tokens: 2, input_tokens: 100, output_tokens: 2 }, [none, 12, 2], contradiction],
    [{ prompt_tokens: 9, completion_tokens: 2, output_tokens: 3 }, [none, 11, 2], contradiction],
    [{ prompt_tokens: 9, completion_tokens: 2, cached_tokens: 4, cache_read_tokens: 5 }, [none, 11, 2], contradiction],
    [{ prompt_tokens: 5 }, [none, none, none]],
    [{ total_tokens: 7 }, [7, 7, none]],
    [{ prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 5 } }, [none, none, none]],
    [
      { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8, output_tokens_details: { reasoning_tokens: 4 } },
      [8, 8, 3],
      contradiction,
    ],
    [{ prompt_tokens: 5, cached_tokens: 6 }, [none, none, none], contradiction],
    [{ prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 } }, [none, none, none]],
    [
      { prompt_tokens: 5, prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 } },
      ...([[none, none, none], contradiction] as const),
    ],
    [responses, [110, 110, 10]],
    [gemini, [1730, 1730, 530]],
  ])("has a total, which may be the sum, and the rest of it as its completion (row %$)", (usage, totals, doubt) => {
    const [read] = readUsages(parseRawJson(JSON.stringify({ output: { usage } })));
    const counts = read && [read.total, sumTokens(read), countCompletion(read)];
    expect([counts?.map((count) => (count === undefined ? none : Number(count))), read?.doubt]).toEqual([
      totals,
      doubt,
    ]);
  });

  it("is the last of a stream, also in the member `response`", () => {
    const events = [1, 2, 3].map((count) => ({ usage: { prompt_tokens: count, completion_tokens: 10 * count } }));
    const ofLast = [3, undefined, undefined, 30];
    expect(countsOf({ output: events })).toEqual([ofLast]);
    expect(countsOf({ output: [...events.map((response) => ({ response })), { choices: [] }] })).toEqual([ofLast]);
  });

  const whole = (members: object, prompt_tokens: number) => ({
    ...members,
    usage: { prompt_tokens, completion_tokens: 1 },
  });
  it.each([
    ["chat completions", [whole({ id: "a" }, 1), whole({ id: "b" }, 2)], 3, 2n],
    ["members of replies", [{ response: whole({ id: "a" }, 1) }, { response: whole({ id: "b" }, 2) }], 3, 2n],
    ["replies of Gemini", [whole({ responseId: "a" }, 1), whole({ responseId: "b" }, 2)], 3, 2n],
    ["embeddings", [whole({ object: "list" }, 1), whole({ object: "list" }, 2), whole({ object: "list" }, 4)], 7, 3n],
    ["parts of a stream", [whole({ id: "a" }, 1), whole({ id: "a" }, 2)], 2, none],
    ["chunks with ids", ["a", "b"].map((id) => whole({ id, object: "chat.completion.chunk" }, 2)), 2, none],
  ])("is the sum of whole replies, and the last of a stream: %s", (_title, output, prompt, requests) => {
    const [read] = readUsages(parseRawJson(JSON.stringify({ output })));
    expect([Number(read?.prompt), read?.requests]).toEqual([prompt, requests]);
  });

  it("has the sum of the stated costs of whole replies, and the faults of each", () => {
    const sum = (...usages: readonly object[]) =>
      readUsages(parseRawJson(JSON.stringify({ output: usages.map((usage, id) => ({ id: `${id}`, usage })) })))[0];
    const [tokens, odd] = [
      { prompt_tokens: 5, completion_tokens: 3 },
      { prompt_tokens: -1, completion_tokens: 1 },
    ];
    expect(sum({ ...tokens, cost: 0.5 }, { ...tokens, cost: 0.25 })?.stated).toEqual({ digits: 75n, places: 2 });
    expect([sum({ ...tokens, cost: 0.5 }, tokens)?.stated, sum(tokens, { ...tokens, cost: 1 })?.stated]).toEqual([
      ...[none, none],
    ]);
    const invalid = "the count prompt_tokens of the call is -1";
    for (const usages of [
      [tokens, odd],
      [odd, tokens],
    ]) {
      const read = sum(...usages);
      expect([read?.doubt, read?.prompt, read?.completion]).toEqual([invalid, none, 4n]);
    }
    const contradictory = { ...tokens, output_tokens: 4 };
    expect([sum(tokens, contradictory), sum(contradictory, tokens)].map((read) => read?.doubt)).toEqual([
      ...[contradiction, contradiction],
    ]);
  });

  it("contradicts itself if the output does, or the summary", () => {
    const [usage, other] = [{ prompt_tokens: 5, completion_tokens: 3 }, { output_tokens: 4 }];
    for (const [own, summed] of [
      [{ ...usage, ...other }, usage],
      [usage, { ...usage, ...other }],
    ]) {
      const call = { output: { usage: own }, summary: { usage: { m: summed } } };
      expect(readUsages(parseRawJson(JSON.stringify(call)))[0]?.doubt).toBe(contradiction);
    }
  });

  it("comes from the summary for each model if child calls used several models", () => {
    const usage = { m: responses, n: { prompt_tokens: 1, completion_tokens: 1 } };
    expect(countsOf({ output: { model: "m", usage: responses }, summary: { usage } })).toEqual([
      [100, 80, none, 10],
      [1, undefined, undefined, 1],
    ]);
    const alike = { m: responses, n: { input_tokens: 100, output_tokens: 10 } };
    expect(countsOf({ output: { model: "m", usage: responses }, summary: { usage: alike } })).toEqual([
      [100, 80, none, 10],
      [100, undefined, undefined, 10],
    ]);
  });

  it.each([{}, { output: "text" }, { summary: null, output: null }, { summary: { usage: [] } }, { summary: 5 }])(
    "is missing in a call without counts (row %$)",
    (call) => {
      expect(countsOf(call)).toEqual([]);
    },
  );

  it.each([
    ["prompt_tokens is -5", { prompt_tokens: -5, completion_tokens: 1, total_tokens: 6 }, [undefined, 1n]],
    ['prompt_tokens is "5"', { prompt_tokens: "5" }, [undefined, undefined]],
    ["prompt_tokens is -5", { prompt_tokens: -5, completion_tokens: 9, total_tokens: 4 }, [undefined, 9n]],
    ["input_tokens is 1.5", { input_tokens: 1.5, output_tokens: 1 }, [undefined, 1n]],
    ['completion_tokens is "NaN"', { prompt_tokens: 7, completion_tokens: "NaN" }, [7n, undefined]],
    [
      "prompt_tokens_details.cached_tokens is -4",
      { prompt_tokens: 7, completion_tokens: 1, prompt_tokens_details: { cached_tokens: -4 } },
      [7n, 1n],
    ],
    [
      "cache_read_input_tokens is -4",
      { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: -4 },
      [undefined, 1n],
    ],
    [
      "thoughtsTokenCount is -1",
      { promptTokenCount: 7, candidatesTokenCount: 2, thoughtsTokenCount: -1 },
      [7n, undefined],
    ],
    ["prompt_tokens is a text", { prompt_tokens: "as many as the words of it" }, [undefined, undefined]],
    ["requests is -1", { prompt_tokens: 7, completion_tokens: 2, requests: -1 }, [7n, 2n]],
  ])("is unknown if %s", (count, usage, counts) => {
    const [read] = readUsages(parseRawJson(JSON.stringify({ output: { usage } })));
    expect([read?.doubt, read?.prompt, read?.completion]).toEqual([
      `the count ${count.replace(" is", " of the call is")}`,
      ...counts,
    ]);
  });

  const tokens = { prompt_tokens: 10, completion_tokens: 5 };
  const gemini1 = { promptTokenCount: 10, candidatesTokenCount: 5 };
  const doubt = (named: string) => `the call has ${named}, which can have another price`;
  const unpricedOf = (output: unknown, inputs: unknown = {}) =>
    readUsages(parseRawJson(JSON.stringify({ inputs, output })))[0]?.unpriced;

  it.each([
    ["service_tier batch", { service_tier: "batch" }],
    ["prompt_tokens_details.audio_tokens 5", { prompt_tokens_details: { audio_tokens: 5 } }],
    ["completion_tokens_details.image_tokens 4", { completion_tokens_details: { image_tokens: 4 } }],
    ["prompt_tokens_details.AUDIO.token_count 9", { prompt_tokens_details: [{ modality: "AUDIO", token_count: 9 }] }],
    ["traffic_type PROVISIONED_THROUGHPUT", { traffic_type: "PROVISIONED_THROUGHPUT" }],
    ["cache_creation.ephemeral_1h_input_tokens 2", { cache_creation: { ephemeral_1h_input_tokens: 2 } }],
    ["server_tool_use.web_search_requests 3", { server_tool_use: { web_search_requests: 3 } }],
    ["speed fast", { speed: "fast" }],
    ["inference_geo us", { inference_geo: "us" }],
    ["iterations.compaction.input_tokens 7", { iterations: [{ type: "compaction", input_tokens: 7 }] }],
    ["num_sources_used 4", { num_sources_used: 4 }],
    ["citation_tokens 8, num_search_queries 2", { citation_tokens: 8, num_search_queries: 2 }],
    ["search_context_size low", { search_context_size: "low" }],
    ["billed_units.search_units 1", { billed_units: { input_tokens: 5, search_units: 1 } }],
    ["prompt_audio_seconds 12", { prompt_audio_seconds: 12 }],
    ["is_byok true", { is_byok: true }],
    ["new_member.deep 1", { new_member: { deep: 1 } }],
    ["type fast", { type: "fast" }],
    ["searches 2", { cost: 1, cost_details: { input: 1 }, searches: 2 }],
    ["cost_details.input 1", { cost_details: { input: 1 } }],
    ["audio_duration 30", { audio_duration: 30 }],
    ["prompt_tokens_details.queue_time 3", { prompt_tokens_details: { queue_time: 3 } }],
    ["details.text.tier hd", { details: [{ modality: "text", tokenCount: 9, tier: "hd" }] }],
    ["cost -1", { cost: -1 }],
    ["billed_items 5", { billed_items: [5] }],
    ["a.b.c.d.e.f.g.h.i", { a: { b: { c: { d: { e: { f: { g: { h: { i: 1 } } } } } } } } }],
    [`speed ${"x".repeat(40)}`, { speed: "x".repeat(41) }],
    ["details.5m.storage_hours 9", { details: [{ ttl: "5m", storage_hours: 9 }] }],
  ])("has no prices for %s", (named, members) => {
    expect(unpricedOf({ usage: { ...tokens, ...members } })).toBe(doubt(named));
  });

  it.each([
    ["service_tier flex", { service_tier: "flex", usage: tokens }],
    ["serviceTier priority", { serviceTier: { type: "priority" }, usage: tokens }],
    ["performanceConfig optimized", { performanceConfig: { latency: "optimized" }, usage: tokens }],
    ["server_side_tool_usage 2", { server_side_tool_usage: { SERVER_SIDE_TOOL_WEB_SEARCH: 2 }, usage: tokens }],
    [
      "candidatesTokensDetails.IMAGE.tokenCount 9",
      { usageMetadata: { ...gemini1, candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 9 }] } },
    ],
    ["web_search_call", { usage: tokens, output: [{ type: "web_search_call" }, { type: "message", content: [] }] }],
    ["images", { usage: tokens, choices: [{ message: { role: "assistant", content: "", images: [{}] } }] }],
    [
      "groundingMetadata",
      { usageMetadata: gemini1, candidates: [{ content: { parts: [{ text: "4" }] }, groundingMetadata: { a: 1 } }] },
    ],
    ["grounding_metadata", { usage_metadata: gemini1, candidates: [{ grounding_metadata: { a: 1 } }] }],
    ["inlineData", { usageMetadata: gemini1, candidates: [{ content: { parts: [{ inlineData: {} }] } }] }],
    ["provider_cost 0.5", { provider_cost: 0.5, usage: tokens }],
    ["data image", { data: [{ object: "image", url: "x" }], usage: tokens }],
    ["billing 0.5", { billing: { payer: "developer", amount: 0.5 }, usage: tokens }],
    ["new_condition fast lane", { new_condition: "fast lane", choices: [], usage: tokens }],
    ["service_tier_used priority", { service_tier_used: "priority", usage: tokens }],
    ["metadata 9", { metadata: { run: "7", usage: { ...tokens, image_tokens: 9 } }, usage: tokens }],
    ["x_groq 9", { x_groq: { id: "r", seed: 1, usage: { ...tokens, image_tokens: 9 } }, usage: tokens }],
    ["usage_breakdown compound-beta", { usage_breakdown: { models: [{ model: "compound-beta" }] }, usage: tokens }],
    ["search_results web", { search_results: [{ title: "web" }], usage: tokens }],
    ["executed_tools search", { choices: [{ message: { executed_tools: [{ type: "search" }] } }], usage: tokens }],
    ["new_condition 2", { candidates: [{ content: { parts: [] }, new_condition: 2 }], usageMetadata: gemini1 }],
  ])("has no prices for %s of the output", (named, output) => {
    expect(unpricedOf(output)).toBe(doubt(named));
  });

  it.each([
    ["service_tier priority", { service_tier: "priority" }],
    ["web_search_options", { web_search_options: { search_context_size: "low" } }],
    ["web_search_options", { web_search_options: {} }],
    ["plugins", { plugins: [{ id: "web" }] }],
    ["service_tier flex", { extra_body: { service_tier: "flex", top_k: 5 } }],
    ["inference_geo us", { kwargs: { extra_body: { inference_geo: "us" } } }],
    ["extra_body.provider", { extra_body: { provider: { order: ["a"] }, api_key: "" } }],
    ["extraBody.priority", { extraBody: { priority: 1 } }],
    ["performanceConfig optimized", { request: { performanceConfig: { latency: "optimized" } } }],
    ["betas fast-mode-2026-02-01", { betas: ["fast-mode-2026-02-01"] }],
    ["anthropic-beta context-1m-2025-08-07", { extra_headers: { "anthropic-beta": "context-1m-2025-08-07" } }],
    ["speed fast", { self: { speed: "fast" } }],
    ["completion_window 24h", { completion_window: "24h" }],
    ["batch_id b", { batch_id: "b" }],
    ["search_parameters, batch", { model: "m", messages: [], search_parameters: { mode: "on" }, batch: true }],
    ["mode", { kwargs: { modelId: "m", prompt: "p", mode: "batch" } }],
    ["X-Vertex-AI-LLM-Shared-Request-Type priority", { "X-Vertex-AI-LLM-Shared-Request-Type": "priority" }],
    ["speed fast", { a: { b: { c: { d: { speed: "fast" } } } } }],
    ["X-Vertex-AI-LLM-Request-Type shared", { headers: { "X-Vertex-AI-LLM-Request-Type": "shared" } }],
  ])("has no prices for %s of the inputs", (named, inputs) => {
    expect(unpricedOf({ usage: tokens }, inputs)).toBe(doubt(named));
  });

  it("has prices for a request whose options and conversation change no price", () => {
    const extra_body = { top_k: 5, chat_template_kwargs: { enable_thinking: false }, usage: { include: true } };
    const messages = [{ role: "user", content: { speed: "fast" } }];
    const inputs = {
      ...{ self: { a: 1 }, model: "m", messages, extra_body, store: true, timeout: 9, parallel_tool_calls: true },
      ...{ api_version: "1", verbosity: "low", labels: { a: "b" }, modalities: ["text"], custom_llm_provider: "p" },
      ...{ base_url: "u", user_id: "u", response_model: "M", strict: true, options: { num_ctx: 9 }, verbose: true },
      service_tier: "auto",
      extra_headers: { "X-Title": "a" },
      config: { speed: 0 },
    };
    expect(unpricedOf({ usage: tokens }, inputs)).toBeUndefined();
    for (const reply of [{ usage: tokens, service_tier: "default" }, { usage: { ...tokens, service_tier: "default" } }])
      expect(unpricedOf(reply, { extra_body: { service_tier: "flex" } })).toBeUndefined();
  });

  it("has prices for a traced function with any arguments", () => {
    const inputs = { model: "m", prompt: "p", question: "2+2?", example: { row: 1 } };
    const call = { inputs, output: "4", summary: { usage: { m: tokens } } };
    expect(readUsages(parseRawJson(JSON.stringify(call)))[0]?.unpriced).toBeUndefined();
  });

  const within = ([key = "", ...deeper]: readonly string[], value: number): object => ({
    [key]: deeper.length > 0 ? within(deeper, value) : value,
  });

  it.each([
    ["7 - - 5", "prompt_tokens input_tokens inputTokenCount billed_units.input_tokens", { output_tokens: 5 }],
    [
      "9 - - 7",
      "completion_tokens output_tokens candidatesTokenCount response_token_count billed_units.output_tokens",
      { prompt_tokens: 9 },
    ],
    [
      "9 7 - 5",
      `cached_tokens num_cached_tokens cached_content_token_count total_cached_input_tokens prompt_tokens_cached
      prompt_cache_hit_tokens prompt_tokens_details.cached_tokens input_token_details.cache_read`,
    ],
    ["16 7 - 5", "cache_read_input_tokens cache_read_tokens"],
    ["16 - 7 5", "cache_creation_input_tokens cache_write_input_tokens cache_write_tokens"],
    [
      "9 - 7 5",
      `prompt_tokens_details.cache_write_tokens input_tokens_details.cache_creation_tokens
      input_token_details.cache_creation inputTokensDetails.cacheCreationInputTokens`,
    ],
    ["9 - - 12", "thoughtsTokenCount thought_tokens"],
    [
      "9 - - 12",
      `reasoning_tokens output_tokens_details.reasoning_tokens output_token_details.reasoning
      completion_tokens_details.thinking_tokens response_tokens_details.reasoning_tokens
      candidates_tokens_details.reasoning_tokens`,
      { input_tokens: 9, output_tokens: 5, total_tokens: 21 },
    ],
    [
      "16 - - 5",
      "tool_use_prompt_token_count tool_use_tokens",
      { input_tokens: 9, output_tokens: 5, total_tokens: 21 },
    ],
    [
      "9 - - 5",
      `requests prompt_tokens_details.text_tokens completion_tokens_details.text_tokens prompt_cache_miss_tokens
      cached_tokens_details.text_tokens completion_tokens_details.accepted_prediction_tokens tokens.input_tokens
      completion_tokens_details.rejected_prediction_tokens cache_creation.ephemeral_5m_input_tokens
      cache_creation_tokens_details.ephemeral_5m_input_tokens tokens.output_tokens
      input_tokens_details.ephemeral_5m_input_tokens queue_time prompt_time completion_time total_time start_time end_time
      model_load_time time_to_first_token total_latency total_duration load_duration eval_duration prompt_eval_duration
      total_tokens_per_sec completion_tokens_after_first_per_sec_first_ten
      cost estimated_cost total_cost cost.total_cost cost_in_usd_ticks`,
    ],
  ])("knows names of tokens: %s", (counts, paths, others: object = { input_tokens: 9, output_tokens: 5 }) => {
    for (const path of paths.split(/\s+/)) {
      const call = { output: { usage: { ...within(path.split("."), 7), ...others } } };
      const read = countsOf(call).map((all) => all.map((count) => count ?? "-").join(" "));
      expect([path, ...read, unpricedOf(call.output)]).toEqual([path, counts, undefined]);
    }
  });

  const neutral = "standard default auto on_demand not_available traffic_type_unspecified Global none tokens USD";

  it.each([
    { service_tier: "standard", cache_creation: { ephemeral_1h_input_tokens: 0 } },
    { inference_geo: "not_available", speed: "standard", server_tool_use: { web_search_requests: 0 } },
    { traffic_type: "ON_DEMAND", prompt_tokens_details: [{ modality: "TEXT", token_count: 10 }] },
    { prompt_tokens_details: { text_tokens: 10 }, num_sources_used: 0, is_byok: false, cost_details: null },
    { completion_tokens_details: { rejected_prediction_tokens: 3, image_tokens: 0, audio_tokens: null } },
    { prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6, queue_time: 0.2, prompt_audio_seconds: {} },
    { iterations: [{ type: "message", input_tokens: 10, output_tokens: 5 }] },
    { billed_units: { input_tokens: 5, output_tokens: 2 }, tokens: { input_tokens: 70, output_tokens: 2 } },
    Object.fromEntries(neutral.split(" ").map((text) => [`condition_${text}`, text])),
    { details: [{ type: "text" }, { ttl: "5m" }, { modality: "message" }].map((label) => ({ ...label, tokens: 1 })) },
  ])("has prices for known counts, zeros and usual conditions (row %$)", (members) => {
    expect(unpricedOf({ usage: { ...tokens, ...members } })).toBeUndefined();
  });

  it.each([
    { service_tier: "default", performanceConfig: { latency: "standard" }, server_side_tool_usage: { SEARCH: 0 } },
    { output: [{ type: "reasoning", summary: [] }, { type: "function_call" }] },
    { choices: [{ message: { role: "assistant", content: "4", audio: null, annotations: [] } }] },
  ])("has prices for a reply with usual members (row %$)", (reply) => {
    expect(unpricedOf({ ...reply, usage: tokens })).toBeUndefined();
  });

  const message = { role: "assistant", content: "4", refusal: null, reasoning: "2 + 2", tool_calls: [] };
  const choice = { index: 0, message, logprobs: null, finish_reason: "stop", stop_reason: null };
  const completion = { id: "c", object: "chat.completion", created: 1, model: "m", usage: tokens };
  const chat = { ...completion, choices: [choice], system_fingerprint: "fp_1" };

  it.each([
    [
      "OpenAI",
      { ...chat, service_tier: "default", choices: [{ ...choice, message: { ...message, annotations: [] } }] },
    ],
    [
      "OpenAI's Responses",
      {
        ...{ id: "r", object: "response", created_at: 1, completed_at: 2, status: "completed", background: false },
        ...{ billing: { payer: "developer" }, error: null, incomplete_details: null, instructions: "Add.", model: "m" },
        ...{ max_output_tokens: 99, max_tool_calls: null, parallel_tool_calls: true, previous_response_id: "p" },
        ...{ prompt_cache_key: "k", prompt_cache_retention: "24h", reasoning: { effort: "high", summary: "auto" } },
        ...{
          safety_identifier: "s",
          service_tier: "default",
          store: true,
          temperature: 1,
          top_logprobs: 0,
          top_p: 0.9,
        },
        ...{ text: { format: { type: "text" }, verbosity: "medium" }, tool_choice: "auto", truncation: "disabled" },
        ...{
          tools: [{ type: "function", name: "f" }],
          user: "u",
          metadata: { run: "7" },
          output: [],
          usage: responses,
        },
      },
    ],
    [
      "Anthropic",
      {
        ...{ id: "m", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "4" }] },
        ...{ stop_reason: "end_turn", stop_sequence: null, stop_details: null, container: null, usage: tokens },
        context_management: { applied_edits: [] },
      },
    ],
    [
      "Gemini",
      {
        sdk_http_response: { headers: { server: "s" }, body: null },
        candidates: [
          {
            ...{ content: { parts: [{ text: "4", thoughtSignature: "s" }], role: "model" }, finish_reason: "STOP" },
            ...{ index: 0, token_count: null, avg_logprobs: -0.1, safety_ratings: [{ category: "HARM" }] },
          },
        ],
        ...{ create_time: "2026", model_version: "m", response_id: "r", prompt_feedback: null, parsed: null },
        ...{ automatic_function_calling_history: [], usage_metadata: gemini1 },
      },
    ],
    [
      "vLLM",
      {
        ...chat,
        ...{ prompt_logprobs: [null], prompt_token_ids: [1], kv_transfer_params: { a: 1 } },
        choices: [{ ...choice, token_ids: [4], routed_experts: [[1]] }],
      },
    ],
    ["SGLang", { ...chat, metadata: { weight_version: "v1" }, choices: [{ ...choice, matched_stop: 151645 }] }],
    [
      "OpenRouter",
      {
        ...{ ...chat, provider: "Novita", service_tier: null },
        choices: [
          {
            ...{ ...choice, native_finish_reason: "stop" },
            message: { ...message, reasoning_details: [{ type: "reasoning.text", text: "2 + 2" }] },
          },
        ],
      },
    ],
    ["Together", { ...chat, prompt: [], choices: [{ ...choice, seed: 77 }] }],
    [
      "Fireworks",
      { ...chat, perf_metrics: { "server-time": "1" }, choices: [{ ...choice, raw_output: { completion: "4" } }] },
    ],
    ["Groq", { ...chat, usage_breakdown: null, x_groq: { id: "r", seed: 5 }, service_tier: "on_demand" }],
    [
      "a stream of Groq",
      [
        { ...completion, choices: [] },
        { choices: [], x_groq: { id: "r", usage: tokens } },
      ],
    ],
    ["Cerebras", { ...chat, time_info: { queue_time: 0.1, created: 1 }, service_tier_used: "default" }],
    [
      "OpenAI's embeddings",
      { ...completion, object: "list", data: [{ object: "embedding", index: 1, embedding: [0.5] }] },
    ],
    ["Gemini's embeddings", { embeddings: [{ values: [0.5] }], usageMetadata: gemini1 }],
    ["LangChain", { type: "ai", content: "4", tool_calls: [], usage_metadata: tokens }],
    ["Mistral", { ...chat, choices: [{ ...choice, message: { ...message, prefix: false } }] }],
    [
      "Azure",
      {
        ...{ ...chat, prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: {} } }] },
        choices: [{ ...choice, content_filter_results: { hate: { filtered: false, severity: "safe" } } }],
      },
    ],
    [
      "Bedrock",
      {
        ...{ ResponseMetadata: { HTTPStatusCode: 200 }, output: { message: { role: "assistant", content: [] } } },
        ...{ stopReason: "end_turn", metrics: { latencyMs: 551 }, usage: { inputTokens: 10, outputTokens: 5 } },
        ...{ performanceConfig: { latency: "standard" }, serviceTier: { type: "default" } },
      },
    ],
    [
      "Cohere",
      {
        ...{ id: "c", finish_reason: "COMPLETE", message: { role: "assistant", content: [], tool_plan: "Add." } },
        usage: { billed_units: { input_tokens: 5 }, tokens: { input_tokens: 9 } },
      },
    ],
    [
      "LiteLLM",
      {
        ...chat,
        choices: [{ ...choice, message: { ...message, provider_specific_fields: { a: 1 } } }],
        response_ms: 4,
      },
    ],
  ])("has prices for an ordinary reply of %s", (_, output) => {
    expect(unpricedOf(output)).toBeUndefined();
  });

  it("has prices for a reply and a request whose members change no price", () => {
    const named = (words: string) => Object.fromEntries(words.split(/\s+/).map((word) => [word, "x"]));
    const members = named(`object role model modelName provider status user error index text output_text content refusal
      reasoning thinking tool_plan tool_name name prefix logprobs prompt_logprobs avgLogprobs logprobsResult token_count
      prompt_text parsed created stop_sequence stop_details matched_stop incomplete_details seed hidden_states warnings
      additionalModelResponseFields routed_experts prompt_routed_experts kv_transfer_params raw_output background
      conversation context_management instructions max_tool_calls parallel_tool_calls prompt store stream completion
      generation temperature tool_choice tools top_logprobs top_p frequency_penalty presence_penalty prompt_cache_key
      prompt_cache_retention safety_identifier top_k truncation max_output_tokens max_tokens max_completion_tokens
      latency answer result reasoning_content reasoning_details trace metrics perf_metrics ResponseMetadata
      openrouter_metadata sdk_http_response automatic_function_calling_history provider_specific_fields responseHeaders
      model_status request_id ids created_at queue_time time_info timestamp response_ms version system_fingerprint
      finish_reason stopReason prompt_feedback content_filter content_filters filter_result safety_ratings moderation
      citationMetadata`);
    const unused = { hit: false, batch: "", reused: null, spent: 0, more: {}, others: [[]], mode: "auto" };
    expect(unpricedOf({ ...members, ...unused, usage: tokens })).toBeUndefined();
    const types = `message text input_text output_text summary_text refusal reasoning reasoning_text thinking tool_use
      redacted_thinking tool_result function_call function_call_output custom_tool_call custom_tool_call_output mcp_call
      mcp_list_tools mcp_approval_request mcp_approval_response mcp_tool_use mcp_tool_result local_shell_call compaction
      local_shell_call_output apply_patch_call apply_patch_call_output item_reference response.done`;
    expect(unpricedOf({ output: types.split(/\s+/).map((type) => ({ type })), usage: tokens })).toBeUndefined();
    const extra_body =
      named(`min_p max_len top_a length_penalty repetition_penalty guided_json structured_outputs n seed
      chat_template stop spaces_between skip_special include_x ignore_eos reasoning_effort thinking_x return_x add_x prompt_x
      logit_bias stream_options typical_p presence_penalty frequency_penalty temperature best_of use_beam_search echo
      enable_thinking separate_reasoning logprobs usage user metadata session_id cache_salt regex json_schema ebnf
      response_format documents bad_words allowed_token_ids kv_transfer_params vllm_xargs request_id tags tools tool_choice
      functions`);
    expect(unpricedOf({ usage: tokens }, { extra_body })).toBeUndefined();
  });

  it("has no prices for the model that answered, or for each model if none of them did", () => {
    const unpriced = (model: string, models: string) => {
      const usage = Object.fromEntries(models.split(" ").map((name) => [name, tokens]));
      const output = { model, usage: { ...tokens, service_tier: "batch" } };
      const usages = readUsages(parseRawJson(JSON.stringify({ output, summary: { usage } })));
      return usages.filter((one) => one.unpriced !== undefined).map((one) => one.model);
    };
    expect(unpriced("a", "a b")).toEqual(["a"]);
    expect(unpriced("c", "a b")).toEqual(["a", "b"]);
    expect(unpriced("c", "a")).toEqual(["a"]);
    const usage = { ...tokens, searches: 2 };
    const call = { output: { usage }, summary: { usage: { m: usage } } };
    expect(readUsages(parseRawJson(JSON.stringify(call)))[0]?.unpriced).toBe(doubt("searches 2"));
  });

  it.each([
    ["OpenRouter", { cost: 0.0015, cost_details: { upstream_inference_cost: 0.0015 } }, 15n, 4],
    ["Perplexity", { cost: { request_cost: 0.005, total_cost: 0.006 } }, 6n, 3],
    ["xAI", { cost_in_usd_ticks: 15_000_000 }, 15_000_000n, 10],
    ["LiteLLM beside the usage", {}, 15n, 4, { cost: 0.0015 }],
  ])("has the cost that %s states", (_, cost, digits, places, beside: object = {}) => {
    const [usage] = readUsages(parseRawJson(JSON.stringify({ output: { usage: { ...tokens, ...cost }, ...beside } })));
    expect(usage).toMatchObject({ unpriced: undefined, stated: { digits, places } });
  });
});

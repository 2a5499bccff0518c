/** What was used: tokens, images and requests, as people say it and as calls record it. */
import type { Call } from "../contract/call.ts";
import { known } from "../contract/fields.ts";
import { isObject, memberOf } from "../json/walk.ts";

/** Numbers of what is paid for. Cached tokens are among the prompt's. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly cached_tokens: number;
  readonly completion_tokens: number;
  readonly images: number;
  readonly requests: number;
}

/** Nothing used. */
export const noUsage: Usage = { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, images: 0, requests: 0 };

/** Both together. */
const addUsage = (a: Usage, b: Usage): Usage => ({
  prompt_tokens: a.prompt_tokens + b.prompt_tokens,
  cached_tokens: a.cached_tokens + b.cached_tokens,
  completion_tokens: a.completion_tokens + b.completion_tokens,
  images: a.images + b.images,
  requests: a.requests + b.requests,
});

/**
 * The usage of a call: its summary's, over all models (with the calls below it), else its output's. Undefined where
 * neither records one.
 */
export const usageOfCall = ({ summary, output }: Call): Usage | undefined => {
  const own = usageOf(memberOf(output, "usage"));
  const byModel = memberOf(known(summary), "usage");
  const summed = sumOf(isObject(byModel) ? Object.values(byModel).map(usageOf) : []);
  // A summary has no cached tokens; where the output counts the same, it does.
  const isSame = own?.prompt_tokens === summed?.prompt_tokens && own?.completion_tokens === summed?.completion_tokens;
  return summed === undefined || isSame ? own : summed;
};

const sumOf = (usages: readonly (Usage | undefined)[]): Usage | undefined =>
  usages.reduce((sum, one) => (sum === undefined || one === undefined ? (sum ?? one) : addUsage(sum, one)), undefined);

/**
 * What an object of usage counts, in the words of OpenAI's and of Anthropic's interfaces. Undefined where it does not
 * say both what went in and what came out.
 */
const usageOf = (value: unknown): Usage | undefined => {
  if (!isObject(value)) return undefined;
  const count = (name: string, within: unknown = value): number | undefined => countOf(memberOf(within, name));
  const details = memberOf(value, "prompt_tokens_details") ?? memberOf(value, "input_tokens_details");
  const [read, written] = [count("cache_read_input_tokens"), count("cache_creation_input_tokens")];
  const cached = count("cached_tokens", details) ?? count("cached_tokens") ?? read ?? 0;
  // Assumed: `input_tokens` beside cache counts of the same interface leaves out what was cached; `prompt_tokens` never does.
  const beside = (read ?? 0) + (written ?? 0);
  const input = count("input_tokens");
  const prompt = count("prompt_tokens") ?? (input === undefined ? undefined : input + beside);
  const total = count("total_tokens");
  const completion = count("completion_tokens") ?? count("output_tokens") ?? (total === prompt ? 0 : undefined);
  if (prompt === undefined || completion === undefined) return undefined;
  return {
    prompt_tokens: prompt,
    cached_tokens: Math.min(cached, prompt),
    completion_tokens: completion,
    images: 0,
    requests: count("requests") ?? 1,
  };
};

const countOf = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** Reads the tokens of a traced call, and counts each token once. */
import { formatDecimal, parseDecimal } from "../decimal.ts";
import { findValue, itemsOf, membersOf, type RawJson, textAt } from "../json/raw-json.ts";
import { cutText } from "../sentences.ts";

export const tokenKinds = ["prompt", "completion", "total"] as const;
export type TokenKind = (typeof tokenKinds)[number];

/** `prompt` includes tokens that are read from (`cached`) or written to a cache. `completion` includes thoughts. */
export type CallUsage = Readonly<
  Record<TokenKind | "cached" | "written" | "requests", bigint | undefined> & {
    model: string | undefined;
    /** Why the counts are not exact: one is invalid, or they do not add up. */
    doubt: string | undefined;
  }
>;

export const findNamedModel = (call: RawJson) =>
  textAt(call, "output", "model") ??
  textAt(call, "inputs", "model") ??
  textAt(call, "output", "model_version") ??
  textAt(call, "output", "modelVersion");

/** Assumed: tokens are in `summary.usage[model]`, otherwise in the output. */
export const readUsages = (call: RawJson): readonly CallUsage[] => {
  const own = readCounts(findOwnUsage(findValue(call, "output")));
  const model = findNamedModel(call);
  const summed = membersOf(findValue(call, "summary", "usage"));
  const usages = summed.flatMap(({ key, value }) => {
    const counts = readCounts(value);
    const isOwn = (summed.length === 1 || key === model) && isSameUsage(counts, own);
    return toUsage(isOwn ? new Map([...counts, ...own]) : counts, key);
  });
  return usages.length > 0 ? usages : toUsage(own, model);
};

const otherPriceNames: Readonly<Record<string, string>> = {
  "input.audiotokens": "audio",
  "output.audiotokens": "audio",
  "output.ephemeral1hinputtokens": "tokens written to a cache for an hour",
};

/** Returns the reason why other prices than those of catalogs can apply. */
export const findPriceDoubt = (call: RawJson) => {
  const output = findValue(call, "output");
  const [tier] = [textAt(output, "service_tier"), textAt(output, "usage", "service_tier")].filter(Boolean);
  if (tier && !/^(default|standard|auto)$/i.test(tier))
    return `the service tier ${cutText(tier, 40)} can have other prices`;
  const summed = membersOf(findValue(call, "summary", "usage")).map(({ value }) => value);
  const counts = new Map([findOwnUsage(output), ...summed].flatMap((usage) => [...readCounts(usage)]));
  const [, found] = Object.entries(otherPriceNames).find(([name]) => (counts.get(name) ?? 0n) !== 0n) ?? [];
  return found && `the call's usage includes ${found}, which can have another price`;
};

/** A stream is a list, whose last usage is complete. */
const findOwnUsage = (output: RawJson | undefined) =>
  [output, ...itemsOf(output).toReversed()]
    .flatMap((value) => [value, findValue(value, "response")])
    .flatMap((value) => ["usage", "usage_metadata", "usageMetadata"].map((key) => findValue(value, key)))
    .find((usage) => usage !== undefined);

/** A text says why a count is invalid. */
type Counts = ReadonlyMap<string, bigint | string>;

/** Maps names to counts. Details have the name of their object as a prefix: `input.cached`. */
const readCounts = (usage: RawJson | undefined): Counts => {
  const counts = membersOf(usage).flatMap(({ key, value }) => {
    const name = toCountName(key);
    const prefix = /^(prompt|input)/.test(name) ? "input" : "output";
    const hasDetails = /^(?:(?:prompt|input|completion|output|candidates)tokens?details|cachecreation)$/.test(name);
    // Gemini lists the tokens of each modality.
    const audio = value.items.find((item) => textAt(item, "modality") === "AUDIO");
    const audioCount = findValue(audio, "tokenCount") ?? findValue(audio, "token_count");
    const details = hasDetails
      ? [...value.members, ...(audioCount ? [{ key: "audio_tokens", value: audioCount }] : [])]
      : [];
    return [
      ...toCount(name, key, value),
      ...details.flatMap((detail) => toCount(`${prefix}.${toCountName(detail.key)}`, detail.key, detail.value)),
    ];
  });
  return new Map(counts);
};

/** `prompt_token_count`, `promptTokenCount` and `prompt_tokens` have the same name. */
const toCountName = (key: string) =>
  key
    .replaceAll("_", "")
    .toLowerCase()
    .replace(/tokencount$/, "tokens")
    .replace(/^total(?=\w+tokens$)/, "");

const toCount = (name: string, key: string, value: RawJson): readonly (readonly [string, bigint | string])[] => {
  const { kind, json } = value;
  const decimal = kind === "number" ? parseDecimal(json) : undefined;
  const whole = decimal ? formatDecimal(decimal) : "";
  if (/^\d+$/.test(whole)) return [[name, BigInt(whole)]];
  // NaN and Infinity arrive as texts.
  const isCount = kind === "number" || (kind === "text" && json !== '""');
  return isCount && knownNames.has(name) ? [[name, `the count ${key} of the call is ${cutText(json, 40)}`]] : [];
};

const countNames = {
  prompt: ["prompttokens", "inputtokens"],
  completion: ["completiontokens", "outputtokens", "candidatestokens"],
  total: ["totaltokens"],
  // These cached tokens are always part of the prompt.
  includedCached: [
    ...["input.cachedtokens", "input.cacheread", "cachedtokens"],
    ...["cachedcontenttokens", "cachedinputtokens", "prompttokenscached", "promptcachehittokens"],
  ],
  cached: ["cachereadinputtokens", "cachereadtokens"],
  written: [
    ...["cachecreationinputtokens", "cachewriteinputtokens", "cachewritetokens"],
    ...["input.cachewritetokens", "input.cachecreationtokens", "input.cachecreation"],
  ],
  thoughts: ["thoughtstokens", "thoughttokens"],
  reasoning: ["output.reasoningtokens", "output.reasoning", "reasoningtokens"],
  toolPrompt: ["tooluseprompttokens", "toolusetokens"],
  requests: ["requests"],
};

type CountKind = keyof typeof countNames;

const knownNames: ReadonlySet<string> = new Set(Object.values(countNames).flat());

const findCount = (counts: Counts, kind: CountKind) =>
  countNames[kind].map((name) => counts.get(name)).find((count) => typeof count === "bigint");

const isInvalid = (counts: Counts, ...kinds: readonly CountKind[]) =>
  kinds.some((kind) => countNames[kind].some((name) => typeof counts.get(name) === "string"));

/** True if the usage of the output and the usage in the summary are from the same request. */
const isSameUsage = (counts: Counts, own: Counts) => {
  const isEqual = (kind: TokenKind) => findCount(counts, kind) === findCount(own, kind);
  if (findCount(own, "total") !== undefined && isEqual("total")) return true;
  if (isEqual("prompt") && isEqual("completion")) return true;
  const readings = listReadings(own);
  return listReadings(counts).some(([prompt, completion]) =>
    readings.some((reading) => reading[0] === prompt && reading[1] === completion),
  );
};

type Reading = readonly [prompt: bigint | undefined, completion: bigint | undefined];

/** Lists the numbers of prompt and completion tokens that the counts can mean. The first pair is the most likely. */
const listReadings = (counts: Counts): readonly Reading[] => {
  const find = (kind: CountKind) => findCount(counts, kind) ?? 0n;
  const input = findCount(counts, "prompt");
  const output = findCount(counts, "completion");
  const cached = find("cached") + find("written");
  // Anthropic's `input_tokens` excludes cached tokens. Counts in details are parts of the prompt.
  const hasDetails =
    findCount(counts, "includedCached") !== undefined || [...counts.keys()].some((name) => name.startsWith("input."));
  const isSeparate = !hasDetails && !counts.has("prompttokens");
  const canInclude = input !== undefined && cached <= input;
  const tool = find("toolPrompt");
  const inputs = canInclude && !isSeparate ? [0n, cached] : canInclude ? [cached, 0n] : [cached];
  const prompts = inputs.flatMap((more) => [more + tool, more]).map((more) => input && input + more);
  // Gemini's count of candidates excludes thoughts, but OpenAI's `completion_tokens` includes reasoning.
  const completions = [find("thoughts"), 0n, find("reasoning")].map((more) => output && output + more);
  const readings = prompts.flatMap((prompt) => completions.map((completion) => [prompt, completion] as const));
  const total = findCount(counts, "total");
  const stated = readings.find(([prompt = 0n, completion = 0n]) => prompt + completion === total);
  return stated ? [stated] : readings;
};

const toUsage = (counts: Counts, model: string | undefined): readonly CallUsage[] => {
  const reading = listReadings(counts)[0] ?? [];
  const prompt = isInvalid(counts, "prompt", "cached", "written", "toolPrompt") ? undefined : reading[0];
  const completion = isInvalid(counts, "completion", "thoughts") ? undefined : reading[1];
  const stated = findCount(counts, "total");
  const invalid = Array.from(counts.values()).find((count) => typeof count === "string");
  if ((prompt ?? completion ?? stated ?? invalid) === undefined) return [];
  const sum = (prompt ?? 0n) + (completion ?? 0n);
  const total = stated !== undefined && stated < sum ? (invalid === undefined ? sum : undefined) : stated;
  const within = (count: bigint | undefined, limit = 0n) => (count !== undefined && count > limit ? limit : count);
  const readFromCache = findCount(counts, "includedCached") ?? findCount(counts, "cached");
  const cached = within(readFromCache, prompt);
  const writtenToCache = findCount(counts, "written");
  const written = within(writtenToCache, prompt && prompt - (cached ?? 0n));
  const hasBoth = prompt !== undefined && completion !== undefined;
  const isOtherTotal = hasBoth && stated !== undefined && stated !== sum;
  const isInconsistent = isOtherTotal || cached !== readFromCache || written !== writtenToCache;
  const requests = findCount(counts, "requests");
  const doubt = invalid ?? (isInconsistent ? "the counts of the call's usage contradict each other" : undefined);
  return [{ model, prompt, completion, total, cached, written, requests, doubt }];
};

export const sumTokens = ({ prompt, completion, total }: CallUsage) =>
  total ?? (prompt === undefined || completion === undefined ? undefined : prompt + completion);

/** Embeddings have no count of completion tokens. */
export const countCompletion = ({ prompt, completion, total }: CallUsage) =>
  completion ?? (prompt === undefined || total === undefined ? undefined : total - prompt);

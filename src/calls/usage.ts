/** Reads the tokens of a traced call, and counts each token once. */

import { findValue, isAbsent, membersOf, type RawJson, type RawMember, textAt } from "../json/raw-json.ts";
import * as decimals from "../text/decimal.ts";
import { cutText, formatList, isShortText } from "../text/sentences.ts";
import * as names from "./count-names.ts";
import { findOtherUses, listReplies } from "./other-uses.ts";

export const tokenKinds = ["prompt", "completion", "total"] as const;
export type TokenKind = (typeof tokenKinds)[number];

/** `prompt` includes tokens that are read from (`cached`) or written to a cache. `completion` includes thoughts. */
export type CallUsage = Readonly<
  Record<TokenKind | "cached" | "written" | "requests", bigint | undefined> & {
    model: string | undefined;
    /** Why the counts are not exact: one is invalid, or they do not add up. */
    doubt: string | undefined;
    /** The reason why the prices of these tokens are not the cost of the call. */
    unpriced: string | undefined;
    /** US dollars that the model's service stated. */
    stated: decimals.Decimal | undefined;
  }
>;

export const findNamedModel = (call: RawJson) =>
  textAt(call, "output", "model") ??
  textAt(call, "inputs", "model") ??
  textAt(call, "output", "model_version") ??
  textAt(call, "output", "modelVersion");

/** Assumed: tokens are in `summary.usage[model]`, otherwise in the output. */
export const readUsages = (call: RawJson): readonly CallUsage[] => {
  const output = findValue(call, "output");
  const costs = listReplies(output)
    .flatMap(membersOf)
    .filter(({ key }) => names.costNames.has(names.toCountName(key)));
  const [usage, ...more] = listOwnUsages(output);
  const own = more.map((one) => readUsage(one)).reduce(addUsages, readUsage(usage, findOtherUses(call), costs));
  const model = findNamedModel(call);
  const summed = membersOf(findValue(call, "summary", "usage"));
  const hasModel = summed.length === 1 || summed.some(({ key }) => key === model);
  const usages = summed.flatMap(({ key, value }) => {
    const read = readUsage(value);
    const isOwn = summed.length === 1 || key === model;
    const isSame = isOwn && isSameUsage(read.counts, own.counts);
    const counts = isSame ? [...read.counts, ...own.counts] : read.counts;
    const lost = isSame ? [] : listLostTokens(read.counts, own.counts);
    const others = isOwn || !hasModel ? [...read.others, ...own.others, ...lost] : read.others;
    const statedCost = (isOwn ? own.statedCost : undefined) ?? read.statedCost;
    const isOtherUsage = isOwn && (own.isContradictory || !canInclude(read.counts, own.counts));
    const isContradictory = read.isContradictory || isOtherUsage;
    return toUsage({ counts: new Map(counts), others, statedCost, isContradictory }, key);
  });
  return usages.length > 0 ? usages : toUsage(own, model);
};

/** A list is a stream, whose last usage is complete, or has whole replies with ids of their own. */
const listOwnUsages = (output: RawJson | undefined): readonly RawJson[] => {
  const found = listReplies(output).flatMap((reply, at) => {
    const usage = [reply, findValue(reply, "x_groq"), findValue(reply, "metadata")]
      .flatMap((value) => names.usageKeys.map((key) => findValue(value, key)))
      .find((value) => value !== undefined);
    return usage ? [{ usage, id: findReplyId(reply, at) }] : [];
  });
  const isStream = output?.kind !== "list" || found.some(({ id }) => id === undefined);
  if (isStream) return found.slice(0, 1).map(({ usage }) => usage);
  return [...new Map(found.toReversed().map(({ usage, id }) => [id, usage])).values()];
};

/** Lists of embeddings have no ids. */
const findReplyId = (reply: RawJson | undefined, at: number) => {
  const kind = textAt(reply, "object");
  if (kind === "list") return String(at);
  return kind?.endsWith(".chunk") ? undefined : (textAt(reply, "id") ?? textAt(reply, "responseId"));
};

const addUsages = (sum: UsageReading, read: UsageReading): UsageReading => {
  const counts = new Map(sum.counts);
  for (const [name, count] of read.counts) {
    const before = counts.get(name) ?? 0n;
    if (typeof before === "bigint") counts.set(name, typeof count === "bigint" ? before + count : count);
  }
  counts.set("requests", (findCount(sum.counts, "requests") ?? 1n) + 1n);
  const statedCost = sum.statedCost && read.statedCost && decimals.addDecimals(sum.statedCost, read.statedCost);
  const isContradictory = sum.isContradictory || read.isContradictory;
  return { counts, others: [...sum.others, ...read.others], statedCost, isContradictory };
};

/** A text says why a count is invalid. */
type Counts = ReadonlyMap<string, bigint | string>;

/** `others` are members whose price is unknown, such as `server_tool_use.web_search_requests 3`. */
type UsageReading = Readonly<{
  counts: Counts;
  others: readonly string[];
  statedCost: decimals.Decimal | undefined;
  isContradictory: boolean;
}>;

/** Counts in an object have its name as a prefix: `input.cachedtokens`. */
export const readUsage = (
  usage: RawJson | undefined,
  uses: readonly string[] = [],
  costs: readonly RawMember[] = [],
): UsageReading => {
  const counts = new Map<string, bigint | string>();
  const others = [...uses];
  const costParts: string[] = [];
  let statedCost: decimals.Decimal | undefined;
  const readMember = (name: string, at: string, value: RawJson) => {
    const amount = value.kind === "number" ? decimals.parseDecimal(value.json) : undefined;
    const whole = amount ? decimals.formatDecimal(amount) : "";
    const costPlaces = names.costNames.get(name);
    const other = `${at} ${cutText(value.text, 40)}`;
    if (isAbsent(value) || value.json === '""' || value.json === "false") return;
    if (/^\d+$/.test(whole) && (names.knownNames.has(name) || names.partNames.has(name)))
      counts.set(name, BigInt(whole));
    else if (names.knownNames.has(name) && value.kind !== "word")
      counts.set(
        name,
        `the count ${at} of the call is ${isShortText(value.text) ? cutText(value.json, 40) : "a text"}`,
      );
    else if (costPlaces !== undefined && amount && amount.digits >= 0n)
      statedCost = decimals.shiftDecimal(amount, costPlaces);
    else if (
      amount?.digits === 0n ||
      names.timeName.test(name) ||
      (value.kind === "text" && names.isNeutral(value.text))
    )
      return;
    else if (/^cost(?:details)?\./.test(name)) costParts.push(other);
    else others.push(other);
  };
  const walk = (value: RawJson, holder: string, path: string, levels: number) => {
    for (const { key, value: member } of value.members) {
      const [name, at] = [names.toCountName(key), `${path}${key}`];
      if (holder.endsWith(itemHolder) && labelKeys.includes(key)) continue;
      if (holder === plainItemHolder && (name === "tokens" || names.knownNames.has(name))) continue;
      if (levels === 0) others.push(at);
      else if (member.kind === "object") walk(member, toHolder(name), `${at}.`, levels - 1);
      else if (member.kind !== "list") readMember(holder === "" ? name : `${holder}.${name}`, at, member);
      else
        for (const item of member.items) {
          const label = labelKeys.map((labelKey) => textAt(item, labelKey)).find(Boolean);
          const isPlain = label !== undefined && plainLabel.test(label);
          const inner = isPlain ? plainItemHolder : itemHolder;
          if (item.kind === "object") walk(item, inner, `${at}.${label ?? ""}.`, levels - 1);
          else readMember("", at, item);
        }
    }
  };
  for (const { key, value } of costs) readMember(names.toCountName(key), key, value);
  if (usage) walk(usage, "", "", names.maxLevels);
  if (statedCost === undefined) others.push(...costParts);
  return { counts, others, statedCost, isContradictory: hasContradiction(counts) };
};

const toHolder = (name: string) =>
  /^(?:prompt|input)tokens?details$/.test(name)
    ? "input"
    : /^(?:completion|output|candidates|response)tokens?details$/.test(name)
      ? "output"
      : name.replace(/^cachecreationtokens?details$/, "cachecreation");

/** Items of lists, such as Gemini's `{"modality":"TEXT","tokenCount":9}`, have a label. */
const itemHolder = "item";
const labelKeys = ["modality", "type", "ttl"];
/** In items with these labels, `tokens` are parts of tokens that are counted elsewhere. */
const plainItemHolder = "plain item";
const plainLabel = /^(?:text|message|5m)$/i;

type CountKind = keyof typeof names.countNames;

const listCounts = (counts: Counts, kinds: readonly CountKind[]) =>
  kinds
    .flatMap((kind) => names.countNames[kind].map((name) => counts.get(name)))
    .filter((count) => typeof count === "bigint");

/** Proxies fill the names of another API with 0. */
const findCount = (counts: Counts, ...kinds: readonly CountKind[]) => {
  const found = listCounts(counts, kinds);
  return found.find(Boolean) ?? found[0];
};

/** True if two names of the same tokens have different counts. */
const hasContradiction = (counts: Counts) =>
  sameCounts.some((kinds) => new Set(listCounts(counts, kinds).filter(Boolean)).size > 1);

const sameCounts: readonly (readonly CountKind[])[] = [
  ...([["prompt"], ["completion"], ["includedCached", "cached"], ["written"], ["reasoning"], ["toolPrompt"]] as const),
];

const isInvalid = (counts: Counts, ...kinds: readonly CountKind[]) =>
  kinds.some((kind) => names.countNames[kind].some((name) => typeof counts.get(name) === "string"));

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

/** Lists tokens of the output that have a price of their own, and are not in the summary. */
const listLostTokens = (summed: Counts, own: Counts) =>
  [["cached", ["includedCached", "cached"]] as const, ["cache-write", ["written"]] as const].flatMap(
    ([name, kinds]) => {
      const count = findCount(own, ...kinds) ?? 0n;
      return count > (findCount(summed, ...kinds) ?? 0n) ? `${count} ${name} tokens` : [];
    },
  );

/** False if the usage of the output has more tokens than the summary, which can add several requests. */
const canInclude = (summed: Counts, own: Counts) =>
  listReadings(summed).some(([prompt, completion]) =>
    listReadings(own).some((part) => isAtMost(part[0], prompt) && isAtMost(part[1], completion)),
  );

const isAtMost = (part = 0n, whole = part) => part <= whole;

type Reading = readonly [prompt: bigint | undefined, completion: bigint | undefined];

/** Lists the pairs of prompt and completion tokens that the counts can mean, the most likely first. */
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
  const fitting = readings.find(([prompt = 0n, completion = 0n]) => prompt + completion === total);
  return fitting ? [fitting] : readings;
};

const toUsage = (read: UsageReading, model: string | undefined): readonly CallUsage[] => {
  const { counts, others, statedCost } = read;
  const reading = listReadings(counts)[0] ?? [];
  const prompt = isInvalid(counts, "prompt", "cached", "written", "toolPrompt") ? undefined : reading[0];
  const completion = isInvalid(counts, "completion", "thoughts") ? undefined : reading[1];
  const statedTotal = findCount(counts, "total");
  const invalid = Array.from(counts.values()).find((count) => typeof count === "string");
  if ((prompt ?? completion ?? statedTotal ?? invalid) === undefined) return [];
  const sum = (prompt ?? 0n) + (completion ?? 0n);
  const total =
    statedTotal !== undefined && statedTotal < sum ? (invalid === undefined ? sum : undefined) : statedTotal;
  const within = (count: bigint | undefined, limit = 0n) => (count !== undefined && count > limit ? limit : count);
  const readFromCache = findCount(counts, "includedCached", "cached");
  const cached = within(readFromCache, prompt);
  const writtenToCache = findCount(counts, "written");
  const written = within(writtenToCache, prompt && prompt - (cached ?? 0n));
  const hasBoth = prompt !== undefined && completion !== undefined;
  const isOtherTotal = hasBoth && statedTotal !== undefined && statedTotal !== sum;
  const reasoning = findCount(counts, "reasoning");
  const isMore =
    cached !== readFromCache || written !== writtenToCache || within(reasoning, completion ?? reasoning) !== reasoning;
  const isInconsistent = read.isContradictory || isOtherTotal || isMore;
  const requests = findCount(counts, "requests");
  const doubt = invalid ?? (isInconsistent ? "the counts of the call's usage contradict each other" : undefined);
  const unpriced = others.length > 0 ? `the call has ${nameOthers(others)}, which can have another price` : undefined;
  return [{ model, prompt, completion, total, cached, written, requests, doubt, unpriced, stated: statedCost }];
};

/** Leaves out values of more than four words. */
export const nameOthers = (others: readonly string[]) =>
  formatList([...new Set(others.map((other) => (isShortText(other) ? other : other.replace(/\s.*/s, ""))))]);

/** Allows for the rounding of doubles. */
export const isSameCost = (a: decimals.Decimal, b: decimals.Decimal) => {
  const difference = decimals.addDecimals(a, decimals.multiplyDecimals(b, { digits: -1n, places: 0 }));
  const size = { digits: difference.digits < 0n ? -difference.digits : difference.digits, places: difference.places };
  return decimals.compareDecimals(decimals.shiftDecimal(size, 9), a) <= 0;
};

export const otherCostStated = (stated: decimals.Decimal) =>
  `the service stated another cost (${decimals.formatDecimal(stated)} $)`;

export const sumTokens = ({ prompt, completion, total }: CallUsage) =>
  total ?? (prompt === undefined || completion === undefined ? undefined : prompt + completion);

/** Embeddings have no count of completion tokens. */
export const countCompletion = ({ prompt, completion, total }: CallUsage) =>
  completion ?? (prompt === undefined || total === undefined ? undefined : total - prompt);

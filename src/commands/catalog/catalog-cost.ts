/** Prices a usage or traced calls with the models of catalogs. */
import { listInputMedia } from "../../calls/other-uses.ts";
import { type CallUsage, countCompletion, isSameCost, otherCostStated, readUsages } from "../../calls/usage.ts";
import { type Cost, compareCosts, computeCost, noUsage, type Usage } from "../../catalogs/cost.ts";
import { deprecationDay, isEnded } from "../../catalogs/fields.ts";
import { checkFilterWords, compileFilter } from "../../catalogs/filter.ts";
import { toUsualName } from "../../catalogs/prices.ts";
import { Failure, type FailureDetails } from "../../failure.ts";
import { findValue } from "../../json/raw-json.ts";
import { printObjects } from "../../output/list.ts";
import type { KeyColumn } from "../../output/views.ts";
import { openServiceClient, readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { invalidOptionValue } from "../../system/failures.ts";
import { parseDecimal } from "../../text/decimal.ts";
import { compareTexts, formatList, formatSuggestion, pluralize } from "../../text/sentences.ts";
import { utcDay } from "../../text/units.ts";
import { readCall } from "../../wire/contract/call.ts";
import { toText } from "../../wire/contract/replies.ts";
import { callsMissing } from "../failures.ts";
import { tagDeprecation } from "./catalog-columns.ts";
import type { CostOptions } from "./command.ts";
import type { CostDocument, ModelCost } from "./output.ts";
import * as source from "./read-catalogs.ts";

/** @throws Failure `models-missing` after printing the other models */
export const showCosts = async (context: Context, typed: CostOptions) => {
  const { screen, host } = context;
  const { fromCall, images, requests } = typed;
  const given = parseUsageOptions(typed);
  const read = fromCall === undefined ? undefined : await readRecordedUsage(context, fromCall);
  const usage = { ...(read?.recorded ?? noUsage), ...given };
  const computeEntryCost = (entry: source.CatalogEntry["entry"]) => {
    const cost = computeCost(entry, { usage, needsUnitPrices, doubt: read?.doubt, media: read?.media ?? [] });
    const total = cost.total === null ? undefined : parseDecimal(cost.total);
    if (!total || !read?.stated || !isOwnModel(entry, read.model) || isSameCost(read.stated, total)) return cost;
    return { ...cost, total: null, reason: otherCostStated(read.stated) };
  };
  const settings = await source.readCatalogSettings(context, typed);
  const { names, entries } = await source.readCatalogs(context, settings, typed.catalog && [typed.catalog]);
  checkFilterWords(typed, entries);
  const now = host.now();
  const { matches } = compileFilter(typed, now);
  const needsUnitPrices = (images ?? requests) !== undefined;
  const { selected, missing } = source.selectNamed(entries, typed.model);
  const rows = selected
    .filter(({ entry }) => matches(entry))
    .map((one) => toModelCost(one, computeEntryCost(one.entry), now));
  const byId = (a: ModelCost, b: ModelCost) => compareTexts(a.id ?? "", b.id ?? "");
  rows.sort((a, b) => Number(a.ended) - Number(b.ended) || compareCosts(a, b) || byId(a, b));
  const models = rows.slice(0, typed.limit);
  if (fromCall !== undefined) screen.notice(formatTokenUsage(usage));
  if (rows.length === 0 && missing.length === 0) screen.notice("no model matches");
  const reasons = models.flatMap(({ reason }) => reason ?? []);
  if (reasons.length > 0) {
    const why = `${reasons[0]}${new Set(reasons).size > 1 ? ", or for other reasons" : ""}`;
    screen.notice(`the total is unknown for ${reasons.length} of ${models.length} models, because ${why}`);
  }
  const from = fromCall === undefined ? "options" : "call";
  const document: CostDocument = { usage: { ...usage, from }, models };
  await printObjects(screen, document, { member: "models", columns: costColumns(names.length > 1, now) });
  if (missing.length === 0) return;
  const near = missing.find((model) => model.near !== undefined)?.near;
  const where = `${names.join(" and ")} ${names.length === 1 ? "catalog" : "catalogs"}`;
  const message = `cannot find ${formatList(missing.map(({ id }) => id))} in the ${where}`;
  const advice = formatSuggestion(near, "pass whole ids, or a glob such as 'qwen*'");
  throw new Failure("not_found", "models-missing", message, advice);
};

const toModelCost = ({ catalog, entry }: source.CatalogEntry, { items, ...cost }: Cost, now: number): ModelCost => {
  const day = deprecationDay(entry) ?? null;
  const [id = null, name = null] = [toText(entry.id), toText(entry.name)];
  const ended = isEnded(entry) || (day !== null && day < utcDay(now));
  return { catalog, id, name, deprecation_date: day, ended, ...cost, items };
};

/** @throws Failure `invalid-option-value`, `usage-missing` */
const parseUsageOptions = (typed: CostOptions): Partial<Usage> => {
  const { promptTokens, cached, completionTokens, images, requests, fromCall } = typed;
  const tokens = { prompt_tokens: promptTokens, cached_tokens: cached, completion_tokens: completionTokens };
  const given = Object.entries({ ...tokens, images, requests }).filter(([, count]) => count !== undefined);
  if (fromCall === undefined && given.every(([, count]) => count === 0)) {
    const message = "the cost needs a number of tokens, images or requests above 0";
    const hint = "pass --prompt-tokens 10k --completion-tokens 2k, or --from-call <id>";
    throw new Failure("usage", "usage-missing", message, { hint });
  }
  const wanted = "at most the value of --prompt-tokens, which includes the cached tokens";
  if (cached !== undefined && cached > (promptTokens ?? 0))
    throw invalidOptionValue("--cached", String(cached), wanted);
  return Object.fromEntries(given);
};

/** @throws Failure `usage-unrecorded`, `calls-missing` */
const readRecordedUsage = async (context: Context, id: string) => {
  const settings = await readEffectiveSettings(context);
  const project = settings.require("project");
  const client = await openServiceClient(context, settings);
  const missing = (details?: FailureDetails) => callsMissing({ ids: [id], requested: 1, project }, details);
  const sent = client.send(readCall, { parameters: {}, body: { project_id: project, id } });
  const reply = await sent.catch((failure: unknown) => {
    throw failure instanceof Failure && failure.code === "not_found" ? missing(failure.details) : failure;
  });
  const call = findValue(reply, "call");
  if (!call) throw missing();
  const read = readUsages(call);
  const recorded = sumUsages(read);
  const doubt = read.map((usage) => usage.doubt).find(Boolean);
  // The sum of a missing count is NaN.
  if (read.length === 0 || !Object.values(recorded).every(Number.isSafeInteger)) {
    const why = doubt === undefined ? "" : `, because ${doubt}`;
    const message = `the call ${id} has no usage with prompt_tokens and completion_tokens${why}`;
    const hint = "pass --prompt-tokens and --completion-tokens instead";
    throw new Failure("invalid_input", "usage-unrecorded", message, { hint });
  }
  const own = read.length === 1 ? read[0] : undefined;
  const unpriced = read.map((usage) => usage.unpriced).find(Boolean);
  const media = listInputMedia(call);
  return { recorded, media, doubt: doubt ?? unpriced, model: own?.model, stated: own?.stated };
};

const isOwnModel = ({ id }: source.CatalogEntry["entry"], model: string | undefined) =>
  model !== undefined && (id === model || toText(id)?.endsWith(`/${model}`) === true);

const sumUsages = (usages: readonly CallUsage[]): Usage => {
  const sum = (countOf: (usage: CallUsage) => bigint | undefined) =>
    usages.reduce((total, usage) => total + Number(countOf(usage)), 0);
  return {
    ...noUsage,
    prompt_tokens: sum(({ prompt }) => prompt),
    cached_tokens: sum(({ cached = 0n }) => cached),
    cache_write_tokens: sum(({ written = 0n }) => written),
    completion_tokens: sum(countCompletion),
    requests: sum(({ requests = 1n }) => requests),
  };
};

const formatTokenUsage = (usage: Usage) => {
  const written = usage.cache_write_tokens > 0 ? `, ${usage.cache_write_tokens} written to a cache` : "";
  const prompt = `${usage.prompt_tokens} prompt tokens (${usage.cached_tokens} cached${written})`;
  const requests = pluralize(usage.requests, "request");
  return `usage of the call: ${prompt}, ${usage.completion_tokens} completion tokens, ${requests}`;
};

export const costColumns = (hasSeveralCatalogs: boolean, now: number): readonly KeyColumn<ModelCost>[] => [
  { name: "id", rank: 0 },
  {
    name: "total",
    heading: "total\n$",
    align: "decimal",
    isRounded: true,
    rank: 0,
    tag: ({ total }) => (total === null ? { text: "unknown", tone: "warning" } : undefined),
  },
  { name: "not_stated", heading: "unknown\nprices", rank: 1 },
  itemColumn("prompt", 2),
  itemColumn("completion", 3),
  itemColumn("input_cache_read", 4, "cache read"),
  itemColumn("image", 6),
  itemColumn("request", 7),
  ...(hasSeveralCatalogs ? [{ name: "catalog", rank: 0 } as const] : []),
  { name: "name", rank: 9 },
  {
    name: "deprecation_date",
    heading: "deprecation",
    rank: 5,
    tag: (row) => tagDeprecation(row.deprecation_date, now),
  },
  itemColumn("input_cache_write", 8, "cache write"),
];

const itemColumn = (name: string, rank: number, title = name): KeyColumn<ModelCost> => {
  const value = ({ items }: ModelCost) => items.find(({ price }) => toUsualName(price) === name)?.cost;
  return { name, heading: `${title}\n$`, rank, align: "decimal", isRounded: true, value };
};

/** `rollcall catalog cost`: what a usage costs at each model's prices, cheapest first. */

import {
  compareCosts,
  costOf,
  dayOf,
  deprecationOf,
  type Listed,
  matcherOf,
  noUsage,
  type Usage,
  usageOfCall,
} from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import { openClient, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { CallReadReply, readCall } from "../../contract/call.ts";
import { type Entries, known, mapped } from "../../contract/fields.ts";
import { counted } from "../../counted.ts";
import { type Column, printList, textColumn } from "../../output/index.ts";
import type { Settings } from "../../settings/index.ts";
import { callsMissing, modelsMissing, usageMissing, usageUnrecorded } from "../failures.ts";
import { ownColumns } from "../lists/own.ts";
import { deprecationMark } from "./columns.ts";
import type { TypedCost } from "./command.ts";
import { filterOf, requireWords } from "./filter.ts";
import { openNamed } from "./named.ts";
import { type CatalogRead, catalogsMeant, listedOf, readCatalog, sourceOf } from "./source.ts";

/** Prices the usage. @throws Failure `models-missing`, once the others were printed */
export const run = async (context: Context, typed: TypedCost): Promise<void> => {
  const { screen, host } = context;
  const [said, filter, source] = [usageSaid(typed), filterOf(typed, { now: host.now() }), sourceOf(typed)];
  const settings = await settingsInForce(context);
  const names = catalogsMeant(settings, typed.catalog);
  const progress = screen.progress("reading catalogs");
  try {
    const { fromCall: call } = typed;
    const recorded = call === undefined ? noUsage : await recordedUsage(context, settings, call);
    const usage = { ...recorded, ...said };
    const read: CatalogRead[] = [];
    for (const catalog of names) read.push(await readCatalog(context, { settings, catalog, source }));
    progress.stop();
    const listed = listedOf(read);
    const models = mapped(listed, ({ entry }) => entry);
    requireWords(filter, models);
    const matches = matcherOf(filter, { now: host.now() });
    const unitsAsked = said.images !== undefined || said.requests !== undefined;
    const named = openNamed(typed.model.length === 0 ? undefined : typed.model.map((text) => ({ text })));
    const isMeant = ({ catalog, entry }: Listed) => named.means(known(entry.id), catalog) && matches(entry);
    const rows = costRows(listed, { isMeant, usage, unitsAsked, today: dayOf(host.now()) });
    const missing = named.missing();
    if (call !== undefined) screen.notice(usageText(usage));
    const shown = rows.slice(0, typed.limit);
    const unknown = shown.filter(({ total }) => total === null).length;
    if (rows.length === 0 && missing.length === 0) screen.notice("no model is like that");
    if (unknown > 0) {
      const models = `${unknown} of ${shown.length} models`;
      screen.notice(`${models} state no price of something that was used: their total is not known`);
    }
    const document = { usage: { ...usage, from: call === undefined ? "options" : "call" }, models: shown };
    await printList(screen, {
      columns: costColumns(names.length > 1, deprecationMark(host.now())),
      rows: shown,
      wire: { bytes: Buffer.from(JSON.stringify(document)), member: "models" },
    });
    if (missing.length > 0) throw modelsMissing(missing, names);
  } finally {
    progress.stop();
  }
};

/** The counts that were typed, which replace those that are recorded. @throws Failure `option-value-wrong`, `options-contradict`, `usage-missing` */
const usageSaid = (typed: TypedCost): Partial<Usage> => {
  const { promptTokens, cached, completionTokens, images, requests } = typed;
  const counts = { prompt_tokens: promptTokens, cached_tokens: cached, completion_tokens: completionTokens };
  const stated = Object.entries({ ...counts, images, requests }).filter(([, count]) => count !== undefined);
  const isTokens = Object.values(counts).some((count) => count !== undefined);
  if (typed.fromCall !== undefined && isTokens)
    throw contradiction("--from-call", "numbers of tokens", "the tokens are those that are recorded");
  if (typed.fromCall === undefined && stated.every(([, count]) => count === 0)) throw usageMissing();
  if (cached !== undefined && cached > (promptTokens ?? 0))
    throw wrongValue("--cached", String(cached), "no more than --prompt-tokens, which the cached ones are among");
  return Object.fromEntries(stated);
};

/** @throws Failure `usage-unrecorded`, `calls-missing` */
const recordedUsage = async (context: Context, settings: Settings, id: string): Promise<Usage> => {
  const client = await openClient(context, settings);
  const project = settings.require("project");
  const { bytes } = await client.send(readCall, { parameters: {}, body: { project_id: project, id } });
  // The reply's value has the call's fields without their contents.
  const { call } = CallReadReply.parse(JSON.parse(Buffer.from(bytes).toString()));
  if (call === null) throw callsMissing({ ids: [id], asked: 1, project });
  const usage = usageOfCall(call);
  if (usage === undefined) throw usageUnrecorded(`the call ${id}`);
  return usage;
};

const usageText = ({ prompt_tokens, cached_tokens, completion_tokens, requests }: Usage): string =>
  `${prompt_tokens} prompt tokens${cached_tokens === 0 ? "" : ` (${cached_tokens} of them cached)`}, ${completion_tokens} completion tokens, ${counted(requests, "request")}`;

interface Pricing {
  isMeant(listed: Listed): boolean;
  readonly usage: Usage;
  readonly unitsAsked: boolean;
  readonly today: string;
}

/** Cheapest first; models whose day of deprecation is over are last, since nobody can use them. */
const costRows = (listed: Entries<Listed>, { isMeant, usage, unitsAsked, today }: Pricing) =>
  [...listed]
    .filter(isMeant)
    .map(({ catalog, entry }) => {
      const cost = costOf(entry, { usage, unitsAsked });
      const deprecation_date = deprecationOf(entry) ?? null;
      return {
        catalog,
        id: known(entry.id) ?? null,
        name: known(entry.name) ?? null,
        deprecation_date,
        ended: (deprecation_date ?? today) < today,
        total: cost.total,
        at_least: cost.at_least,
        not_stated: cost.not_stated,
        items: cost.items,
      };
    })
    .sort((a, b) => Number(a.ended) - Number(b.ended) || compareCosts(a, b) || compareTexts(a.id ?? "", b.id ?? ""));

type CostRow = ReturnType<typeof costRows>[number];

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The columns: what it costs altogether, and each item of it, in US dollars. */
const costColumns = (several: boolean, mark?: ReturnType<typeof deprecationMark>): readonly Column<CostRow>[] => [
  ...ownColumns<CostRow>({
    id: 0,
    total: {
      heading: "total\n$",
      align: "decimal",
      rank: 0,
      mark: ({ total }) => (total === null ? { text: "not known", tone: "warning" } : undefined),
    },
    not_stated: { heading: "price\nnot stated", rank: 1 },
  }),
  costItem("prompt", 2),
  costItem("completion", 3),
  costItem("input_cache_read", 4, "cache read", ["input_cache_read", "input_cache_reads"]),
  costItem("image", 6),
  costItem("request", 7),
  ...ownColumns<CostRow>({
    ...(several ? { catalog: 0 } : {}),
    name: 9,
    deprecation_date: { heading: "deprecation", rank: 5, mark: ({ deprecation_date }) => mark?.(deprecation_date) },
  }),
];

const costItem = (name: string, rank: number, title = name, names: readonly string[] = [name]): Column<CostRow> =>
  textColumn(name, {
    heading: `${title}\n$`,
    rank,
    align: "decimal",
    text: ({ items }) => items.find(({ price }) => names.includes(price))?.cost,
  });

/** The names of all columns. */
export const costColumnNames = costColumns(true).map(({ name }) => name);

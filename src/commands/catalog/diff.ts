/** `rollcall catalog diff`: what is different between the two catalogs, two dates, or two files. */

import { basename } from "node:path";
import { catalogFileBroken } from "../../catalogs/failures.ts";
import {
  amountOf,
  type CatalogName,
  type CatalogPlace,
  diffCatalogs,
  priceText,
  readCatalogFile,
  savedCatalogAt,
} from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Catalog, type CatalogModel, readDocument } from "../../contract/catalog.ts";
import { known } from "../../contract/fields.ts";
import { counted } from "../../counted.ts";
import { compareDecimals, type Decimal, formatDecimal, shifted } from "../../decimal.ts";
import { optionNeeds } from "../../failures.ts";
import { type Column, printList, textColumn } from "../../output/index.ts";
import type { Settings } from "../../settings/index.ts";
import { catalogNotKept, catalogsDiffer } from "../failures.ts";
import { withoutNullEntries } from "../lists/mistyped.ts";
import { ownColumns } from "../lists/own.ts";
import { factName, plainText } from "./columns.ts";
import type { TypedDiff } from "./command.ts";
import { type CatalogSource, catalogsMeant, minuteOf, placeOf, readCatalog, sourceOf } from "./source.ts";

/** One of two catalogs that are compared. */
interface Side {
  readonly catalog: CatalogName | null;
  readonly provider: string | null;
  readonly file: string | null;
  /** When it was so: milliseconds since 1970. */
  readonly asOf: number | undefined;
  readonly models: Iterable<CatalogModel>;
}

/** Compares, and prints what is different. @throws Failure `catalogs-differ`, once the result was printed */
export const run = async (context: Context, typed: TypedDiff): Promise<void> => {
  const { screen } = context;
  const { file: files, catalog, since } = typed;
  if (files.length > 0 && since !== undefined) throw contradiction("--since", "<file>", "files have no history");
  if (files.length > 2 || (files.length === 1 && catalog === undefined))
    throw wrongValue("<file>", files.join(" "), "two files, or one and --catalog <analysis|router>");
  const source = sourceOf(typed);
  const progress = screen.progress("reading catalogs");
  const compared = await sidesOf(context, typed, source)
    .then((pairs) => pairs.map(([from, to]) => ({ from, to, difference: diffCatalogs(from.models, to.models) })))
    .finally(progress.stop);
  const changes = compared.flatMap(({ from, to, difference }) =>
    difference.changes.map((one) => ({
      catalog: from.catalog === to.catalog ? to.catalog : null,
      ...one,
      name: one.name ?? null,
    })),
  );
  for (const { difference } of compared) {
    const { without_id: count } = difference.models;
    const text = counted(count, "entry has no id, and was not compared", "entries have no id, and were not compared");
    if (count > 0) screen.notice(text);
  }
  if (changes.length === 0) screen.notice("nothing is different");
  const document = {
    compared: compared.map(({ from, to, difference: { models } }) => {
      return { from: sideDocument(from), to: sideDocument(to), models };
    }),
    changes,
  };
  const [only, ...others] = compared;
  const sides = only === undefined || others.length > 0 ? undefined : sidesNamed(only.from, only.to);
  const shown = screen.format === "table" ? sides?.map(shortened) : sides;
  await printList(screen, {
    columns: changeColumns(shown, others.length > 0),
    rows: changes,
    wire: { bytes: Buffer.from(JSON.stringify(document)), member: "changes" },
  });
  if (typed.exitCode && changes.length > 0) throw catalogsDiffer(changes.length);
};

/** The names of both sides: their catalogs or files; of one catalog at two times, these. */
const sidesNamed = (from: Side, to: Side): readonly string[] => {
  const names = [from, to].map(({ catalog, file }) => (file === null ? catalog : basename(file)) ?? "");
  if (names[0] !== names[1]) return names;
  return [from, to].map(({ asOf }, at) => (asOf === undefined ? (names[at] ?? "") : minuteOf(asOf)));
};

/** Characters of a side's name in the heading of a table. */
const maxSide = 20;

/** The end of a long name: it distinguishes a file from others. */
const shortened = (name: string): string => (name.length <= maxSide ? name : `…${name.slice(1 - maxSide)}`);

const sideDocument = ({ catalog, provider, file, asOf }: Side) => ({
  catalog,
  provider,
  file,
  as_of: asOf === undefined ? null : new Date(asOf).toISOString(),
});

/** A difference, as the document has it. */
interface ChangeRow {
  readonly id: string;
  readonly change: string;
  readonly field: string | null;
  readonly from: unknown;
  readonly to: unknown;
  readonly catalog: CatalogName | null;
}

const changeColumns = (sides: readonly string[] | undefined, several: boolean): readonly Column<ChangeRow>[] => {
  const [from = "", to = ""] = sides ?? [];
  const heading = (name: string, side: string) => (sides === undefined ? name : `${name}\n${side}`);
  return [
    ...ownColumns<ChangeRow>({
      id: 0,
      change: {
        rank: 0,
        text: ({ change }) => {
          if (sides === undefined) return change;
          return change === "added" ? `only in ${to}` : change === "gone" ? `only in ${from}` : change;
        },
      },
      field: { rank: 0, heading: "of", text: ({ field }) => factName(field ?? "") },
      from: { rank: 0, heading: heading("from", from), text: (row) => valueText(row.field ?? "", row.from) },
      to: { rank: 0, heading: heading("to", to), text: (row) => valueText(row.field ?? "", row.to) },
    }),
    textColumn("difference", { rank: 2, text: differenceText }),
    ...ownColumns<ChangeRow>(several ? { catalog: 3 } : {}),
  ];
};

/** A value of a fact for a person: prices with their unit, lists with commas. */
const valueText = (field: string, value: unknown): string => {
  if (value === null) return "";
  if (field.startsWith("pricing.")) return priceText(field.slice("pricing.".length), value);
  return Array.isArray(value) ? value.map(plainText).join(", ") : plainText(value);
};

const differenceText = ({ change, from, to }: ChangeRow): string => {
  if (Array.isArray(from) || Array.isArray(to)) {
    const [before, after] = [wordsIn(from), wordsIn(to)];
    const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
    return [...added, ...before.filter((one) => !after.includes(one)).map((one) => `-${one}`)].join(" ");
  }
  if (change === "price") return percentText(amountOf(from), amountOf(to));
  if (typeof from !== "number" || typeof to !== "number") return "";
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return "";
  return to < from ? String(to - from) : `+${to - from}`;
};

const wordsIn = (value: unknown): readonly string[] => (value === null ? [] : [value].flat().map(plainText));

/** By how many percent a price rose or fell, to a tenth; nothing if it was free or is not known. */
const percentText = (from: Decimal | undefined, to: Decimal | undefined): string => {
  if (from === undefined || to === undefined || from.digits <= 0n || to.digits < 0n) return "";
  const places = Math.max(from.places, to.places);
  const [was, is] = [shifted(from, places).digits, shifted(to, places).digits];
  const change = is > was ? is - was : was - is;
  const tenths = (change * 2000n + was) / (2n * was);
  return `${compareDecimals(to, from) < 0 ? "-" : "+"}${formatDecimal({ digits: tenths, places: 1 })}%`;
};

const sidesOf = async (
  context: Context,
  { file: [older, newer], catalog, ...typed }: TypedDiff,
  source: CatalogSource,
): Promise<readonly (readonly [Side, Side])[]> => {
  const [since, until] = [typed.since?.(context.host.now()), typed.until?.(context.host.now())];
  if (older !== undefined && newer !== undefined)
    return [[await fileSide(context, older), await fileSide(context, newer)]];
  const settings = await settingsInForce(context);
  const current = async (name: CatalogName): Promise<Side> => {
    const { place, value, asOf } = await readCatalog(context, { settings, catalog: name, source });
    return { catalog: name, provider: place.provider, file: null, asOf, models: value.data };
  };
  if (older !== undefined && catalog !== undefined) return [[await fileSide(context, older), await current(catalog)]];
  if (since === undefined) {
    if (catalog !== undefined) throw optionNeeds("--catalog", "--since or <file>");
    return [[await current("analysis"), await current("router")]];
  }
  const pairs: (readonly [Side, Side])[] = [];
  for (const name of catalogsMeant(settings, catalog)) {
    const place = placeOf(settings, name);
    const from = pastSide(context, { settings, place, time: since });
    const to = until === undefined ? await current(name) : pastSide(context, { settings, place, time: until });
    pairs.push([from, to]);
  }
  return pairs;
};

/** A saved catalog. @throws Failure `catalog-file-unreadable`, `catalog-file-broken` */
const fileSide = async ({ host, screen }: Context, file: string): Promise<Side> => {
  const { data: { data: models } = {} } = Catalog.safeParse(await readCatalogFile(file, host));
  // What has entries of which none has an id, such as trajectories, is something else.
  if (models === undefined || (models.length > 0 && !Array.from(models).some(({ id }) => known(id) !== undefined))) {
    throw catalogFileBroken({ file, wrong: "no-catalog" });
  }
  withoutNullEntries(screen, { entries: models, bytes: new Uint8Array(), where: file });
  return { catalog: null, provider: null, file, asOf: undefined, models };
};

/** A catalog as it was. @throws Failure `catalog-not-kept` */
const pastSide = (
  { screen }: Context,
  { settings, place, time }: { readonly settings: Settings; readonly place: CatalogPlace; readonly time: number },
): Side => {
  const folder = settings.dataFolder();
  const saved = folder === undefined ? undefined : savedCatalogAt(folder, place, time);
  const catalogThen = Catalog.safeParse(saved === undefined ? undefined : readDocument(saved.bytes, "data")?.value);
  if (saved === undefined || !catalogThen.success) throw catalogNotKept(place);
  const { catalog, provider } = place;
  if (saved.fetchedAt > time) {
    screen.notice(
      `the history of the ${catalog} catalog begins ${minuteOf(saved.fetchedAt)}: that is what is compared`,
    );
  }
  return { catalog, provider, file: null, asOf: saved.fetchedAt, models: catalogThen.data.data };
};

/** The names of all columns. */
export const changeColumnNames = changeColumns(undefined, true).map(({ name }) => name);

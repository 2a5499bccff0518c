/** The page of one model: what each catalog says of it, field by field (interface 2.5), and whatever else it says. */
import type { Listed } from "../../catalogs/index.ts";
import type { Context } from "../../context.ts";
import type { CatalogModel } from "../../contract/catalog.ts";
import { known, Mistyped } from "../../contract/fields.ts";
import { type Line, type Mark, type Page, type Section, spelledIn } from "../../output/index.ts";
import { catalogColumns, namedPrices, ownPriceColumn } from "./columns.ts";
import type { CatalogRead } from "./source.ts";

/** What a page is made of. */
export interface ModelPage {
  /** Entries of one id. */
  readonly found: readonly Listed[];
  readonly read: readonly CatalogRead[];
  readonly mark: (model: CatalogModel) => Mark | undefined;
  readonly room: Awaited<ReturnType<Context["catalogs"]>>;
}

/** The page, a section for each entry; a catalog without one says so. */
export const modelPage = (page: ModelPage): Page => {
  const id = known(page.found[0]?.entry.id) ?? "";
  const sections = page.read.flatMap(({ place: { catalog, provider } }) => {
    const title = `${catalog} catalog, ${provider}`;
    const entries = page.found.filter((one) => one.catalog === catalog);
    if (entries.length === 0) return [{ title, block: "does not list it" }];
    return entries.flatMap((entry) => entrySections(entry, title, page));
  });
  return { sections: [{ title: id }, ...sections] };
};

const entrySections = (listed: Listed, title: string, page: ModelPage): readonly Section[] => {
  const other = otherLines(listed);
  return [
    { title, lines: fieldLines(listed, page) },
    ...(other.length === 0 ? [] : [{ title: "other", level: 2 as const, lines: other }]),
  ];
};

const fieldLines = ({ entry, spelling }: Listed, { mark, room }: ModelPage): readonly Line[] => {
  const spelled = spelledIn(spelling.bytes, spelling.span);
  const own = ownPrices(entry).flatMap(({ name, isPlain }) => (isPlain ? [ownPriceColumn(room, name)] : []));
  const columns = [...catalogColumns(mark), ...own];
  return columns
    .filter(({ name }) => name !== "id")
    .map(({ name, heading, cell, mark: markOf }) => {
      const word = markOf?.(entry);
      const text = cell(entry, () => spelled.text(name));
      const label = heading.replace("\n", " ");
      return word === undefined ? { label, text } : { label, text: `${text} ${word.text}`, tone: word.tone };
    });
};

/** Prices that the interface does not name; what is no text and no number has no cell. */
const ownPrices = ({ pricing }: CatalogModel) =>
  Object.entries(known(pricing) ?? {}).flatMap(([name, price]) =>
    namedPrices.has(name) ? [] : [{ name, isPlain: typeof price !== "object" || price === null }],
  );

/** Fields that have a line of their own. */
const shownFields = new Set([
  "id",
  "name",
  "created",
  "input_modalities",
  "output_modalities",
  "quantization",
  "context_length",
  "max_output_length",
  "supported_sampling_parameters",
  "supported_features",
  "deprecation_date",
]);

/** What has no line of its own: other fields, and those of the interface that hold more than their line can show. */
const otherLines = ({ entry, spelling }: Listed): readonly Line[] => {
  const spelled = spelledIn(spelling.bytes, spelling.span);
  const prices = ownPrices(entry).flatMap(({ name, isPlain }) => (isPlain ? [] : [`pricing.${name}`]));
  const others = spelled.keys.filter((key) => {
    if (key === "pricing") return entry.pricing instanceof Mistyped;
    if (key === "datacenters") return holdsMore(entry);
    return !shownFields.has(key);
  });
  return [...prices, ...others].map((key) => ({ label: key, text: spelled.json(key) }));
};

/** Whether a data centre says more, or less, than its country. */
const holdsMore = ({ datacenters }: CatalogModel): boolean =>
  datacenters instanceof Mistyped ||
  (known(datacenters) ?? []).some(
    (one) => Object.keys(one).some((key) => key !== "country_code") || known(one.country_code) === undefined,
  );

/** Makes one self-contained web page of a list and its plot: nothing is loaded, and nothing from outside can run in it. */
import { createHash } from "node:crypto";
import { objectsIn } from "../json/objects.ts";
import type { Cleaner } from "../screen/safe.ts";
import { inOrder, type ShownColumn, shownColumns } from "../table/fields.ts";
import type { ListView, Plot } from "../view.ts";
import { bestValue } from "./scale.ts";
import script from "./web-page.browser.js?raw";
import style from "./web-page.css?raw";
import { attributes, escaped, legendMark, plotSvg } from "./web-plot.ts";

/** What a page shows. */
export interface WebPage<Row> {
  readonly title: string;
  /** Where it comes from and when, in a sentence. */
  readonly note: string;
  readonly plot: Plot;
  readonly list: ListView<Row>;
  /** The row of each point of the plot. */
  readonly rowOf: readonly number[];
  /** Name of the column of the price that is drawn. */
  readonly priceColumn: string;
}

/** The page behind its first lines, in pieces: every text is made safe before it is taken into the page, and secrets are looked for once more in what is written. */
export function* webPagePieces<Row>(
  page: WebPage<Row>,
  safe: Pick<Cleaner, "line" | "verbatim">,
): Generator<string, void> {
  yield `<html lang="en">\n<head>\n<meta charset="utf-8">\n`;
  yield `<meta http-equiv="Content-Security-Policy"${attributes({ content: policy() })}>\n`;
  yield `<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n`;
  yield `<style>${style}</style>\n`;
  for (const piece of pagePieces(page, safe.line)) yield safe.verbatim(piece);
  yield `<script>${script}</script>\n</body>\n</html>\n`;
}

/** What of the page comes from outside, or stands around it. */
function* pagePieces<Row>(page: WebPage<Row>, clean: (text: string) => string): Generator<string, void> {
  const { title, note, plot, list, rowOf, priceColumn } = page;
  const { columns, words } = surveyOf(list, clean);
  const best = new Set(rowOf.filter((_, at) => plot.points[at]?.best === true));
  yield `<title>${escaped(clean(title))}</title>\n</head>\n`;
  yield `<body${attributes({ "data-price": priceColumn })}>\n<main>\n<h1>${escaped(clean(title))}</h1>\n<p class="note">${escaped(clean(note))}</p>\n`;
  if (plot.points.length > 0) yield `<figure>\n${plotSvg(plot, rowOf, clean)}\n${legendOf(plot)}\n</figure>\n`;
  yield controlsOf(page, words);
  yield `<div class="table" role="region" aria-label="Models" tabindex="0">\n<table>\n<thead>\n<tr>\n`;
  for (const column of columns) yield headingOf(column, clean);
  yield `</tr>\n</thead>\n<tbody>\n`;
  let position = 0;
  for (const row of inOrder(list.rows)) {
    yield rowOfTable(row, { columns, position, isBest: best.has(position), clean });
    position++;
  }
  yield `</tbody>\n</table>\n</div>\n`;
  yield `<footer>Prices of tokens are in US dollars per million. An empty cell is not stated, which is not zero.</footer>\n`;
  yield `</main>\n`;
}

const digestOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Nothing may be loaded or sent; of what stands in the page, only rollcall's own script and style are heeded. */
const policy = (): string =>
  [
    "default-src 'none'",
    `script-src ${digestOf(script)}`,
    `style-src ${digestOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

/** Columns whose words can be chosen from. */
const chosen: ReadonlySet<string> = new Set(["catalog", "supported_features", "datacenters.country_code"]);

/** Columns of long texts. */
const wide: ReadonlySet<string> = new Set(["name", "supported_features", "supported_sampling_parameters"]);

/** Goes through the list once: the columns that say something, and the words to choose from by the names of their columns. */
const surveyOf = <Row>(
  { columns, rows, wire }: ListView<Row>,
  clean: (text: string) => string,
): { readonly columns: readonly ShownColumn<Row>[]; readonly words: ReadonlyMap<string, ReadonlySet<string>> } => {
  const objects = wire === undefined ? undefined : objectsIn(wire);
  const all = shownColumns({ columns, wire: objects, fields: undefined });
  const filled = new Set(all.slice(0, 1));
  const words = new Map(Array.from(chosen, (name) => [name, new Set<string>()]));
  let position = 0;
  for (const row of inOrder(rows)) {
    for (const column of all) {
      const own = words.get(column.name);
      if (own === undefined && filled.has(column)) continue;
      const text = clean(column.cell(row, position));
      if (text !== "") filled.add(column);
      if (text !== "") for (const word of text.split(", ")) own?.add(word);
    }
    position++;
  }
  return { columns: all.filter((column) => filled.has(column)), words };
};

const legendOf = ({ series }: Plot): string => {
  const items = [
    ...series.map((name, at) => `<li>${legendMark(at, { best: false })}${escaped(name)}</li>`),
    `<li>${legendMark(0, { best: true })}${bestValue}</li>`,
  ];
  return `<ul class="legend">${items.join("")}</ul>`;
};

const isNumber = <Row>({ align }: ShownColumn<Row>): boolean => align === "right" || align === "decimal";

const headingOf = <Row>(column: ShownColumn<Row>, clean: (text: string) => string): string => {
  const [first = "", ...units] = column.heading.split("\n").map(clean);
  const small = units.length === 0 ? "" : `<small>${escaped(units.join(" "))}</small>`;
  const about = { class: isNumber(column) ? "n" : undefined, "data-name": clean(column.name) };
  return `<th scope="col" aria-sort="none"${attributes(about)}><button type="button" class="sort">${escaped(first)}${small}</button></th>\n`;
};

/** A number as a person sees it, to sort by. */
const decimal = /^-?\d+(\.\d+)?$/;

const rowOfTable = <Row>(
  row: Row,
  about: {
    readonly columns: readonly ShownColumn<Row>[];
    readonly position: number;
    readonly isBest: boolean;
    readonly clean: (text: string) => string;
  },
): string => {
  const { columns, position, isBest, clean } = about;
  const texts = columns.map((column) => clean(column.cell(row, position)));
  const cells = columns.map((column, at) => {
    const text = texts[at] ?? "";
    const number = isNumber(column) && decimal.test(text) ? text : undefined;
    const marked = column.mark?.(row);
    const mark = marked === undefined ? "" : ` <span class="mark ${marked.tone}">${escaped(marked.text)}</span>`;
    const best = at === 0 && isBest ? ` <span class="mark good" title="${bestValue}">★</span>` : "";
    if (at === 0) return `<th scope="row">${escaped(text)}${best}</th>`;
    return `<td${attributes({ class: isNumber(column) ? "n" : undefined, "data-n": number, "data-wide": wide.has(column.name) ? "" : undefined })}>${escaped(text)}${mark}</td>`;
  });
  const search = columns
    .flatMap(({ name }, at) => (name === "id" || name === "name" ? [texts[at] ?? ""] : []))
    .join(" ")
    .toLowerCase();
  const data = { "data-row": position, "data-search": search, "data-best": isBest ? "" : undefined };
  return `<tr${attributes(data)}>${cells.join("")}</tr>\n`;
};

/** More words than these are no choice that anybody makes. */
const mostChoices = 300;

const controlsOf = <Row>({ priceColumn }: WebPage<Row>, names: ReadonlyMap<string, ReadonlySet<string>>): string => {
  const select = (name: string, { label, column }: { label: string; column: string }): string => {
    const words = [...(names.get(column) ?? [])].sort().slice(0, mostChoices);
    if (words.length < 2) return "";
    const options = words.map((word) => `<option>${escaped(word)}</option>`).join("");
    return `<label>${label} <select data-control="${name}"><option value="">any</option>${options}</select></label>\n`;
  };
  const price = escaped(priceColumn.replace(/^pricing\./, ""));
  return [
    `<div class="controls" role="search" aria-label="Filter the models" hidden>\n`,
    `<label>Search <input type="search" data-control="search" placeholder="words of the id or name"></label>\n`,
    `<label>Least context, tokens <input type="number" min="0" step="1000" data-control="context"></label>\n`,
    `<label>Most ${price}, $/M <input type="number" min="0" step="any" data-control="price"></label>\n`,
    select("feature", { label: "Feature", column: "supported_features" }),
    select("country", { label: "Country", column: "datacenters.country_code" }),
    select("catalog", { label: "Catalog", column: "catalog" }),
    `<label class="check"><input type="checkbox" data-control="best"> ${bestValue}</label>\n`,
    `<button type="button" class="reset" data-control="reset">Reset</button>\n`,
    `<output aria-live="polite"></output>\n</div>\n`,
  ].join("");
};

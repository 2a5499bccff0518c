/** Which groups a table shows, in which order; only the rows on the screen are read. */

import { beginningOf, checkWhere, type Reading, trajectoriesOf } from "../groups/index.ts";
import { elements, isObject, memberSpans, parsedJson, skipWhite, textOf } from "../json/walk.ts";
import type { FindingsByGroup } from "./findings.ts";
import { type Measures, untrainable } from "./measures.ts";
import type { Runs } from "./runs.ts";
import { type Search, Searches } from "./search.ts";
import { type Columns, ordered } from "./selected.ts";
import type { AskedFor, Row, Rows, Searched, Selection } from "./shapes.ts";

/** What rows are made of. */
export interface Table {
  readonly reading: Reading;
  readonly measures: Measures;
  readonly findings: FindingsByGroup;
  readonly runs: Runs;
  readonly asked: AskedFor;
}

/** Bytes of a group that its first words are looked for in, before all of it is read. */
const beginningBytes = 2 ** 16;

/** Rows of one selection after the other: the order of the last one is kept, since a page scrolls through it. */
export class RowReader {
  readonly #table: Table;
  readonly #searches: Searches;
  #kept: { readonly key: string; readonly order: Uint32Array } | undefined;

  constructor(table: Table) {
    this.#table = table;
    this.#searches = new Searches(table.reading, (group) => table.measures.rewardsOf(group));
  }

  end(): void {
    this.#searches.end();
  }

  /** Rows of what is selected: of a search, those found so far. @throws Failure `input-changed`, `where-wrong` */
  async rows(selection: Selection, { from, most }: { readonly from: number; readonly most: number }): Promise<Rows> {
    if (selection.where !== undefined) await checkWhere(selection.where);
    const search = this.#searches.for(selection);
    const searched = search?.asked() ?? null;
    const order = this.#orderOf(selection, search, searched);
    const rows: Row[] = [];
    for (const group of order.subarray(from, from + most)) rows.push(await this.#rowOf(group));
    return { selected: order.length, of: this.#table.measures.count, rows, searched };
  }

  #orderOf(selection: Selection, search: Search | undefined, searched: Searched | null): Uint32Array {
    const key = JSON.stringify([selection, this.#table.measures.done, searched?.found]);
    if (this.#kept?.key === key) return this.#kept.order;
    const isFound = (group: number) => search === undefined || search.has(group);
    const order = ordered(columnsOf(this.#table), { selection, isFound });
    this.#kept = { key, order };
    return order;
  }

  async #rowOf(group: number): Promise<Row> {
    const { reading, measures, findings } = this.#table;
    const { mean, spread, least, most, tokens, cost } = measures;
    return {
      group,
      words: await wordsOf(reading, group),
      size: reading.groups.trajectoriesOf(group),
      mean: numberOf(mean[group]),
      spread: numberOf(spread[group]),
      least: numberOf(least[group]),
      most: numberOf(most[group]),
      untrainable: untrainable(reading, group) ?? null,
      problems: findings.of(group).length,
      tokens: numberOf(tokens[group]),
      cost: numberOf(cost[group]),
    };
  }
}

/** What JSON has for a number that it can't write. */
const numberOf = (value: number | undefined): number | null =>
  value === undefined || !Number.isFinite(value) ? null : value;

/** The first words of a group's prompt. @throws Failure `input-changed` */
const wordsOf = async (reading: Reading, group: number): Promise<string> => {
  const early = firstWords(await beginningOf(reading, group, beginningBytes));
  if (early !== undefined || !reading.groups.isValid(group)) return early ?? "";
  const [first] = await trajectoriesOf(reading, group);
  return first === undefined ? "" : (firstWords(first.bytes) ?? "");
};

const columnsOf = ({ reading, measures, findings, runs }: Table): Columns => ({
  count: measures.count,
  value: (key, group) => {
    if (key === "size") return reading.groups.trajectoriesOf(group);
    if (key === "problems") return findings.of(group).length;
    if (key === "trainable") return untrainable(reading, group) === undefined ? 1 : 0;
    return measures[key][group] ?? Number.NaN;
  },
  hasReward: (group, range) => measures.hasReward(group, range),
  hasProblem: (group, rule) => findings.has(group, rule),
  isOf: (group, file) => runs.has(group, file),
});

/** Characters of a prompt that a row shows. */
const mostCharacters = 200;

/** The words of the first user's message, or of the first message; undefined where the bytes end before one. */
const firstWords = (bytes: Buffer): string | undefined => {
  const own = memberSpans(bytes, { start: skipWhite(bytes, 0) });
  const all = own.get("trajectories");
  const [first] = all === undefined ? [] : elements(bytes, all.start);
  const messages = (first === undefined ? own : memberSpans(bytes, first)).get("messages_and_choices");
  return messages === undefined ? undefined : inMessages(bytes, messages.start);
};

const inMessages = (bytes: Buffer, at: number): string | undefined => {
  let first: string | undefined;
  for (const span of elements(bytes, at)) {
    const message = parsedJson(textOf(bytes, span))?.value;
    if (message === undefined) return undefined;
    if (!isObject(message)) continue;
    const words = shortened(textIn(message.content));
    if (message.role === "user" && words !== "") return words;
    if (first === undefined || first === "") first = words;
  }
  return first;
};

const textIn = (content: unknown): string => {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join(" ");
};

/** A text on one line, as much of it as a row shows; a pair of UTF-16 units is not cut. */
const shortened = (text: string): string =>
  [
    ...text
      .slice(0, mostCharacters * 4)
      .replaceAll(/\s+/g, " ")
      .trim(),
  ]
    .slice(0, mostCharacters)
    .join("");

/** Stores the facts that the walk over messages finds, and the keys of trajectories. */
import { endOf, type JsonTable, readString, startOf } from "../../json/table.ts";
import { countNames, type FactRow } from "../facts/facts.ts";
import { NumberColumn } from "./column.ts";
import { Digests, DigestTable } from "./digests.ts";

/** Numbers names from 1, in the order of their first use. 0 means no name. */
export class Names {
  readonly list: string[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(name: string | undefined) {
    if (name === undefined) return 0;
    const number = this.#numbers.get(name) ?? this.list.push(name);
    if (number === this.list.length) this.#numbers.set(name, number);
    return number;
  }

  /** Returns the number of a name; 0 if it has none. */
  find(name: string) {
    return this.#numbers.get(name) ?? 0;
  }

  at(number: number) {
    return this.list[number - 1];
  }
}

/** Numbers digests in Latin-1 like `Names`, in less memory than strings. */
class DigestNames {
  readonly #digests = new Digests();
  readonly #table = new DigestTable(this.#digests);

  numberOf(digest: string) {
    return this.#table.findOrAppend(Buffer.from(digest, "latin1")) + 1;
  }

  find(digest: string) {
    return (this.#table.find(Buffer.from(digest, "latin1")) ?? -1) + 1;
  }

  at(number: number) {
    return number === 0 ? undefined : this.#digests.at(number - 1).toString("latin1");
  }
}

export type TextNames = Pick<Names | DigestNames, "numberOf" | "find" | "at">;

/** Texts of rows. */
export class TextColumn<Texts extends TextNames = Names> {
  readonly names: Texts;
  readonly #numbers = new NumberColumn();
  #last: { readonly text: string; readonly number: number } | undefined;

  constructor(names: Texts) {
    this.names = names;
  }

  /** Sets the text of a new row. Undefined sets nothing, so it does not remove a text. */
  set(row: number, text: string | undefined) {
    if (text === undefined) return;
    // Adjacent rows often have the same text.
    if (this.#last?.text !== text) this.#last = { text, number: this.names.numberOf(text) };
    this.#numbers.set(row, this.#last.number);
  }

  /** Returns a number in `names`; 0 without a text. */
  numberAt(row: number) {
    return this.#numbers.at(row);
  }

  at(row: number) {
    return this.names.at(this.numberAt(row));
  }
}

/** Names in JSON, whose bytes are compared because that is faster than decoding them. */
class SpelledNames extends Names {
  readonly #known: ({ readonly spelling: Buffer; readonly number: number } | undefined)[] = [];

  /** Returns the number of the string at a node. */
  numberAt(table: JsonTable, node: number) {
    const { bytes } = table;
    const [start, end] = [startOf(table, node), endOf(table, node)];
    const slot = (7 * (end - start) + (bytes[start + 1] ?? 0) + 3 * (bytes[end - 2] ?? 0)) % spellingSlots;
    const known = this.#known[slot];
    if (known && isTextAt(bytes, start, end, known.spelling)) return known.number;
    const number = this.numberOf(readString(table, node));
    this.#known[slot] = { spelling: Buffer.from(bytes.subarray(start, end)), number };
    return number;
  }
}

const spellingSlots = 64;

const isTextAt = (bytes: Buffer, start: number, end: number, text: Buffer) => {
  if (end - start !== text.length) return false;
  let at = 0;
  while (at < text.length && bytes[start + at] === text[at]) at++;
  return at === text.length;
};

/** The calls of a tool. */
export type ToolUse = Record<"calls" | "errors" | "unanswered", number>;

export const addUse = <Tool>(to: Map<Tool, ToolUse>, tool: Tool, { calls, errors, unanswered }: Readonly<ToolUse>) => {
  const use = to.get(tool) ?? { calls: 0, errors: 0, unanswered: 0 };
  to.set(tool, use);
  use.calls += calls;
  use.errors += errors;
  use.unanswered += unanswered;
};

/** What the walk over the messages of a trajectory finds. */
interface WalkedFacts {
  /** By the index in `countNames`; -1 is unknown. */
  readonly counts: Float64Array;
  readonly finishReason: string | undefined;
  /** True if a simulated user may have written a part of the prompt. */
  readonly hasGreeting: boolean;
}

/** The columns of `#uses`, which has a row for each tool of a trajectory. */
const useFields = { tool: 0, calls: 1, errors: 2, unanswered: 3 };
const useWidth = 4;

/** Takes 6 bytes for a row, 1 or 2 for each of its counts and texts, and 4 for each of its tools. */
export class FactColumns {
  /** The value of `--by` as JSON. */
  readonly by = new TextColumn(new Names());
  /** The name of the step column that `by` has. */
  stepName: string | undefined;
  /** The key of the group as JSON. */
  readonly key = new TextColumn(new Names());
  /** The digest of the prompt as a value; none if it is unknown. */
  readonly prompt = new TextColumn(new DigestNames());
  /** The values of the recorded keys that all rows have, as JSON. */
  readonly tasks = new Map<string, TextColumn>();
  /** The metadata that has the same JSON in all rows. */
  readonly settings = new Map<string, string>();
  readonly finishReasons = new Names();
  readonly toolNames = new SpelledNames();
  /** By the index in `countNames`. Counts are stored plus 1; 0 is unknown. */
  readonly #counts = countNames.map(() => new NumberColumn());
  readonly #finishReason = new NumberColumn();
  readonly #hasGreeting = new NumberColumn();
  /** For each row, the number of rows in `#uses` up to its end. */
  readonly #usesEnd = new NumberColumn();
  readonly #uses = new NumberColumn();
  /** For each tool, its last row in `#uses`. */
  readonly #lastUse: number[] = [];
  #usesLength = 0;
  /** The first of the uses by the next row. */
  #usesStart = 0;
  #rows = 0;

  get rows() {
    return this.#rows;
  }

  /** Removes later rows, and uses without a row. */
  truncate(rows: number) {
    this.#rows = rows;
    this.#usesLength = this.#usesBefore(rows);
    this.#usesStart = this.#usesLength;
  }

  /** Adds uses of a tool by the next row. @param tool a number in `toolNames` */
  addUse(tool: number, { calls, errors, unanswered }: Readonly<ToolUse>) {
    const uses = this.#uses;
    const known = this.#lastUse[tool] ?? -1;
    const isNew = known < this.#usesStart || known >= this.#usesLength;
    const row = isNew ? this.#usesLength++ : known;
    if (isNew) this.#lastUse[tool] = row;
    const at = row * useWidth;
    uses.set(at + useFields.tool, tool);
    uses.set(at + useFields.calls, calls + (isNew ? 0 : uses.at(at + useFields.calls)));
    uses.set(at + useFields.errors, errors + (isNew ? 0 : uses.at(at + useFields.errors)));
    uses.set(at + useFields.unanswered, unanswered + (isNew ? 0 : uses.at(at + useFields.unanswered)));
  }

  /** Adds a row, after its uses of tools. Returns its number. */
  addRow({ counts, finishReason: reason, hasGreeting }: WalkedFacts) {
    const row = this.#rows++;
    for (let at = 0; at < counts.length; at++) this.#counts[at]?.set(row, (counts[at] ?? 0) + 1);
    this.#finishReason.set(row, this.finishReasons.numberOf(reason));
    this.#hasGreeting.set(row, Number(hasGreeting));
    this.#usesEnd.set(row, this.#usesLength);
    this.#usesStart = this.#usesLength;
    return row;
  }

  /** Keeps the recorded keys that all rows have. */
  setTasks(row: number, values: ReadonlyMap<string, string>) {
    for (const name of row === 0 ? values.keys() : []) this.tasks.set(name, new TextColumn(new Names()));
    for (const [name, column] of this.tasks)
      if (values.has(name)) column.set(row, values.get(name));
      else this.tasks.delete(name);
  }

  /** Returns -1 if the count is unknown. @param fact an index in `countNames` */
  countAt(row: number, fact: number) {
    return (this.#counts[fact]?.at(row) ?? 0) - 1;
  }

  /** Returns a number in `finishReasons`. */
  finishReasonOf(row: number) {
    return this.#finishReason.at(row);
  }

  /** For a finish reason that the record does not state. */
  forgetFinishReason(row: number) {
    this.#finishReason.set(row, 0);
  }

  /** True if a simulated user may have written a part of the prompt. */
  isGreeted(row: number) {
    return this.#hasGreeting.at(row) === 1;
  }

  /** Gives numbers in `toolNames`; 0 is a result whose call is unknown. */
  forEachUse(row: number, take: (tool: number, use: Readonly<ToolUse>) => void) {
    const uses = this.#uses;
    const end = this.#usesBefore(row + 1) * useWidth;
    for (let at = this.#usesBefore(row) * useWidth; at < end; at += useWidth) {
      const [calls, errors] = [uses.at(at + useFields.calls), uses.at(at + useFields.errors)];
      take(uses.at(at + useFields.tool), { calls, errors, unanswered: uses.at(at + useFields.unanswered) });
    }
  }

  #usesBefore(row: number) {
    return row === 0 ? 0 : this.#usesEnd.at(row - 1);
  }

  /** Returns the facts that need no reward. */
  at(row: number): Pick<FactRow, "counts" | "finishReason"> {
    const counts: Record<string, number | null> = {};
    for (const [fact, name] of countNames.entries()) {
      const count = this.countAt(row, fact);
      counts[name] = count < 0 ? null : count;
    }
    return { counts, finishReason: this.finishReasons.at(this.finishReasonOf(row)) };
  }

  copyRows(from: FactColumns, rows: readonly number[]) {
    this.stepName ??= from.stepName;
    if (rows.length === 0) return;
    if (this.#rows === 0) for (const [name, json] of from.settings) this.settings.set(name, json);
    for (const [name, json] of this.settings) if (from.settings.get(name) !== json) this.settings.delete(name);
    for (const row of rows) {
      from.forEachUse(row, (tool, use) => this.addUse(this.toolNames.numberOf(from.toolNames.at(tool)), use));
      const counts = Float64Array.from(countNames, (_, fact) => from.countAt(row, fact));
      const reason = from.finishReasons.at(from.finishReasonOf(row));
      const added = this.addRow({ counts, finishReason: reason, hasGreeting: from.isGreeted(row) });
      for (const name of ["by", "key", "prompt"] as const) this[name].set(added, from[name].at(row));
      this.setTasks(added, new Map(Array.from(from.tasks, ([name, column]) => [name, column.at(row) ?? ""])));
    }
  }
}

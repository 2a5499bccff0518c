/** Stores the facts that the walk over the messages of each trajectory finds, and the keys of trajectories. */
import { endOf, type JsonTable, readString, startOf } from "../../json/table.ts";
import { type FactRow, walkedNames } from "./facts.ts";
import { NumberTable } from "./number-table.ts";

/** Numbers names from 1, in the order of their first use. 0 means no name. */
export class Names {
  readonly list: string[] = [];
  readonly #numbers = new Map<string, number>();
  /** Adjacent names are often equal. */
  #last = { name: "", number: 0 };

  numberOf(name: string | undefined) {
    if (name === undefined) return 0;
    if (name === this.#last.name && this.#last.number > 0) return this.#last.number;
    const number = this.#numbers.get(name) ?? this.list.push(name);
    if (number === this.list.length) this.#numbers.set(name, number);
    this.#last = { name, number };
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

/** Texts of rows. */
export class TextColumn {
  readonly names = new Names();
  readonly #numbers = new NumberTable(1);

  set(row: number, text: string | undefined) {
    this.#numbers.set(row, 0, this.names.numberOf(text));
  }

  /** Returns a number in `names`; 0 without a text. */
  numberAt(row: number) {
    return this.#numbers.at(row, 0);
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

/** The texts by which rows are divided and paired. */
export interface RowKeys {
  /** The value of `--by` as JSON. */
  readonly by?: string | undefined;
  /** The key of the group as JSON. */
  readonly key?: string | undefined;
  /** The digest of the prompt as a value; undefined if it is unknown. */
  readonly prompt?: string | undefined;
  /** True if a simulated user may have written a part of the prompt. */
  readonly isGreeted?: boolean;
  /** Values of recorded keys as JSON. */
  readonly tasks?: ReadonlyMap<string, string> | undefined;
}

/** The calls of a tool. */
export type ToolUse = Record<"calls" | "errors" | "unanswered", number>;

/** The columns of `#facts` after the walked facts. */
const [finishReason, usesEnd] = [walkedNames.length, walkedNames.length + 1];
/** The columns of `#uses`, which has a row for each tool of a trajectory. */
const useFields = { tool: 0, calls: 1, errors: 2, unanswered: 3 };

/** Takes 8 bytes for a row, 4 for each of its facts, and 16 for each of its tools. */
export class FactColumns {
  readonly by = new TextColumn();
  /** The name of the step column that `by` has. */
  stepName: string | undefined;
  readonly key = new TextColumn();
  readonly prompt = new TextColumn();
  /** The values of the recorded keys that all rows have. */
  readonly tasks = new Map<string, TextColumn>();
  /** The metadata that has the same JSON in all rows. */
  readonly settings = new Map<string, string>();
  readonly finishReasons = new Names();
  readonly toolNames = new SpelledNames();
  readonly #isGreeted = new NumberTable(1);
  /** Walked facts are stored plus 1; 0 is unknown. */
  readonly #facts = new NumberTable(walkedNames.length + 2);
  readonly #uses = new NumberTable(4);
  /** For each tool, its last row in `#uses`. */
  readonly #lastUse: number[] = [];
  #usesLength = 0;
  #rows = 0;

  get rows() {
    return this.#rows;
  }

  /** Removes later rows, and uses without a row. */
  truncate(rows: number) {
    this.#rows = rows;
    this.#usesLength = this.#usesBefore(rows);
  }

  /** Adds uses of a tool by the next row. @param tool a number in `toolNames` */
  addUse(tool: number, calls: number, errors: number, unanswered: number) {
    const uses = this.#uses;
    const known = this.#lastUse[tool] ?? -1;
    const isNew = known < this.#usesBefore(this.#rows) || known >= this.#usesLength;
    const at = isNew ? this.#usesLength++ : known;
    if (isNew) this.#lastUse[tool] = at;
    uses.set(at, useFields.tool, tool);
    uses.set(at, useFields.calls, calls + (isNew ? 0 : uses.at(at, useFields.calls)));
    uses.set(at, useFields.errors, errors + (isNew ? 0 : uses.at(at, useFields.errors)));
    uses.set(at, useFields.unanswered, unanswered + (isNew ? 0 : uses.at(at, useFields.unanswered)));
  }

  /** Adds a row, after its uses of tools. @param walked by their index in `walkedNames`; -1 is unknown */
  addRow(walked: Int32Array, reason: string | undefined) {
    const row = this.#rows++;
    for (let at = 0; at < walked.length; at++) this.#facts.set(row, at, (walked[at] ?? 0) + 1);
    this.#facts.set(row, finishReason, this.finishReasons.numberOf(reason));
    this.#facts.set(row, usesEnd, this.#usesLength);
  }

  setKeys(row: number, { by, key, prompt, isGreeted = false, tasks }: RowKeys) {
    this.by.set(row, by);
    this.key.set(row, key);
    this.prompt.set(row, prompt);
    this.#isGreeted.set(row, 0, Number(isGreeted));
    if (row === 0) for (const name of tasks?.keys() ?? []) this.tasks.set(name, new TextColumn());
    if (this.tasks.size === 0) return;
    for (const [name, column] of this.tasks) {
      const value = tasks?.get(name);
      if (value === undefined) this.tasks.delete(name);
      else column.set(row, value);
    }
  }

  /** Returns -1 if the fact is unknown. @param fact an index in `walkedNames` */
  walkedAt(row: number, fact: number) {
    return this.#facts.at(row, fact) - 1;
  }

  /** Returns a number in `finishReasons`. */
  finishReasonOf(row: number) {
    return this.#facts.at(row, finishReason);
  }

  /** For a finish reason that the record does not state. */
  forgetFinishReason(row: number) {
    this.#facts.set(row, finishReason, 0);
  }

  /** True if a simulated user may have written a part of the prompt. */
  isGreeted(row: number) {
    return this.#isGreeted.at(row, 0) === 1;
  }

  /** Gives numbers in `toolNames`; 0 is a result whose call is unknown. */
  forEachUse(row: number, take: (tool: number, calls: number, errors: number, unanswered: number) => void) {
    const uses = this.#uses;
    const end = this.#facts.at(row, usesEnd);
    for (let at = this.#usesBefore(row); at < end; at++) {
      const tool = uses.at(at, useFields.tool);
      const errors = uses.at(at, useFields.errors);
      take(tool, uses.at(at, useFields.calls), errors, uses.at(at, useFields.unanswered));
    }
  }

  #usesBefore(row: number) {
    return row === 0 ? 0 : this.#facts.at(row - 1, usesEnd);
  }

  /** Returns the facts that need no reward. */
  at(row: number): Pick<FactRow, "walked" | "finishReason" | "uses"> {
    const uses = { calls: 0, errors: 0, unanswered: 0 };
    this.forEachUse(row, (_, calls, errors, unanswered) => {
      uses.calls += calls;
      uses.errors += errors;
      uses.unanswered += unanswered;
    });
    const walked: Record<string, number | null> = {};
    for (const [fact, name] of walkedNames.entries()) {
      const value = this.walkedAt(row, fact);
      walked[name] = value < 0 ? null : value;
    }
    return { walked, uses, finishReason: this.finishReasons.at(this.finishReasonOf(row)) };
  }

  copyRows(from: FactColumns, rows: readonly number[]) {
    this.stepName ??= from.stepName;
    if (rows.length === 0) return;
    if (this.#rows === 0) for (const [name, json] of from.settings) this.settings.set(name, json);
    for (const [name, json] of this.settings) if (from.settings.get(name) !== json) this.settings.delete(name);
    const walked = new Int32Array(walkedNames.length);
    for (const row of rows) {
      from.forEachUse(row, (tool, calls, errors, unanswered) => {
        this.addUse(this.toolNames.numberOf(from.toolNames.at(tool)), calls, errors, unanswered);
      });
      for (let fact = 0; fact < walked.length; fact++) walked[fact] = from.walkedAt(row, fact);
      this.addRow(walked, from.finishReasons.at(from.finishReasonOf(row)));
      const tasks = new Map(Array.from(from.tasks, ([name, column]) => [name, column.at(row) ?? ""]));
      const [by, key, prompt] = [from.by.at(row), from.key.at(row), from.prompt.at(row)];
      this.setKeys(this.#rows - 1, { by, key, prompt, isGreeted: from.isGreeted(row), tasks });
    }
  }
}

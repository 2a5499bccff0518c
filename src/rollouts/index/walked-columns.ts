/** Stores the facts that a walk over the messages of each trajectory finds (metrics.md). */
import { NumberColumn, NumberTable } from "./column.ts";

/** Numbers names from 1, in the order of their first use. 0 means no name. */
export class Names {
  readonly list: string[] = [];
  readonly #numbers = new Map<string, number>();

  numberOf(name: string | undefined) {
    if (name === undefined) return 0;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.list.push(name));
    return this.list.length;
  }

  at(number: number) {
    return this.list[number - 1];
  }
}

/** Texts of rows. */
export class TextColumn {
  readonly names = new Names();
  readonly #numbers = new NumberColumn("u32");

  set(row: number, text: string | undefined) {
    if (text !== undefined) this.#numbers.set(row, this.names.numberOf(text));
  }

  /** Returns a number in `names`; 0 without a text. */
  numberAt(row: number) {
    return this.#numbers.at(row);
  }

  at(row: number) {
    return this.names.at(this.numberAt(row));
  }
}

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

/** The calls of one tool in one trajectory. */
export interface ToolUse {
  calls: number;
  errors: number;
  unanswered: number;
}

/** The facts that a walk over the messages finds. */
export interface WalkedFacts {
  turns: number;
  /** The code points of sampled content, reasoning and arguments. */
  characters: number;
  /** The sampled tokens with recorded log probabilities, or -1 if no turn has them. */
  tokens: number;
  /** The finish reason of the last choice. */
  finishReason: string | undefined;
}

export type WalkedRow = ReturnType<WalkedColumns["at"]>;

/** The columns of `#facts`. `tokens` is the number of tokens plus 1; 0 if it is unknown. */
const fields = { turns: 0, characters: 1, tokens: 2, finishReason: 3, usesEnd: 4 };
/** The columns of `#uses`, which has a row for each tool of a trajectory. */
const useFields = { tool: 0, calls: 1, errors: 2, unanswered: 3 };

/** Takes 20 bytes for a row, and 16 for each of its tools. */
export class WalkedColumns {
  readonly by = new TextColumn();
  readonly key = new TextColumn();
  readonly prompt = new TextColumn();
  /** The values of the recorded keys that all rows have. */
  readonly tasks = new Map<string, TextColumn>();
  readonly finishReasons = new Names();
  readonly toolNames = new Names();
  readonly #isGreeted = new NumberColumn("u8");
  readonly #facts = new NumberTable(5);
  readonly #uses = new NumberTable(4);
  /** For each tool, its last row in `#uses`. */
  readonly #lastUse: number[] = [];

  /** Counts a use of a tool by the next row. */
  countUse(kind: keyof ToolUse, name: string | undefined, count = 1) {
    const number = this.toolNames.numberOf(name);
    const uses = this.#uses;
    let at = this.#lastUse[number] ?? -1;
    if (at < this.#usesBefore(this.#facts.length)) {
      at = uses.addRow();
      uses.set(at, useFields.tool, number);
      this.#lastUse[number] = at;
    }
    uses.set(at, useFields[kind], uses.at(at, useFields[kind]) + count);
  }

  /** Adds a row, after its uses of tools. */
  addRow(walked: Readonly<WalkedFacts>, { by, key, prompt, isGreeted = false, tasks }: RowKeys = {}) {
    const facts = this.#facts;
    const row = facts.addRow();
    facts.set(row, fields.turns, walked.turns);
    facts.set(row, fields.characters, walked.characters);
    facts.set(row, fields.tokens, walked.tokens + 1);
    facts.set(row, fields.finishReason, this.finishReasons.numberOf(walked.finishReason));
    facts.set(row, fields.usesEnd, this.#uses.length);
    this.by.set(row, by);
    this.key.set(row, key);
    this.prompt.set(row, prompt);
    if (isGreeted) this.#isGreeted.set(row, 1);
    if (row === 0) for (const name of tasks?.keys() ?? []) this.tasks.set(name, new TextColumn());
    if (this.tasks.size === 0) return;
    for (const [name, column] of this.tasks) {
      const value = tasks?.get(name);
      if (value === undefined) this.tasks.delete(name);
      else column.set(row, value);
    }
  }

  get rows() {
    return this.#facts.length;
  }

  turnsOf(row: number) {
    return this.#facts.at(row, fields.turns);
  }

  charactersOf(row: number) {
    return this.#facts.at(row, fields.characters);
  }

  /** Returns -1 if the number of tokens is unknown. */
  tokensOf(row: number) {
    return this.#facts.at(row, fields.tokens) - 1;
  }

  /** Returns a number in `finishReasons`. */
  finishReasonOf(row: number) {
    return this.#facts.at(row, fields.finishReason);
  }

  at(row: number) {
    /** By name; undefined is a result whose call is unknown. */
    const tools = new Map<string | undefined, Readonly<ToolUse>>();
    this.forEachUse(row, (tool, calls, errors, unanswered) =>
      tools.set(this.toolNames.at(tool), { calls, errors, unanswered }),
    );
    return {
      turns: this.turnsOf(row),
      characters: this.charactersOf(row),
      tokens: this.tokensOf(row),
      finishReason: this.finishReasons.at(this.finishReasonOf(row)),
      by: this.by.at(row),
      key: this.key.at(row),
      prompt: this.prompt.at(row),
      tools,
    };
  }

  /** For a finish reason that the record does not state. */
  forgetFinishReason(row: number) {
    this.#facts.set(row, fields.finishReason, 0);
  }

  /** Gives numbers in `toolNames`. */
  forEachUse(row: number, take: (tool: number, calls: number, errors: number, unanswered: number) => void) {
    const uses = this.#uses;
    const end = this.#facts.at(row, fields.usesEnd);
    for (let at = this.#usesBefore(row); at < end; at++) {
      const tool = uses.at(at, useFields.tool);
      const errors = uses.at(at, useFields.errors);
      take(tool, uses.at(at, useFields.calls), errors, uses.at(at, useFields.unanswered));
    }
  }

  #usesBefore(row: number) {
    return row === 0 ? 0 : this.#facts.at(row - 1, fields.usesEnd);
  }

  /** True if a simulated user may have written a part of the prompt. */
  isGreeted(row: number) {
    return this.#isGreeted.at(row) === 1;
  }

  copyRows(from: WalkedColumns, rows: readonly number[]) {
    for (const row of rows) {
      const { tools, ...values } = from.at(row);
      const tasks = new Map(Array.from(from.tasks, ([name, column]) => [name, column.at(row) ?? ""]));
      for (const [name, use] of tools)
        for (const kind of ["calls", "errors", "unanswered"] as const) this.countUse(kind, name, use[kind]);
      this.addRow(values, { ...values, isGreeted: from.isGreeted(row), tasks });
    }
  }
}

/** Returns the facts by their names in expressions and rows (metrics.md), with null for unknown values. */
export const nameFacts = ({ turns, characters, tokens, finishReason, tools }: WalkedRow) => {
  const { calls, errors, unanswered } = sumUses(tools.values());
  return {
    turns,
    characters,
    tokens: tokens < 0 ? null : tokens,
    finish_reason: finishReason ?? null,
    tool_calls: calls,
    tool_errors: errors,
    unanswered,
  };
};

export const sumUses = (tools: Iterable<ToolUse>): ToolUse => {
  const sum = { calls: 0, errors: 0, unanswered: 0 };
  for (const { calls, errors, unanswered } of tools) {
    sum.calls += calls;
    sum.errors += errors;
    sum.unanswered += unanswered;
  }
  return sum;
};

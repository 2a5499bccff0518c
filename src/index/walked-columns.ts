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
  /** Numbers in `byValues`, `keys` and `prompts`. */
  readonly by = new NumberColumn("u32");
  readonly key = new NumberColumn("u32");
  readonly prompt = new NumberColumn("u32");
  readonly finishReasons = new Names();
  readonly byValues = new Names();
  readonly keys = new Names();
  readonly prompts = new Names();
  readonly toolNames = new Names();
  readonly #facts = new NumberTable(5);
  readonly #uses = new NumberTable(4);

  /** Counts a use of a tool by the next row. */
  countUse(kind: keyof ToolUse, name: string | undefined, count = 1) {
    const number = this.toolNames.numberOf(name);
    const uses = this.#uses;
    let at = this.#usesBefore(this.#facts.length);
    while (at < uses.length && uses.at(at, useFields.tool) !== number) at++;
    if (at === uses.length) uses.set(uses.addRow(), useFields.tool, number);
    uses.set(at, useFields[kind], uses.at(at, useFields[kind]) + count);
  }

  /** Adds a row, after its uses of tools. */
  addRow(walked: Readonly<WalkedFacts>, by?: string, key?: string, prompt?: string) {
    const facts = this.#facts;
    const row = facts.addRow();
    facts.set(row, fields.turns, walked.turns);
    facts.set(row, fields.characters, walked.characters);
    facts.set(row, fields.tokens, walked.tokens + 1);
    facts.set(row, fields.finishReason, this.finishReasons.numberOf(walked.finishReason));
    facts.set(row, fields.usesEnd, this.#uses.length);
    if (by !== undefined) this.by.set(row, this.byValues.numberOf(by));
    if (key !== undefined) this.key.set(row, this.keys.numberOf(key));
    if (prompt !== undefined) this.prompt.set(row, this.prompts.numberOf(prompt));
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
      /** The value of `--by` as JSON. */
      by: this.byValues.at(this.by.at(row)),
      /** The key of the group as JSON. */
      key: this.keys.at(this.key.at(row)),
      /** The digest of the prompt as a value; undefined if it is unknown. */
      prompt: this.prompts.at(this.prompt.at(row)),
      tools,
    };
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

  copyRows(from: WalkedColumns, rows: readonly number[]) {
    for (const row of rows) {
      const { tools, ...values } = from.at(row);
      for (const [name, use] of tools)
        for (const kind of ["calls", "errors", "unanswered"] as const) this.countUse(kind, name, use[kind]);
      this.addRow(values, values.by, values.key, values.prompt);
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

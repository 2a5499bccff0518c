/** Stores the facts of valid trajectories (metrics.md), in 30 bytes, 16 for each tool and 8 for each metric. */
import { NumberColumn } from "./column.ts";

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

export interface RolloutFact extends WalkedFacts {
  reward: number;
  /** By name; undefined is a result whose call is unknown. */
  tools: ReadonlyMap<string | undefined, Readonly<ToolUse>>;
  /** The value of `--by` as JSON. */
  by: string | undefined;
  /** The key of the group as JSON. */
  key: string | undefined;
  /** The digest of the prompt as a value; undefined if it is unknown. */
  prompt: string | undefined;
}

type RowValues = Readonly<Omit<RolloutFact, "tools">>;

/** A row is a valid trajectory, in the order of the input. */
export class RolloutFacts {
  /** For each part, the number of rows before it. */
  readonly first = new NumberColumn("u32");
  readonly reward = new NumberColumn("f64");
  readonly turns = new NumberColumn("u32");
  readonly characters = new NumberColumn("u32");
  /** The number of tokens plus 1; 0 if it is unknown. */
  readonly tokens = new NumberColumn("u32");
  readonly finishReason = new NumberColumn("u32");
  readonly by = new NumberColumn("u32");
  readonly key = new NumberColumn("u32");
  readonly prompt = new NumberColumn("u32");
  /** For each row, the number of uses of tools up to its end. */
  readonly usesEnd = new NumberColumn("u32");
  readonly finishReasons = new Names();
  readonly byValues = new Names();
  readonly keys = new Names();
  readonly prompts = new Names();
  readonly toolNames = new Names();
  readonly metrics = new Map<string, NumberColumn>();
  /** One element per tool of a trajectory. */
  readonly uses = {
    tool: new NumberColumn("u32"),
    calls: new NumberColumn("u32"),
    errors: new NumberColumn("u32"),
    unanswered: new NumberColumn("u32"),
  };

  get rows() {
    return this.reward.length;
  }

  startPart() {
    this.first.push(this.rows);
  }

  /** Counts a use of a tool by the next row. */
  countUse(kind: keyof ToolUse, name: string | undefined, count = 1) {
    const { tool } = this.uses;
    const number = this.toolNames.numberOf(name);
    let at = this.#usesBefore(this.rows);
    while (at < tool.length && tool.at(at) !== number) at++;
    if (at === tool.length) for (const column of Object.values(this.uses)) column.length++;
    tool.set(at, number);
    this.uses[kind].set(at, this.uses[kind].at(at) + count);
  }

  addMetric(name: string, value: number) {
    const known = this.metrics.get(name) ?? new NumberColumn("f64", Number.NaN);
    if (known.length === 0) this.metrics.set(name, known);
    known.length = this.rows + 1;
    known.set(this.rows, value);
  }

  /** Adds a row to the last part, after its uses of tools and its metrics. */
  addRow(row: RowValues) {
    this.reward.push(row.reward);
    this.turns.push(row.turns);
    this.characters.push(row.characters);
    this.tokens.push(row.tokens + 1);
    this.finishReason.push(this.finishReasons.numberOf(row.finishReason));
    this.by.push(this.byValues.numberOf(row.by));
    this.key.push(this.keys.numberOf(row.key));
    this.prompt.push(this.prompts.numberOf(row.prompt));
    this.usesEnd.push(this.uses.tool.length);
  }

  /** Returns the rows of a group. */
  listRows(parts: readonly number[]): readonly number[] {
    const rows: number[] = [];
    for (const part of parts) {
      const end = part + 1 < this.first.length ? this.first.at(part + 1) : this.rows;
      for (let row = this.first.at(part); row < end; row++) rows.push(row);
    }
    return rows;
  }

  /** Returns a row as values, without its metrics. */
  at(row: number): RolloutFact {
    const tools = new Map<string | undefined, ToolUse>();
    this.forEachUse(row, (name, use) => tools.set(name, use));
    return {
      reward: this.reward.at(row),
      turns: this.turns.at(row),
      characters: this.characters.at(row),
      tokens: this.tokens.at(row) - 1,
      finishReason: this.finishReasons.at(this.finishReason.at(row)),
      by: this.byValues.at(this.by.at(row)),
      key: this.keys.at(this.key.at(row)),
      prompt: this.prompts.at(this.prompt.at(row)),
      tools,
    };
  }

  forEachUse(row: number, take: (name: string | undefined, use: ToolUse) => void) {
    const { tool, calls, errors, unanswered } = this.uses;
    const end = this.usesEnd.at(row);
    for (let at = this.#usesBefore(row); at < end; at++)
      take(this.toolNames.at(tool.at(at)), {
        calls: calls.at(at),
        errors: errors.at(at),
        unanswered: unanswered.at(at),
      });
  }

  #usesBefore(row: number) {
    return row === 0 ? 0 : this.usesEnd.at(row - 1);
  }

  /** Adds rows to the last part. */
  copyRows(from: RolloutFacts, rows: readonly number[]) {
    for (const row of rows) {
      const { tools, ...values } = from.at(row);
      for (const [name, use] of tools)
        for (const kind of ["calls", "errors", "unanswered"] as const) this.countUse(kind, name, use[kind]);
      for (const [name, column] of from.metrics)
        if (!Number.isNaN(column.at(row))) this.addMetric(name, column.at(row));
      this.addRow(values);
    }
  }

  /** Adds the parts of a later input. */
  append(later: RolloutFacts) {
    for (let part = 0; part < later.first.length; part++) {
      this.startPart();
      this.copyRows(later, later.listRows([part]));
    }
  }
}

export const sumUses = (tools: Iterable<ToolUse>): ToolUse => {
  const sum = { calls: 0, errors: 0, unanswered: 0 };
  for (const { calls, errors, unanswered } of tools) {
    sum.calls += calls;
    sum.errors += errors;
    sum.unanswered += unanswered;
  }
  return sum;
};

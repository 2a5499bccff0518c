/** Stores the facts of trajectories. */

import { type CountName, countNames, type FactRow, lengthNames } from "../facts.ts";
import { NumberColumn } from "./column.ts";
import { DigestNames, Names, TextColumn } from "./text-column.ts";

export type ToolUse = Record<"calls" | "errors" | "unanswered", number>;

export const addUse = <Tool>(to: Map<Tool, ToolUse>, tool: Tool, added: Readonly<ToolUse>) => {
  const use = to.get(tool);
  if (!use) return void to.set(tool, { ...added });
  use.calls += added.calls;
  use.errors += added.errors;
  use.unanswered += added.unanswered;
};

export const noUse: Readonly<ToolUse> = { calls: 0, errors: 0, unanswered: 0 };

/** What the messages of a trajectory have. The count -1 is unknown, and tools are numbers in `toolNames`. */
interface MessageCounts {
  readonly counts: Readonly<Record<CountName, number>>;
  readonly media: number;
  readonly finishReason: string | undefined;
  readonly uses: ReadonlyMap<number, Readonly<ToolUse>>;
}

const lengths: ReadonlySet<string> = new Set(lengthNames);

/**
 * A row is a trajectory of a valid part, in the order of the input. Takes 6 bytes for a row, 1 or 2 for each of its
 * counts and texts, 8 for each metric, and 4 for each tool.
 */
export class FactColumns {
  readonly reward = new NumberColumn();
  /** The value of `--by` as JSON. */
  readonly by = new TextColumn(new Names());
  stepName: string | undefined;
  /** The digest of the prompt as a value; none if it is unknown. */
  readonly prompt = new TextColumn(new DigestNames());
  /** The values of the recorded keys that all rows have, as JSON. */
  tasks = new Map<string, TextColumn>();
  readonly finishReason = new TextColumn(new Names());
  /** The numbers of images and other media. */
  readonly media = new NumberColumn();
  readonly toolNames = new Names();
  /** The lists of names of metrics. Trajectories of a shape share a list. */
  readonly #nameLists = [noMetrics];
  readonly #nameList = new NumberColumn();
  /** For each row, the number of metrics up to its end. */
  readonly #metricsEnd = new NumberColumn();
  readonly #metrics = new NumberColumn();
  /** By the index in `countNames`. Counts are stored plus 1; 0 is unknown. Most trajectories call no tool. */
  readonly #counts = countNames.map((name) => new NumberColumn(lengths.has(name) ? 0 : 1));
  readonly #hasGreeting = new NumberColumn();
  /** For each row, the number of uses up to its end. */
  readonly #usesEnd = new NumberColumn();
  /** A use is that of a tool by a trajectory. */
  readonly #uses = { calls: new NumberColumn(), errors: new NumberColumn(), unanswered: new NumberColumn() };
  readonly #usedTools = new NumberColumn();
  #rows = 0;

  get rows() {
    return this.#rows;
  }

  /** Returns a function that removes later rows, and what they changed. */
  mark() {
    const { rows, stepName } = this;
    const tasks = Array.from(this.tasks, ([name, column]) => ({ name, column, count: column.names.list.length }));
    return () => {
      this.#rows = rows;
      this.stepName = stepName;
      for (const { column, count } of tasks) column.truncateNames(count);
      this.tasks = new Map(tasks.map(({ name, column }) => [name, column]));
    };
  }

  addRow(
    { reward, metricNames, metrics, hasGreeting }: TrajectoryFacts,
    { counts, media, finishReason, uses }: MessageCounts,
  ) {
    const row = this.#rows++;
    this.reward.set(row, reward);
    if (metricNames.length > 0 && metricNames !== this.#nameLists.at(-1)) this.#nameLists.push(metricNames);
    this.#nameList.set(row, metricNames.length > 0 ? this.#nameLists.length - 1 : 0);
    const start = endBefore(this.#metricsEnd, row);
    for (let at = 0; at < metricNames.length; at++) this.#metrics.set(start + at, metrics[at] ?? 0);
    this.#metricsEnd.set(row, start + metricNames.length);
    let fact = 0;
    for (const name of countNames) this.#counts[fact++]?.set(row, counts[name] + 1);
    this.finishReason.set(row, finishReason);
    this.media.set(row, media);
    this.#hasGreeting.set(row, Number(hasGreeting));
    let use = endBefore(this.#usesEnd, row);
    for (const [tool, own] of uses) {
      this.#usedTools.set(use, tool);
      this.#uses.calls.set(use, own.calls);
      this.#uses.errors.set(use, own.errors);
      this.#uses.unanswered.set(use++, own.unanswered);
    }
    this.#usesEnd.set(row, use);
    return row;
  }

  /** Keeps the recorded keys that all rows have. */
  setTasks(row: number, values: ReadonlyMap<string, string>) {
    for (const name of row === 0 ? values.keys() : []) this.tasks.set(name, new TextColumn(new Names()));
    for (const [name, column] of this.tasks)
      if (values.has(name)) column.set(row, values.get(name));
      else this.tasks.delete(name);
  }

  metricNamesOf(row: number) {
    return this.#nameLists[this.#nameList.at(row)] ?? noMetrics;
  }

  /** @param at the index in `metricNamesOf(row)` */
  metricAt(row: number, at: number) {
    return this.#metrics.at(endBefore(this.#metricsEnd, row) + at);
  }

  listMetricNames() {
    const lists = new Set(this.#nameList.values(0, this.rows));
    return [...new Set(Array.from(lists).flatMap((list) => this.#nameLists[list] ?? noMetrics))];
  }

  /** Returns -1 if the count is unknown. @param fact an index in `countNames` */
  countAt(row: number, fact: number) {
    return (this.#counts[fact]?.at(row) ?? 0) - 1;
  }

  /** True if a simulated user may have written a part of the prompt. */
  isGreeted(row: number) {
    return this.#hasGreeting.at(row) === 1;
  }

  /** Gives numbers in `toolNames`; 0 is a result whose call is unknown. */
  forEachUse(row: number, take: (tool: number, use: Readonly<ToolUse>) => void) {
    const { calls, errors, unanswered } = this.#uses;
    for (let at = endBefore(this.#usesEnd, row); at < this.#usesEnd.at(row); at++) {
      const use = { calls: calls.at(at), errors: errors.at(at), unanswered: unanswered.at(at) };
      take(this.#usedTools.at(at), use);
    }
  }

  /** Returns the facts that need no reward. */
  at(row: number): Pick<FactRow, "counts" | "finishReason"> {
    const counts: Record<string, number | null> = {};
    for (const [fact, name] of countNames.entries()) {
      const count = this.countAt(row, fact);
      counts[name] = count < 0 ? null : count;
    }
    return { counts, finishReason: this.finishReason.at(row) };
  }
}

const endBefore = (ends: NumberColumn, row: number) => (row === 0 ? 0 : ends.at(row - 1));

export const noMetrics: readonly string[] = [];
const noValues = new Float64Array();

/** Doubles start as NaN, because V8 recompiles code if an integer becomes a double. */
export class TrajectoryFacts {
  node = 0;
  /** The node of `messages_and_choices`. */
  list = 0;
  reward = Number.NaN;
  /** The hash of the step columns, or 0. */
  steps = Number.NaN;
  /** Bits, which `trainingBits` describes. */
  training = 0;
  /** The fingerprint of the bytes; 0 without a turn, because `no-assistant-turn` reports such a trajectory. */
  fingerprint = Number.NaN;
  /** The digest of what was sampled, for the ledger; 0 without a turn. */
  sampled = Number.NaN;
  metricNames = noMetrics;
  /** The values of `metricNames`, and older values. */
  metrics: Float64Array = noValues;
  /** As in `MessageWalk`. */
  promptEnd = 0;
  hasGreeting = false;
  isSilent = false;
}

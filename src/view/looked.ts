/** What is looked at: nothing but its progress until all was read, then whatever of it the page asks for. */
import { isFailure } from "../failure.ts";
import { checkResult, drawnOf, type Reading, trajectoriesOf } from "../trajectories/index.ts";
import type { CallDetail, CallRows, CallSelection } from "./call-shapes.ts";
import { CallTable, type ShownCalls } from "./calls.ts";
import { detailOf } from "./detail.ts";
import { FindingsByGroup } from "./findings.ts";
import { barsOf, dotsOf, Measures, untrainable } from "./measures.ts";
import { RowReader, type Table } from "./rows.ts";
import { Runs } from "./runs.ts";
import type { AskedFor, Charts, Findings, GroupDetail, Progress, Rows, Selection, State, Summary } from "./shapes.ts";

/** Names of files that a page is told, and what became of files. */
const mostFiles = 200;
const mostTold = 5;

/** What was read, with what is measured of it. */
interface Read extends Table {
  readonly rows: RowReader;
  readonly summary: Summary;
}

interface Range {
  readonly from: number;
  readonly most: number;
}

/** What is looked at. */
export class Looked {
  #progress: Progress = { phase: "opening", done: 0, of: 0 };
  #read: Read | undefined;
  #calls: CallTable | undefined;
  /** What became of the files that are followed; undefined where none are. */
  #following: readonly string[] | undefined;

  reading(done: number, of: number): void {
    this.#progress = { phase: "reading", done, of };
  }

  /** Shows what was read, and measures it. @throws Failure `input-changed`; the signal's reason */
  async show(
    reading: Reading,
    { asked, signal }: { readonly asked: AskedFor; readonly signal: AbortSignal },
  ): Promise<void> {
    const measures = new Measures(reading);
    this.#read = readOf({ reading, asked }, measures, undefined);
    await measures.measure(signal);
    this.#progress = { phase: "read", done: measures.count, of: measures.count };
  }

  /** Shows calls: resolves once all of them are listed. @throws what their ids end with */
  async showCalls(shown: ShownCalls): Promise<void> {
    this.#calls = new CallTable(shown);
    await this.#calls.list();
  }

  /** Shows what was added to a reading, once that is measured. @throws the signal's reason */
  async grow(
    reading: Reading,
    { asked, signal }: { readonly asked: AskedFor; readonly signal: AbortSignal },
  ): Promise<void> {
    const measures = new Measures(reading, this.#read?.measures);
    await measures.measure(signal).catch((thrown: unknown) => {
      // The next look at that file takes it into account.
      if (!isFailure(thrown, "input-changed")) throw thrown;
    });
    this.#read = readOf({ reading, asked }, measures, this.#read?.rows);
    this.#following ??= [];
    this.#progress = { phase: "read", done: measures.count, of: measures.count };
  }

  tell(text: string): void {
    this.#following = [...(this.#following ?? []), text].slice(-mostTold);
  }

  /** Ends what goes on in the background, beside the measuring. */
  end(): void {
    this.#read?.rows.end();
    this.#calls?.end();
  }

  async calls(selection: CallSelection, range: Range): Promise<CallRows | undefined> {
    return await this.#calls?.rows(selection, range);
  }

  async call(id: string): Promise<CallDetail | undefined> {
    return await this.#calls?.call(id);
  }

  state(): State {
    if (this.#calls !== undefined) {
      return { progress: this.#calls.progress(), calls: this.#calls.summary() };
    }
    if (this.#read === undefined) return { progress: this.#progress };
    const { measures, summary } = this.#read;
    const phase = this.#progress.phase === "read" ? "read" : "measuring";
    const progress = { phase, done: measures.done, of: measures.count } as const;
    const recorded = phase === "read" ? measures.recorded() : [];
    return { progress, summary, recorded, following: this.#following };
  }

  charts(): Charts | undefined {
    if (this.#read === undefined) return undefined;
    const { reading, measures, runs } = this.#read;
    return { runs: runs.drawn(reading, measures), rewards: barsOf(measures.rewards), dots: dotsOf(measures) };
  }

  problems(rule: string | undefined, most: number): Findings | undefined {
    return this.#read?.findings.listed(rule, most);
  }

  async rows(selection: Selection, range: Range): Promise<Rows | undefined> {
    return await this.#read?.rows.rows(selection, range);
  }

  async group(group: number): Promise<GroupDetail | undefined> {
    const read = this.#read;
    return read !== undefined && this.#has(group) ? await detailOf(read, group) : undefined;
  }

  async trajectory(group: number, trajectory: number): Promise<Buffer | undefined> {
    const read = this.#read;
    if (read === undefined || !this.#has(group)) return undefined;
    return (await trajectoriesOf(read.reading, group))[trajectory]?.bytes;
  }

  bytesOf(group: number): number {
    return this.#read?.reading.groups.bytesOf(group) ?? 0;
  }

  #has(group: number): boolean {
    return Number.isSafeInteger(group) && group >= 0 && group < (this.#read?.reading.groups.count ?? 0);
  }
}

/** What is shown of a reading as far as it goes; rows of an earlier one go on. */
const readOf = (
  { reading, asked }: Pick<Table, "reading" | "asked">,
  measures: Measures,
  earlier: RowReader | undefined,
): Read => {
  const table: Table = {
    reading,
    measures,
    findings: new FindingsByGroup(reading),
    runs: new Runs(reading),
    asked,
  };
  const rows = earlier ?? new RowReader(table);
  rows.table = table;
  return { ...table, rows, summary: summaryOf(table) };
};

const summaryOf = ({ reading, runs }: Pick<Table, "reading" | "runs">): Summary => {
  const { groups, trajectories } = checkResult(reading);
  const { mean, spread, least, most } = drawnOf(reading).rewards;
  const read = reading.sources.map(({ name, origin }) => origin?.file ?? name);
  let withSignal = 0;
  for (let group = 0; group < reading.groups.count; group++) {
    if (untrainable(reading, group) === undefined) withSignal++;
  }
  // Several files of another tool are read as one.
  const files = runs.files.length > read.length ? runs.files : read;
  return {
    files: files.slice(0, mostFiles),
    runs: runs.count,
    groups,
    trajectories,
    rules: reading.problems.counts,
    withSignal,
    reward: { mean, spread, least, most },
    leftOut: Object.entries(reading.leftOut ?? {}).flatMap(([by, left]) =>
      left.trajectories + left.groups === 0 ? [] : [{ by, ...left }],
    ),
  };
};

/** What is looked at: nothing but its progress until all was read, then whatever of it the page asks for. */
import { drawnOf, type Reading, trajectoriesOf } from "../groups/index.ts";
import { checkResult } from "../send/index.ts";
import type { CallDetail, CallRows, CallSelection } from "./call-shapes.ts";
import { CallTable, type ShownCalls } from "./calls.ts";
import { detailOf } from "./detail.ts";
import { FindingsByGroup } from "./findings.ts";
import { barsOf, dotsOf, Measures, untrainable } from "./measures.ts";
import { RowReader, type Table } from "./rows.ts";
import { Runs } from "./runs.ts";
import type { AskedFor, Charts, Findings, GroupDetail, Progress, Rows, Selection, State, Summary } from "./shapes.ts";

/** Names of files that a page is told. */
const mostFiles = 200;

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

  /** Shows progress until something is shown again; whoever asks for what was read is answered from it still. */
  restart(): void {
    this.#progress = { phase: "opening", done: 0, of: 0 };
  }

  reading(done: number, of: number): void {
    this.#progress = { phase: "reading", done, of };
  }

  /** Shows what was read, and measures it. @throws Failure `input-changed`; the signal's reason */
  async show(
    reading: Reading,
    { asked, signal }: { readonly asked: AskedFor; readonly signal: AbortSignal },
  ): Promise<void> {
    const measures = new Measures(reading);
    this.#read?.rows.end();
    this.#read = readOf({ reading, asked }, measures);
    this.#progress = { phase: "measuring", done: 0, of: measures.count };
    await measures.measure(signal);
    this.#progress = { phase: "read", done: measures.count, of: measures.count };
  }

  /** Shows calls. */
  showCalls(shown: ShownCalls): void {
    this.#calls = new CallTable(shown);
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
    const { phase } = this.#progress;
    if (this.#read === undefined || (phase !== "measuring" && phase !== "read")) return { progress: this.#progress };
    const { measures, summary } = this.#read;
    const progress = { phase, done: measures.done, of: measures.count } as const;
    const recorded = phase === "read" ? measures.recorded() : [];
    return { progress, summary, recorded };
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

const readOf = ({ reading, asked }: Pick<Table, "reading" | "asked">, measures: Measures): Read => {
  const table: Table = {
    reading,
    measures,
    findings: new FindingsByGroup(reading),
    runs: new Runs(reading),
    asked,
  };
  return { ...table, rows: new RowReader(table), summary: summaryOf(table) };
};

const summaryOf = ({ reading, runs }: Pick<Table, "reading" | "runs">): Summary => {
  const { groups, trajectories } = checkResult(reading);
  const { mean, spread, least, most } = drawnOf(reading).rewards;
  const read = reading.sources.map(({ name, origin }) => origin?.files[0] ?? name);
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

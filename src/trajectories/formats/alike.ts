/**
 * Records that are built alike: what a format made of one, by copying values and putting in words of its own, is made of the
 * next without asking it. Alike are those with the same keys, and values of the same kinds, in the same places, which say
 * the same wherever the format looked at what is said.
 */
import { NodeReader, type Nodes, nodeSize } from "../../json/nodes.ts";
import { onOneLine, type Span } from "../../json/walk.ts";
import { type Sink, write } from "./built.ts";
import { type GroupPart, groupText, type Rollout, type SourceRecord } from "./format.ts";
import { Value } from "./value.ts";

/** What becomes of a record that is like another. */
export interface Copied {
  readonly bytes: Buffer;
  /** Where the text of its trajectory stands in the bytes; valid until the next record. */
  readonly text: Span;
  readonly group: string;
  /** The values of the record that the ledger knows it by. */
  readonly known: readonly Span[];
  readonly of: Span | undefined;
  readonly identity: string | undefined;
  readonly index: number | undefined;
}

/** What was made of a record; values are called by their nodes. */
interface Learned {
  readonly group: string | readonly GroupPart<number>[];
  readonly known: readonly number[];
  readonly of: number | undefined;
  readonly identity: string | undefined;
  readonly index: number | undefined;
  readonly notes: readonly (readonly [string, number])[];
  /** Records that were like it. */
  uses: number;
}

/** The largest record that others are held against, and the most of them. */
const largest = 2 ** 15;
const most = 64;

/** Records after which it shows whether it is worth the trouble: of so many, half must be like others. */
const trial = 512;

const withAlike = { withAlike: true };
const withoutAlike = {};

/** Knows records that were seen, and those that are built like them. */
export class Alike {
  readonly #reader: NodeReader;
  /** What people should know of all rollouts together, and how often. */
  readonly #notes: Map<string, number>;
  /** The same before the record under way. */
  #notesBefore: ReadonlyMap<string, number> = new Map();
  readonly #learned: Learned[] = [];
  /** Of the records since the last trial: all, and those that were like others. */
  #met = 0;
  #found = 0;
  #isWorthIt = true;
  /** Nodes of the record under way that its format looked at; undefined once it is converted. */
  #watched: Set<number> | undefined;

  private constructor(reader: NodeReader, notes: Map<string, number>) {
    this.#reader = reader;
    this.#notes = notes;
  }

  /** Undefined where there is no program to hold records against each other. */
  static open(notes: Map<string, number>): Alike | undefined {
    const reader = NodeReader.open();
    return reader === undefined ? undefined : new Alike(reader, notes);
  }

  /** Forgets all records, since those of another file become something else; notes what is to be noted of those that were like them. */
  forget(): void {
    for (const { notes, uses } of this.#learned) {
      for (const [text, count] of notes) this.#notes.set(text, (this.#notes.get(text) ?? 0) + count * uses);
    }
    this.#reader.forget();
    this.#learned.length = 0;
  }

  /** What becomes of a record that is like one before; its value, where it is like none; undefined where it is no JSON. */
  take(bytes: Buffer): Copied | Value | undefined {
    if (!this.#reader.read(bytes, this.#isWorthIt ? withAlike : withoutAlike)) return undefined;
    const learned = this.#learned[this.#reader.alike];
    if (++this.#met === trial) {
      this.#isWorthIt &&= this.#found >= trial / 2;
      this.#met = 0;
      this.#found = 0;
    }
    if (learned !== undefined) return this.#copied(bytes, learned);
    const canLearn =
      this.#isWorthIt && this.#learned.length < most && bytes.length <= largest && !this.#reader.hasLines;
    this.#watched = canLearn ? new Set() : undefined;
    if (canLearn) this.#notesBefore = new Map(this.#notes);
    const watch = canLearn ? (node: number) => void this.#watched?.add(node) : undefined;
    return Value.at(bytes, this.#reader.nodes(), watch);
  }

  /** The record, which tells when somebody asks for its place: then no other is like it. */
  watched(record: SourceRecord): SourceRecord {
    const watched = this.#watched;
    if (watched === undefined) return record;
    const { value, file, position, member } = record;
    return {
      value,
      file,
      member,
      get position() {
        watched.add(0);
        return position;
      },
    };
  }

  /** Learns what became of a record that was like none. */
  learn(value: Value, rollouts: readonly Rollout[]): void {
    const watched = this.#watched;
    this.#watched = undefined;
    const [rollout] = rollouts;
    if (watched === undefined || watched.has(0) || rollouts.length !== 1 || rollout === undefined) return;
    const { trajectory, exception, unfit, members, with: others } = rollout;
    if (trajectory === undefined || (exception ?? unfit ?? members ?? others) !== undefined) return;
    const record = new Pattern(value.bytes, this.#reader.nodes());
    const before = this.#notesBefore;
    const notes = Array.from(this.#notes, ([text, count]) => [text, count - (before.get(text) ?? 0)] as const);
    const said = notes.filter(([, count]) => count > 0);
    const learned = learnedOf(rollout, { record, value, notes: said });
    write(trajectory, record);
    const kept = record.kept({ shape: this.#reader.shape, watched });
    if (learned !== undefined && this.#reader.keep(kept)) this.#learned.push(learned);
  }

  #copied(bytes: Buffer, learned: Learned): Copied {
    this.#found++;
    learned.uses++;
    const { group, known, of, identity, index } = learned;
    const { bytes: copy, start, end } = this.#reader.copied;
    const spanOf = (node: number) => this.#reader.span(node);
    const raw = (node: number) => {
      const span = spanOf(node);
      return bytes.toString("utf8", span.start, span.end);
    };
    return {
      bytes: copy,
      text: { start, end },
      group: groupText(group, raw),
      known: known.map(spanOf),
      of: of === undefined ? undefined : spanOf(of),
      identity,
      index,
    };
  }
}

/** What is learned of a rollout; undefined where it is made of more than the record. */
const learnedOf = (
  { group, of, known = [], identity, index }: Rollout,
  { record, value, notes }: { readonly record: Pattern; readonly value: Value; readonly notes: Learned["notes"] },
): Learned | undefined => {
  const parts = typeof group === "string" ? group : group.map((part) => partOf(part, record));
  const own = known.length === 0 ? [of ?? value] : known;
  const nodes = own.map((one) => record.nodeOf(one));
  const learned = { group: parts, known: nodes, of: of && record.nodeOf(of), identity, index, notes, uses: 0 };
  return record.isAllThere ? learned : undefined;
};

const partOf = (part: GroupPart<Value>, record: Pattern): GroupPart<number> => {
  if (typeof part === "string") return part;
  if ("spelled" in part) return { spelled: record.nodeOf(part.spelled) };
  return { saying: part.saying.map((one) => record.nodeOf(one)) };
};

/** A record that others are held against, and what is made of it. */
class Pattern implements Sink {
  readonly #bytes: Buffer;
  readonly #nodes: Int32Array;
  /** Nodes of values by where they start. */
  readonly #byStart = new Map<number, number>();
  /** Values that are copied, by their nodes, and words of our own. */
  readonly #pieces: (number | string)[] = [];
  #isAllThere = true;

  constructor(bytes: Buffer, { table, base, length }: Nodes) {
    this.#bytes = bytes;
    this.#nodes = table.subarray(base, base + length);
    for (let node = 0; node < length; node += nodeSize) {
      // The third number of a key is no more than one bit.
      if ((this.#nodes[node + 2] ?? 0) > 1) this.#byStart.set(this.#nodes[node] ?? 0, node);
    }
  }

  /** Whether all values that were asked for are in the record. */
  get isAllThere(): boolean {
    return this.#isAllThere;
  }

  nodeOf({ bytes, span }: Value): number {
    const node = bytes === this.#bytes ? this.#byStart.get(span.start) : undefined;
    this.#isAllThere &&= node !== undefined;
    return node ?? 0;
  }

  text(text: string): void {
    const last = this.#pieces.at(-1);
    if (typeof last === "string") this.#pieces[this.#pieces.length - 1] = last + text;
    else this.#pieces.push(text);
  }

  bytes(bytes: Buffer, start: number, end: number): void {
    const node = bytes === this.#bytes ? this.#byStart.get(start) : undefined;
    if (node === undefined) this.text(onOneLine(Buffer.from(bytes.subarray(start, end))).toString("utf8"));
    else this.#pieces.push(node);
  }

  /** The record, the nodes that must say the same, and what is made of it, as kernel/alike.ts reads them. */
  kept({ shape, watched }: { readonly shape: number; readonly watched: ReadonlySet<number> }): Buffer {
    const words = this.#pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece));
    let length = this.#bytes.length;
    const pieces = words.flatMap((piece) => {
      if (typeof piece === "number") return [4 * piece, 0];
      length += piece.length;
      return [length - piece.length, piece.length];
    });
    const musts = Array.from(watched, (node) => 4 * node);
    const nodeBytes = 4 * this.#nodes.length;
    const head = [0, shape, nodeBytes, musts.length, words.length, 0];
    const numbers = Int32Array.from([...head, ...this.#nodes, ...musts, ...pieces]);
    const own = words.filter((piece) => typeof piece !== "number");
    const all = Buffer.concat([Buffer.from(numbers.buffer), this.#bytes, ...own]);
    const kept = Buffer.alloc(Math.ceil(all.length / 8) * 8);
    all.copy(kept);
    kept.writeInt32LE(kept.length, 0);
    return kept;
  }
}

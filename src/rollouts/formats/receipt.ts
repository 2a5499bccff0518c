/** Counts the values that a conversion carried, changed or left out, by file and path. */

import { additionReasonOf, type Json, sourcesOf, visitLeaves } from "../messages/output-json.ts";
import { Value } from "../messages/value.ts";
import type { Rollout, SourceRecord } from "./format.ts";

interface Outcome {
  /** A carried value keeps its bytes, or repeats such a value. A changed value has another form. */
  list: "left_out" | "changed" | "carried";
  /** A reason if the list is `left_out`, otherwise the path of the converted value. */
  text: string;
  /** The path of a carried value, whose members are carried with it. */
  to?: ValuePath;
}

/** A value that a trajectory has and the record does not. */
interface Addition {
  file: string;
  to: string;
  reason: string;
}

type Counted<Counts> = Counts & { count: number };

/** Removes an entry whose count becomes 0. */
const addCount = <Entry extends object>(counts: Map<string, Counted<Entry>>, entry: Entry, count: number) => {
  const key = JSON.stringify(Object.values(entry));
  const counted = counts.get(key) ?? { ...entry, count: 0 };
  counted.count += count;
  if (counted.count === 0) counts.delete(key);
  else counts.set(key, counted);
};

const unconverted = "the record could not be converted";
const repeated: Outcome = { list: "left_out", text: "another copy of the rollout is used" };

/** A path without indexes (`completion[].content`), and the values at this path that no trajectory has. */
class ValuePath {
  readonly path: string;
  readonly carried: Outcome;
  readonly changed: Outcome;
  readonly below = new Map<string | number, ValuePath>();
  lost = 0;
  /** The bytes of the lost values that differ from the value before. */
  information = 0;
  #last = "";

  constructor(path: string) {
    this.path = path;
    this.carried = { list: "carried", text: path, to: this };
    this.changed = { list: "changed", text: path };
  }

  child(key: string | number): ValuePath {
    const step = typeof key === "number" ? 0 : key;
    let child = this.below.get(step);
    if (!child) {
      child = new ValuePath(step === 0 ? `${this.path}[]` : this.path === "" ? `${key}` : `${this.path}.${key}`);
      this.below.set(step, child);
    }
    return child;
  }

  addLost({ bytes, span: { start, end } }: Value, count: number) {
    this.lost += count;
    const text = bytes.toString("latin1", start, Math.min(end, start + maxComparedBytes));
    if (text !== this.#last) this.information += end - start;
    this.#last = text;
  }
}

interface NoPath {
  child(): NoPath;
}

/** For values whose paths in the output do not matter. */
const noPath: NoPath = { child: () => noPath };

/** Longer values are compared by their start. */
const maxComparedBytes = 64;

interface PlacedValue {
  readonly value: Value;
  readonly at: ValuePath;
  readonly outcome: Outcome | undefined;
  readonly isKept: boolean;
}

type CountedRecord = Readonly<{ file: string; rollouts: readonly Rollout[] | undefined; step: number }>;

export class Receipt {
  readonly #root = new ValuePath("");
  /** The paths in rollcall's format. */
  readonly #targets = new ValuePath("");
  readonly #counts = new Map<string, Counted<{ list: Outcome["list"]; file: string; path: string; text: string }>>();
  readonly #additions = new Map<string, Counted<Addition>>();
  /** The outcomes of the values of one record, only for `data`. */
  #outcomes = new Map<number, Outcome>();
  /** The values of one record that the output has, or that repeat such values, by their ids. */
  #kept = new Map<number, Value>();
  /** Several records can refer to one document, which counts once. */
  readonly #documents = new Set<string>();
  readonly #hasData: boolean;

  /** @param hasData false if only lost values are counted, which takes less time */
  constructor(hasData: boolean) {
    this.#hasData = hasData;
  }

  leaveOut(value: Value, reason: string, isRepeated = false) {
    if (isRepeated) this.#kept.set(value.id, value);
    this.#setOutcome(value, { list: "left_out", text: reason });
  }

  /** Records that the values of the record in `json` identify or repeat the value at the path `to`. */
  addRepeated(json: Json | undefined, to: string) {
    this.#visit(json, to, this.#place);
  }

  #visit(json: Json | undefined, to: string, place: (leaf: Json, at: ValuePath) => void) {
    if (this.#hasData) visitLeaves(json, this.#targets.child(to), place);
    else visitLeaves(json, noPath, this.#keep);
  }

  /** Counts copies in a counted record as left out. @param convert converts the record again */
  removeCopies(record: SourceRecord, convert: () => readonly Rollout[], copies: ReadonlySet<number>) {
    this.addRecord(record, convert(), -1);
    const rollouts = convert();
    const isWhole = copies.size === rollouts.length;
    const kept = rollouts.map((rollout, at) => {
      if (!copies.has(at)) return rollout;
      const { part = record.value, documents = [], trajectory, exception } = rollout;
      for (const json of [trajectory, exception]) visitLeaves(json, noPath, this.#keep);
      for (const value of [isWhole ? record.value : part, ...documents]) {
        this.#kept.set(value.id, value);
        this.#outcomes.set(value.id, repeated);
      }
      return { documents };
    });
    this.addRecord(record, kept);
  }

  /** Lists the paths of values that no trajectory has, those with the most information first. */
  listLost() {
    const paths = [this.#root];
    for (const { below } of paths) for (const path of below.values()) paths.push(path);
    const informationOf = ({ path, information }: ValuePath) => (tokenIds.test(path) ? 0 : information);
    const lost = paths.filter((path) => path.lost > 0).sort((a, b) => informationOf(b) - informationOf(a));
    return lost.map(({ path, lost: count }) => ({ path, count }));
  }

  /** @param formats the names of the formats */
  data(formats: readonly string[]) {
    const all = [...this.#counts.values()].sort((a, b) => b.count - a.count);
    const listTargets = (wanted: Outcome["list"]) =>
      all.flatMap(({ list, file, path, text: to, count }) => (list === wanted ? { file, path, to, count } : []));
    const left_out = listTargets("left_out").map(({ to: reason, count, ...at }) => ({ ...at, reason, count }));
    const [read, left] = [sumCounts(all), sumCounts(left_out)];
    return {
      format: formats.join(", "),
      /** A leaf is a value without elements and members. */
      leaves: { read, placed: read - left, left_out: left },
      left_out,
      changed: listTargets("changed"),
      added: [...this.#additions.values()].sort((a, b) => b.count - a.count),
      carried: listTargets("carried"),
    };
  }

  readonly #keep = (leaf: Json) => {
    if (leaf instanceof Value) this.#kept.set(leaf.id, leaf);
    else for (const value of sourcesOf(leaf)) this.#kept.set(value.id, value);
  };

  readonly #place = (leaf: Json, at: ValuePath) => {
    this.#keep(leaf);
    for (const value of sourcesOf(leaf)) this.#setOutcome(value, leaf === value ? at.carried : at.changed);
  };

  #setOutcome({ id }: Value, outcome: Outcome) {
    if (this.#hasData && !this.#outcomes.has(id)) this.#outcomes.set(id, outcome);
  }

  /**
   * Without rollouts, the record is part of another record, or could not be converted.
   * @param step -1 for a record that is no longer counted
   */
  addRecord(record: SourceRecord, rollouts: readonly Rollout[] | undefined, step: 1 | -1 = 1) {
    const { value, file } = record;
    for (const rollout of rollouts ?? []) this.#placeRollout(rollout, record, step);
    const lost = this.#countValues(value, { file, rollouts, step });
    for (const { documents = [] } of rollouts ?? [])
      for (const document of documents) {
        const name = document.document ?? "";
        if (this.#documents.has(name) === step < 0)
          for (const one of this.#countValues(document, { file: name, rollouts, step })) lost.push(one);
        if (step > 0) this.#documents.add(name);
        else this.#documents.delete(name);
      }
    this.#addLost(lost, step);
    // Until the next full collection, a cleared map in V8's old space keeps the values of later records alive.
    this.#kept = new Map();
    if (this.#outcomes.size > 0) this.#outcomes = new Map();
  }

  #addLost(lost: readonly PlacedValue[], step: number) {
    if (lost.length === 0) return;
    const texts = lost.flatMap(({ value: text }) => (text.isText && sizeOf(text) >= minRepeatedBytes ? text : []));
    const repeatedTexts = findRepeatedTexts(texts, this.#kept.values());
    for (const { value: one, at } of lost)
      if (!repeatedTexts.has(one.id)) at.addLost(one, step * (one.numberCount ?? 1));
  }

  #placeRollout(rollout: Rollout, { value, file }: SourceRecord, step: number) {
    const { trajectory, exception, members = [], error, part = value } = rollout;
    if (error) this.leaveOut(part, unconverted, true);
    this.#visit(trajectory, "trajectory", (leaf, at) => {
      this.#place(leaf, at);
      const reason = additionReasonOf(leaf);
      if (reason !== undefined) addCount(this.#additions, { file, to: at.path, reason }, step);
    });
    this.addRepeated(exception, "exception");
    if (exception !== undefined) this.leaveOut(part, "only the exception of a failed rollout is converted");
    for (const [key, json] of members) this.addRepeated(json, `group.${key}`);
  }

  /**
   * Returns the lost values, last first. Values can be nested too deeply for a recursive function. Kept values matter
   * only for `data`.
   */
  #countValues(root: Value, counted: CountedRecord) {
    const lost: PlacedValue[] = [];
    const [at, isKept] = counted.rollouts ? [this.#root, false] : [new ValuePath(""), true];
    const pending: PlacedValue[] = [{ value: root, at, outcome: undefined, isKept }];
    for (let next = pending.pop(); next; next = pending.pop()) {
      const { value, at } = next;
      const isKept = next.isKept || this.#kept.has(value.id);
      if (isKept && !this.#hasData) continue;
      const outcome = next.outcome === repeated ? repeated : (this.#outcomes.get(value.id) ?? next.outcome);
      // A string of JSON that was converted as a whole is one value.
      const inner = outcome && outcome.list !== "left_out" ? undefined : value.cachedEmbeddedJson;
      // An array of numbers is a leaf, unless its elements were read.
      const items = value.isList && value.numberCount === undefined ? value.items() : [];
      const members = value.members();
      if (inner) pending.push({ value: inner, at, outcome, isKept });
      else if (items.length + members.length === 0) {
        const leaf = this.#countLeaf({ value, at, outcome, isKept }, counted);
        if (!isKept && isInformation(value)) lost.push(leaf);
      }
      const below: PlacedValue[] = [];
      const add = (key: string | number, child: Value) => {
        const path = at.child(key);
        if (this.#hasData || !this.#kept.has(child.id))
          below.push({ value: child, at: path, outcome: extendTarget(outcome, key), isKept });
      };
      for (const item of items) add(0, item);
      for (const [key, member] of members) add(key, member);
      for (let child = below.pop(); child; child = below.pop()) pending.push(child);
    }
    return lost.reverse();
  }

  #countLeaf(given: PlacedValue, { file, rollouts, step }: CountedRecord) {
    const { value, at, outcome } = given;
    const { numberCount: numbers = 0 } = value;
    const leaf = numbers > 0 ? { ...given, at: at.child(0), outcome: extendTarget(outcome, 0) } : given;
    if (this.#hasData) {
      const { list, text } = leaf.outcome ?? { list: "left_out", text: reasonToLeaveOut(value, rollouts) };
      addCount(this.#counts, { list, file, path: leaf.at.path, text }, step * (numbers || 1));
    }
    return leaf;
  }
}

/** A trajectory needs no token ids, so these paths are named last. */
const tokenIds = /(?:^|\.)(?:\w*token_ids|mask|(?:tokens|masks)(?=\[))(?:\[\])*$/;

const reasonToLeaveOut = (leaf: Value, rollouts: readonly Rollout[] | undefined) => {
  if (leaf.isNull) return "the value is null";
  if (!rollouts) return unconverted;
  if (!leaf.isFlat && !leaf.numberCount) return "the value is empty";
  return rollouts.length === 0 ? "the record is not a rollout" : "rollcall's format has no field for it";
};

const extendTarget = (outcome: Outcome | undefined, key: string | number) =>
  outcome?.to ? outcome.to.child(key).carried : outcome;

const sizeOf = ({ span: { start, end } }: Value) => end - start;

const emptyTextBytes = 2;

/** False for null, an empty text and a value without elements and members. */
const isInformation = (leaf: Value) =>
  leaf.isText ? sizeOf(leaf) > emptyTextBytes : leaf.isScalar || (leaf.numberCount ?? 0) > 0;

export const sumCounts = (counts: readonly { count: number }[]) => counts.reduce((sum, { count }) => sum + count, 0);

/** Shorter texts, such as `"assistant"`, can be equal by chance. */
const minRepeatedBytes = 14;
/** Of more texts with the same sample, only these are compared, so that the time is linear. */
const maxAlike = 8;

/** Returns the ids of the texts that the output has too. @param kept the values that the output has */
const findRepeatedTexts = (texts: readonly Value[], kept: Iterable<Value>): ReadonlySet<number> => {
  const found = new Set<number>();
  if (texts.length === 0) return found;
  const bySample = new Map<number, Value[]>();
  for (const value of texts) {
    const { start, end } = value.span;
    const sample = computeSample(value.bytes, start, end);
    const alike = bySample.get(sample);
    if (!alike) bySample.set(sample, [value]);
    else if (alike.length < maxAlike) alike.push(value);
  }
  for (const value of kept)
    value.visitTexts(minRepeatedBytes, (start, end) => {
      for (const { id, bytes, span } of bySample.get(computeSample(value.bytes, start, end)) ?? [])
        if (bytes.compare(value.bytes, start, end, span.start, span.end) === 0) found.add(id);
    });
  return found;
};

/** Hashes the length, and four bytes in the middle and at the end. */
const computeSample = (bytes: Buffer, start: number, end: number) => {
  const [middle, last] = [bytes.readInt32LE(((start + end) >>> 1) - 2), bytes.readInt32LE(end - 5)];
  return Math.imul(Math.imul(middle, hashFactor) + last, hashFactor) + end - start;
};

const hashFactor = 0x01000193;

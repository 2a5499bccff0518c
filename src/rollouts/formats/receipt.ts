/** Counts the values that a conversion carried, changed or left out, by file and path. */

import { additionReasonOf, childrenOf, type Json, sourcesOf } from "../messages/output-json.ts";
import { Value } from "../messages/value.ts";
import type { Rollout, SourceRecord } from "./format.ts";
import { LostValues } from "./lost-values.ts";

interface ReceiptEntry {
  /** A carried value keeps its bytes, or repeats such a value. A changed value has another form. */
  list: "left_out" | "changed" | "carried";
  /** A reason if the list is `left_out`, otherwise the path of the converted value. */
  text: string;
}

/** A value that a trajectory has and the record does not. */
interface Addition {
  file: string;
  to: string;
  reason: string;
}

type Counted<Counts> = Counts & { count: number };

/** 1, or -1 to remove a counted record. */
type Step = 1 | -1;

/** Removes an entry whose count becomes 0. */
const addCount = <Entry extends object>(counts: Map<string, Counted<Entry>>, entry: Entry, step: Step) => {
  const key = JSON.stringify(Object.values(entry));
  const counted = counts.get(key) ?? { ...entry, count: 0 };
  counted.count += step;
  if (counted.count === 0) counts.delete(key);
  else counts.set(key, counted);
};

const nullReason = "the value is null";
const unconverted = "the record could not be converted";
const repeated: ReceiptEntry = { list: "left_out", text: "another copy of the rollout is used" };

type TargetCount = Readonly<{ file: string; path: string; to: string; count: number }>;
type ReasonCount = Readonly<{ file: string; path: string; reason: string; count: number }>;

export interface ReceiptData {
  readonly format: string;
  /** A leaf is a value without elements and members. */
  readonly leaves: Readonly<{ read: number; placed: number; left_out: number }>;
  readonly left_out: readonly ReasonCount[];
  readonly changed: readonly TargetCount[];
  readonly added: readonly Readonly<Counted<Addition>>[];
  readonly carried: readonly TargetCount[];
}

export class Receipt {
  readonly lost = new LostValues();
  readonly #formats: readonly string[];
  /** Paths have no indexes (`completion[].content`). */
  readonly #counts = new Map<string, Counted<ReceiptEntry & { file: string; path: string }>>();
  readonly #additions = new Map<string, Counted<Addition>>();
  /** The outcomes of the values of one record. */
  readonly #outcomes = new Map<number, ReceiptEntry>();
  /** Several records can refer to one document, which counts once. */
  readonly #documents = new Set<string>();

  /** @param formats the names of the formats */
  constructor(formats: readonly string[]) {
    this.#formats = formats;
  }

  leaveOut(value: Value, reason: string, isRepeated = false) {
    this.lost.leaveOut(value, reason, isRepeated);
    this.#setOutcome(value, { list: "left_out", text: reason });
  }

  /** Records that the values of the record in `json` identify or repeat the value at the path `to`. */
  addRepeated(json: Json | undefined, to: string) {
    this.lost.addRepeated(json);
    if (json !== undefined) this.#setTargets(json, to);
  }

  addRecord(record: SourceRecord, rollouts: readonly Rollout[] | undefined) {
    this.lost.addRecord(record, rollouts);
    this.#countRecord(record, rollouts, 1);
  }

  /** Counts copies in a counted record as left out. @param convert converts the record again */
  removeCopies(record: SourceRecord, convert: () => readonly Rollout[], copies: ReadonlySet<number>) {
    this.lost.removeCopies(record, convert, copies);
    this.#countRecord(record, convert(), -1);
    const rollouts = convert();
    const isWhole = copies.size === rollouts.length;
    for (const [at, { part, documents = [] }] of rollouts.entries()) {
      if (!copies.has(at)) continue;
      for (const { id } of [isWhole || !part ? record.value : part, ...documents]) this.#outcomes.set(id, repeated);
    }
    const kept = rollouts.map((rollout, at) => (copies.has(at) ? { documents: rollout.documents ?? [] } : rollout));
    this.#countRecord(record, kept, 1);
    this.lost.forgetRecord();
  }

  data(): ReceiptData {
    const all = [...this.#counts.values()].sort((a, b) => b.count - a.count);
    const listTargets = (wanted: ReceiptEntry["list"]) =>
      all.flatMap(({ list, file, path, text: to, count }) => (list === wanted ? { file, path, to, count } : []));
    const left_out = listTargets("left_out").map(({ to: reason, count, ...at }) => ({ ...at, reason, count }));
    const [read, left] = [sumCounts(all), sumCounts(left_out)];
    return {
      format: this.#formats.join(", "),
      leaves: { read, placed: read - left, left_out: left },
      left_out,
      changed: listTargets("changed"),
      added: [...this.#additions.values()].sort((a, b) => b.count - a.count),
      carried: listTargets("carried"),
    };
  }

  #setOutcome({ id }: Value, outcome: ReceiptEntry) {
    if (!this.#outcomes.has(id)) this.#outcomes.set(id, outcome);
  }

  #setTargets(json: Json, to: string) {
    if (json instanceof Value) this.#setOutcome(json, { list: "carried", text: to });
    for (const value of sourcesOf(json)) this.#setOutcome(value, { list: "changed", text: to });
    for (const [key, child] of childrenOf(json)) this.#setTargets(child, joinPath(to, key));
  }

  #countAdditions(json: Json, { file, to }: Pick<Addition, "file" | "to">, step: Step) {
    const reason = additionReasonOf(json);
    for (const [key, child] of childrenOf(json)) this.#countAdditions(child, { file, to: joinPath(to, key) }, step);
    if (reason !== undefined) addCount(this.#additions, { file, to, reason }, step);
  }

  #countRecord({ value, file }: SourceRecord, rollouts: readonly Rollout[] | undefined, step: Step) {
    for (const rollout of rollouts ?? []) this.#placeRollout(rollout, { value, file }, step);
    const countLeaves = (name: string, root: Value) => {
      for (const { value: leaf, path, outcome } of listLeaves(root, this.#outcomes)) {
        const { list, text } = outcome ?? { list: "left_out", text: reasonToLeaveOut(leaf, rollouts) };
        addCount(this.#counts, { list, file: name, path, text }, step);
      }
    };
    countLeaves(file, value);
    for (const document of rollouts?.flatMap(({ documents = [] }) => documents) ?? []) {
      const name = document.document ?? "";
      if (this.#documents.has(name) === step < 0) countLeaves(name, document);
      if (step > 0) this.#documents.add(name);
      else this.#documents.delete(name);
    }
    this.#outcomes.clear();
  }

  #placeRollout(rollout: Rollout, { value, file }: Pick<SourceRecord, "value" | "file">, step: Step) {
    const { trajectory, exception, members = [], error, part = value } = rollout;
    if (error) this.leaveOut(part, unconverted);
    if (trajectory !== undefined) {
      this.#setTargets(trajectory, "trajectory");
      this.#countAdditions(trajectory, { file, to: "trajectory" }, step);
    }
    if (exception !== undefined) {
      this.#setTargets(exception, "exception");
      this.leaveOut(part, "only the exception of a failed rollout is converted");
    }
    for (const [key, json] of members) this.#setTargets(json, `group.${key}`);
  }
}

const reasonToLeaveOut = (leaf: Value, rollouts: readonly Rollout[] | undefined) => {
  if (leaf.isNull) return nullReason;
  if (!rollouts) return unconverted;
  if (leaf.isList || leaf.isObject) return "the value is empty";
  return rollouts.length === 0 ? "the record is not a rollout" : "rollcall's format has no field for it";
};

interface PlacedValue {
  readonly value: Value;
  readonly path: string;
  readonly outcome: ReceiptEntry | undefined;
}

/** Lists the leaves with their outcomes. Values can be nested too deeply for a recursive function. */
function* listLeaves(root: Value, outcomes: ReadonlyMap<number, ReceiptEntry>): Generator<PlacedValue, void> {
  const pending: PlacedValue[] = [{ value: root, path: "", outcome: undefined }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, path, outcome: around } = next;
    const outcome = around === repeated ? around : (outcomes.get(value.id) ?? around);
    const children = [...value.items().entries(), ...value.members()];
    for (const [key, child] of children.reverse()) {
      const below = outcome?.list === "carried" ? { ...outcome, text: joinPath(outcome.text, key) } : outcome;
      pending.push({ value: child, path: joinPath(path, key), outcome: below });
    }
    if (children.length > 0) continue;
    // Lists the values in a parsed string of JSON, unless the whole string was converted.
    const inner = !outcome || outcome.list === "left_out" ? value.cachedEmbeddedJson : undefined;
    if (inner) pending.push({ value: inner, path, outcome });
    else yield { value, path, outcome };
  }
}

export const sumCounts = (counts: readonly { count: number }[]) => counts.reduce((sum, { count }) => sum + count, 0);

const joinPath = (path: string, key: string | number) => {
  if (typeof key === "number") return `${path}[]`;
  return path === "" ? key : `${path}.${key}`;
};

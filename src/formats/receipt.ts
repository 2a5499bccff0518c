/** Counts the values that a conversion carried, changed or left out, by file and path. */

import { additionReasonOf, childrenOf, type Json, sourcesOf } from "../messages/output-json.ts";
import { Value } from "../messages/value.ts";
import type { Format, Rollout, SourceRecord } from "./format.ts";

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
  /** True in the last choice of a list. */
  last: boolean;
}

type Counted<Counts> = Counts & { count: number };

/** Removes an entry whose count becomes 0. */
const addCount = <Entry extends object>(counts: Map<string, Counted<Entry>>, entry: Entry, step: number) => {
  const key = JSON.stringify(Object.values(entry));
  const counted = counts.get(key) ?? { ...entry, count: 0 };
  counted.count += step;
  if (counted.count === 0) counts.delete(key);
  else counts.set(key, counted);
};

const nullReason = "the value is null";
const unconverted = "the record could not be converted";
const repeated: ReceiptEntry = { list: "left_out", text: "another copy of the rollout is used" };

export type Receipt = ReturnType<typeof openReceipt>;

/** A leaf is a value without elements and members. */
export type ReceiptData = ReturnType<Receipt["data"]>;

export const openReceipt = () => {
  const formats = new Set<string>();
  /** Paths have no indexes (`completion[].content`). */
  const counts = new Map<string, Counted<ReceiptEntry & { file: string; path: string }>>();
  const additions = new Map<string, Counted<Addition>>();
  const outcomes = new Map<number, ReceiptEntry>();
  /** Several records can refer to one document, which counts once. */
  const documents = new Set<string>();
  const setOutcome = ({ id }: Value, outcome: ReceiptEntry) => {
    if (!outcomes.has(id)) outcomes.set(id, outcome);
  };
  const leaveOut = (value: Value, reason: string) => setOutcome(value, { list: "left_out", text: reason });
  const setTargets = (json: Json, to: string) => {
    if (json instanceof Value) setOutcome(json, { list: "carried", text: to });
    for (const value of sourcesOf(json)) setOutcome(value, { list: "changed", text: to });
    for (const [key, child] of childrenOf(json)) setTargets(child, joinPath(to, key));
  };
  const countAdditions = (json: Json, at: Pick<Addition, "file" | "to" | "last">, step: number) => {
    const { file, to, last } = at;
    const reason = additionReasonOf(json);
    const children = childrenOf(json);
    const end = to.endsWith("messages_and_choices") ? children.findLastIndex(([, turn]) => isChoice(turn)) : -1;
    for (const [position, [key, child]] of children.entries())
      countAdditions(child, { file, to: joinPath(to, key), last: end < 0 ? last : position === end }, step);
    if (reason !== undefined) addCount(additions, { file, to, reason, last }, step);
  };

  /** @param step 1, or -1 to remove a counted record */
  const countRecord = ({ value, file }: SourceRecord, rollouts: readonly Rollout[] | undefined, step: 1 | -1) => {
    for (const { trajectory, exception, members = [], error, part = value } of rollouts ?? []) {
      if (error) leaveOut(part, unconverted);
      if (trajectory !== undefined) {
        setTargets(trajectory, "trajectory");
        countAdditions(trajectory, { file, to: "trajectory", last: false }, step);
      }
      if (exception !== undefined) {
        setTargets(exception, "exception");
        leaveOut(part, "only the exception of a failed rollout is converted");
      }
      for (const [key, json] of members) setTargets(json, `group.${key}`);
    }
    const reasonFor = (leaf: Value) => {
      if (leaf.isNull) return nullReason;
      if (!rollouts) return unconverted;
      if (leaf.isList || leaf.isObject) return "the value is empty";
      return rollouts.length === 0 ? "the record is not a rollout" : "rollcall's format has no field for it";
    };
    // Values can be nested too deeply for a recursive function.
    const countAll = (file: string, root: Value) => {
      const pending: { current: Value; path: string; around?: ReceiptEntry | undefined }[] = [
        { current: root, path: "" },
      ];
      for (let next = pending.pop(); next; next = pending.pop()) {
        const { current, path, around } = next;
        const outcome = around === repeated ? around : (outcomes.get(current.id) ?? around);
        const children = [...current.items().entries(), ...current.members()];
        for (const [key, child] of children.reverse()) {
          const below = outcome?.list === "carried" ? { ...outcome, text: joinPath(outcome.text, key) } : outcome;
          pending.push({ current: child, path: joinPath(path, key), around: below });
        }
        if (children.length > 0) continue;
        // Counts the values in a parsed string of JSON, unless the whole string was converted.
        const inner = !outcome || outcome.list === "left_out" ? current.cachedEmbeddedJson : undefined;
        if (inner) pending.push({ current: inner, path, around: outcome });
        else {
          const { list, text } = outcome ?? { list: "left_out", text: reasonFor(current) };
          addCount(counts, { list, file, path, text }, step);
        }
      }
    };
    countAll(file, value);
    for (const document of rollouts?.flatMap((rollout) => rollout.documents ?? []) ?? []) {
      const name = document.document ?? "";
      if (documents.has(name) === step < 0) countAll(name, document);
      if (step > 0) documents.add(name);
      else documents.delete(name);
    }
    outcomes.clear();
  };

  return {
    leaveOut,
    /** Records that the values of the record in `json` identify or repeat the value at the path `to`. */
    addRepeated: (json: Json | undefined, to: string) => json !== undefined && setTargets(json, to),
    addRecord(format: Format, record: SourceRecord, rollouts?: readonly Rollout[]) {
      formats.add(format.name);
      countRecord(record, rollouts, 1);
    },
    /** Counts copies in a counted record as left out. @param convert converts the record again */
    removeCopies(record: SourceRecord, convert: () => readonly Rollout[], copies: ReadonlySet<number>) {
      countRecord(record, convert(), -1);
      const rollouts = convert();
      const isWhole = copies.size === rollouts.length;
      for (const [at, { part, documents = [] }] of rollouts.entries()) {
        if (!copies.has(at)) continue;
        for (const value of [isWhole || !part ? record.value : part, ...documents]) outcomes.set(value.id, repeated);
      }
      const kept = rollouts.map((rollout, at) => (copies.has(at) ? { documents: rollout.documents ?? [] } : rollout));
      countRecord(record, kept, 1);
    },
    data() {
      const all = [...counts.values()].sort((a, b) => b.count - a.count);
      const listTargets = (wanted: ReceiptEntry["list"]) =>
        all.flatMap(({ list, file, path, text: to, count }) => (list === wanted ? { file, path, to, count } : []));
      const left_out = listTargets("left_out").map(({ to: reason, count, ...at }) => ({ ...at, reason, count }));
      const [read, left] = [sumCounts(all), sumCounts(left_out)];
      const leaves = { read, placed: read - left, left_out: left };
      const [changed, carried] = [listTargets("changed"), listTargets("carried")];
      const added = [...additions.values()].sort((a, b) => b.count - a.count);
      return { format: [...formats].join(", "), leaves, left_out, changed, added, carried };
    },
  };
};

const isChoice = (turn: Json) =>
  turn instanceof Value ? turn.has("finish_reason") : childrenOf(turn).some(([key]) => key === "finish_reason");

/** Token ids are not left out silently, but a trajectory needs none. */
const tokenIds = /(?:^|\.)(?:\w*token_ids|mask|(?:tokens|masks)(?=\[))(?:\[\])*$/;

/** Lists the values that make a conversion inexact. */
export const listInexactValues = ({ left_out, changed, added }: ReceiptData) => ({
  left_out: left_out.filter(({ path, reason }) => !tokenIds.test(path) && reason !== nullReason),
  changed,
  derived: added.filter(({ to, last }) => last && to.endsWith(".finish_reason")),
});

export const sumCounts = (counts: readonly { count: number }[]) => counts.reduce((sum, { count }) => sum + count, 0);

const joinPath = (path: string, key: string | number) => {
  if (typeof key === "number") return `${path}[]`;
  return path === "" ? key : `${path}.${key}`;
};

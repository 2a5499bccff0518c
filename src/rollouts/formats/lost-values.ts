/** Counts the values of converted records that no trajectory has. */
import { type Json, visitValues } from "../messages/output-json.ts";
import type { Value } from "../messages/value.ts";
import type { Rollout, SourceRecord } from "./format.ts";
import { findRepeatedTexts, minRepeatedBytes } from "./repeated-texts.ts";

/** A path without indexes (`votes[].judge`), and the lost values at this path. */
interface LostPath {
  readonly below: Map<string, LostPath>;
  count: number;
  /** The bytes of the values that differ from the value before. */
  information: number;
  last: string;
}

const createPath = (): LostPath => ({ below: new Map(), count: 0, information: 0, last: "" });

/** Longer values are compared by their start. */
const maxComparedBytes = 64;

/** A trajectory needs no token ids, so these paths are named last. */
const tokenIds = /(?:^|\.)(?:\w*token_ids|mask|(?:tokens|masks)(?=\[))(?:\[\])*$/;

export class LostValues {
  readonly #root = createPath();
  /** Values that the output has, or that repeat such values, by their ids. */
  readonly #kept = new Map<number, Value>();
  readonly #add = (value: Value) => void this.#kept.set(value.id, value);
  /** Several records can refer to one document, which counts once. */
  readonly #documents = new Set<string>();

  leaveOut(value: Value, _reason: string, isRepeated = false) {
    if (isRepeated) this.#add(value);
  }

  addRepeated(json: Json | undefined) {
    visitValues(json, this.#add);
  }

  /** @param step 1, or -1 to remove a counted record */
  addRecord({ value }: SourceRecord, rollouts: readonly Rollout[] | undefined, step: 1 | -1 = 1) {
    // An error or another record is about a record without rollouts.
    if (!rollouts) return this.forgetRecord();
    for (const { part = value, trajectory, exception, members = [], error } of rollouts) {
      if (error) this.#add(part);
      for (const json of [trajectory, exception]) this.addRepeated(json);
      for (const [, json] of members) this.addRepeated(json);
    }
    const roots = [value];
    for (const document of rollouts.flatMap(({ documents = [] }) => documents)) {
      const name = document.document ?? "";
      if (this.#documents.has(name) === step < 0) roots.push(document);
      if (step > 0) this.#documents.add(name);
      else this.#documents.delete(name);
    }
    const texts: LostText[] = [];
    for (const root of roots) this.#count(root, step, texts);
    const repeated = findRepeatedTexts(
      texts.map((text) => text.value),
      this.#kept.values(),
    );
    for (const { value: text, at } of texts) if (!repeated.has(text.id)) addLost(at, text, step);
    this.forgetRecord();
  }

  /** Counts no values of copies. @param convert converts the record again */
  removeCopies(record: SourceRecord, convert: () => readonly Rollout[], copies: ReadonlySet<number>) {
    this.addRecord(record, convert(), -1);
    const rollouts = convert();
    for (const [at, { part, documents = [] }] of rollouts.entries()) {
      if (!copies.has(at)) continue;
      for (const copy of [part && copies.size < rollouts.length ? part : record.value, ...documents]) this.#add(copy);
    }
    this.addRecord(record, rollouts);
  }

  /** Forgets the values of the last record. */
  forgetRecord() {
    this.#kept.clear();
  }

  /** The paths with the most information are first. */
  list() {
    const lost: { path: string; count: number; information: number }[] = [];
    const pending: (readonly [path: string, at: LostPath])[] = [["", this.#root]];
    for (const [path, { below, count, information }] of pending) {
      if (count > 0) lost.push({ path, count, information: tokenIds.test(path) ? 0 : information });
      for (const [key, at] of below)
        pending.push([key === "[]" || path === "" ? `${path}${key}` : `${path}.${key}`, at]);
    }
    return lost.sort((a, b) => b.information - a.information);
  }

  /** Values can be nested too deeply for a recursive function. @param texts receives texts that can be repeats */
  #count(root: Value, step: 1 | -1, texts: LostText[]) {
    const pending: LostText[] = [{ value: root, at: this.#root }];
    for (let next = pending.pop(); next; next = pending.pop()) {
      const { value, at } = next;
      if (value.isNull || this.#kept.has(value.id)) continue;
      const inner = value.cachedEmbeddedJson;
      if (inner) pending.push({ value: inner, at });
      else if (value.isObject)
        for (const [key, child] of value.members()) pending.push({ value: child, at: findBelow(at, key) });
      else if (value.isList) {
        const { numberCount } = value;
        const below = findBelow(at, "[]");
        if (numberCount === undefined) for (const child of value.items()) pending.push({ value: child, at: below });
        else if (numberCount > 0) addLost(below, value, step * numberCount);
      } else if (!value.isText) addLost(at, value, step);
      else {
        const bytes = value.span.end - value.span.start;
        if (bytes >= minRepeatedBytes) texts.push(next);
        else if (bytes > emptyTextBytes) addLost(at, value, step);
      }
    }
  }
}

interface LostText {
  readonly value: Value;
  readonly at: LostPath;
}

const emptyTextBytes = 2;

const findBelow = ({ below }: LostPath, key: string) => {
  const known = below.get(key);
  if (known) return known;
  const path = createPath();
  below.set(key, path);
  return path;
};

const addLost = (path: LostPath, { bytes, span: { start, end } }: Value, count: number) => {
  path.count += count;
  const text = bytes.toString("latin1", start, Math.min(end, start + maxComparedBytes));
  if (text !== path.last) path.information += end - start;
  path.last = text;
};

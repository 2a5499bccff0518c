/** Finds the keys of records whose values no trajectory has. */

import { type Json, visitValues } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import { isKnownColumn } from "../rules/names.ts";
import type { Rollout } from "./format.ts";

/** Longer values are compared by their start. */
const maxComparedBytes = 64;

const maxPathLength = 200;

/** A path without indexes (`completion[].content`), and the values at this path that no trajectory has. */
class KeyPath {
  readonly path: string;
  readonly below = new Map<string | number, KeyPath>();
  count = 0;
  /** The bytes of the values that differ from the value before. */
  information = 0;
  #last = "";

  constructor(path: string) {
    this.path = path;
  }

  /** Deeper values count at this path, because each path is as long as all before it. */
  child(key: string | number): KeyPath {
    if (this.path.length > maxPathLength) return this;
    const step = typeof key === "number" ? 0 : key;
    let child = this.below.get(step);
    if (!child) {
      child = new KeyPath(step === 0 ? `${this.path}[]` : this.path === "" ? `${key}` : `${this.path}.${key}`);
      this.below.set(step, child);
    }
    return child;
  }

  add({ bytes, span: { start, end }, numberCount = 1 }: Value) {
    this.count += numberCount;
    const text = bytes.toString("latin1", start, Math.min(end, start + maxComparedBytes));
    if (text !== this.#last) this.information += end - start;
    this.#last = text;
  }
}

interface PlacedValue {
  readonly value: Value;
  readonly at: KeyPath;
}

/** A trajectory needs no token ids, so these paths are named last. */
const tokenIds = /(?:^|\.)(?:\w*token_ids|mask|(?:tokens|masks)(?=\[))(?:\[\])*$/;

export class UnreadKeys {
  readonly #root = new KeyPath("");
  /** The values of one record that the output has, or that repeat such values, by their ids. */
  #kept = new Map<number, Value>();
  /** Several records can refer to one document, which counts once. */
  readonly #documents = new Set<string>();

  /** Keeps the values in `json`, because the output has them or repeats them. */
  keep(json: Json | undefined) {
    visitValues(json, (value) => this.#kept.set(value.id, value));
  }

  /** Without rollouts, the record is part of another record, or could not be converted. */
  addRecord(record: Value, rollouts: readonly Rollout[] | undefined) {
    for (const { trajectory, exception, members = [], error, part = record } of rollouts ?? []) {
      if (error) this.keep(part);
      for (const json of [trajectory, exception, ...members.map(([, member]) => member)]) this.keep(json);
    }
    const unread = rollouts ? this.#listUnread(record) : [];
    for (const document of rollouts?.flatMap(({ documents = [] }) => documents) ?? []) {
      const { document: name = "" } = document;
      if (!this.#documents.has(name)) for (const one of this.#listUnread(document)) unread.push(one);
      this.#documents.add(name);
    }
    const texts = unread.flatMap(({ value }) => (value.isText && sizeOf(value) >= minRepeatedBytes ? value : []));
    const repeatedTexts = findRepeatedTexts(texts, this.#kept.values());
    for (const { value, at } of unread) if (!repeatedTexts.has(value.id)) at.add(value);
    // Until the next full collection, a cleared map in V8's old space keeps the values of later records alive.
    this.#kept = new Map();
  }

  /** Lists the paths of values that no trajectory has: known columns, then those with the most information. */
  list() {
    const paths = [this.#root];
    for (const { below } of paths) for (const path of below.values()) paths.push(path);
    const informationOf = ({ path, information }: KeyPath) => (tokenIds.test(path) ? 0 : information);
    const rank = ({ path }: KeyPath) =>
      Number(isKnownColumn(path.slice(path.lastIndexOf(".") + 1).replace(/(?:\[\])+$/, "")));
    const unread = paths
      .filter(({ count }) => count > 0)
      .sort((a, b) => rank(b) - rank(a) || informationOf(b) - informationOf(a));
    return unread.map(({ path, count }) => ({ path, count }));
  }

  /** Returns the last value first. Values can be nested too deeply for a recursive function. */
  #listUnread(root: Value) {
    const unread: PlacedValue[] = [];
    const pending: PlacedValue[] = this.#kept.has(root.id) ? [] : [{ value: root, at: this.#root }];
    for (let next = pending.pop(); next; next = pending.pop()) {
      const { value, at } = next;
      const add = (key: string | number, child: Value) => {
        if (!this.#kept.has(child.id)) pending.push({ value: child, at: at.child(key) });
      };
      const inner = value.cachedEmbeddedJson;
      const numbers = value.numberCount ?? 0;
      // An array of numbers has no children, unless its elements were read.
      const items = value.isList && value.numberCount === undefined ? value.items() : [];
      const members = value.members();
      if (inner) pending.push({ value: inner, at });
      else if (items.length + members.length === 0 && isInformation(value))
        unread.push({ value, at: numbers > 0 ? at.child(0) : at });
      for (const item of items) add(0, item);
      for (const [key, member] of members) add(key, member);
    }
    return unread;
  }
}

const sizeOf = ({ span: { start, end } }: Value) => end - start;

const emptyTextBytes = 2;

/** False for null, an empty text and a value without elements and members. */
const isInformation = (value: Value) =>
  value.isText ? sizeOf(value) > emptyTextBytes : value.isScalar || (value.numberCount ?? 0) > 0;

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

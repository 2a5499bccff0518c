/** Recognizes, checks and indexes requests, groups and trajectories. */

import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Severity } from "../failure.ts";
import { digestBytes } from "../index/column.ts";
import { openGroupKeyReader } from "../index/group-key.ts";
import { rewardTolerance } from "../index/metrics.ts";
import { kinds, type Part } from "../index/parts.ts";
import type { ScanResult } from "../index/scan-result.ts";
import { addToSketch } from "../index/sketch.ts";
import { createTrajectoryFacts, type TrajectoryFacts } from "../index/trajectory-facts.ts";
import { type Span, sliceText } from "../json/json-bytes.ts";
import { type JsonReader, type KeyUses, nodeSize } from "../json/reader.ts";
import { describeValue, Kind, kindAt, kindOf, kindsAsFacts, mapMembers } from "../json/shape.ts";
import type { JsonTable, JsonValue } from "../json/table.ts";
import * as json from "../json/table.ts";
import { invalidInput } from "../problems/failures.ts";
import { finishReasons, roles } from "../problems/hints.ts";
import { findSecrets, secretPrefixes } from "../problems/known-secrets.ts";
import type { Path, PositionCounter } from "../problems/positions.ts";
import { type ProblemLocation, Problems } from "../problems/problems.ts";
import type { RuleReporter } from "../problems/rules.ts";
import { inspectTrajectory } from "./trajectory.ts";
import { countPrompts, findPrompt, haveEqualBytes } from "./trajectory-prompt.ts";
import { anyValue, checkElements, defineObjectType, reportWrongType, requiredField } from "./types.ts";

export interface Block {
  readonly table: JsonTable;
  readonly reader: Pick<JsonReader, "findRun" | "fingerprintOf" | "countEqual">;
  /** Byte offset of the table's text in the source. */
  readonly start: number;
  readonly positions: Pick<PositionCounter, "mark" | "locate">;
}

export const emptyBlock: Block = {
  table: json.emptyTable,
  reader: { findRun: (_, end) => end, fingerprintOf: () => 0, countEqual: () => 0 },
  start: 0,
  positions: { mark: () => 1, locate: () => ({ line: 1, column: 1, offset: 0 }) },
};

type CheckedValue = JsonValue & { readonly path: Path };

export interface ScanOptions {
  readonly index: number;
  readonly groupBy: string | undefined;
  readonly result: ScanResult;
  readonly signal?: AbortSignal | undefined;
}

export const keyUses: KeyUses = {
  leafKeys: ["parameters", "logprobs"],
  shapeTexts: { role: roles, finish_reason: finishReasons },
  runPrefixes: secretPrefixes,
};

const requestType = defineObjectType(
  {
    trajectory_groups: requiredField(Kind.array),
    split: { ...requiredField(Kind.string), acceptedKinds: Kind.absent | Kind.string },
    trajectories: anyValue,
    messages_and_choices: anyValue,
    messages: anyValue,
    reward: anyValue,
  },
  ({ trajectory_groups: groups, split, trajectories, ...fieldKinds }) => {
    const hasOnlySplit =
      split !== Kind.absent &&
      trajectories === Kind.absent &&
      Object.values(fieldKinds).every((kind) => kind === Kind.absent);
    if (groups !== Kind.absent || hasOnlySplit) return "requests";
    return trajectories === Kind.absent ? "trajectories" : "groups";
  },
);

const requestKeys = ["trajectory_groups", "split"] as const;
const groupType = defineObjectType({ trajectories: requiredField(Kind.array), exceptions: anyValue }, kindsAsFacts);

/** The number of facts of a part that is not valid. */
const noFacts = -1;

/** An index of this many parts takes about 600 MB. */
const maxRecords = 10_000_000;
/** The facts of this many trajectories take about 400 MB. */
const maxTrajectories = 1_000_000;

export class Checker {
  readonly result: ScanResult;
  readonly #file: string;
  readonly #index: number;
  readonly #readGroupKey: ReturnType<typeof openGroupKeyReader>;
  #block = emptyBlock;
  #value: CheckedValue = { table: json.emptyTable, node: 0, path: [] };
  #line = 0;
  #isInvalid = false;
  #isWarned = false;
  readonly #facts: TrajectoryFacts[] = [];
  #rewards = new Float64Array(64);

  constructor(file: string, { result, index, groupBy }: ScanOptions) {
    this.result = result;
    this.#file = file;
    this.#index = index;
    this.#readGroupKey = openGroupKeyReader(groupBy);
  }

  check(block: Block, node: number, position?: number): void {
    this.#block = block;
    const { table } = block;
    if (position !== undefined) this.#checkRecord({ table, node, path: [position] });
    else if (kindAt(table, node) !== Kind.array) this.#checkRecord({ table, node, path: [] });
    else for (const [at, element] of json.childrenOf({ table, node })) this.#checkRecord({ ...element, path: [at] });
  }

  addUnreadable(block: Block, span: Span, faultAt = 0): void {
    this.#block = block;
    this.#line = block.positions.mark(span.start);
    const closed = json.closeTruncated(block.table.bytes.subarray(span.start, span.start + faultAt));
    const value = closed && json.readRoot(closed);
    const key = value && this.#readGroupKey(value, () => undefined);
    this.#addInvalid(span.start, span.end, key === undefined ? "unreadable" : "trajectory");
    if (key !== undefined) this.result.parts.setKey(key);
  }

  #startValue(value: CheckedValue): void {
    this.#value = value;
    this.#isInvalid = false;
    this.#isWarned = false;
    this.#line = this.#block.positions.mark(json.startOf(value.table, value.node));
  }

  #checkRecord(value: CheckedValue): void {
    this.#startValue(value);
    const { table, node } = value;
    if (kindAt(table, node) !== Kind.object) {
      this.#report("not-an-object", { found: describeValue(table, node) }, node);
      const mayBeTrajectory = (kindAt(table, node) & (Kind.string | Kind.array)) !== 0;
      this.#addInvalid(json.startOf(table, node), json.endOf(table, node), mayBeTrajectory ? "unreadable" : "group");
      return;
    }
    const { derived: shape } = requestType.shape.read(table, node);
    this.result.shapes.add(shape);
    if (shape === "requests") this.#checkRequest(value);
    else if (shape === "groups") this.#checkGroup(value);
    else this.#checkTrajectory(value);
  }

  #checkRequest(value: CheckedValue): void {
    const { table, node, path } = value;
    const { shape, check } = requestType;
    const [list, split] = [shape.at(table, shape.slots.trajectory_groups), shape.at(table, shape.slots.split)];
    const repeatedKeys = requestKeys.filter((key) => shape.hasDuplicate(key));
    for (const key of repeatedKeys) this.#report("duplicate-key", { key }, shape.at(table, shape.slots[key]));
    check(table, node, this.#report);
    this.#addRequest(value, kindOf(table, split) === Kind.string ? json.readString(table, split) : undefined);
    if (repeatedKeys.length > 0 || kindOf(table, list) !== Kind.array) {
      this.#addInvalid(json.startOf(table, node), json.endOf(table, node), "group");
      return;
    }
    for (const [at, group] of json.childrenOf({ table, node: list })) {
      this.#checkGroup({ ...group, path: [...path, "trajectory_groups", at] });
    }
  }

  #addRequest({ table, node }: CheckedValue, split: string | undefined): void {
    const members = mapMembers(table, node);
    const others = Array.from(members).filter(([name]) => !requestKeys.some((key) => key === name));
    const toKey = (value: number) => ({ name: jsonOf(table, value - nodeSize), value: jsonOf(table, value) });
    const keys = new Map(others.map(([name, value]) => [name, toKey(value)]));
    this.result.requests.add({ split, keys }, (key) => {
      const value = key === undefined ? node : members.get(key);
      return this.#locate(value ?? node, value === undefined ? ["split"] : []);
    });
  }

  #checkGroup(value: CheckedValue): void {
    this.#startValue(value);
    const { table, node } = value;
    const { shape, check } = groupType;
    if (kindAt(table, node) !== Kind.object) {
      reportWrongType(table, { node, field: "a group", wanted: "an object" }, this.#report);
      this.#reportSecrets();
      this.#addInvalid(json.startOf(table, node), json.endOf(table, node), "group");
      return;
    }
    check(table, node, this.#report);
    const list = shape.at(table, shape.slots.trajectories);
    const exceptions = countElements(table, shape.at(table, shape.slots.exceptions));
    if (shape.hasDuplicate("trajectories")) this.#report("duplicate-key", { key: "trajectories" }, list);
    const found = kindOf(table, list) === Kind.array ? this.#inspectTrajectories(table, list) : noFacts;
    if (found === 0) this.#report("empty-group", { hasExceptions: exceptions > 0 }, list);
    let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let at = 0; at < found; at++) {
      const { version } = this.#factsAt(at);
      if (version < min) min = version;
      if (version > max) max = version;
    }
    if (min < max) this.#report("mixed-policy-versions", { min, max }, node);
    if (found > 1) this.#comparePrompts(table, found, node);
    this.#reportSecrets();
    const count = found === noFacts ? countElements(table, list) : found;
    const valid = this.#isInvalid ? noFacts : found;
    if (valid !== noFacts) this.result.tally.addGroup({ rewards: this.#collectRewards(valid), exceptions });
    this.#addPart(json.startOf(table, node), json.endOf(table, node), "group", count, valid);
  }

  /** Returns the rewards of the first facts. Later calls reuse the memory of the returned array. */
  #collectRewards(count: number) {
    if (count > this.#rewards.length) this.#rewards = new Float64Array(2 * count);
    for (let at = 0; at < count; at++) this.#rewards[at] = this.#factsAt(at).reward;
    return this.#rewards.subarray(0, count);
  }

  #comparePrompts(table: JsonTable, count: number, group: number) {
    const { reader } = this.#block;
    const facts = this.#facts.slice(0, count);
    const prompts = haveEqualBytes(table, facts, reader) ? 1 : countPrompts(table, facts, reader);
    if (prompts > 1) this.#report("mixed-prompts", { prompts }, group);
  }

  /** Returns the number of facts, or `noFacts` if a trajectory has no facts. */
  #inspectTrajectories(table: JsonTable, list: number) {
    let [areObjects, areTyped] = [json.countNumbers(table, list) === 0, true];
    let count = 0;
    const end = json.nodeAfter(table, list);
    for (let node = list + nodeSize; node < end; node = json.nodeAfter(table, node)) {
      if (kindAt(table, node) !== Kind.object) areObjects = false;
      else if (inspectTrajectory(table, node, this.#factsAt(count), this.#report)) count++;
      else areTyped = false;
      if (count > maxTrajectories) this.#refuse();
    }
    if (!areObjects) checkElements(table, list, { kind: Kind.object, field: "trajectories" }, this.#report);
    return areObjects && areTyped ? count : noFacts;
  }

  /** Bounds the memory of the index. @throws Failure `invalid-input` */
  #refuse(): never {
    const limits = { records: maxRecords, trajectories: maxTrajectories };
    // Other problems would hide this problem.
    const refusal = new Problems();
    refusal.report("too-many-records", limits, { file: this.#file });
    throw invalidInput(refusal);
  }

  /** Later calls reuse the returned object. */
  #factsAt(position: number): TrajectoryFacts {
    const known = this.#facts[position];
    if (known) return known;
    const facts = createTrajectoryFacts();
    this.#facts[position] = facts;
    return facts;
  }

  #checkTrajectory(value: CheckedValue): void {
    const { table, node } = value;
    const facts = this.#factsAt(0);
    inspectTrajectory(table, node, facts, this.#report);
    this.#reportSecrets();
    const key = this.#readGroupKey(value, this.#report);
    this.#addPart(json.startOf(table, node), json.endOf(table, node), "trajectory", 1, this.#isInvalid ? noFacts : 1);
    if (key === undefined) return;
    this.result.parts.setKey(key);
    const prompt = this.#isInvalid ? undefined : findPrompt(table, facts);
    if (prompt) this.result.parts.setPrompt(this.#block.reader.fingerprintOf(prompt.start, prompt.end));
  }

  #addInvalid(start: number, end: number, kind: Part["kind"]) {
    this.#addPart(start, end, kind, kind === "trajectory" ? 1 : 0, noFacts);
  }

  /** @param valid the number of facts of a valid part, or `noFacts` */
  #addPart(start: number, end: number, kind: Part["kind"], trajectories: number, valid: number): void {
    const { parts, rewards, tally } = this.result;
    if (parts.count >= maxRecords) this.#refuse();
    const { columns } = parts;
    const { table, reader } = this.#block;
    let training = 0;
    let version = Number.NaN;
    let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let at = 0; at < valid; at++) {
      const trajectory = this.#factsAt(at);
      const { reward, node } = trajectory;
      tally.addMeasured(trajectory);
      if (reward < min) min = reward;
      if (reward > max) max = reward;
      if (Number.isFinite(reward)) addToSketch(rewards, reward);
      columns.fingerprint.push(reader.fingerprintOf(json.startOf(table, node), json.endOf(table, node)));
      training |= trajectory.training;
      if (Number.isNaN(version) || trajectory.version > version) version = trajectory.version;
    }
    if (valid === noFacts) columns.fingerprint.length += trajectories;
    const isTrajectory = kind === "trajectory";
    columns.source.push(this.#index);
    columns.start.push(this.#block.start + start);
    columns.length.push(end - start);
    columns.line.push(this.#line);
    columns.kind.push(kinds.indexOf(kind));
    columns.valid.push(valid === noFacts ? 0 : 1);
    columns.warned.push(this.#isWarned ? 1 : 0);
    columns.equal.push(valid !== noFacts && trajectories > 1 && max - min <= rewardTolerance ? 1 : 0);
    columns.trajectories.push(trajectories);
    columns.reward.push(isTrajectory && valid !== noFacts ? this.#factsAt(0).reward : 0);
    columns.version.push(version);
    columns.training.push(training);
    columns.key.length++;
    columns.prompt.length++;
    if (parts.hasDigests) this.#addDigest(table.bytes.subarray(start, end));
    else columns.checksum.length++;
  }

  #addDigest(bytes: Uint8Array) {
    const { parts } = this.result;
    parts.columns.checksum.push(crc32(bytes));
    // Pooled memory from `Buffer.from` is faster than a new buffer from `hash`.
    parts.digests.append(Buffer.from(hash("sha256", bytes, "binary"), "latin1").subarray(0, digestBytes));
  }

  readonly #report: RuleReporter = (rule, data, node, ...steps) => {
    this.#take(this.result.problems.report(rule, data, () => this.#locate(node, steps)));
  };

  #take(severity: Severity | undefined) {
    if (severity === "error") this.#isInvalid = true;
    if (severity === "warning") this.#isWarned = this.result.problems.strictness.strict;
  }

  #locate(node: number, steps: Path): ProblemLocation {
    const { table, node: value, path } = this.#value;
    const deepest = json.findDeepest({ table, node }, steps);
    return {
      file: this.#file,
      ...this.#block.positions.locate(json.startOf(deepest.table, deepest.node)),
      path: [...path, ...json.findInnermost(table, { from: value, byte: json.startOf(table, node) }).path, ...steps],
    };
  }

  #reportSecrets(): void {
    const { table, node } = this.#value;
    for (const { start, kind } of findSecrets(table.bytes, json.spanOf(this.#value), this.#block.reader)) {
      // Line and column locate the value that contains the secret.
      const locate = (): ProblemLocation => ({
        ...this.#locate(json.findInnermost(table, { from: node, byte: start }).node, []),
        offset: this.#block.start + start,
      });
      this.#take(this.result.problems.report("secret-in-content", { kind }, locate));
    }
  }
}

const countElements = (table: JsonTable, node: number) => (node === 0 ? 0 : json.elementsOf({ table, node }).length);

const jsonOf = (table: JsonTable, node: number) => sliceText(table.bytes, json.spanOf({ table, node }));

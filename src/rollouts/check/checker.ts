/** Recognizes, checks and indexes requests, groups and trajectories. */

import { canHaveMark } from "../../conversation/chat-marks.ts";
import type { Severity } from "../../failure.ts";
import type { Span } from "../../json/json-bytes.ts";
import { nodeSize } from "../../json/reader.ts";
import { describeValue, Kind, kindAt, kindOf, kindsAsFacts } from "../../json/shape.ts";
import type { JsonTable, JsonValue } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { TrajectoryFacts } from "../index/fact-columns.ts";
import { openGroupKeyReader } from "../index/group-key.ts";
import { turnBits } from "../index/metrics.ts";
import type { Part } from "../index/parts.ts";
import type { NewPart, ScanResult } from "../index/scan-result.ts";
import { tooManyRecords } from "../rules/failures.ts";
import { findSecrets } from "../rules/known-secrets.ts";
import type { Path } from "../rules/positions.ts";
import type { ProblemLocation } from "../rules/problems.ts";
import type { RuleReporter } from "../rules/rules.ts";
import { type Block, emptyBlock, iterate, workOf } from "./block.ts";
import type { Measurer } from "./measure.ts";
import type { MessageWalk } from "./message-walk.ts";
import { findMixedSteps } from "./policy-steps.ts";
import { addRequest, recordType, requestKeys } from "./requests.ts";
import { inspectTrajectory } from "./trajectory.ts";
import * as prompts from "./trajectory-prompt.ts";
import { anyValue, checkElements, defineObjectType, reportWrongType, requiredField } from "./types.ts";

type CheckedValue = JsonValue & { readonly path: Path };

export interface ScanOptions {
  readonly index: number;
  readonly groupBy: readonly string[] | undefined;
  readonly result: ScanResult;
  /** Adds to the facts of `result`. */
  readonly measure?: Measurer | undefined;
  readonly signal?: AbortSignal | undefined;
}

const groupType = defineObjectType({ trajectories: requiredField(Kind.array), exceptions: anyValue }, kindsAsFacts);

/** The work between two yields. */
const maxWork = 2 ** 18;

/** An index of so many parts takes about 600 MB, and the facts of so many trajectories of a group about 400 MB. */
const limits = { records: 10_000_000, trajectories: 1_000_000 };

export class Checker {
  readonly result: ScanResult;
  readonly #file: string;
  readonly #index: number;
  readonly #readGroupKey: ReturnType<typeof openGroupKeyReader>;
  readonly #measure: Measurer | undefined;
  #block = emptyBlock;
  #value: CheckedValue = { table: json.emptyTable, node: 0, path: [] };
  #line = 0;
  #isInvalid = false;
  #isWarned = false;
  /** The positions in the value at which secrets or marks of chat templates can be. */
  #endings: readonly number[] = [];
  #canHaveChatMarks = false;
  /** True if the prompts of tasks in the group are the same bytes. */
  #hasOnePrompt = true;
  /** In the value, because a search from its start would take long for each of many problems. */
  readonly #found: json.FoundChildren = new Map();
  readonly #facts: TrajectoryFacts[] = [];
  /** Of the same trajectories, if they are measured. */
  readonly #walks: MessageWalk[] = [];

  constructor(file: string, { result, index, groupBy, measure }: ScanOptions) {
    this.result = result;
    this.#file = file;
    this.#index = index;
    this.#readGroupKey = openGroupKeyReader(groupBy, prompts.openPromptKeyReader());
    this.#measure = measure;
  }

  /** Yields its work after some trajectories (`workOf`). The caller must iterate to the end. */
  check(block: Block, node: number, position?: number): Iterable<number> {
    this.#block = block;
    const { table } = block;
    if (position === undefined && kindAt(table, node) === Kind.array) return this.#checkElements({ table, node });
    return this.#checkRecord({ table, node, path: position === undefined ? [] : [position] });
  }

  *#checkElements(list: JsonValue) {
    for (const [at, element] of json.childrenOf(list)) yield* this.#checkRecord({ ...element, path: [at] });
  }

  addUnreadable(block: Block, span: Span, faultAt = 0): void {
    this.#block = block;
    this.#line = block.positions.mark(span.start);
    const closed = json.closeTruncated(block.table.bytes.subarray(span.start, span.start + faultAt));
    const value = closed && json.readRoot(closed);
    const key = value && this.#readGroupKey(value, () => undefined);
    this.#addInvalid(span, key === undefined ? "unreadable" : "trajectory");
    if (key !== undefined) this.result.parts.setKey(key);
  }

  #startValue(value: CheckedValue): void {
    this.#value = value;
    if (this.#found.size > 0) this.#found.clear();
    this.#isInvalid = false;
    this.#isWarned = false;
    this.#line = this.#block.positions.mark(json.startOf(value.table, value.node));
  }

  #findEndings(): void {
    const { reader, table } = this.#block;
    const { start, end } = json.spanOf(this.#value);
    this.#canHaveChatMarks = false;
    let at = reader.findEnding(start, end);
    if (at === end && this.#endings.length === 0) return;
    const found: number[] = [];
    for (; at < end; at = reader.findEnding(at + 1, end)) {
      this.#canHaveChatMarks ||= canHaveMark(table.bytes, at);
      found.push(at);
    }
    this.#endings = found;
  }

  #checkRecord(value: CheckedValue): Iterable<number> {
    this.#startValue(value);
    const { table, node } = value;
    if (kindAt(table, node) !== Kind.object) {
      this.#report("not-an-object", { found: describeValue(table, node) }, node);
      const mayBeTrajectory = (kindAt(table, node) & (Kind.string | Kind.array)) !== 0;
      this.#addInvalid(json.spanOf(value), mayBeTrajectory ? "unreadable" : "group");
      return [];
    }
    const { derived: shape } = recordType.shape.read(table, node);
    this.result.shapes.add(shape);
    if (shape === "requests") return this.#checkRequest(value);
    if (shape === "groups") return this.#checkGroup(value);
    this.#checkTrajectory(value);
    return [];
  }

  *#checkRequest(value: CheckedValue) {
    const { table, node, path } = value;
    const { shape, check } = recordType;
    const list = shape.at(table, shape.slots.trajectory_groups);
    const repeatedKeys = requestKeys.filter((key) => shape.hasDuplicate(key));
    for (const key of repeatedKeys)
      this.#report("duplicate-structural-key", { key }, shape.at(table, shape.slots[key]));
    check(table, node, this.#report);
    addRequest(this.result.requests, value, (at) => this.#locate(at, []));
    if (repeatedKeys.length > 0 || kindOf(table, list) !== Kind.array) {
      this.#addInvalid(json.spanOf(value), "group");
      return;
    }
    for (const [at, group] of json.childrenOf({ table, node: list })) {
      yield* this.#checkGroup({ ...group, path: [...path, "trajectory_groups", at] });
    }
  }

  *#checkGroup(value: CheckedValue) {
    this.#startValue(value);
    this.#findEndings();
    const { table, node } = value;
    const { shape, check } = groupType;
    if (kindAt(table, node) !== Kind.object) {
      reportWrongType(table, { node, field: "a group", wanted: "an object" }, this.#report);
      this.#reportSecrets();
      this.#addInvalid(json.spanOf(value), "group");
      return;
    }
    check(table, node, this.#report);
    const list = shape.at(table, shape.slots.trajectories);
    const exceptions = countElements(table, shape.at(table, shape.slots.exceptions));
    if (shape.hasDuplicate("trajectories")) this.#report("duplicate-structural-key", { key: "trajectories" }, list);
    const end = kindOf(table, list) === Kind.array ? json.nodeAfter(table, list) : 0;
    let haveFacts = end > 0;
    let count = 0;
    let work = 0;
    for (let at = list + nodeSize; at < end; at = json.nodeAfter(table, at)) {
      if (kindAt(table, at) === Kind.object && this.#inspect(table, at, count)) count++;
      else haveFacts = false;
      if (count > limits.trajectories) throw tooManyRecords(limits, this.#file);
      work += workOf(json.endOf(table, at) - json.startOf(table, at));
      if (work < maxWork) continue;
      yield work;
      work = 0;
    }
    yield work;
    const elements = { kind: Kind.object, field: "trajectories" };
    if (end > 0 && !checkElements(table, list, elements, this.#report)) haveFacts = false;
    if (haveFacts && count > 1) this.#compareTrajectories(this.#firstFacts(count), node);
    this.#reportSecrets();
    const trajectories = haveFacts ? count : countElements(table, list);
    const isValid = !this.#isInvalid && haveFacts;
    const rows = this.#addPart(json.spanOf(value), { kind: "group", trajectories, exceptions, isValid });
    if (rows) yield* rows;
  }

  #compareTrajectories(all: readonly TrajectoryFacts[], group: number) {
    const { reader, table } = this.#block;
    const steps = findMixedSteps(table, all);
    if (steps) this.#report("mixed-steps", steps, group);
    this.#hasOnePrompt = prompts.haveEqualBytes(table, all, reader);
    const mixed = this.#hasOnePrompt ? undefined : prompts.findMixedPrompts(table, all);
    if (mixed) this.#report("mixed-prompts", mixed, group);
  }

  #inspect(table: JsonTable, node: number, position: number) {
    const facts = this.#factsAt(position);
    const { facts: columns } = this.result.parts;
    const options = { needsTurns: columns !== undefined, canHaveMarks: this.#canHaveChatMarks };
    const walk = inspectTrajectory(table, node, facts, this.#report, options);
    if (walk && columns) this.#walks[position] = walk;
    return walk !== undefined;
  }

  #firstFacts(count: number): readonly TrajectoryFacts[] {
    return this.#facts.length === count ? this.#facts : this.#facts.slice(0, count);
  }

  /** Later calls reuse the returned object. */
  #factsAt(position: number): TrajectoryFacts {
    const known = this.#facts[position];
    if (known) return known;
    const facts = new TrajectoryFacts();
    this.#facts[position] = facts;
    return facts;
  }

  #checkTrajectory(value: CheckedValue): void {
    const { table, node } = value;
    const facts = this.#factsAt(0);
    this.#findEndings();
    this.#inspect(table, node, 0);
    this.#reportSecrets();
    const key = this.#readGroupKey(value, this.#report);
    const isValid = !this.#isInvalid;
    const rows = this.#addPart(json.spanOf(value), { kind: "trajectory", trajectories: 1, exceptions: 0, isValid });
    if (rows) iterate(rows);
    if (key === undefined) return;
    this.result.parts.setKey(key);
    if (isValid) this.result.parts.setLast("steps", facts.steps);
    const prompt = this.#isInvalid || !prompts.hasTaskPrompt(facts) ? undefined : prompts.findPrompt(table, facts);
    if (prompt) this.result.parts.setLast("prompt", this.#block.reader.fingerprintOf(prompt.start, prompt.end));
  }

  #addInvalid(span: Span, kind: Part["kind"]) {
    const trajectories = kind === "trajectory" ? 1 : 0;
    this.#addPart(span, { kind, trajectories, exceptions: 0, isValid: false });
  }

  /** The caller must iterate to the end of what this returns. */
  #addPart({ start, end }: Span, part: NewPart): Iterable<number> | undefined {
    const { parts } = this.result;
    const { table, reader } = this.#block;
    if (parts.count >= limits.records) throw tooManyRecords(limits, this.#file);
    for (let at = 0; part.isValid && at < part.trajectories; at++) {
      const trajectory = this.#factsAt(at);
      const { node, training } = trajectory;
      const hasTurn = (training & turnBits) !== 0;
      trajectory.fingerprint = hasTurn ? reader.fingerprintOf(json.startOf(table, node), json.endOf(table, node)) : 0;
      if (parts.hasDigests) trajectory.sampled = hasTurn ? reader.sampledDigest(node) : 0;
    }
    const position = { source: this.#index, start: this.#block.start + start, length: end - start, line: this.#line };
    const at = this.result.addPart(position, part, this.#facts);
    if (this.#isWarned) parts.columns.warned.set(at, 1);
    parts.setContent(at, table.bytes.subarray(start, end));
    if (!parts.facts || !part.isValid || !this.#measure) return undefined;
    const all = this.#firstFacts(part.trajectories);
    return this.#measure.addRows(this.#value, all, this.#walks, parts.facts, this.#hasOnePrompt);
  }

  readonly #report: RuleReporter = (rule, data, node, ...steps) => {
    this.#take(this.result.problems.report(rule, data, () => this.#locate(node, steps)));
  };

  #take(severity: Severity | undefined) {
    if (severity === "error") this.#isInvalid = true;
    if (severity === "warning") this.#isWarned = true;
  }

  /** @param start the byte of the problem; default: the start of the deepest value */
  #locate(node: number, steps: Path, start?: number): ProblemLocation {
    const { table, node: value, path: before } = this.#value;
    const wanted = { from: value, byte: json.startOf(table, node), found: this.#found };
    const path = [...before, ...json.findInnermost(table, wanted).path, ...steps];
    const deepest = json.findDeepest({ table, node }, steps);
    const position = this.#block.positions.locate(json.startOf(deepest.table, deepest.node));
    const offset = start === undefined ? position.offset : this.#block.start + start;
    return { file: this.#file, ...position, offset, path };
  }

  #reportSecrets(): void {
    const { table, node } = this.#value;
    for (const { start, kind } of findSecrets(table.bytes, json.spanOf(this.#value), this.#endings)) {
      // Line and column locate the value that contains the secret.
      const locate = () => this.#locate(json.findInnermost(table, { from: node, byte: start }).node, [], start);
      this.#take(this.result.problems.report("secret-in-content", { kind }, locate));
    }
  }
}

const countElements = (table: JsonTable, node: number) => (node === 0 ? 0 : json.elementsOf({ table, node }).length);

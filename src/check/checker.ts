/** Recognizes what a value of the input is (a request, a group, a trajectory, an array of them), checks it, and adds it to the index. */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { rewardTolerance } from "../groups/metrics/metrics.ts";
import { lookAtReward } from "../groups/metrics/sketch.ts";
import type { Found } from "../groups/parts/found.ts";
import type { Part } from "../groups/parts/parts.ts";
import { type JsonReader, type KeyUses, nodeSize } from "../json/reader.ts";
import {
  afterOf,
  childrenOf,
  deepestAt,
  endOf,
  noText,
  numbersIn,
  type Place,
  spanOf,
  startOf,
  type Tabled,
  textOf,
} from "../json/table.ts";
import type { Span } from "../json/walk.ts";
import { groupKeyFinder } from "./group-key.ts";
import { roles } from "./hints.ts";
import { type Path, type Places, pathTo } from "./rules/places.ts";
import type { Spot } from "./rules/problems.ts";
import { secretsIn } from "./rules/secrets.ts";
import { describe, Kind, kindAt, kindOf, kindsAlone } from "./shape.ts";
import { checkTypes, inspectTrajectory, newFacts, type TrajectoryFacts } from "./trajectory.ts";
import { anything, checkElements, type Report, reportWrongType, required, typeOf } from "./types.ts";

/** Values of a source: their table, if its first byte is in the source, and how positions in it are counted. */
export interface Block {
  readonly text: Tabled;
  readonly reader: Pick<JsonReader, "findRun" | "fingerprintOf">;
  readonly start: number;
  readonly places: Pick<Places, "mark" | "of">;
}

/** A value that is checked, and its path in what it is a part of. */
interface Unit extends Place {
  readonly path: Path;
}

interface CheckerOptions {
  readonly found: Found;
  /** Name of the source, and its position among the inputs. */
  readonly file: string;
  readonly index: number;
  readonly groupBy: string | undefined;
}

/** Values whose inside is of no rule, and texts that rules ask for. */
export const keyUses: KeyUses = { leafKeys: ["parameters", "logprobs"], choices: { role: roles } };

/** A request, and keys that tell it from a group and from a trajectory. */
const requestType = typeOf(
  {
    trajectory_groups: required(Kind.array),
    split: { ...required(Kind.string), takes: Kind.absent | Kind.string },
    trajectories: anything,
    messages_and_choices: anything,
    messages: anything,
    reward: anything,
  },
  ({ trajectory_groups: groups, split, trajectories, ...others }) => {
    // An object with nothing but a split lacks its groups, rather than all that a trajectory has.
    const isBare =
      split !== Kind.absent &&
      trajectories === Kind.absent &&
      Object.values(others).every((kind) => kind === Kind.absent);
    if (groups !== Kind.absent || isBare) return "requests";
    return trajectories === Kind.absent ? "trajectories" : "groups";
  },
);

/** Keys that a request has once. */
const requestKeys = ["trajectory_groups", "split"] as const;

const groupType = typeOf({ trajectories: required(Kind.array), exceptions: anything }, kindsAlone);

const trajectories = { kind: Kind.object, of: { field: "trajectories" } } as const;

/** True if a request has two of a key that it has once. */
export const hasTwiceOf = ({ text, node }: Place): boolean => {
  if (kindAt(text, node) !== Kind.object) return false;
  requestType.shape.read(text, node);
  return requestKeys.some((key) => requestType.shape.hasTwice(key));
};

type PartFacts = Pick<Part, "kind" | "valid" | "trajectories" | "reward">;

type Measured = Pick<Part, "equal" | "version" | "training">;

const unmeasured: Measured = { training: 0, version: Number.NaN, equal: false };
const unreadable: PartFacts = { kind: "unreadable", valid: false, trajectories: 0, reward: 0 };
const noBytes = Buffer.alloc(0);

/** Checks values, and adds them to what was found. */
export class Checker {
  readonly found: Found;
  readonly #options: CheckerOptions;
  readonly #groupKeyOf: ReturnType<typeof groupKeyFinder>;
  #block: Block = {
    text: noText,
    reader: { findRun: (_, end) => end, fingerprintOf: () => 0 },
    start: 0,
    places: { mark: () => 1, of: () => ({ line: 1, column: 1, offset: 0 }) },
  };
  #unit: Unit = { text: noText, node: 0, path: [] };
  #line = 0;
  /** True if a finding makes the value that is checked invalid. */
  #failed = false;
  /** Facts of the trajectories that were inspected last, and the rewards of those that were measured last. */
  readonly #facts: TrajectoryFacts[] = [];
  readonly #rewards: number[] = [Number.NaN];

  constructor(options: CheckerOptions) {
    this.found = options.found;
    this.#options = options;
    this.#groupKeyOf = groupKeyFinder(options.groupBy);
  }

  /** Takes a value of a block: a line, or a document. */
  take(block: Block, node: number): void {
    this.#block = block;
    const { text } = block;
    if (kindAt(text, node) !== Kind.array) this.#takeOne({ text, node, path: [] });
    else for (const [at, own] of childrenOf({ text, node })) this.#takeOne({ ...own, path: [at] });
  }

  /** Takes an element of a long list, in a request if it is a group. */
  takeElement(block: Block, node: number, { path, isGroup }: { readonly path: Path; readonly isGroup: boolean }): void {
    this.#block = block;
    if (isGroup) this.#takeGroup({ text: block.text, node, path });
    else this.#takeOne({ text: block.text, node, path });
  }

  /** Takes bytes that cannot be read: they count as a group without trajectories. */
  takeUnreadable(block: Block, span: Span): void {
    this.#block = block;
    this.#line = block.places.mark(span.start);
    this.#push(block.text, span, unreadable);
  }

  #begin(unit: Unit): void {
    this.#unit = unit;
    this.#failed = false;
    this.#line = this.#block.places.mark(startOf(unit.text, unit.node));
  }

  #takeOne(unit: Unit): void {
    this.#begin(unit);
    const { text, node } = unit;
    if (kindAt(text, node) !== Kind.object) {
      this.#report("not-an-object", { found: describe(text, node) }, node);
      this.#push(text, spanOf(unit), unreadable);
      return;
    }
    const { more: shape } = requestType.shape.read(text, node);
    this.found.shapes.add(shape);
    if (shape === "requests") this.#takeRequest(unit);
    else if (shape === "groups") this.#takeGroup(unit);
    else this.#takeTrajectory(unit);
  }

  #takeRequest(unit: Unit): void {
    const { text, node, path } = unit;
    const { shape, check } = requestType;
    const [list, split] = [shape.at(text, shape.slots.trajectory_groups), shape.at(text, shape.slots.split)];
    const twice = requestKeys.filter((key) => shape.hasTwice(key));
    for (const key of twice) this.#report("duplicate-key", { key }, shape.at(text, shape.slots[key]));
    check(text, node, this.#report);
    this.#addRequest(unit, kindOf(text, split) === Kind.string ? textOf(text, split) : undefined);
    if (twice.length > 0 || kindOf(text, list) !== Kind.array) {
      this.#push(text, spanOf(unit), unreadable);
      return;
    }
    for (const [at, own] of childrenOf({ text, node: list })) {
      this.#takeGroup({ ...own, path: [...path, "trajectory_groups", at] });
    }
  }

  /** Adds what a request says in addition to its groups. */
  #addRequest({ text, node }: Unit, split: string | undefined): void {
    const keys = new Map<string, { readonly name: string; readonly value: string }>();
    const nodes = new Map<string, number>();
    for (let key = node + nodeSize; key < afterOf(text, node); key = afterOf(text, key + nodeSize)) {
      const name = textOf(text, key);
      nodes.set(name, key + nodeSize);
      if (name === "trajectory_groups" || name === "split") continue;
      keys.set(name, { name: spelled(text, key), value: spelled(text, key + nodeSize) });
    }
    const spotOf = (key = "") => this.#spotOf(nodes.get(key) ?? node, key === "split" && !nodes.has(key) ? [key] : []);
    this.found.requests.add({ split, keys, spotOf });
  }

  #takeGroup(unit: Unit): void {
    this.#begin(unit);
    const { text, node } = unit;
    const { shape, check } = groupType;
    const isObject = kindAt(text, node) === Kind.object;
    if (!isObject) reportWrongType(text, { node, field: "a group", wanted: "an object" }, this.#report);
    else check(text, node, this.#report);
    const list = isObject ? shape.at(text, shape.slots.trajectories) : 0;
    const exceptions = isObject ? countOf(text, shape.at(text, shape.slots.exceptions)) : 0;
    if (isObject && shape.hasTwice("trajectories")) this.#report("duplicate-key", { key: "trajectories" }, list);
    const known = kindOf(text, list) === Kind.array ? this.#inspectTrajectories(text, list) : undefined;
    if (known === 0) this.#report("empty-group", { hasExceptions: exceptions > 0 }, list);
    if (known !== undefined) this.#compareVersions(node, known);
    this.#reportSecrets();
    const valid = known !== undefined && !this.#failed;
    const measured = valid ? this.#measure(known) : unmeasured;
    if (valid) this.found.tally.closeGroup({ rewards: this.#rewards, exceptions });
    const count = known ?? countOf(text, list);
    this.#push(text, spanOf(unit), { kind: "group", valid, trajectories: count, reward: 0 }, measured);
  }

  /** Inspects the trajectories in a list; gives how many there are, undefined if any has not the types. */
  #inspectTrajectories(text: Tabled, list: number): number | undefined {
    let areTyped = checkElements(text, list, trajectories, this.#report);
    let count = 0;
    const end = afterOf(text, list);
    for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
      if (kindAt(text, node) !== Kind.object) continue;
      if (this.#inspect(text, node, count)) count++;
      else areTyped = false;
    }
    return areTyped ? count : undefined;
  }

  /** Checks a trajectory, and keeps its facts at a position; true if it has the types. */
  #inspect(text: Tabled, node: number, at: number): boolean {
    if (!checkTypes(text, node, this.#report)) return false;
    if (at === this.#facts.length) this.#facts.push(newFacts());
    const facts = this.#facts[at];
    if (facts !== undefined) inspectTrajectory(text, node, facts, this.#report);
    return true;
  }

  #compareVersions(group: number, count: number): void {
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let at = 0; at < count; at++) {
      const version = this.#facts[at]?.version ?? Number.NaN;
      if (version < least) least = version;
      if (version > most) most = version;
    }
    if (least < most) this.#report("mixed-policy-versions", { least, most }, group);
  }

  #takeTrajectory(unit: Unit): void {
    const { text, node } = unit;
    const isTyped = this.#inspect(text, node, 0);
    this.#reportSecrets();
    const key = this.#groupKeyOf(unit, this.#report);
    const valid = isTyped && !this.#failed;
    const measured = valid ? this.#measure(1) : unmeasured;
    const reward = isTyped ? (this.#facts[0]?.reward ?? 0) : 0;
    this.#push(text, spanOf(unit), { kind: "trajectory", valid, trajectories: 1, reward }, measured);
    if (key !== undefined) this.found.parts.setKey(key);
  }

  /** Adds valid trajectories of the next part to the metrics and distributions; gives what the part keeps of them. */
  #measure(count: number): Measured {
    const { extremes, parts, tally } = this.found;
    const { text } = this.#unit;
    const { reader } = this.#block;
    let newest = Number.NaN;
    let training = 0;
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    // An array that is emptied loses its memory.
    if (this.#rewards.length !== count) this.#rewards.length = count;
    for (let at = 0; at < count; at++) {
      const facts = this.#facts[at];
      if (facts === undefined) continue;
      const { reward, version, node } = facts;
      this.#rewards[at] = reward;
      tally.addMeasured(facts);
      if (Number.isFinite(reward)) lookAtReward(extremes, reward, parts.count, at);
      parts.prints.push(reader.fingerprintOf(startOf(text, node), endOf(text, node)));
      training |= facts.training;
      if (Number.isNaN(newest) || version > newest) newest = version;
      least = Math.min(least, reward);
      most = Math.max(most, reward);
    }
    return { training, version: newest, equal: count > 1 && most - least <= rewardTolerance };
  }

  #push(text: Tabled, { start, end }: Span, facts: PartFacts, measured = unmeasured): void {
    const { parts } = this.found;
    const { kind, valid, trajectories: count, reward } = facts;
    const { equal, version, training } = measured;
    const own = parts.isMarked ? text.bytes.subarray(start, end) : noBytes;
    parts.push(
      {
        kind,
        valid,
        trajectories: count,
        reward,
        equal,
        version,
        training,
        source: this.#options.index,
        line: this.#line,
        start: this.#block.start + start,
        length: end - start,
        checksum: parts.isMarked ? crc32(own) : 0,
      },
      // A digest that comes as a text costs less than one that comes with memory of its own.
      parts.isMarked ? Buffer.from(hash("sha256", own, "binary"), "latin1") : noBytes,
    );
    if (!valid) for (let at = 0; at < count; at++) parts.prints.push(0);
  }

  readonly #report: Report = (rule, data, node, ...steps) => {
    const severity = this.found.problems.report(rule, data, () => this.#spotOf(node, steps));
    if (severity === "error") this.#failed = true;
  };

  /** Where a value of the unit is, or the deepest value on the way to what it lacks. */
  #spotOf(node: number, steps: Path): Spot {
    const { text, node: unit, path } = this.#unit;
    const at = deepestAt({ text, node }, steps);
    return {
      file: this.#options.file,
      ...this.#block.places.of(startOf(at.text, at.node)),
      path: [...path, ...pathTo(text, { from: unit, node }), ...steps],
    };
  }

  readonly #findRun = (from: number, end: number, length: number): number =>
    this.#block.reader.findRun(from, end, length);

  /** Reports what looks like a secret in the bytes of the unit, at the values that contain it. */
  #reportSecrets(): void {
    const { text, node } = this.#unit;
    for (const { start, kind } of secretsIn(text.bytes, spanOf(this.#unit), this.#findRun)) {
      // The position is the value's, as of every finding; what is shown is the secret's.
      const spot = (): Spot => ({
        ...this.#spotOf(valueAt(text, { from: node, byte: start }), []),
        offset: this.#block.start + start,
      });
      if (this.found.problems.report("secret-in-content", { kind }, spot) === "error") this.#failed = true;
    }
  }
}

/** The innermost value in another one that contains a byte. */
const valueAt = (text: Tabled, { from, byte }: { readonly from: number; readonly byte: number }): number => {
  let innermost = from;
  for (let node = from; node < afterOf(text, from) && startOf(text, node) <= byte; node += nodeSize) {
    // What follows a key is not known.
    if (endOf(text, node) > byte && afterOf(text, node) > 0) innermost = node;
  }
  return innermost;
};

/** How many elements a value has; none if it is not an array. */
const countOf = (text: Tabled, node: number): number => {
  if (kindOf(text, node) !== Kind.array) return 0;
  let count = numbersIn(text, node);
  for (let one = node + nodeSize; one < afterOf(text, node); one = afterOf(text, one)) count++;
  return count;
};

const spelled = (text: Tabled, node: number): string =>
  text.bytes.toString("utf8", startOf(text, node), endOf(text, node));

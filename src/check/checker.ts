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
  deepestAt,
  endOf,
  noText,
  numbersIn,
  numbersOf,
  type Place,
  spanOf,
  startOf,
  type Tabled,
  textOf,
} from "../json/table.ts";
import type { Span } from "../json/walk.ts";
import { groupKeyFinder } from "./group-key.ts";
import { checkGroup, checkRequest, checkTrajectory, countOf, trajectoryFacts } from "./groups.ts";
import { absent, arrayKind, describe, kindAt, kindOf, objectKind, stringKind } from "./kinds.ts";
import type { Report } from "./report.ts";
import { roles } from "./roles.ts";
import { type Path, type Places, pathTo } from "./rules/places.ts";
import type { Spot } from "./rules/problems.ts";
import { secretsIn } from "./rules/secrets.ts";
import { type Kinds, kindsAlone, Shape } from "./shape.ts";

/** Values of a source: their table, if its first byte is in the source, and how positions in it are counted. */
export interface Block {
  readonly text: Tabled;
  readonly start: number;
  readonly places: Pick<Places, "mark" | "of">;
}

/** A value that is checked, and its path in what it is a part of. */
interface Unit {
  readonly text: Tabled;
  readonly node: number;
  readonly path: Path;
}

/** A part whose bytes are not in memory. */
type LongPart = Pick<Part, "line" | "start" | "length" | "checksum"> & { readonly digest: Buffer };

interface CheckerOptions {
  readonly found: Found;
  /** Name of the source, and its position among the inputs. */
  readonly file: string;
  readonly index: number;
  readonly groupBy: string | undefined;
  /** The reader that wrote the tables. */
  readonly reader: () => JsonReader;
}

const rootKeys = ["trajectory_groups", "split", "trajectories", "messages_and_choices", "messages", "reward"] as const;
const rootShape = new Shape(rootKeys, kindsAlone);
const root = rootShape.slots;

const groupShape = new Shape(["trajectories", "exceptions"], kindsAlone);
const group = groupShape.slots;

/** Keys of a request that it has once. */
const requestKeys = ["trajectory_groups", "split"] as const;

/** Values whose inside is of no rule, and texts that rules ask for. */
export const keyUses: KeyUses = { leafKeys: ["parameters", "logprobs"], choices: { role: roles } };

/** True if a request has two of a key that it has once. */
export const hasTwiceOf = ({ text, node }: Place): boolean => {
  if (kindAt(text, node) !== objectKind) return false;
  rootShape.read(text, node);
  return requestKeys.some((key) => rootShape.hasTwice(key));
};

/** Checks values, and adds them to what was found. */
export class Checker {
  readonly found: Found;
  readonly #file: string;
  readonly #index: number;
  readonly #reader: () => JsonReader;
  readonly #groupKeyOf: ReturnType<typeof groupKeyFinder>;
  #block: Block = { text: noText, start: 0, places: { mark: () => 1, of: () => ({ line: 1, column: 1, offset: 0 }) } };
  #unit: Unit = { text: noText, node: 0, path: [] };
  #line = 0;
  /** True if a finding makes the value that is checked invalid. */
  #failed = false;
  /** Rewards of the trajectories that were measured last. */
  readonly #rewards: number[] = [];

  constructor({ found, file, index, groupBy, reader }: CheckerOptions) {
    this.found = found;
    this.#file = file;
    this.#index = index;
    this.#reader = reader;
    this.#groupKeyOf = groupKeyFinder(groupBy);
  }

  /** Takes a value of a block: a line, or a document. */
  take(block: Block, node: number): void {
    this.#block = block;
    const { text } = block;
    if (kindAt(text, node) !== arrayKind) this.#takeOne({ text, node, path: [] });
    else for (const unit of elementsOf(text, node, [])) this.#takeOne(unit);
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

  /** The same of bytes that are not in memory. */
  takeLongUnreadable({ checksum, digest, ...place }: LongPart): void {
    const { parts } = this.found;
    parts.push(
      { ...unreadable, ...unmeasured, ...place, source: this.#index, checksum: parts.isMarked ? checksum : 0 },
      parts.isMarked ? digest : noBytes,
    );
  }

  #begin(unit: Unit): void {
    this.#unit = unit;
    this.#failed = false;
    this.#line = this.#block.places.mark(startOf(unit.text, unit.node));
  }

  #takeOne(unit: Unit): void {
    this.#begin(unit);
    const { text, node } = unit;
    if (kindAt(text, node) !== objectKind) {
      this.#report("not-an-object", () => ({ found: describe(text, node) }), node);
      this.#push(text, spanOf(unit), unreadable);
      return;
    }
    const kinds = rootShape.read(text, node);
    const { shapes } = this.found;
    if (kinds.trajectory_groups !== absent || isBareSplit(kinds)) {
      shapes.add("requests");
      this.#takeRequest(unit);
    } else if (kinds.trajectories !== absent) {
      shapes.add("groups");
      this.#takeGroup(unit);
    } else {
      shapes.add("trajectories");
      this.#takeTrajectory(unit);
    }
  }

  #takeRequest(unit: Unit): void {
    const { text, node, path } = unit;
    const [list, split] = [rootShape.at(text, root.trajectory_groups), rootShape.at(text, root.split)];
    const twice = requestKeys.filter((key) => rootShape.hasTwice(key));
    for (const key of twice) this.#report("duplicate-key", () => ({ key }), rootShape.at(text, root[key]));
    checkRequest(text, { node, list, split }, this.#report);
    this.#addRequest(unit, kindOf(text, split) === stringKind ? textOf(text, split) : undefined);
    if (twice.length > 0 || kindOf(text, list) !== arrayKind) {
      this.#push(text, spanOf(unit), unreadable);
      return;
    }
    for (const element of elementsOf(text, list, [...path, "trajectory_groups"])) this.#takeGroup(element);
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
    this.found.requests.add({
      split,
      keys,
      spotOf: (key) =>
        this.#spotOf(
          (key === undefined ? undefined : nodes.get(key)) ?? node,
          key === "split" && !nodes.has(key) ? [key] : [],
        ),
    });
  }

  #takeGroup(unit: Unit): void {
    this.#begin(unit);
    const { text, node } = unit;
    const isGroup = kindAt(text, node) === objectKind;
    if (isGroup) groupShape.read(text, node);
    const list = isGroup ? groupShape.at(text, group.trajectories) : 0;
    const exceptions = isGroup ? countOf(text, groupShape.at(text, group.exceptions)) : 0;
    if (isGroup && groupShape.hasTwice("trajectories")) {
      this.#report("duplicate-key", () => ({ key: "trajectories" }), list);
    }
    const known = checkGroup(text, { node, list, exceptions }, this.#report);
    this.#reportSecrets();
    const isValid = known !== undefined && !this.#failed;
    const measured = isValid ? this.#measure(known) : unmeasured;
    if (isValid) this.found.tally.closeGroup({ rewards: this.#rewards, exceptions });
    const trajectories = countOf(text, list);
    this.#push(text, spanOf(unit), { kind: "group", valid: isValid, trajectories, reward: 0 }, measured);
  }

  #takeTrajectory(unit: Unit): void {
    const { text, node } = unit;
    const isTyped = checkTrajectory(text, node, this.#report);
    this.#reportSecrets();
    const key = this.#groupKeyOf(unit, this.#report);
    const isValid = isTyped && !this.#failed;
    const measured = isValid ? this.#measure(1) : unmeasured;
    const reward = isTyped ? (trajectoryFacts[0]?.reward ?? 0) : 0;
    this.#push(text, spanOf(unit), { kind: "trajectory", valid: isValid, trajectories: 1, reward }, measured);
    if (key !== undefined) this.found.parts.setKey(key);
  }

  /** Adds valid trajectories of the next part to the metrics and distributions; gives what the part keeps of them. */
  #measure(count: number): Measured {
    const { extremes, parts, tally } = this.found;
    const { text } = this.#unit;
    const reader = this.#reader();
    let newest = Number.NaN;
    let training = 0;
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    // An array that is emptied loses its memory.
    if (this.#rewards.length !== count) this.#rewards.length = count;
    for (let at = 0; at < count; at++) {
      const facts = trajectoryFacts[at];
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
    const { equal, version, training } = measured;
    const own = parts.isMarked ? text.bytes.subarray(start, end) : noBytes;
    parts.push(
      {
        kind: facts.kind,
        valid: facts.valid,
        trajectories: facts.trajectories,
        reward: facts.reward,
        source: this.#index,
        line: this.#line,
        start: this.#block.start + start,
        length: end - start,
        equal,
        version,
        training,
        checksum: parts.isMarked ? crc32(own) : 0,
      },
      // A digest that comes as a text costs less than one that comes with memory of its own.
      parts.isMarked ? Buffer.from(hash("sha256", own, "binary"), "latin1") : noBytes,
    );
    if (!facts.valid) for (let at = 0; at < facts.trajectories; at++) parts.prints.push(0);
  }

  readonly #report: Report = (rule, data, node, ...steps) => {
    const severity = this.found.problems.report(rule, data(), () => this.#spotOf(node, steps));
    if (severity === "error") this.#failed = true;
  };

  /** Where a value of the unit is, or the deepest value on the way to what it lacks. */
  #spotOf(node: number, steps: Path): Spot {
    const { text, node: unit, path } = this.#unit;
    const at = deepestAt({ text, node }, steps);
    return {
      file: this.#file,
      ...this.#block.places.of(startOf(at.text, at.node)),
      path: [...path, ...pathTo(text, { from: unit, node }), ...steps],
    };
  }

  readonly #findRun = (from: number, end: number, length: number): number => this.#reader().findRun(from, end, length);

  /** Reports what looks like a secret in the bytes of the unit, at the values that contain it. */
  #reportSecrets(): void {
    const { text, node } = this.#unit;
    const span = spanOf({ text, node });
    const secrets = secretsIn(text.bytes, span, this.#findRun);
    if (secrets.length > 0) this.#reportEach(secrets);
  }

  #reportEach(secrets: ReturnType<typeof secretsIn>): void {
    const { text } = this.#unit;
    for (const { start, kind } of secrets) {
      // The position is the value's, as of every finding; what is shown is the secret's.
      const spot = (): Spot => ({
        ...this.#spotOf(valueAt(text, { from: this.#unit.node, byte: start }), []),
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

const noBytes = Buffer.alloc(0);

type PartFacts = Pick<Part, "kind" | "valid" | "trajectories" | "reward">;

/** What a part keeps of its trajectories. */
type Measured = Pick<Part, "equal" | "version" | "training">;

const unmeasured: Measured = { training: 0, version: Number.NaN, equal: false };

const unreadable = { kind: "unreadable", valid: false, trajectories: 0, reward: 0 } as const;

/** True if an object is a request that lacks its groups, rather than a trajectory that lacks everything. */
const isBareSplit = (kinds: Kinds<(typeof rootKeys)[number]>): boolean =>
  kinds.split !== absent &&
  kinds.trajectories === absent &&
  kinds.messages_and_choices === absent &&
  kinds.messages === absent &&
  kinds.reward === absent;

/** The elements of an array that has a path. */
function* elementsOf(text: Tabled, list: number, path: Path): Generator<Unit, void> {
  const numbers = numbersIn(text, list) > 0 ? numbersOf(text, list) : undefined;
  let position = 0;
  if (numbers === undefined) {
    const end = afterOf(text, list);
    for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
      yield { text, node, path: [...path, position++] };
    }
  } else {
    for (let node = nodeSize; node < numbers.words.length; node += nodeSize) {
      yield { text: numbers, node, path: [...path, position++] };
    }
  }
}

const spelled = (text: Tabled, node: number): string =>
  text.bytes.toString("utf8", startOf(text, node), endOf(text, node));

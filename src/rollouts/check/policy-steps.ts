/** Reads the columns that state the training step, or the version of the policy, of a trajectory. */

import { formatCanonically } from "../../conversation/prompt.ts";
import { nodeSize, registerKey } from "../../json/reader.ts";
import { Kind, keyIdCount, kindAt, shapeCount } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { appendTo } from "../../text/lists.ts";
import type { TrajectoryFacts } from "../index/fact-columns.ts";
import {
  initialVersion,
  isComparedStep,
  isEpoch,
  isPolicyColumn,
  isStep,
  policyNames,
  stepHolders,
} from "../rules/names.ts";

/** 1 at the id of a compared column. */
const stepIds = new Uint8Array(keyIdCount);
for (const name of policyNames) stepIds[registerKey(name)] = 1;
const initialId = registerKey(initialVersion);

/** A name with a prefix has no registered id. */
const isStepKey = (table: JsonTable, key: number) => {
  const id = json.keyIdOf(table, key);
  if (id > 0 && id < keyIdCount) return stepIds[id] === 1;
  const end = json.endOf(table, key);
  for (let at = json.startOf(table, key); at < end; at++)
    if (table.bytes[at] === slash || table.bytes[at] === dot) return isStep(json.readString(table, key));
  return false;
};

const [dot, slash] = [0x2e, 0x2f];

const hashFactor = 31;
const comparedKinds = Kind.string | Kind.number | Kind.boolean;

/**
 * 1 for a shape without a step column, in tables with these `shapes`. A `Shape` would take longer where the keys of
 * metadata differ from trajectory to trajectory.
 */
const withoutSteps = new Uint8Array(shapeCount);
let shapes: object | undefined;

/** Hashes the spelled step columns of an object; 0 without one. Swapped values count, swapped columns do not. */
export const hashSteps = (table: JsonTable, object: number) => {
  const shape = json.detailOf(table, object);
  if (table.shapes !== shapes) withoutSteps.fill(0);
  shapes = table.shapes;
  if (withoutSteps[shape] === 1) return 0;
  let sum = 0;
  let initial = 0;
  let hasStep = false;
  const end = json.nodeAfter(table, object);
  for (let key = object + nodeSize; key < end; ) {
    const value = key + nodeSize;
    if (isStepKey(table, key)) {
      hasStep = true;
      const id = json.keyIdOf(table, key);
      const isCompared = (kindAt(table, value) & comparedKinds) !== 0;
      const hash = isCompared ? hashBytes(table, value, stepIds[id] === 1 ? id : 0) : 0;
      if (id === initialId) initial = hash;
      else sum += hash;
    }
    key = json.nodeAfter(table, value);
  }
  if (!hasStep && shape > 0 && shapes) withoutSteps[shape] = 1;
  return (sum === 0 ? initial : sum) >>> 0;
};

const hashBytes = ({ bytes, words }: JsonTable, node: number, seed: number) => {
  let hash = seed;
  const end = words[node + 1] ?? 0;
  for (let at = words[node] ?? 0; at < end; at++) hash = (Math.imul(hash, hashFactor) + (bytes[at] ?? 0)) | 0;
  return Math.imul(hash, 2 * seed + 1);
};

/** Lists the step columns of a trajectory or a group, also those in its metadata. */
export function* listSteps(holder: json.JsonValue, isListed = isComparedStep) {
  for (const object of [holder, ...stepHolders.map((name) => json.memberAt(holder, name))])
    for (const [key, value] of object ? json.childrenOf(object) : []) {
      const name = String(key);
      if (isListed(name) && (kindAt(value.table, value.node) & comparedKinds) !== 0) yield { name, value };
    }
}

/** Collects the step columns of trajectories. */
export const openStepComparison = () => {
  const columns = new Map<string, string[]>();
  const add = (trajectory: json.JsonValue) => {
    for (const { name, value } of listSteps(trajectory, isPolicyColumn))
      appendTo(columns, name, formatCanonically(value));
  };
  /** Returns a column with several values. If each trajectory has its own epoch, the epochs number repetitions. */
  const findMixed = () => {
    for (const [key, all] of columns) {
      const values = [...new Set(all)];
      const isRepetition = isEpoch(key) && values.length === all.length;
      const isOther = key === initialVersion && columns.size > 1;
      if (values.length > 1 && !isRepetition && !isOther) return { key, values };
    }
    return undefined;
  };
  return { add, findMixed };
};

/** Returns a step column with several values in a group. */
export const findMixedSteps = (table: JsonTable, all: readonly Pick<TrajectoryFacts, "node" | "steps">[]) => {
  if (all.every(({ steps }) => steps === all[0]?.steps)) return undefined;
  const comparison = openStepComparison();
  for (const { node } of all) comparison.add({ table, node });
  return comparison.findMixed();
};

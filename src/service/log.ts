/** Logs trajectories (interface 4.1): stores each as a call and computes the metrics of the request. */
import { createHash } from "node:crypto";
import { isTrajectory } from "../check/index.ts";
import type { ValidationItem } from "../contract/errors.ts";
import { LogRequest, logTrajectories, Trajectory, TrajectoryGroup } from "../contract/log.ts";
import { Tally } from "../groups/metrics/metrics.ts";
import { composeMembers, composeObject } from "../json/compose.ts";
import { childrenOf, elementsOf, firstByteOf, type JsonValue, memberAt, parseValue, spanOf } from "../json/table.ts";
import { isObject, openBrace, openBracket, sliceText } from "../json/walk.ts";
import {
  type Answer,
  detailError,
  findFaults,
  invalidRequest,
  type Loc,
  maxFaults,
  missingItem,
  type Operation,
  parseOrRefuse,
  Refusal,
  readBody,
} from "./operation.ts";
import type { TrajectorySpan } from "./store/ids.ts";
import type { LoggedRequest, NewRequest, Store } from "./store/store.ts";

interface LogOptions {
  readonly store: Store;
  /** The project of the calls, unless the key is for other projects. */
  readonly project: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const maxKeyLength = 255;

/** Logs without parsing the whole body into values. */
export const logOperation = ({ store, project: ownProject, now }: LogOptions): Operation => ({
  endpoint: logTrajectories,
  errorFormat: detailError,
  answer: async ({ parameters, bytes = new Uint8Array(), header, caller }) => {
    const { model_id: model } = parseOrRefuse(logTrajectories.parameters, parameters, "path");
    const summary = await readLogRequest(bytes);
    const project = caller.projects?.[0] ?? ownProject;
    const key = header("idempotency-key");
    if (key !== undefined && key.length > maxKeyLength) {
      throw invalidKey(key, { msg: `String should have at most ${maxKeyLength} characters`, type: "string_too_long" });
    }
    const digest = createHash("sha256").update(`${model}\0`).update(bytes).digest();
    const idempotency = key === undefined ? undefined : { key, digest };
    const before = key === undefined ? undefined : await store.findByKey({ project, key });
    if (before !== undefined) return loggedAnswer(before, idempotency);
    const request = { ...summary, model, project, loggedAt: now(), bytes, idempotency };
    // Two requests with the same key can be in flight at the same time.
    const { logged, isNew } = await store.saveRequest(request);
    return { ...loggedAnswer(logged, idempotency), ...(isNew ? { storedBytes: bytes.length } : {}) };
  },
});

const invalidKey = (key: string, { msg, type }: Pick<ValidationItem, "msg" | "type">): Refusal =>
  invalidRequest([{ loc: ["header", "Idempotency-Key"], msg, type, input: key }]);

/** @throws Refusal 422 if another request was logged with the key */
const loggedAnswer = (
  { digest = new Uint8Array(), metrics, callIds }: LoggedRequest,
  idempotency: NewRequest["idempotency"],
): Answer => {
  if (idempotency !== undefined && Buffer.compare(digest, idempotency.digest) !== 0) {
    const msg = "Idempotency-Key was used with another model or body";
    throw invalidKey(idempotency.key, { msg, type: "idempotency_key_reused" });
  }
  return { status: 200, body: composeObject({ metrics, call_ids: callIds }) };
};

/** Bytes after which other requests get a turn. An answer without a split does not repeat a larger body. */
const yieldBytes = 2 ** 20;

/** Metrics of a request, and other keys of an object, because each is stored. */
const maxNames = 10_000;

type LogSummary = Pick<NewRequest, "split" | "metrics" | "otherKeys" | "otherGroupKeys" | "spans">;

/** Reads the body of a request, trajectory by trajectory. @throws Refusal 400, 413, 422 */
const readLogRequest = async (bytes: Uint8Array): Promise<LogSummary> => {
  const root = readBody(bytes);
  const tally = new Tally();
  const spans: TrajectorySpan[] = [];
  const otherGroupKeys = new Map<number, string>();
  const faults: ValidationItem[] = [];
  const request = readMembers(root, { loc: ["body"], unique: ["split", "trajectory_groups"], faults });
  const [split, groups] = [request.get("split"), request.get("trajectory_groups")];
  if (groups === undefined || !isArray(groups)) faults.push(...findFaults(LogRequest, parseValue(root), ["body"]));
  else if (split !== undefined)
    faults.push(...findFaults(LogRequest.shape.split, parseValue(split), ["body", "split"]));
  else faults.push(missingItem(["body", "split"], bytes.length > yieldBytes ? null : parseValue(root)));
  let nextYield = yieldBytes;
  const yieldTurn = async (end: number): Promise<void> => {
    nextYield = end + yieldBytes;
    await new Promise((resolve) => setImmediate(resolve));
  };
  let group = -1;
  for (const [, place] of groups !== undefined && isArray(groups) ? childrenOf(groups) : []) {
    if (faults.length >= maxFaults) break;
    group++;
    const loc = ["body", "trajectory_groups", group];
    const own = readMembers(place, { loc, unique: ["trajectories"], faults });
    const trajectories = own.get("trajectories");
    if (trajectories === undefined || !isArray(trajectories)) {
      faults.push(...findFaults(TrajectoryGroup, parseValue(place), loc, maxFaults - faults.length));
    } else {
      const rewards: number[] = [];
      for (const [at, trajectory] of childrenOf(trajectories)) {
        if (faults.length >= maxFaults) break;
        if (!isTrajectory(trajectory)) {
          const left = maxFaults - faults.length;
          faults.push(...findFaults(Trajectory, parseValue(trajectory), [...loc, "trajectories", at], left));
        }
        if (faults.length === 0) rewards.push(addTrajectory(tally, trajectory));
        const span = spanOf(trajectory);
        spans.push({ group, ...span });
        if (span.end >= nextYield) await yieldTurn(span.end);
      }
      tally.addGroup({ rewards, exceptions: elementsOf(own.get("exceptions")).length });
    }
    own.delete("trajectories");
    if (own.size > 0) otherGroupKeys.set(group, formatMembers(own));
    if (spanOf(place).end >= nextYield) await yieldTurn(spanOf(place).end);
  }
  if (faults.length > 0) throw invalidRequest(faults);
  const name = String(split && parseValue(split));
  request.delete("split");
  request.delete("trajectory_groups");
  const metrics = JSON.stringify(tally.metrics(name));
  return { split: name, metrics, otherKeys: formatMembers(request), otherGroupKeys, spans };
};

const isArray = (place: JsonValue): boolean => firstByteOf(place) === openBracket;

/** Returns the members of an object, the last one of each key. A second `unique` key is a fault. */
const readMembers = (
  object: JsonValue,
  { loc, unique, faults }: { readonly loc: Loc; readonly unique: readonly string[]; readonly faults: ValidationItem[] },
): Map<string, JsonValue> => {
  const members = new Map<string, JsonValue>();
  const duplicates = new Set<string>();
  for (const [key, value] of firstByteOf(object) === openBrace ? childrenOf(object) : []) {
    const name = String(key);
    if (unique.includes(name) && members.has(name)) duplicates.add(name);
    members.set(name, value);
    checkNameCount(members.size);
  }
  for (const key of duplicates) {
    faults.push({ loc: [...loc, key], msg: "Key should occur once", type: "duplicate_key", input: null });
  }
  return members;
};

const formatMembers = (members: ReadonlyMap<string, JsonValue>): string =>
  composeMembers(Array.from(members, ([key, place]) => [key, sliceText(place.text.bytes, spanOf(place))] as const));

/** Adds a valid trajectory to the tally. Returns its reward. @throws Refusal 413 */
const addTrajectory = (tally: Tally, trajectory: JsonValue): number => {
  const valueAt = (key: string): unknown => {
    const place = memberAt(trajectory, key);
    return place && parseValue(place);
  };
  const [reward, metrics] = [Number(valueAt("reward")), valueAt("metrics")];
  checkNameCount(isObject(metrics) ? Object.keys(metrics).length : 0);
  tally.addTrajectory({ reward, metrics: isObject(metrics) ? metrics : null });
  checkNameCount(tally.names);
  return reward;
};

/** @throws Refusal 413 */
const checkNameCount = (count: number): void => {
  if (count > maxNames) throw new Refusal(413, `the body has more than ${maxNames} metrics, or keys of one object`);
};

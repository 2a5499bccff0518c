/** Logs trajectories (interface 4.1): each becomes a call, and the metrics are computed for the request. */
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
import type { LoggedRequest, Store } from "./store/store.ts";

interface LogOptions {
  readonly store: Store;
  /** The project that calls are recorded in, unless the key is for others. */
  readonly project: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Longest `Idempotency-Key`. */
const maxIdempotencyKeyLength = 255;

/** The operation that logs. Its body is read without all of its values in memory. */
export const logOperation = ({ store, project: own, now }: LogOptions): Operation => ({
  endpoint: logTrajectories,
  errorFormat: detailError,
  answer: async ({ parameters, bytes = new Uint8Array(), header, caller }) => {
    const { model_id: model } = parseOrRefuse(logTrajectories.parameters, parameters, "path");
    const summary = await readLogRequest(bytes);
    const project = caller.projects?.[0] ?? own;
    const key = header("idempotency-key");
    if (key !== undefined && key.length > maxIdempotencyKeyLength) {
      const msg = `String should have at most ${maxIdempotencyKeyLength} characters`;
      throw invalidIdempotencyKey(key, { msg, type: "string_too_long", ctx: { max_length: maxIdempotencyKeyLength } });
    }
    const once = key === undefined ? undefined : { key, digest: requestDigest(model, bytes) };
    const before = once === undefined ? undefined : await store.findByKey({ project, key: once.key });
    if (before !== undefined) return loggedAnswer(before, once);
    const metrics = JSON.stringify(summary.metrics);
    const { logged, isNew } = await store.saveRequest({
      ...summary,
      metrics,
      model,
      project,
      loggedAt: now(),
      bytes,
      idempotency: once,
    });
    // Two requests with one key can be in flight at the same time.
    return { ...loggedAnswer(logged, once), ...(isNew ? { storedBytes: bytes.length } : {}) };
  },
});

const invalidIdempotencyKey = (
  key: string,
  { msg, type, ctx }: { readonly msg: string; readonly type: string; readonly ctx?: Record<string, unknown> },
): Refusal => invalidRequest([{ loc: ["header", "Idempotency-Key"], msg, type, input: key, ctx }]);

/** The digest that is the same for all requests with a key. */
const requestDigest = (model: string, bytes: Uint8Array): Uint8Array =>
  createHash("sha256").update(`${model}\0`).update(bytes).digest();

/** Answers with what was logged, if that was the same request. @throws Refusal 422 */
const loggedAnswer = (
  { digest = new Uint8Array(), metrics, callIds }: LoggedRequest,
  once: { readonly key: string; readonly digest: Uint8Array } | undefined,
): Answer => {
  if (once !== undefined && Buffer.compare(digest, once.digest) !== 0) {
    const msg = "Idempotency-Key was used with another model or body";
    throw invalidIdempotencyKey(once.key, { msg, type: "idempotency_key_reused" });
  }
  return { status: 200, body: composeObject({ metrics, call_ids: callIds }) };
};

/** A log request without its messages. */
interface LogSummary {
  readonly split: string;
  readonly metrics: Readonly<Record<string, number>>;
  /** The other keys of the request: a JSON object. */
  readonly otherKeys: string;
  /** The same for the groups that have any, by position. */
  readonly otherGroupKeys: ReadonlyMap<number, string>;
  /** The trajectories, in their order. */
  readonly spans: readonly TrajectorySpan[];
}

/** Bytes after which other requests have their turn. A larger body without a split is not repeated in the answer. */
const yieldBytes = 2 ** 20;

/** Names of metrics of a request, and other keys of an object, each of which is stored and answered. */
const maxNames = 10_000;

/** Reads the body of a request, trajectory by trajectory. @throws Refusal 400, 413, 422 */
const readLogRequest = async (bytes: Uint8Array): Promise<LogSummary> => {
  const root = readBody(bytes);
  const tally = new Tally();
  const places: TrajectorySpan[] = [];
  const groupRests = new Map<number, string>();
  const faults: ValidationItem[] = [];
  const request = readMembers(root, { loc: ["body"], once: ["split", "trajectory_groups"], faults });
  const [split, groups] = [request.get("split"), request.get("trajectory_groups")];
  if (groups === undefined || !isArray(groups)) faults.push(...findFaults(LogRequest, parseValue(root), ["body"]));
  else if (split !== undefined)
    faults.push(...findFaults(LogRequest.shape.split, parseValue(split), ["body", "split"]));
  else faults.push(missingItem(["body", "split"], bytes.length > yieldBytes ? null : parseValue(root)));
  let group = -1;
  let turn = yieldBytes;
  for (const [, place] of groups !== undefined && isArray(groups) ? childrenOf(groups) : []) {
    if (faults.length >= maxFaults) break;
    group++;
    const loc = ["body", "trajectory_groups", group];
    const own = readMembers(place, { loc, once: ["trajectories"], faults });
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
        places.push({ group, ...span });
        if (span.end < turn) continue;
        turn = span.end + yieldBytes;
        await new Promise((resolve) => setImmediate(resolve));
      }
      tally.addGroup({ rewards, exceptions: elementsOf(own.get("exceptions")).length });
    }
    own.delete("trajectories");
    if (own.size > 0) groupRests.set(group, formatMembers(own));
    if (spanOf(place).end < turn) continue;
    turn = spanOf(place).end + yieldBytes;
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (faults.length > 0) throw invalidRequest(faults);
  const name = String(split && parseValue(split));
  request.delete("split");
  request.delete("trajectory_groups");
  return {
    split: name,
    metrics: tally.metrics(name),
    otherKeys: formatMembers(request),
    otherGroupKeys: groupRests,
    spans: places,
  };
};

const isArray = (place: JsonValue): boolean => firstByteOf(place) === openBracket;

/** Returns the members of an object, the last of each key. A key of the structure may appear once: one of two would be lost. */
const readMembers = (
  object: JsonValue,
  { loc, once, faults }: { readonly loc: Loc; readonly once: readonly string[]; readonly faults: ValidationItem[] },
): Map<string, JsonValue> => {
  const members = new Map<string, JsonValue>();
  const twice = new Set<string>();
  for (const [key, value] of firstByteOf(object) === openBrace ? childrenOf(object) : []) {
    const name = String(key);
    if (once.includes(name) && members.has(name)) twice.add(name);
    members.set(name, value);
    checkNameCount(members.size);
  }
  for (const key of twice) {
    faults.push({ loc: [...loc, key], msg: "Key should stand once", type: "duplicate_key", input: null });
  }
  return members;
};

const formatMembers = (members: ReadonlyMap<string, JsonValue>): string =>
  composeMembers(Array.from(members, ([key, place]) => [key, sliceText(place.text.bytes, spanOf(place))] as const));

/** Adds a valid trajectory. Returns its reward. @throws Refusal 413 */
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

/** Logs trajectories (interface 4.1): each becomes a call, and the metrics are computed for the request. */
import { createHash } from "node:crypto";
import { isTrajectory } from "../check/index.ts";
import type { ValidationItem } from "../contract/errors.ts";
import { LogRequest, logTrajectories, Trajectory, TrajectoryGroup } from "../contract/log.ts";
import { Tally } from "../groups/metrics/metrics.ts";
import { membersText, objectText } from "../json/compose.ts";
import { childrenOf, elementsOf, firstByteOf, memberAt, type Place, parsedAt, spanOf } from "../json/table.ts";
import { isObject, openBrace, openBracket, textOf } from "../json/walk.ts";
import {
  type Answer,
  checked,
  detailWording,
  faultsIn,
  invalid,
  type Loc,
  maxFaults,
  missingItem,
  type Operation,
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
const maxKeyLength = 255;

/** The operation that logs. Its body is read without all of its values in memory. */
export const logOperation = ({ store, project: own, now }: LogOptions): Operation => ({
  endpoint: logTrajectories,
  wording: detailWording,
  answer: async ({ parameters, bytes = new Uint8Array(), header, caller }) => {
    const { model_id: model } = checked(logTrajectories.parameters, parameters, "path");
    const summary = await readLogRequest(bytes);
    const project = caller.projects?.[0] ?? own;
    const key = header("idempotency-key");
    if (key !== undefined && key.length > maxKeyLength) {
      const msg = `String should have at most ${maxKeyLength} characters`;
      throw invalidKey(key, { msg, type: "string_too_long", ctx: { max_length: maxKeyLength } });
    }
    const once = key === undefined ? undefined : { key, digest: digestOf(model, bytes) };
    const before = once === undefined ? undefined : await store.logged({ project, key: once.key });
    if (before !== undefined) return answerOf(before, once);
    const metrics = JSON.stringify(summary.metrics);
    const { logged, isNew } = await store.keep({ ...summary, metrics, model, project, loggedAt: now(), bytes, once });
    // Two requests with one key can be in flight at the same time.
    return { ...answerOf(logged, once), ...(isNew ? { stored: bytes.length } : {}) };
  },
});

const invalidKey = (
  key: string,
  { msg, type, ctx }: { readonly msg: string; readonly type: string; readonly ctx?: Record<string, unknown> },
): Refusal => invalid([{ loc: ["header", "Idempotency-Key"], msg, type, input: key, ctx }]);

/** The digest that is the same for all requests with a key. */
const digestOf = (model: string, bytes: Uint8Array): Uint8Array =>
  createHash("sha256").update(`${model}\0`).update(bytes).digest();

/** Answers with what was logged, if that was the same request. @throws Refusal 422 */
const answerOf = (
  { digest = new Uint8Array(), metrics, callIds }: LoggedRequest,
  once: { readonly key: string; readonly digest: Uint8Array } | undefined,
): Answer => {
  if (once !== undefined && Buffer.compare(digest, once.digest) !== 0) {
    const msg = "Idempotency-Key was used with another model or body";
    throw invalidKey(once.key, { msg, type: "idempotency_key_reused" });
  }
  return { status: 200, body: objectText({ metrics, call_ids: callIds }) };
};

/** A log request without its messages. */
interface LogSummary {
  readonly split: string;
  readonly metrics: Readonly<Record<string, number>>;
  /** The other keys of the request: a JSON object. */
  readonly rest: string;
  /** The same for the groups that have any, by position. */
  readonly groupRests: ReadonlyMap<number, string>;
  /** The trajectories, in their order. */
  readonly places: readonly TrajectorySpan[];
}

/** Bytes after which other requests have their turn. A larger body without a split is not repeated in the answer. */
const turnBytes = 2 ** 20;

/** Names of metrics of a request, and other keys of an object, each of which is stored and answered. */
const maxNames = 10_000;

/** Reads the body of a request, trajectory by trajectory. @throws Refusal 400, 413, 422 */
const readLogRequest = async (bytes: Uint8Array): Promise<LogSummary> => {
  const root = readBody(bytes);
  const tally = new Tally();
  const places: TrajectorySpan[] = [];
  const groupRests = new Map<number, string>();
  const faults: ValidationItem[] = [];
  const request = membersOf(root, { loc: ["body"], once: ["split", "trajectory_groups"], faults });
  const [split, groups] = [request.get("split"), request.get("trajectory_groups")];
  if (groups === undefined || !isArray(groups)) faults.push(...faultsIn(LogRequest, parsedAt(root), ["body"]));
  else if (split !== undefined) faults.push(...faultsIn(LogRequest.shape.split, parsedAt(split), ["body", "split"]));
  else faults.push(missingItem(["body", "split"], bytes.length > turnBytes ? null : parsedAt(root)));
  let group = -1;
  let turn = turnBytes;
  for (const [, place] of groups !== undefined && isArray(groups) ? childrenOf(groups) : []) {
    if (faults.length >= maxFaults) break;
    group++;
    const loc = ["body", "trajectory_groups", group];
    const own = membersOf(place, { loc, once: ["trajectories"], faults });
    const trajectories = own.get("trajectories");
    if (trajectories === undefined || !isArray(trajectories)) {
      faults.push(...faultsIn(TrajectoryGroup, parsedAt(place), loc, maxFaults - faults.length));
    } else {
      const rewards: number[] = [];
      for (const [at, trajectory] of childrenOf(trajectories)) {
        if (faults.length >= maxFaults) break;
        if (!isTrajectory(trajectory)) {
          const left = maxFaults - faults.length;
          faults.push(...faultsIn(Trajectory, parsedAt(trajectory), [...loc, "trajectories", at], left));
        }
        if (faults.length === 0) rewards.push(addTrajectory(tally, trajectory));
        const span = spanOf(trajectory);
        places.push({ group, ...span });
        if (span.end < turn) continue;
        turn = span.end + turnBytes;
        await new Promise((resolve) => setImmediate(resolve));
      }
      tally.closeGroup({ rewards, exceptions: elementsOf(own.get("exceptions")).length });
    }
    own.delete("trajectories");
    if (own.size > 0) groupRests.set(group, textsOf(own));
    if (spanOf(place).end < turn) continue;
    turn = spanOf(place).end + turnBytes;
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (faults.length > 0) throw invalid(faults);
  const name = String(split && parsedAt(split));
  request.delete("split");
  request.delete("trajectory_groups");
  return { split: name, metrics: tally.metrics(name), rest: textsOf(request), groupRests, places };
};

const isArray = (place: Place): boolean => firstByteOf(place) === openBracket;

/** Returns the members of an object, the last of each key. A key of the structure may appear once: one of two would be lost. */
const membersOf = (
  object: Place,
  { loc, once, faults }: { readonly loc: Loc; readonly once: readonly string[]; readonly faults: ValidationItem[] },
): Map<string, Place> => {
  const members = new Map<string, Place>();
  const twice = new Set<string>();
  for (const [key, value] of firstByteOf(object) === openBrace ? childrenOf(object) : []) {
    const name = String(key);
    if (once.includes(name) && members.has(name)) twice.add(name);
    members.set(name, value);
    requireFewNames(members.size);
  }
  for (const key of twice) {
    faults.push({ loc: [...loc, key], msg: "Key should stand once", type: "duplicate_key", input: null });
  }
  return members;
};

const textsOf = (members: ReadonlyMap<string, Place>): string =>
  membersText(Array.from(members, ([key, place]) => [key, textOf(place.text.bytes, spanOf(place))] as const));

/** Adds a valid trajectory. Returns its reward. @throws Refusal 413 */
const addTrajectory = (tally: Tally, trajectory: Place): number => {
  const valueAt = (key: string): unknown => {
    const place = memberAt(trajectory, key);
    return place && parsedAt(place);
  };
  const [reward, metrics] = [Number(valueAt("reward")), valueAt("metrics")];
  requireFewNames(isObject(metrics) ? Object.keys(metrics).length : 0);
  tally.addTrajectory({ reward, metrics: isObject(metrics) ? metrics : null });
  requireFewNames(tally.names);
  return reward;
};

/** @throws Refusal 413 */
const requireFewNames = (count: number): void => {
  if (count > maxNames) throw new Refusal(413, `the body has more than ${maxNames} metrics, or keys of one object`);
};

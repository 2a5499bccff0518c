/** Reads a log request (interface 2.1): what the service stores in addition to its bytes, or its faults. */
import { isTrajectory } from "../check/index.ts";
import type { ValidationItem } from "../contract/errors.ts";
import { LogRequest, Trajectory, TrajectoryGroup } from "../contract/log.ts";
import { Tally } from "../groups/metrics/metrics.ts";
import { membersText } from "../json/compose.ts";
import { childrenOf, elementsOf, firstByteOf, memberAt, type Place, parsedAt, spanOf } from "../json/table.ts";
import { isObject, openBrace, openBracket, type Span, textOf } from "../json/walk.ts";
import { faultsIn, type Loc, maxFaults, missingItem, readBody } from "./operation.ts";
import { invalid, Refusal } from "./refusal.ts";

/** The bytes of a trajectory, and the position of its group, from 0. */
export interface TrajectorySpan extends Span {
  readonly group: number;
}

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
export const readLogRequest = async (bytes: Uint8Array): Promise<LogSummary> => {
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

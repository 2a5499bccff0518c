/** Reads a log request (interface 2.1) in one pass: what the service keeps of it beside its bytes. Its values are never all in memory. */
import { isUtf8 } from "node:buffer";
import type { ValidationItem } from "../contract/errors.ts";
import { isTrajectory, LogRequest, Trajectory, TrajectoryGroup } from "../contract/log.ts";
import { Tally } from "../groups/metrics/metrics.ts";
import { membersText } from "../json/compose.ts";
import {
  closeBrace,
  closeBracket,
  elementSpans,
  elements,
  members,
  openBrace,
  openBracket,
  type Span,
  textOf,
  Walker,
  wholeOf,
} from "../json/walk.ts";
import { invalid, Refusal } from "./answer.ts";
import { faultsIn, type Loc, mostFaults, requireJson } from "./operation.ts";

/** Where a trajectory stands, and the position of its group, from 0. */
export interface TrajectorySpan extends Span {
  readonly group: number;
}

/** A log request without its messages. */
export interface Summary {
  readonly split: string;
  readonly metrics: Readonly<Record<string, number>>;
  /** The request's keys that the interface does not know: a JSON object. */
  readonly rest: string;
  /** The same of its groups, by position, of those that have any. */
  readonly groupRests: ReadonlyMap<number, string>;
  /** Its trajectories, in their order. */
  readonly places: readonly TrajectorySpan[];
}

/** Bytes after which others have their turn: a call is read while a large request is. */
const turnBytes = 2 ** 20;

/** Lets others have their turn, where enough was read since the last time. */
type Turn = (at: number) => Promise<void> | undefined;

const openTurns = (): Turn => {
  let next = turnBytes;
  return (at) => {
    if (at < next) return undefined;
    next = at + turnBytes;
    return new Promise((resolve) => setImmediate(resolve));
  };
};

/** What was read so far of a request. */
interface Reading {
  readonly walker: Walker;
  readonly tally: Tally;
  readonly places: TrajectorySpan[];
  readonly groupRests: Map<number, string>;
  readonly turn: Turn;
}

/** The summary of a request in bytes; undefined where anything is unusual or wrong with it, which is for a closer look. @throws Refusal 413 */
export const readSummary = async (bytes: Uint8Array): Promise<Summary | undefined> => {
  if (!isUtf8(bytes)) return undefined;
  const walker = new Walker(bytes);
  const reading: Reading = { walker, tally: new Tally(), places: [], groupRests: new Map(), turn: openTurns() };
  const { groupRests, places } = reading;
  const rest = new Map<string, string>();
  let split: unknown;
  let hasGroups = false;
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (key === "trajectory_groups") {
      if (hasGroups) walker.refuse();
      hasGroups = true;
      await readGroups(reading);
    } else {
      const value = readOther(walker, key, rest);
      if (key === "split") split = value;
    }
  }
  if (!walker.isAtEnd || !hasGroups || typeof split !== "string") return undefined;
  rest.delete("split");
  return { split, metrics: reading.tally.metrics(split), rest: membersText(rest), groupRests, places };
};

const readGroups = async (reading: Reading): Promise<void> => {
  const { walker } = reading;
  let group = 0;
  for (let more = walker.enter(openBracket); more; more = walker.next(closeBracket)) {
    for (const pause of readGroup(reading, group++)) await pause;
  }
};

/** Reads a group, with pauses in which others have their turn. */
function* readGroup(reading: Reading, group: number): Generator<Promise<void>, void> {
  const { walker, tally, groupRests, turn } = reading;
  const rest = new Map<string, string>();
  let rewards: readonly number[] | undefined;
  let exceptions = 0;
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (key === "trajectories") {
      if (rewards !== undefined) walker.refuse();
      rewards = yield* readTrajectories(reading, group);
    } else {
      const value = readOther(walker, key, rest);
      if (key === "exceptions" && Array.isArray(value)) exceptions = value.length;
    }
  }
  if (rewards === undefined) walker.refuse();
  else tally.closeGroup({ rewards, exceptions });
  if (rest.size > 0) groupRests.set(group, membersText(rest));
  const pause = turn(walker.at);
  if (pause !== undefined) yield pause;
}

/** Gives the rewards. */
function* readTrajectories(
  { walker, tally, places, turn }: Reading,
  group: number,
): Generator<Promise<void>, readonly number[]> {
  const rewards: number[] = [];
  for (let more = walker.enter(openBracket); more; more = walker.next(closeBracket)) {
    const start = walker.at;
    const trajectory = walker.value();
    if (!isTrajectory(trajectory)) {
      walker.refuse();
      break;
    }
    addTrajectory(tally, trajectory);
    rewards.push(trajectory.reward);
    places.push({ group, start, end: walker.at });
    const pause = turn(walker.at);
    if (pause !== undefined) yield pause;
  }
  return rewards;
}

/** Reads a member that stays as it was written. */
const readOther = (walker: Walker, key: string, rest: Map<string, string>): unknown => {
  if (rest.has(key)) walker.refuse();
  const start = walker.at;
  const value = walker.value();
  rest.set(key, textOf(walker.bytes, { start, end: walker.at }));
  requireFewNames(rest.size);
  return value;
};

/** Names of metrics that a request has at most, and keys of one object that the interface does not know: each is kept, and answered. */
const mostNames = 10_000;

/** @throws Refusal 413 */
const requireFewNames = (count: number): void => {
  if (count > mostNames) throw new Refusal(413, `the body has more than ${mostNames} metrics, or keys of one object`);
};

/** @throws Refusal 413 */
const addTrajectory = (tally: Tally, trajectory: Trajectory): void => {
  requireFewNames(Object.keys(trajectory.metrics ?? {}).length);
  tally.addTrajectory(trajectory);
  requireFewNames(tally.names);
};

/**
 * The summary of a request in bytes that has something unusual in it, or what is wrong with it: one trajectory after the
 * other, so that others have their turn. Of a key that stands twice, and is none of the structure, the last counts.
 * @throws Refusal 400, 413, 422
 */
export const lookCloser = async (bytes: Uint8Array): Promise<Summary> => {
  requireJson(bytes);
  const { found: top, twice } = membersOnce(bytes, { span: wholeOf(bytes), loc: ["body"], structure: requestKeys });
  const reading = { tally: new Tally(), places: [], groupRests: new Map(), turn: openTurns() };
  const look: Look = { ...reading, bytes, faults: [...twice, ...outerFaults(bytes, top)] };
  let group = 0;
  const groups = top.get("trajectory_groups");
  for (const { start, end } of isList(bytes, groups) ? elements(bytes, groups.start) : []) {
    if (look.faults.length >= mostFaults) break;
    await lookAtGroup(look, { group: group++, start, end });
  }
  if (look.faults.length > 0) throw invalid(look.faults);
  const split = String(parsedAt(bytes, top.get("split")));
  const { tally, groupRests, places } = look;
  const rest = restOf(bytes, top, requestKeys);
  return { split, metrics: tally.metrics(split), rest, groupRests, places };
};

/** Keys of the structure: one of two that stand in the same object would be lost. */
const requestKeys = ["split", "trajectory_groups"];
const groupKeys = ["trajectories"];

/** The members of an object by their keys, and a fault for each key of the structure that stands twice. */
const membersOnce = (
  bytes: Uint8Array,
  { span, loc, structure }: { readonly span: Span; readonly loc: Loc; readonly structure: readonly string[] },
): { readonly found: ReadonlyMap<string, Span>; readonly twice: readonly ValidationItem[] } => {
  const found = new Map<string, Span>();
  const twice = new Set<string>();
  for (const { key, value } of bytes[span.start] === openBrace ? members(bytes, span.start) : []) {
    if (structure.includes(key) && found.has(key)) twice.add(key);
    found.set(key, value);
    requireFewNames(found.size);
  }
  const itemOf = (key: string) => ({
    loc: [...loc, key],
    msg: "Key should stand once",
    type: "duplicate_key",
    input: null,
  });
  return { found, twice: [...twice].map(itemOf) };
};

/** A closer look, as far as it has come. */
interface Look extends Omit<Reading, "walker"> {
  readonly bytes: Uint8Array;
  readonly faults: ValidationItem[];
}

const isList = (bytes: Uint8Array, span: Span | undefined): span is Span =>
  span !== undefined && bytes[span.start] === openBracket;

const parsedAt = (bytes: Uint8Array, span: Span | undefined): unknown =>
  span === undefined ? undefined : JSON.parse(textOf(bytes, span));

const restOf = (bytes: Uint8Array, members: ReadonlyMap<string, Span>, known: readonly string[]): string =>
  membersText(
    [...members].filter(([key]) => !known.includes(key)).map(([key, span]) => [key, textOf(bytes, span)] as const),
  );

/** What is wrong with a request beside its groups. */
const outerFaults = (bytes: Uint8Array, top: ReadonlyMap<string, Span>): ValidationItem[] => {
  const whole = wholeOf(bytes);
  if (!isList(bytes, top.get("trajectory_groups"))) return [...faultsIn(LogRequest, parsedAt(bytes, whole), ["body"])];
  const split = top.get("split");
  if (split !== undefined) return [...faultsIn(LogRequest.shape.split, parsedAt(bytes, split), ["body", "split"])];
  // A large request is not given back, and not read for it.
  const given = bytes.length > turnBytes ? undefined : parsedAt(bytes, whole);
  const [missing] = faultsIn(LogRequest, given ?? { trajectory_groups: [] }, ["body"]);
  return missing === undefined ? [] : [{ ...missing, input: given === undefined ? null : missing.input }];
};

const lookAtGroup = async (look: Look, { group, start, end }: TrajectorySpan): Promise<void> => {
  const { bytes, faults, tally, groupRests, places, turn } = look;
  const loc = ["body", "trajectory_groups", group];
  const { found: own, twice } = membersOnce(bytes, { span: { start, end }, loc, structure: groupKeys });
  faults.push(...twice);
  const trajectories = own.get("trajectories");
  if (!isList(bytes, trajectories)) {
    const value = parsedAt(bytes, { start, end });
    faults.push(...faultsIn(TrajectoryGroup, value, loc, mostFaults - faults.length));
    return await turn(end);
  }
  const rewards: number[] = [];
  let index = 0;
  for (const place of elements(bytes, trajectories.start)) {
    if (faults.length >= mostFaults) return;
    const trajectory = trajectoryAt(look, place, [...loc, "trajectories", index++]);
    if (trajectory !== undefined) {
      addTrajectory(tally, trajectory);
      rewards.push(trajectory.reward);
      places.push({ group, ...place });
    }
    await turn(place.end);
  }
  const exceptions = own.get("exceptions");
  tally.closeGroup({ rewards, exceptions: exceptions === undefined ? 0 : elementSpans(bytes, exceptions).length });
  const rest = restOf(bytes, own, groupKeys);
  if (rest !== "{}") groupRests.set(group, rest);
  await turn(end);
};

/** A trajectory; undefined where something is wrong with it. */
const trajectoryAt = ({ bytes, faults }: Look, place: Span, loc: Loc): Trajectory | undefined => {
  const value = parsedAt(bytes, place);
  if (isTrajectory(value)) return value;
  const wrong = faultsIn(Trajectory, value, loc, mostFaults - faults.length);
  faults.push(...wrong);
  return wrong.length === 0 ? Trajectory.parse(value) : undefined;
};

/** Reads a log request (interface 2.1) in one pass: what the service keeps of it beside its bytes. Its values are never all in memory. */
import { isUtf8 } from "node:buffer";
import { isTrajectory, type LogRequest } from "../contract/log.ts";
import { membersText } from "../json/compose.ts";
import {
  closeBrace,
  closeBracket,
  elementSpans,
  memberSpans,
  openBrace,
  openBracket,
  type Span,
  textOf,
  Walker,
  wholeOf,
} from "../json/walk.ts";
import { Tally } from "../trajectories/read/metrics/metrics.ts";

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

/** The summary of a request that was checked by its schema: of a key that stands twice, the last counts. */
export const summaryOf = ({ split, trajectory_groups }: LogRequest, bytes: Uint8Array): Summary => {
  const tally = new Tally();
  for (const group of trajectory_groups) tally.add(group);
  const groupRests = new Map<number, string>();
  const places: TrajectorySpan[] = [];
  const top = memberSpans(bytes, wholeOf(bytes));
  for (const [group, span] of spansIn(bytes, top.get("trajectory_groups")).entries()) {
    const own = memberSpans(bytes, span);
    for (const { start, end } of spansIn(bytes, own.get("trajectories"))) places.push({ group, start, end });
    const rest = restOf(bytes, own, ["trajectories"]);
    if (rest !== "{}") groupRests.set(group, rest);
  }
  const rest = restOf(bytes, top, ["split", "trajectory_groups"]);
  return { split, metrics: tally.metrics(split), rest, groupRests, places };
};

const spansIn = (bytes: Uint8Array, list: Span | undefined): readonly Span[] =>
  list === undefined ? [] : elementSpans(bytes, list);

const restOf = (bytes: Uint8Array, members: ReadonlyMap<string, Span>, known: readonly string[]): string =>
  membersText(
    [...members].filter(([key]) => !known.includes(key)).map(([key, span]) => [key, textOf(bytes, span)] as const),
  );

/** Bytes after which others have their turn: a call is read while a large request is. */
const turnBytes = 2 ** 20;

/** What was read so far of a request. */
interface Reading {
  readonly walker: Walker;
  readonly tally: Tally;
  readonly places: TrajectorySpan[];
  readonly groupRests: Map<number, string>;
}

/** The summary of a request in bytes; undefined where anything is unusual or wrong with it, which is for a closer look. */
export const readSummary = async (bytes: Uint8Array): Promise<Summary | undefined> => {
  if (!isUtf8(bytes)) return undefined;
  const walker = new Walker(bytes);
  const reading: Reading = { walker, tally: new Tally(), places: [], groupRests: new Map() };
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
  let turn = walker.at + turnBytes;
  for (let more = walker.enter(openBracket); more; more = walker.next(closeBracket)) {
    readGroup(reading, group++);
    if (walker.at < turn) continue;
    turn = walker.at + turnBytes;
    await new Promise((resolve) => setImmediate(resolve));
  }
};

const readGroup = (reading: Reading, group: number): void => {
  const { walker, tally, groupRests } = reading;
  const rest = new Map<string, string>();
  let rewards: readonly number[] | undefined;
  let exceptions = 0;
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (key === "trajectories") {
      if (rewards !== undefined) walker.refuse();
      rewards = readTrajectories(reading, group);
    } else {
      const value = readOther(walker, key, rest);
      if (key === "exceptions" && Array.isArray(value)) exceptions = value.length;
    }
  }
  if (rewards === undefined) walker.refuse();
  else tally.closeGroup({ rewards, exceptions });
  if (rest.size > 0) groupRests.set(group, membersText(rest));
};

/** Gives the rewards. */
const readTrajectories = ({ walker, tally, places }: Reading, group: number): readonly number[] => {
  const rewards: number[] = [];
  for (let more = walker.enter(openBracket); more; more = walker.next(closeBracket)) {
    const start = walker.at;
    const trajectory = walker.value();
    if (!isTrajectory(trajectory)) {
      walker.refuse();
      break;
    }
    tally.addTrajectory(trajectory);
    rewards.push(trajectory.reward);
    places.push({ group, start, end: walker.at });
  }
  return rewards;
};

/** Reads a member that stays as it was written. */
const readOther = (walker: Walker, key: string, rest: Map<string, string>): unknown => {
  if (rest.has(key)) walker.refuse();
  const start = walker.at;
  const value = walker.value();
  rest.set(key, textOf(walker.bytes, { start, end: walker.at }));
  return value;
};

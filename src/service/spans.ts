/** Cuts a checked log request (interface 2.1) into its trajectories, as they were written, in one pass. */
import {
  closeBracket,
  comma,
  endOfValue,
  openBrace,
  openBracket,
  quote,
  type Span,
  skipWhite,
  textOf,
} from "../json/walk.ts";
import { membersText } from "./raw.ts";

/** Where a trajectory stands, and the position of its group, from 0. */
export interface TrajectorySpan extends Span {
  readonly group: number;
}

/** What a log request is made of. */
export interface RequestSpans {
  /** The request's keys that the interface does not know: a JSON object. */
  readonly rest: string;
  /** The same of its groups, by position, of those that have any. */
  readonly groupRests: ReadonlyMap<number, string>;
  readonly trajectories: readonly TrajectorySpan[];
}

/** Cuts a request that was checked: of a key that stands twice, the last counts. */
export const requestSpans = (bytes: Uint8Array): RequestSpans => {
  let groupRests = new Map<number, string>();
  let trajectories: TrajectorySpan[] = [];
  const readGroup = (start: number, group: number): number => {
    let own: TrajectorySpan[] = [];
    const { end, rest } = readObject(bytes, start, (key, at) => {
      if (key !== "trajectories") return undefined;
      own = [];
      return readArray(bytes, at, (start) => {
        const end = endOfValue(bytes, start);
        own.push({ group, start, end });
        return end;
      });
    });
    if (rest !== "{}") groupRests.set(group, rest);
    for (const span of own) trajectories.push(span);
    return end;
  };
  const { rest } = readObject(bytes, skipWhite(bytes, 0), (key, at) => {
    if (key === "split") return endOfValue(bytes, at);
    if (key !== "trajectory_groups") return undefined;
    groupRests = new Map();
    trajectories = [];
    return readArray(bytes, at, readGroup);
  });
  return { rest, groupRests, trajectories };
};

/** Walks an object. `take` gives the end of a value that it takes for itself; the members it leaves are the rest. */
const readObject = (
  bytes: Uint8Array,
  start: number,
  take: (key: string, at: number) => number | undefined,
): { readonly end: number; readonly rest: string } => {
  const rest = new Map<string, string>();
  if (bytes[start] !== openBrace) return { end: endOfValue(bytes, start), rest: "{}" };
  let offset = skipWhite(bytes, start + 1);
  while (bytes[offset] === quote) {
    const keyEnd = endOfValue(bytes, offset);
    const key = String(JSON.parse(textOf(bytes, { start: offset, end: keyEnd })));
    const at = skipWhite(bytes, skipWhite(bytes, keyEnd) + 1);
    const taken = take(key, at);
    const end = taken ?? endOfValue(bytes, at);
    if (taken === undefined) rest.set(key, textOf(bytes, { start: at, end }));
    offset = skipWhite(bytes, end);
    if (bytes[offset] === comma) offset = skipWhite(bytes, offset + 1);
  }
  return { end: offset + 1, rest: membersText(rest) };
};

/** Walks an array; `take` is given where an element starts, and gives where it ends. */
const readArray = (bytes: Uint8Array, start: number, take: (at: number, position: number) => number): number => {
  if (bytes[start] !== openBracket) return endOfValue(bytes, start);
  let offset = skipWhite(bytes, start + 1);
  for (let position = 0; offset < bytes.length && bytes[offset] !== closeBracket; position++) {
    offset = skipWhite(bytes, take(offset, position));
    if (bytes[offset] === comma) offset = skipWhite(bytes, offset + 1);
  }
  return offset + 1;
};

/** What the service keeps of a log request beside its bytes, read in one pass: its values are never all in memory. */
import { isUtf8 } from "node:buffer";
import { isTrajectory, type LogRequest } from "../contract/log.ts";
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  endOfValue,
  openBrace,
  openBracket,
  quote,
  skipWhite,
  textOf,
} from "../json/walk.ts";
import { Tally } from "../trajectories/read/metrics/metrics.ts";
import { membersText } from "./raw.ts";
import { requestSpans, type TrajectorySpan } from "./spans.ts";

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

/** The summary of a request that was checked by its schema. */
export const summaryOf = ({ split, trajectory_groups }: LogRequest, bytes: Uint8Array): Summary => {
  const tally = new Tally();
  for (const group of trajectory_groups) tally.add(group);
  const { rest, groupRests, trajectories } = requestSpans(bytes);
  return { split, metrics: tally.metrics(split), rest, groupRests, places: trajectories };
};

/** Bytes after which others have their turn: a call is read while a large request is. */
const turnBytes = 2 ** 20;

/** The summary of a request in bytes; undefined where anything is unusual or wrong with it, which is for a closer look. */
export const readSummary = async (bytes: Uint8Array): Promise<Summary | undefined> => {
  if (!isUtf8(bytes)) return undefined;
  const cursor = new Cursor(bytes);
  const groups = new Groups(cursor);
  const rest = new Map<string, string>();
  let split: unknown;
  let hasGroups = false;
  if (!cursor.passes(openBrace)) return undefined;
  do {
    const key = cursor.key();
    if (key === undefined) return undefined;
    if (key === "trajectory_groups") {
      if (hasGroups || !(await takeGroups(cursor, groups))) return undefined;
      hasGroups = true;
      continue;
    }
    const member = cursor.value();
    if (member === undefined || rest.has(key)) return undefined;
    rest.set(key, member.text);
    if (key === "split") split = member.value;
  } while (cursor.goesOn(closeBrace));
  if (!cursor.isAtEnd || !hasGroups || typeof split !== "string") return undefined;
  rest.delete("split");
  return { split, rest: membersText(rest), ...groups.summary(split) };
};

const takeGroups = async (cursor: Cursor, groups: Groups): Promise<boolean> => {
  if (!cursor.passes(openBracket)) return false;
  if (cursor.passes(closeBracket)) return true;
  let turn = cursor.at + turnBytes;
  do {
    if (!groups.take()) return false;
    if (cursor.at < turn) continue;
    turn = cursor.at + turnBytes;
    await new Promise((resolve) => setImmediate(resolve));
  } while (cursor.goesOn(closeBracket));
  return !cursor.isBroken;
};

/** The groups of a request, taken one by one. */
class Groups {
  readonly #cursor: Cursor;
  readonly #tally = new Tally();
  readonly #places: TrajectorySpan[] = [];
  readonly #rests = new Map<number, string>();
  #count = 0;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  summary(split: string): Pick<Summary, "metrics" | "groupRests" | "places"> {
    return { metrics: this.#tally.metrics(split), groupRests: this.#rests, places: this.#places };
  }

  /** Takes the group that the cursor is at; false where anything is unusual. */
  take(): boolean {
    const cursor = this.#cursor;
    const rest = new Map<string, string>();
    let rewards: readonly number[] | undefined;
    let exceptions = 0;
    if (!cursor.passes(openBrace)) return false;
    do {
      const key = cursor.key();
      if (key === "trajectories") {
        if (rewards !== undefined) return false;
        rewards = this.#takeTrajectories();
        if (rewards === undefined) return false;
        continue;
      }
      const member = key === undefined ? undefined : cursor.value();
      if (key === undefined || member === undefined || rest.has(key)) return false;
      rest.set(key, member.text);
      if (key === "exceptions" && Array.isArray(member.value)) exceptions = member.value.length;
    } while (cursor.goesOn(closeBrace));
    if (rewards === undefined || cursor.isBroken) return false;
    if (rest.size > 0) this.#rests.set(this.#count, membersText(rest));
    this.#tally.closeGroup({ rewards, exceptions });
    this.#count++;
    return true;
  }

  /** Takes an array of trajectories; gives their rewards. */
  #takeTrajectories(): readonly number[] | undefined {
    const cursor = this.#cursor;
    const rewards: number[] = [];
    if (!cursor.passes(openBracket)) return undefined;
    if (cursor.passes(closeBracket)) return rewards;
    do {
      const start = cursor.at;
      const trajectory = cursor.value();
      if (trajectory === undefined || !isTrajectory(trajectory.value)) return undefined;
      this.#tally.addTrajectory(trajectory.value);
      rewards.push(trajectory.value.reward);
      this.#places.push({ group: this.#count, start, end: cursor.at });
    } while (cursor.goesOn(closeBracket));
    return cursor.isBroken ? undefined : rewards;
  }
}

/** Goes through JSON value by value: what is inside of one is only seen where it is opened. */
class Cursor {
  readonly #bytes: Uint8Array;
  #at: number;
  #broken = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#at = skipWhite(bytes, 0);
  }

  get at(): number {
    return this.#at;
  }

  /** Whether something else stood where an array or object goes on or ends. */
  get isBroken(): boolean {
    return this.#broken;
  }

  get isAtEnd(): boolean {
    return !this.#broken && skipWhite(this.#bytes, this.#at) === this.#bytes.length;
  }

  /** Goes behind a bracket, a colon or a comma; false where another byte stands. */
  passes(byte: number): boolean {
    if (this.#bytes[this.#at] !== byte) return false;
    this.#at = skipWhite(this.#bytes, this.#at + 1);
    return true;
  }

  /** Goes on to the next element or member; false where there is none, and behind the bracket. */
  goesOn(bracket: number): boolean {
    this.#at = skipWhite(this.#bytes, this.#at);
    if (this.passes(comma)) return true;
    if (!this.passes(bracket)) this.#broken = true;
    return false;
  }

  /** Goes from a key to its value; undefined where there is none. */
  key(): string | undefined {
    const key = this.#bytes[this.#at] === quote ? this.value()?.value : undefined;
    this.#at = skipWhite(this.#bytes, this.#at);
    return typeof key === "string" && this.passes(colon) ? key : undefined;
  }

  /** Goes behind a value; undefined where it is not JSON. */
  value(): { readonly value: unknown; readonly text: string } | undefined {
    const span = { start: this.#at, end: endOfValue(this.#bytes, this.#at) };
    const text = textOf(this.#bytes, span);
    this.#at = span.end;
    try {
      return { value: JSON.parse(text), text };
    } catch {
      return undefined;
    }
  }
}

/** Looks into the groups of a reading for whoever shows them: the bytes and places of their trajectories, and all rewards. */

import type { Problem } from "../failure.ts";
import { placeOfLine, readRange, type Source } from "../input/source.ts";
import { elementsOf, memberAt, type Place, parsedAt, rootOf, spanOf } from "../json/table.ts";
import { type JsonObject, newline, type Span } from "../json/walk.ts";
import { partAt } from "./part-at.ts";
import { bytesOf, type GroupPart, type GroupsRead, partsOf, rangeOf, spotOf, unchanged } from "./whole.ts";

/** A trajectory as it stands in the input. */
export interface TrajectoryLooked {
  readonly bytes: Buffer;
  /** The file and line that it begins on. */
  readonly place: { readonly file: string; readonly line: number };
}

/** The trajectories of a group, byte for byte; what can't be read as JSON is one of them. @throws Failure `input-changed` */
export const trajectoriesOf = async (read: GroupsRead, group: number): Promise<readonly TrajectoryLooked[]> => {
  const looked: TrajectoryLooked[] = [];
  for (const [index, own] of partsOf(read, group).entries()) {
    const bytes = await bytesOf(own);
    const position = read.groups.partsOf(group)[index] ?? 0;
    const spans = own.part.kind === "group" ? trajectorySpans(bytes) : [{ start: 0, end: bytes.length }];
    for (const [at, { start, end }] of spans.entries()) {
      const path = own.part.kind === "group" ? ["trajectories", at] : [];
      const { file, line } = { ...placeOfLine(own.source, own.part.line), ...(await spotOf(read, position, path)) };
      looked.push({ bytes: bytes.subarray(start, end), place: { file, line } });
    }
  }
  return looked;
};

/** Where the trajectories stand in the bytes of a group. */
export const trajectorySpans = (bytes: Uint8Array): readonly Span[] => trajectoriesIn(bytes).map(spanOf);

const trajectoriesIn = (group: Uint8Array): readonly Place[] => elementsOf(memberAt(rootOf(group), "trajectories"));

/** The first bytes of a group, at most so many: enough to see how it begins. @throws Failure `input-changed` */
export const beginningOf = async (read: GroupsRead, group: number, most: number): Promise<Buffer> => {
  const [own] = partsOf(read, group);
  if (own === undefined) return Buffer.alloc(0);
  const length = Math.min(own.part.length, most);
  return await rangeOf(own.source, { start: own.part.start, length });
};

/** The rewards of a group. */
interface GroupRewards {
  readonly group: number;
  /** In the order of its trajectories. */
  readonly rewards: readonly number[];
  /** All of the group, where it had to be read for that. */
  readonly bytes: Buffer | undefined;
}

/** Bytes that are read at once: many groups, as they stand side by side. */
const windowBytes = 2 ** 20;

/** The rewards of the valid groups, in their order. @throws Failure `input-changed`; the signal's reason */
export async function* rewardsOf(read: GroupsRead, signal: AbortSignal): AsyncGenerator<GroupRewards, void> {
  const { groups, found } = read;
  const { parts } = found;
  const window = new Window();
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group)) continue;
    if (parts.kindOf(groups.firstOf(group)) === "trajectory") {
      const rewards = Array.from(groups.partsOf(group), (at) => parts.columns.reward.at(at));
      yield { group, rewards, bytes: undefined };
      continue;
    }
    signal.throwIfAborted();
    const [own] = partsOf(read, group);
    if (own === undefined) continue;
    const bytes = await window.of(own);
    yield { group, rewards: rewardsIn(bytes), bytes };
  }
}

/** The trajectories that stand by themselves, of valid groups, as they come in the files. @throws Failure `input-changed`; the signal's reason */
export async function* singleTrajectories(
  { sources, groups, found: { parts } }: GroupsRead,
  signal: AbortSignal,
): AsyncGenerator<{ readonly group: number; readonly bytes: Buffer }, void> {
  const window = new Window();
  for (let at = 0; at < parts.count; at++) {
    const group = groups.groupOf(at);
    if (parts.kindOf(at) !== "trajectory" || !groups.isValid(group)) continue;
    signal.throwIfAborted();
    const source = sources[parts.columns.source.at(at)];
    if (source === undefined) continue;
    yield { group, bytes: await window.of({ source, part: parts.at(at) }) };
  }
}

const rewardsIn = (bytes: Buffer): readonly number[] =>
  trajectoriesWith(bytes, ["reward"]).map(({ reward }) => (typeof reward === "number" ? reward : Number.NaN));

/** The trajectories of a group, with nothing but some members. */
export const trajectoriesWith = (group: Uint8Array, names: Iterable<string>): readonly JsonObject[] =>
  trajectoriesIn(group).map((one) => membersAt(one, names));

/** The members of an object that have these names. */
export const membersAt = (object: Place | undefined, names: Iterable<string>): JsonObject =>
  Object.fromEntries(
    Array.from(names).flatMap((name) => {
      const value = memberAt(object, name);
      return value === undefined ? [] : [[name, parsedAt(value)]];
    }),
  );

/** Bytes that stand one behind the other, read a piece of the file at a time. */
export class Window {
  #source: Source | undefined;
  #start = 0;
  #bytes = Buffer.alloc(0);

  /** So many bytes from a place on, as far as there are any. */
  async at(source: Source, start: number, length: number): Promise<Buffer> {
    const end = start + length;
    if (this.#source !== source || start < this.#start || end > this.#start + this.#bytes.length) {
      const room = Buffer.allocUnsafe(Math.max(length, Math.min(windowBytes, source.bytes.size - start)));
      this.#bytes = room.subarray(0, await source.bytes.read(room, start));
      this.#source = source;
      this.#start = start;
    }
    return this.#bytes.subarray(start - this.#start, end - this.#start);
  }

  /** The bytes of a part, as they were read. @throws Failure `input-changed` where they are not those any more */
  async of(own: GroupPart): Promise<Buffer> {
    return unchanged(await this.at(own.source, own.part.start, own.part.length), own);
  }
}

/** What a problem is about, as far as that is known. */
interface About {
  readonly group: number;
  readonly trajectory: number | undefined;
  /** Position in `messages_and_choices`. */
  readonly message: number | undefined;
}

/** The group that a problem is about, and its trajectory and message there. */
export const aboutOf = ({ sources, found, groups }: GroupsRead, problem: Problem): About | undefined => {
  const { file, line, offset, readAt } = problem;
  // Of what was made of another file, the path that was read is meant.
  const path = problem.readPath ?? (readAt === undefined ? (problem.path ?? []) : []);
  const [, name, lineRead] = /^(.*):(\d+)$/s.exec(readAt ?? "") ?? [];
  const source = sources.findIndex((one) => one.name === (name ?? file));
  const at = lineRead === undefined ? { line, offset } : { line: Number(lineRead), offset: undefined };
  const part = source < 0 ? undefined : partAt(found.parts, source, at);
  if (part === undefined) return undefined;
  const group = groups.groupOf(part);
  const isAlone = found.parts.kindOf(part) !== "group";
  const trajectory = isAlone ? groups.partsOf(group).indexOf(part) : stepBehind(path, "trajectories");
  const message = trajectory === undefined ? undefined : stepBehind(path, "messages_and_choices");
  return { group, trajectory, message };
};

const stepBehind = (path: NonNullable<Problem["path"]>, list: string): number | undefined => {
  const step = path.includes(list) ? path[path.indexOf(list) + 1] : undefined;
  return typeof step === "number" ? step : undefined;
};

/** Names of files whose lines are not the lines that were read. */
const packed = /^-$|^https?:|\.(?:gz|zst|zip|eval|parquet)$/i;

/** The file and the lines that hold a group and nothing else; undefined where it does not stand on lines of its own. */
export const linesOf = async (
  read: GroupsRead,
  group: number,
): Promise<{ readonly file: string; readonly lines: readonly number[] } | undefined> => {
  const own = partsOf(read, group);
  const [first] = own;
  if (first === undefined || first.source.origin !== undefined || packed.test(first.source.name)) return undefined;
  for (const one of own) if (one.source !== first.source || !(await isWholeLine(one))) return undefined;
  return { file: first.source.name, lines: own.map(({ part }) => part.line) };
};

const isWholeLine = async ({ source, part: { start, length } }: GroupPart): Promise<boolean> => {
  const [from, to] = [Math.max(0, start - 1), Math.min(source.bytes.size, start + length + 1)];
  const bytes = await readRange(source.bytes, { start: from, length: to - from });
  const before = start === 0 || bytes[0] === newline;
  return (
    before && bytes.subarray(start - from, -1).indexOf(newline) < 0 && (to === start + length || isEnd(bytes.at(-1)))
  );
};

const isEnd = (byte: number | undefined): boolean => byte === newline || byte === 0x0d;

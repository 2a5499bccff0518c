/** The bytes of parts and groups, as they were read: for bodies, files, expressions and whoever looks at them. */
import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { Scan } from "../check/scan.ts";
import { inputChanged, locateLine, memoryBytes, readRange, ShrunkSourceError, type Source } from "../input/index.ts";
import { elementsOf, type JsonValue, memberAt, parseValue, readRoot, spanOf } from "../json/table.ts";
import { type JsonObject, parseJson, replaceLineEnds, type Span } from "../json/walk.ts";
import { groupClosing, groupOpening } from "./parts/groups.ts";
import type { Part } from "./parts/parts.ts";
import { newScanResult, type ScanResult } from "./parts/scan-result.ts";
import { type IndexedGroups, locateInPart } from "./positions.ts";

/** A part of a group, and the input that it is in. */
export interface GroupPart {
  readonly source: Source;
  readonly part: Part;
}

/** The part at a position; undefined if its source is none of a reading. */
export const findPart = (
  { sources, found }: Pick<IndexedGroups, "sources" | "found">,
  at: number,
): GroupPart | undefined => {
  const part = found.parts.at(at);
  const source = sources[part.source];
  return source === undefined ? undefined : { source, part };
};

export const listParts = (read: IndexedGroups, group: number): readonly GroupPart[] =>
  read.groups.partsOf(group).flatMap((at) => findPart(read, at) ?? []);

/** Bytes that are read at once: many groups, if they are adjacent. */
const windowBytes = 2 ** 20;

/** Bytes of parts that follow each other, read a piece of a file at a time. */
export class ReadWindow {
  #source: Source | undefined;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);

  /** As many bytes from an offset on, as far as there are any. Others get their turn before more is read. */
  async read(source: Source, start: number, length: number): Promise<Buffer> {
    if (!this.#has(source, start, length)) await setImmediate();
    return this.readNow(source, start, length);
  }

  readNow(source: Source, start: number, length: number): Buffer {
    if (!this.#has(source, start, length)) {
      const room = Buffer.allocUnsafe(Math.max(length, Math.min(windowBytes, source.bytes.size - start)));
      this.#bytes = room.subarray(0, source.bytes.readSync(room, start));
      this.#source = source;
      this.#start = start;
    }
    return this.#bytes.subarray(start - this.#start, start - this.#start + length);
  }

  /** The bytes of a part. @throws Failure `input-changed` if they are not those that were read */
  async readPart(own: GroupPart): Promise<Buffer> {
    return requireUnchanged(await this.read(own.source, own.part.start, own.part.length), own);
  }

  #has(source: Source, start: number, length: number): boolean {
    const isAfter = this.#source === source && start >= this.#start;
    return isAfter && start + length <= this.#start + this.#bytes.length;
  }
}

/** Bytes that are those of a part. @throws Failure `input-changed` if they are not */
export const requireUnchanged = (bytes: Buffer, { source, part }: GroupPart): Buffer => {
  if (bytes.length === part.length && crc32(bytes) === part.checksum) return bytes;
  throw inputChanged(source.name);
};

/** The bytes of a part, in memory of their own. @throws Failure `input-changed` if they are not those that were read */
export const readPartBytes = async (own: GroupPart): Promise<Buffer> =>
  requireUnchanged(await readSourceRange(own.source, own.part), own);

/** A range of a source. @throws Failure `input-changed` if it is not there any more */
export const readSourceRange = async (
  { name, bytes }: Source,
  range: Pick<Part, "start" | "length">,
): Promise<Buffer> =>
  await readRange(bytes, range).catch((thrown: unknown) => {
    throw thrown instanceof ShrunkSourceError ? inputChanged(name) : thrown;
  });

/** The value of a part, as it is in its source now. @throws Failure `input-changed` if it can't be read any more */
export const readPartValue = async (source: Source, part: Part): Promise<unknown> => {
  const value = parseJson((await readSourceRange(source, part)).toString("utf8"));
  if (value === undefined) throw inputChanged(source.name);
  return value.value;
};

/** Checks the bytes of a value once more, alone: what is found is in nothing else. */
export const recheckBytes = (
  bytes: Buffer,
  { problems: { strictness: judgement } }: Pick<ScanResult, "problems">,
): ScanResult => {
  const source = { name: "", bytes: memoryBytes([]), touched: async () => false };
  const found = newScanResult(judgement, { hasDigests: false });
  const scan = new Scan(source, { index: 0, groupBy: undefined, result: found });
  scan.scanLines({ kind: "lines", bytes: replaceLineEnds(bytes), start: 0, last: false });
  return found;
};

/** A group as one line, without its end: line ends between values become blanks. @throws Failure `input-changed` */
const readGroupLine = async (read: IndexedGroups, group: number): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for (const own of listParts(read, group)) {
    const line = replaceLineEnds(await readPartBytes(own));
    if (own.part.kind !== "trajectory") return line;
    pieces.push(pieces.length === 0 ? groupOpening : comma, line);
  }
  return Buffer.concat([...pieces, groupClosing]);
};

const comma = Buffer.from(",");

/** The valid groups, a line each. @throws Failure `input-changed` */
export async function* readGroupLines(read: IndexedGroups): AsyncGenerator<Buffer, void> {
  for (let group = 0; group < read.groups.count; group++) {
    if (read.groups.isValid(group)) yield Buffer.concat([await readGroupLine(read, group), Buffer.from("\n")]);
  }
}

/** The trajectories in the bytes of a part, in its table; of what is not a group, all of it is one. */
export const listTrajectories = (bytes: Uint8Array, { kind }: Pick<Part, "kind">): readonly JsonValue[] => {
  const root = readRoot(bytes);
  return kind === "group" ? elementsOf(memberAt(root, "trajectories")) : root === undefined ? [] : [root];
};

/** Where the trajectories are in the bytes of a part: of what can't be read, all of it. */
export const findTrajectorySpans = (bytes: Uint8Array, part: Pick<Part, "kind">): readonly Span[] =>
  part.kind === "group" ? listTrajectories(bytes, part).map(spanOf) : [{ start: 0, end: bytes.length }];

/** A trajectory, or a group, with nothing but some members. */
export const pickMembers = (place: JsonValue, names: readonly string[]): JsonObject =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = memberAt(place, name);
      return value === undefined ? [] : [[name, parseValue(value)] as const];
    }),
  );

/** A trajectory as it is in the input. */
export interface SourceTrajectory {
  readonly bytes: Buffer;
  readonly place: { readonly file: string; readonly line: number };
}

/** The trajectories of a group, byte for byte; unreadable bytes are one of them. @throws Failure `input-changed` */
export const readGroupTrajectories = async (
  read: IndexedGroups,
  group: number,
): Promise<readonly SourceTrajectory[]> => {
  const looked: SourceTrajectory[] = [];
  for (const at of read.groups.partsOf(group)) {
    const own = findPart(read, at);
    if (own === undefined) continue;
    const bytes = await readPartBytes(own);
    for (const [index, { start, end }] of findTrajectorySpans(bytes, own.part).entries()) {
      const spot = await locateInPart(read, at, own.part.kind === "group" ? ["trajectories", index] : []);
      const { file, line } = { ...locateLine(own.source, own.part.line), ...spot };
      looked.push({ bytes: bytes.subarray(start, end), place: { file, line } });
    }
  }
  return looked;
};

/** The first bytes of a group, at most as many as asked for. @throws Failure `input-changed` */
export const readGroupStart = async (read: IndexedGroups, group: number, most: number): Promise<Buffer> => {
  const [own] = listParts(read, group);
  if (own === undefined) return Buffer.alloc(0);
  return await readSourceRange(own.source, { start: own.part.start, length: Math.min(own.part.length, most) });
};

/** The parts of valid groups, in their order, with their bytes. @throws Failure `input-changed`; the signal's reason */
export async function* readValidParts(
  read: IndexedGroups,
  signal: AbortSignal,
): AsyncGenerator<{ readonly group: number; readonly part: Part; readonly bytes: Buffer }, void> {
  const { groups, found } = read;
  const window = new ReadWindow();
  for (let at = 0; at < found.parts.count; at++) {
    const group = groups.groupOf(at);
    const own = groups.isValid(group) ? findPart(read, at) : undefined;
    signal.throwIfAborted();
    if (own !== undefined) yield { group, part: own.part, bytes: await window.readPart(own) };
  }
}

export const parseRewards = (bytes: Buffer, part: Part): readonly number[] =>
  listTrajectories(bytes, part).map((trajectory) => {
    const { reward } = pickMembers(trajectory, ["reward"]);
    return typeof reward === "number" ? reward : Number.NaN;
  });

/** Chooses groups and trajectories: what is kept becomes sources whose lines are composed, when they are read, of parts of the inputs. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { Problems } from "../../check/rules/problems.ts";
import type { Host } from "../../host.ts";
import { type Bytes, fileOf, inputChanged, type Origin, type Source, textOf } from "../../input/index.ts";
import { onOneLine } from "../../json/walk.ts";
import { bytesOf, partOf, partsOf, trajectorySpans, Window } from "../contents.ts";
import { Column } from "../parts/column.ts";
import { groupClosing, groupOpening } from "../parts/groups.ts";
import { aboutOf, locate, spotOfGroup } from "../positions.ts";
import { type LeftOutBy, type Reading, type ReadOptions, readSources, tellInInput, unreadableIn } from "../read.ts";
import { openWhere, rewardOf } from "./where.ts";

/** What is wanted of an input; all of it if nothing is given. */
export interface Choosing {
  /** An expression that is true of the trajectories that are wanted. */
  readonly where?: string | undefined;
  /** How many trajectories of each group, those with the highest rewards. */
  readonly best?: number | undefined;
  /** How many groups; the seed decides which. */
  readonly sample?: number | undefined;
  readonly seed: string;
  /** One of how many parts, from 1, that groups fall into by their digests: each group is in exactly one. */
  readonly shard?: { readonly part: number; readonly of: number } | undefined;
}

/** How a reading is made of what is wanted. */
export interface ChooseOptions extends Pick<ReadOptions, "judgement" | "onProgress"> {
  readonly host: Pick<Host, "signal">;
  readonly choosing: Choosing;
}

/**
 * Chooses among the groups of a reading, which is closed with the choice.
 * @throws Failure `where-wrong`, `input-changed`; the signal's reason
 */
export const chooseOf = async (
  reading: Reading,
  { choosing, host: { signal }, judgement, onProgress }: ChooseOptions,
): Promise<Reading> => {
  const selection = await select(reading, choosing, signal);
  const { kept, cut, leftOut } = selection;
  const { sources, lineOf, requireUnchanged } = await composeSources(reading, selection, signal);
  const how = { groupBy: undefined, split: reading.split, splitNeeded: false };
  const read = await readSources(sources, { ...how, judgement, signal, onProgress });
  requireUnchanged(read);
  const { problems } = read;
  await tellInInput(read);
  const errors = new Problems(reading.problems.judgement);
  errors.merge(reading.problems.pack("error"), 0);
  await errors.move(async (problem) => {
    const group = aboutOf(reading, problem)?.group;
    return group === undefined ? undefined : { ...problem, readAt: lineOf(group) };
  });
  problems.merge(errors.pack(), 0);
  const [firstCut = 0] = cut.keys();
  if (cut.size > 0) problems.report("baseline-changed", { groups: cut.size }, () => spotOfGroup(reading, firstCut));
  // A machine that has no group of a small file has nothing to do, which is no fault of the choice.
  if (kept.length === 0 && reading.groups.count > 0 && choosing.shard === undefined) {
    const [only, ...more] = reading.sources;
    const by = Object.entries(leftOut).flatMap(([option, left]) => (left.groups > 0 ? [`--${option}`] : []));
    const place = only === undefined || more.length > 0 ? {} : { file: fileOf(only) };
    problems.report("nothing-chosen", { by, groups: reading.groups.count }, () => place);
  }
  const { split, conversion, others, ownKeys, found } = reading;
  return {
    ...{ ...read, split, conversion, others, ownKeys, leftOut },
    found: { ...read.found, shapes: found.shapes },
    unreadable: unreadableIn(reading),
    chosenFrom: (group) => kept[group] ?? group,
    close: reading.close,
  };
};

/** What is kept of the groups of a reading. */
interface Selection {
  /** Numbers of the groups that are kept. Invalid groups are kept, and stay invalid. */
  readonly kept: readonly number[];
  /** Positions of the trajectories that are kept of each group that loses some. */
  readonly cut: ReadonlyMap<number, readonly number[]>;
  /** What is left out, by the option that does it. */
  readonly leftOut: LeftOutBy;
}

/** Bytes of a digest that decide the shard of its group: as many as a number holds exactly. */
const lotBytes = 6;

/** Selects groups. @throws Failure `where-wrong`, `input-changed`; the signal's reason */
const select = async (reading: Reading, choosing: Choosing, signal: AbortSignal): Promise<Selection> => {
  const { groups } = reading;
  const { where, best, shard } = choosing;
  const asked = (["where", "best", "sample", "shard"] as const).filter((option) => choosing[option] !== undefined);
  const leftOut: { readonly [Option in keyof LeftOutBy]: { trajectories: number; groups: number } } =
    Object.fromEntries(asked.map((option) => [option, { trajectories: 0, groups: 0 }]));
  const leave = (by: keyof LeftOutBy, trajectories: number, whole: number): void => {
    const left = leftOut[by];
    if (left === undefined) return;
    left.trajectories += trajectories;
    left.groups += whole;
  };
  const sampled = sampleOf(reading, choosing);
  const isOfShard = (group: number): boolean =>
    shard === undefined || Buffer.from(groups.digestOf(group)).readUIntBE(0, lotBytes) % shard.of === shard.part - 1;
  const see = where === undefined && best === undefined ? undefined : openWhere(reading, where);
  const kept: number[] = [];
  const cut = new Map<number, readonly number[]>();
  for (let group = 0; group < groups.count; group++) {
    signal.throwIfAborted();
    const count = groups.trajectoriesOf(group);
    const isSampled = sampled?.has(group) !== false;
    if (!groups.isValid(group)) kept.push(group);
    else if (!isSampled || !isOfShard(group)) leave(isSampled ? "shard" : "sample", count, 1);
    else if (see === undefined) kept.push(group);
    else {
      const { trajectories, isWanted } = await see(group);
      const wanted = trajectories.map((_, at) => at).filter(isWanted);
      leave("where", count - wanted.length, wanted.length === 0 && count > 0 ? 1 : 0);
      const byReward = wanted.toSorted((a, b) => rewardOf(trajectories[b]) - rewardOf(trajectories[a]) || a - b);
      const positions = byReward.slice(0, best).sort((a, b) => a - b);
      leave("best", wanted.length - positions.length, 0);
      if (positions.length > 0 || count === 0) kept.push(group);
      if (positions.length > 0 && positions.length < count) cut.set(group, positions);
    }
  }
  return { kept, cut, leftOut };
};

/** Groups that chance chooses: those whose digests come first with the seed, at any position. */
const sampleOf = ({ groups }: Reading, { sample, seed }: Choosing): ReadonlySet<number> | undefined => {
  if (sample === undefined) return undefined;
  const drawn = Array.from({ length: groups.count }, (_, group) => group)
    .filter((group) => groups.isValid(group))
    .map((group) => {
      const lot = createHash("sha256").update(`${seed} `).update(groups.digestOf(group)).digest("hex");
      return { group, lot };
    });
  const first = drawn.sort((a, b) => (a.lot < b.lot ? -1 : a.lot > b.lot ? 1 : a.group - b.group)).slice(0, sample);
  return new Set(first.map(({ group }) => group));
};

/** Bytes of a line: of our own, or a range of a source, whose line ends become blanks. */
type Piece = Buffer | { readonly source: Source; readonly start: number; readonly length: number };

const comma = Buffer.from(",");
const lineEnd = Buffer.from("\n");

/** Stands for an invalid group, which is not read again. */
const brokenLine = [Buffer.from("!"), lineEnd];

/** The lines of a source: the group of each, its offset, and its checksum. */
interface Lines {
  readonly groups: Column;
  readonly starts: Column;
  readonly checksums: Column;
  size: number;
}

/** Makes a source of each one in which groups begin that are kept: a line for each of them. */
const composeSources = async (reading: Reading, { kept, cut }: Selection, signal: AbortSignal) => {
  const { groups, found, sources } = reading;
  const all = sources.map((): Lines => {
    return { groups: new Column("u32"), starts: new Column("f64"), checksums: new Column("u32"), size: 0 };
  });
  const window = new Window();
  const piecesOf = openPieces(reading, cut);
  const lineOf = new Column("u32");
  lineOf.length = groups.count;
  const sourceOf = (group: number): number => found.parts.columns.source.at(groups.firstOf(group));
  for (const group of kept) {
    signal.throwIfAborted();
    const lines = all[sourceOf(group)];
    if (lines === undefined) continue;
    for (const part of groups.isValid(group) ? partsOf(reading, group) : []) await window.of(part);
    lines.groups.push(group);
    lines.starts.push(lines.size);
    lineOf.set(group, lines.groups.length);
    let checksum = 0;
    for (const piece of piecesOf(group, window)) {
      const bytes = bytesOfPiece(piece, window);
      if (bytes !== lineEnd)
        checksum = crc32(bytes.includes(lineEnd) ? onOneLine(Buffer.from(bytes)) : bytes, checksum);
      lines.size += piece.length;
    }
    lines.checksums.push(checksum);
  }
  const used = all.flatMap((lines, index) => {
    const source = sources[index];
    if (source === undefined || lines.size === 0) return [];
    const bytes = openLines(lines, (group) => piecesOf(group, new Window()));
    return [{ lines, source: { ...source, bytes, origin: originOf(reading, { source, lines, cut }) } }];
  });
  return {
    sources: used.map(({ source }) => source),
    /** The line of a group. */
    lineOf: (group: number): string => `${sources[sourceOf(group)]?.name}:${lineOf.at(group)}`,
    /** @throws Failure `input-changed` if lines were read that are not those that were composed */
    requireUnchanged: ({ found: { parts } }: Pick<Reading, "found">): void => {
      for (let at = 0; at < parts.count; at++) {
        const { lines, source } = used[parts.columns.source.at(at)] ?? {};
        const checksum = lines?.checksums.at(parts.columns.line.at(at) - 1);
        if (source !== undefined && checksum !== parts.columns.checksum.at(at)) throw inputChanged(source.name);
      }
    },
  };
};

const bytesOfPiece = (piece: Piece, window: Window): Buffer =>
  Buffer.isBuffer(piece) ? piece : window.now(piece.source, piece.start, piece.length);

/** Opens what gives the pieces of a group's line; of a group on a line that loses trajectories, its bytes are read for it. */
const openPieces = (reading: Reading, cut: Selection["cut"]) => {
  const { groups } = reading;
  const joined = (pieces: readonly Piece[]): readonly Piece[] =>
    pieces.flatMap((piece, at) => (at === 0 ? [piece] : [comma, piece]));
  return (group: number, window: Window): readonly Piece[] => {
    if (!groups.isValid(group)) return brokenLine;
    const positions = cut.get(group);
    const parts = partsOf(reading, group);
    const ranges = parts.map(({ source, part: { start, length } }) => ({ source, start, length }));
    const [whole] = ranges;
    if (groups.isBare(group) || whole === undefined) {
      const own = positions?.flatMap((at) => ranges[at] ?? []) ?? ranges;
      return [groupOpening, ...joined(own), groupClosing, lineEnd];
    }
    if (positions === undefined) return [whole, lineEnd];
    const spans = trajectorySpans(bytesOfPiece(whole, window), { kind: "group" });
    const rangeOf = (from = 0, to = 0) => ({ ...whole, start: whole.start + from, length: Math.max(0, to - from) });
    return [
      rangeOf(0, spans[0]?.start),
      ...joined(positions.map((at) => rangeOf(spans[at]?.start, spans[at]?.end))),
      rangeOf(spans.at(-1)?.end, whole.length),
      lineEnd,
    ];
  };
};

/** The bytes of lines, which are read piece by piece from where they are. */
const openLines = ({ groups, starts, size }: Lines, piecesOf: (group: number) => readonly Piece[]): Bytes => {
  const window = new Window();
  const readNow = (into: Buffer, at: number): number => {
    let filled = 0;
    for (let line = lineAt(starts, at); line < starts.length && filled < into.length; line++) {
      let end = starts.at(line);
      for (const piece of piecesOf(groups.at(line))) {
        const from = at + filled - end;
        end += piece.length;
        const length = Math.min(piece.length - from, into.length - filled);
        if (length <= 0) continue;
        const range = Buffer.isBuffer(piece)
          ? piece.subarray(from, from + length)
          : { ...piece, start: piece.start + from, length };
        const copied = bytesOfPiece(range, window).copy(into, filled);
        if (!Buffer.isBuffer(piece)) onOneLine(into.subarray(filled, filled + copied));
        filled += copied;
        if (copied < length) return filled;
      }
    }
    return filled;
  };
  const read = async (into: Buffer, at: number): Promise<number> => {
    // Others get their turn.
    await setImmediate();
    return readNow(into, at);
  };
  return { size, read, readNow, close: async () => undefined };
};

/** The last line that begins at or before an offset. */
const lineAt = (starts: Column, offset: number): number => {
  let [low, high] = [0, starts.length];
  while (low + 1 < high) {
    const middle = (low + high) >>> 1;
    if (starts.at(middle) <= offset) low = middle;
    else high = middle;
  }
  return low;
};

/** Where composed lines come from: for positions, and for what is written if the service refuses their groups. */
const originOf = (
  reading: Reading,
  { source, lines, cut }: { readonly source: Source; readonly lines: Lines; readonly cut: Selection["cut"] },
): Origin => {
  const { groups } = reading;
  const groupAt = (line: number): number => lines.groups.at(line - 1);
  return {
    files: source.origin?.files ?? [source.name],
    isBroken: (line) => !groups.isValid(groupAt(line)),
    placeOf: (line) => spotOfGroup(reading, groupAt(line)),
    digestOf: (line) => {
      const group = groupAt(line);
      const positions = cut.get(group);
      const digest = groups.digestOf(group);
      if (positions === undefined) return digest;
      // Of what it was made of, and what is left.
      const own = partOf(reading, groups.firstOf(group));
      const made = own?.source.origin?.digestOf(own.part.line, positions);
      return made ?? createHash("sha256").update(digest).update(positions.join(" ")).digest();
    },
    spotOf: async (line, path) => {
      const group = groupAt(line);
      const [list, at, ...inside] = path;
      const kept = cut.get(group);
      const position = list === "trajectories" && typeof at === "number" ? (kept?.[at] ?? at) : undefined;
      const parts = partsOf(reading, group);
      const isBare = groups.isBare(group);
      const own = parts[isBare ? (position ?? 0) : 0];
      if (own === undefined) return {};
      const there = position === undefined ? path : ["trajectories", position, ...inside];
      return await locate(own.source, { part: own.part, path: isBare ? inside : there });
    },
    recordsOf: async (line) => {
      const records: Buffer[] = [];
      for (const own of partsOf(reading, groupAt(line))) {
        const { origin } = own.source;
        records.push(...(origin === undefined ? [await bytesOf(own)] : await origin.recordsOf(own.part.line)));
      }
      return records;
    },
    textOf: (file) => textOf(reading.sources, file),
  };
};

/** Makes a reading of what is kept of another: the same parts of the same files, new lines only for changed groups. */
import { createHash } from "node:crypto";
import { Problems } from "../../check/rules/problems.ts";
import { lenient } from "../../check/rules/rules.ts";
import { Scan } from "../../check/scan.ts";
import type { Host } from "../../host.ts";
import { fileOf, memoryBytes, type Origin, openSpool, type Source, type Spool } from "../../input/index.ts";
import { newline, type Span } from "../../json/walk.ts";
import { bytesOf, lineOfGroup, partOf, partsOf, trajectorySpans, Window } from "../contents.ts";
import { outsideOf, reportWholes } from "../dataset.ts";
import { closeGroups } from "../measures.ts";
import { newExtremes } from "../metrics/extremes.ts";
import { digestBytes } from "../parts/digests.ts";
import { nothingFound } from "../parts/found.ts";
import { Groups } from "../parts/groups.ts";
import { firstFileOf, type GroupsRead, locate, spotOfGroup, unreadableIn } from "../positions.ts";
import type { Reading, ReadOptions } from "../read.ts";
import { type Choosing, type Selection, select } from "./selection.ts";

/** How a reading is made of what is wanted. */
export interface ChooseOptions extends Pick<ReadOptions, "host" | "splitNeeded" | "judgement" | "onProgress"> {
  readonly choosing: Choosing;
}

/**
 * Chooses among the groups of a reading, which is closed with the choice.
 * @throws Failure `where-wrong`, `spool-failed`, `input-changed`; the signal's reason
 */
export const chooseOf = async (reading: Reading, options: ChooseOptions): Promise<Reading> => {
  const { choosing, host } = options;
  const selection = await select(reading, choosing, host.signal);
  const { cut, leftOut } = selection;
  const lines = openLines(reading, host);
  try {
    const { read, from } = await readKept(reading, { ...options, selection, lines });
    const { problems } = read.found;
    problems.merge(reading.problems.pack("error"), 0);
    const [firstCut = 0] = cut.keys();
    if (cut.size > 0) {
      problems.report("baseline-changed", { groups: cut.size }, () => spotOfGroup(reading, firstCut));
    }
    const isEmpty = from.length === 0 && reading.groups.count > 0;
    // A machine that has no group of a small file has nothing to do, which is no fault of the choice.
    if (isEmpty && choosing.shard === undefined) {
      const [only, ...more] = reading.sources;
      const by = Object.entries(leftOut).flatMap(([option, left]) => (left.groups > 0 ? [`--${option}`] : []));
      const place = only === undefined || more.length > 0 ? {} : { file: fileOf(only) };
      problems.report("nothing-chosen", { by, groups: reading.groups.count }, () => place);
    }
    const { split, conversion, others, ownKeys } = reading;
    return {
      ...{ ...read, problems, split, conversion, others, ownKeys, leftOut },
      sources: isEmpty ? [] : read.sources,
      unreadable: unreadableIn(reading),
      chosenFrom: (group) => from[group] ?? group,
      close: async () => {
        await lines.close();
        await reading.close();
      },
    };
  } catch (thrown) {
    await lines.close();
    throw thrown;
  }
};

/** Bytes up to which each reward counts to find those far outside: as of a file that is read at once. */
const maxExactBytes = 2 ** 18;

/** Where the bytes of a part are, and what its group is known by. */
interface Place {
  readonly bytes: Buffer;
  readonly source: Source;
  /** Position of the source. */
  readonly index: number;
  readonly start: number;
  readonly line: number;
  readonly digest: Uint8Array;
}

/**
 * Makes an index of the parts that are kept. They are checked again, so metrics and warnings are those of the choice.
 * `from` has the number that each group had.
 */
const readKept = async (
  reading: Reading,
  {
    selection: { kept, cut },
    lines,
    host: { signal },
    judgement = lenient,
    onProgress,
  }: ChooseOptions & { readonly selection: Selection; readonly lines: ReturnType<typeof openLines> },
): Promise<{ readonly read: GroupsRead; readonly from: readonly number[] }> => {
  const before = reading.groups;
  let of = 0;
  for (let group = 0; group < before.count; group++) if (kept[group] === 1) of += before.bytesOf(group) + 1;
  const all = nothingFound({ ...judgement, setsAside: false });
  const found = { ...all, extremes: newExtremes(of <= maxExactBytes ? Number.POSITIVE_INFINITY : undefined) };
  const { parts, problems } = found;
  const groups = new Groups(parts);
  const from: number[] = [];
  /** The number that each group has now, from 1. */
  const numbers = new Uint32Array(before.count);
  /** Puts the last part into its group. */
  const place = (group: number): void => {
    const [part, known] = [parts.count - 1, numbers[group] ?? 0];
    if (known > 0) groups.add(known - 1, part);
    else numbers[group] = groups.begin(part, { isKeyed: false }) + 1;
    if (known === 0) from.push(group);
  };
  const take = async (group: number, { bytes, source, index, start, line, digest }: Place): Promise<void> => {
    problems.of(source.name);
    const own = { ...found, problems: new Problems(problems.judgement, problems.enough) };
    const alone = { name: source.name, bytes: memoryBytes([]), touched: source.touched };
    const scan = new Scan(alone, { index, groupBy: undefined, judgement, found: own });
    const at = parts.count;
    scan.takeLines({ kind: "lines", bytes, start, last: false });
    parts.forgetKeys();
    parts.columns.line.set(at, line);
    parts.digests.set(at, digest);
    place(group);
    const part = parts.at(at);
    await own.problems.move(async ({ path = [] }) => await locate(source, { part, path }));
    problems.merge(own.problems.pack(), 0);
  };
  const window = new Window();
  const changed = new Set<number>();
  for (let at = 0, bytes = 0; at < reading.found.parts.count; at++) {
    const group = before.groupOf(at);
    const own = partOf(reading, at);
    if (kept[group] !== 1 || own === undefined) continue;
    signal.throwIfAborted();
    const { source, part } = own;
    const digest = reading.found.parts.digests.at(at);
    if (!before.isValid(group)) {
      // It counts as a group without trajectories.
      parts.push({ ...part, kind: "unreadable", valid: false, equal: false, trajectories: 0, reward: 0 }, digest);
      place(group);
    } else if (before.firstOf(group) === at && (cut.has(group) || (await isOnLines(reading, group, window)))) {
      changed.add(group);
      await take(group, await lines.add(group, cut.get(group)));
    } else if (!changed.has(group)) {
      await take(group, { ...part, source, index: part.source, bytes: await window.of(own), digest });
    }
    bytes += part.length + 1;
    onProgress({ bytes: Math.min(bytes, of), of });
  }
  const read = { sources: await lines.sources(), found, groups, isOneFile: true };
  await reportWholes(read, { outside: outsideOf(found), signal });
  parts.prints.reset();
  await closeGroups(read);
  return { read, from };
};

/** True if a group goes over several lines: on a line of its own its bytes change. */
const isOnLines = async (reading: Reading, group: number, window: Window): Promise<boolean> => {
  for (const own of partsOf(reading, group)) if ((await window.of(own)).includes(newline)) return true;
  return false;
};

/** A group whose bytes change, and the positions of the trajectories that are kept. */
interface Changed {
  readonly group: number;
  readonly positions: readonly number[];
}

/** Bytes that are held before they are written. */
const maxHeld = 2 ** 20;

/** Opens new lines: of groups that lost trajectories, or that go over several lines. */
const openLines = (reading: Reading, host: Host) => {
  const lines: Changed[] = [];
  const name = `${firstFileOf(reading)} (as chosen)`;
  const origin = originOf(reading, lines);
  const unwritten = { name, bytes: memoryBytes([]), touched: async () => false, origin };
  const index = reading.sources.length;
  let keeper: Spool | undefined;
  let held: Buffer[] = [];
  let [size, written] = [0, 0];
  const flush = async () => {
    keeper ??= await openSpool(host);
    await keeper.write(Buffer.concat(held));
    held = [];
    written = size;
  };
  return {
    /** Adds the line of a group: all of it, or some of its trajectories. */
    async add(group: number, cut: readonly number[] | undefined): Promise<Place> {
      const whole = await lineOfGroup(reading, group);
      const spans = trajectorySpans(whole, { kind: "group" });
      const positions = cut ?? spans.map((_, at) => at);
      const bytes = cut === undefined ? whole : lineWith(whole, spans, cut);
      const start = size;
      lines.push({ group, positions });
      held.push(bytes, Buffer.from("\n"));
      size += bytes.length + 1;
      if (size - written >= maxHeld) await flush();
      const digest = cut === undefined ? reading.groups.digestOf(group) : digestOfCut(reading, { group, positions });
      return { bytes, source: unwritten, index, start, line: lines.length, digest };
    },
    /** The sources of the reading, and the new lines if there are any. */
    async sources(): Promise<readonly Source[]> {
      if (size > written) await flush();
      return keeper === undefined ? reading.sources : [...reading.sources, { ...unwritten, bytes: keeper.bytes() }];
    },
    close: async () => await keeper?.discard(),
  };
};

/** A group's line with some of its trajectories, and all else as it was. */
const lineWith = (line: Buffer, spans: readonly Span[], positions: readonly number[]): Buffer => {
  const kept = positions.flatMap((at, index) => {
    const own = line.subarray(spans[at]?.start, spans[at]?.end);
    return index === 0 ? [own] : [Buffer.from(","), own];
  });
  return Buffer.concat([line.subarray(0, spans[0]?.start), ...kept, line.subarray(spans.at(-1)?.end)]);
};

/** The digest of a group that lost trajectories: of what it was made of, and which are left. */
const digestOfCut = (reading: Reading, { group, positions }: Changed): Uint8Array => {
  const own = partOf(reading, reading.groups.firstOf(group));
  const made = own?.source.origin?.digestOf(own.part.line, positions);
  const whole = createHash("sha256").update(reading.groups.digestOf(group));
  return (made ?? whole.update(positions.join(" ")).digest()).subarray(0, digestBytes);
};

/** Where the new lines come from: for positions, and for what is written if the service refuses their groups. */
const originOf = (reading: Reading, lines: readonly Changed[]): Origin => {
  const changedAt = (line: number): Changed => lines[line - 1] ?? { group: 0, positions: [] };
  return {
    files: [],
    isBroken: () => false,
    placeOf: (line) => spotOfGroup(reading, changedAt(line).group),
    digestOf: (line) => reading.groups.digestOf(changedAt(line).group),
    spotOf: async (line, path) => {
      const { group, positions } = changedAt(line);
      const [list, at, ...inside] = path;
      const position = list === "trajectories" && typeof at === "number" ? (positions[at] ?? at) : undefined;
      const parts = partsOf(reading, group);
      const isBare = parts[0]?.part.kind === "trajectory";
      const own = parts[isBare ? (position ?? 0) : 0];
      if (own === undefined) return {};
      const there = position === undefined ? path : ["trajectories", position, ...inside];
      return await locate(own.source, { part: own.part, path: isBare ? inside : there });
    },
    recordsOf: async (line) => {
      const records: Buffer[] = [];
      for (const own of partsOf(reading, changedAt(line).group)) {
        const { origin } = own.source;
        records.push(...(origin === undefined ? [await bytesOf(own)] : await origin.recordsOf(own.part.line)));
      }
      return records;
    },
    textOf: () => undefined,
  };
};

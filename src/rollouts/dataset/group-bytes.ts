/** Reads the bytes of parts and groups, and compares, checks or searches them. */

import { setImmediate } from "node:timers/promises";
import { parseJson, replaceLineEnds } from "../../json/json-bytes.ts";
import { compileJsonPattern } from "../../json/raw-json.ts";
import { elementsOf, type JsonValue, memberAt, openRootReader, readRoot, spanOf } from "../../json/table.ts";
import { Breaks } from "../../system/breaks.ts";
import { crc32 } from "../../system/hashes.ts";
import { derivedFinishesKey } from "../facts.ts";
import { groupClosing, groupOpening } from "../index/groups.ts";
import { type Part, Parts } from "../index/parts.ts";
import { ScanResult } from "../index/scan-result.ts";
import { openMemoryBytes, type Source } from "../input/source.ts";
import { inputChanged } from "../rules/failures.ts";
import { Problems } from "../rules/problems.ts";
import {
  type GroupPart,
  getPart,
  type IndexedGroups,
  listDerivedFinishes,
  locateTrajectory,
  readPartStart,
} from "./locate.ts";
import { Scanner } from "./scan.ts";

export const listParts = (dataset: IndexedGroups, group: number): readonly GroupPart[] =>
  dataset.groups.partsOf(group).map((at) => getPart(dataset, at));

export const windowBytes = 2 ** 20;
/** rollcall does not read ahead across larger gaps between parts. */
const maxGapBytes = 2 ** 14;

/** Reads ahead if the caller reads parts in the order of the source. */
export class ReadWindow {
  #source: Source | undefined;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);
  readonly #memory: Buffer | undefined;

  /** @param memory for the bytes, which then are valid until the next read. New memory takes longer. */
  constructor(memory?: Buffer) {
    this.#memory = memory;
  }

  /** Lets other tasks run before each read of the source. Returns fewer bytes at the end of the source. */
  async read(source: Source, start: number, length: number): Promise<Buffer> {
    if (!this.#has(source, start, length)) await setImmediate();
    return this.#readNow(source, start, length);
  }

  /** @throws Failure `input-changed` */
  async readPart(groupPart: GroupPart): Promise<Buffer> {
    if (!this.hasPart(groupPart)) await setImmediate();
    return this.readPartNow(groupPart);
  }

  hasPart({ source, part }: GroupPart) {
    return this.#has(source, part.start, part.length);
  }

  /** @throws Failure `input-changed` */
  readPartNow(groupPart: GroupPart): Buffer {
    const { source, part } = groupPart;
    return requireUnchanged(this.#readNow(source, part.start, part.length), groupPart);
  }

  /** @throws Failure `input-changed` */
  async readUnchangedTrajectories(groupPart: GroupPart): Promise<readonly JsonValue[]> {
    return listTrajectories(await this.readPart(groupPart), groupPart.part);
  }

  #readNow(source: Source, start: number, length: number) {
    if (!this.#has(source, start, length)) {
      const end = this.#start + this.#bytes.length;
      const isNext = this.#source === source && start >= this.#start && start <= end + maxGapBytes;
      const ahead = isNext ? Math.min(windowBytes, source.bytes.size - start) : 0;
      const wanted = Math.max(length, ahead);
      const isEnough = this.#memory !== undefined && wanted <= this.#memory.length;
      const buffer = isEnough ? this.#memory.subarray(0, wanted) : Buffer.allocUnsafe(wanted);
      this.#bytes = buffer.subarray(0, source.bytes.read(buffer, start));
      this.#source = source;
      this.#start = start;
    }
    return this.#bytes.subarray(start - this.#start, start - this.#start + length);
  }

  #has(source: Source, start: number, length: number) {
    const startsInside = this.#source === source && start >= this.#start;
    return startsInside && start + length <= this.#start + this.#bytes.length;
  }
}

/** @throws Failure `input-changed` */
export const requireUnchanged = (bytes: Buffer, { source, part }: GroupPart): Buffer => {
  const isUnchanged = part.checksum === undefined || crc32(bytes) === part.checksum;
  if (bytes.length === part.length && isUnchanged) return bytes;
  throw inputChanged(source.name);
};

export const readPartValue = (groupPart: GroupPart) => {
  const value = parseJson(readPartStart(groupPart).toString("utf8"));
  if (!value) throw inputChanged(groupPart.source.name);
  return value.value;
};

const noBytes = { name: "", bytes: openMemoryBytes(Buffer.alloc(0)) };

/** Warnings do not make a part invalid. */
export const recheckBytes = (bytes: Buffer): ScanResult => {
  const result = new ScanResult(new Problems(), new Parts({ hasDigests: false }));
  const scanner = new Scanner(noBytes, { index: 0, groupBy: undefined, result });
  scanner.scanLines({ kind: "lines", bytes: replaceLineEnds(bytes), start: 0, isLast: false });
  return result;
};

const [lineEnd, comma] = [Buffer.from("\n"), Buffer.from(",")];

const composeGroup = async (dataset: IndexedGroups, group: number, window: ReadWindow) => {
  const parts: Buffer[] = [];
  for (const part of listParts(dataset, group)) parts.push(await window.readPart(part));
  const pieces = parts.flatMap((piece, at) => (at === 0 ? [piece] : [comma, piece]));
  const line = dataset.groups.isBare(group) ? [groupOpening, ...pieces, groupClosing] : pieces;
  return Buffer.concat([replaceLineEnds(Buffer.concat(line)), lineEnd]);
};

/**
 * Reads the line of each valid group. A converted group also has the indexes of the trajectories whose last finish
 * reason is derived. @throws Failure `input-changed`
 */
export async function* readGroupLines(dataset: IndexedGroups): AsyncGenerator<Buffer, void> {
  const window = new ReadWindow();
  for (const group of dataset.groups.valid()) {
    const line = await composeGroup(dataset, group, window);
    const flags = listParts(dataset, group).flatMap(listDerivedFinishes);
    const derived = flags.flatMap((isDerived, at) => (isDerived ? at : []));
    const end = `,"${derivedFinishesKey}":${JSON.stringify(derived)}}\n`;
    yield derived.length === 0 ? line : Buffer.concat([line.subarray(0, -"}\n".length), Buffer.from(end)]);
  }
}

/** Lists the trajectories of a group. Any other part is one trajectory. */
const listTrajectories = (bytes: Uint8Array, { kind }: Pick<Part, "kind">): readonly JsonValue[] => {
  const root = readRoot(bytes);
  return kind === "group" ? elementsOf(memberAt(root, "trajectories")) : root ? [root] : [];
};

/** Reads a large group in a moment. */
const readOutline = openRootReader(["messages_and_choices"]);

export const sliceTrajectories = (bytes: Buffer, { kind }: Pick<Part, "kind">): readonly Buffer[] => {
  const spans = kind === "group" ? elementsOf(memberAt(readOutline(bytes), "trajectories")).map(spanOf) : undefined;
  return spans?.map(({ start, end }) => bytes.subarray(start, end)) ?? [bytes];
};

export type SourceTrajectory = Readonly<{ bytes: Buffer; position: { file: string; line: number } }>;

/** An unreadable part counts as one trajectory. @throws Failure `input-changed` */
export const readGroupTrajectories = async (dataset: IndexedGroups, group: number) => {
  const trajectories: SourceTrajectory[] = [];
  const window = new ReadWindow();
  const breaks = new Breaks();
  for (const at of dataset.groups.partsOf(group)) {
    const groupPart = getPart(dataset, at);
    const bytes = await window.readPart(groupPart);
    for (const [index, trajectory] of sliceTrajectories(bytes, groupPart.part).entries()) {
      if (breaks.isDue()) await breaks.take();
      trajectories.push({ bytes: trajectory, position: await locateTrajectory(dataset, at, index) });
    }
  }
  return trajectories;
};

/** @throws Failure `input-changed` */
export const finalizeGroup = async (dataset: IndexedGroups, group: number) => {
  const { groups, scan } = dataset;
  if (!groups.isValid(group)) await subtractParts(dataset, group);
  else if (groups.isBare(group)) scan.tally.addGroup({ rewards: groups.rewardsOfParts(group), exceptions: 0 });
};

const subtractParts = async (dataset: IndexedGroups, group: number) => {
  const window = new ReadWindow();
  for (const groupPart of listParts(dataset, group)) {
    if (!groupPart.part.valid) continue;
    const rechecked = recheckBytes(await window.readPart(groupPart));
    if (!rechecked.parts.isValid(0)) throw inputChanged(groupPart.source.name);
    dataset.scan.tally.merge(rechecked.tally, -1);
  }
};

/** Grows while groups are searched. `share` is from 0 to 1. */
export type SearchProgress = { readonly found: Set<number>; share: number };

type SearchOptions = Readonly<{ signal: AbortSignal; progress: SearchProgress }>;

/** Ignores case unless the text has capitals. @throws Failure `input-changed` for a found part; the signal's reason */
export const searchGroups = async (dataset: IndexedGroups, text: string, { signal, progress }: SearchOptions) => {
  const { parts } = dataset.scan;
  const pattern = compileJsonPattern(text);
  const encoding = /^[ -~]*$/.test(pattern.source) ? "latin1" : "utf8";
  const window = new ReadWindow(Buffer.allocUnsafeSlow(windowBytes));
  const breaks = new Breaks(signal);
  for (let at = 0; at < parts.count; at++) {
    if (breaks.isDue(4 * parts.columns.length.at(at))) {
      progress.share = at / parts.count;
      await breaks.take();
    }
    const groupPart = getPart(dataset, at);
    const { start, length } = groupPart.part;
    const bytes = await window.read(groupPart.source, start, length);
    // Checking all bytes would take as long as searching them.
    const isFound = bytes.length < length || pattern.test(bytes.toString(encoding));
    if (isFound && requireUnchanged(bytes, groupPart)) progress.found.add(dataset.groups.groupOf(at));
  }
  progress.share = 1;
};

/** Groups rollouts, and writes each group as a line of rollcall's format. */
import { hash } from "node:crypto";
import type { Host } from "../host.ts";
import { type Bytes, openSpool, type Records, readRange, type Spool } from "../input/index.ts";
import type { Span } from "../json/walk.ts";
import type { Rollout } from "./format.ts";
import { LineWriter, toJson } from "./output-json.ts";
import type { Value } from "./value.ts";

export interface ConvertedFile {
  readonly name: string;
  readonly records: Records;
  /** Its position among the files of its format. */
  readonly position: number;
  /** Files with the same number share their groups. */
  scope: number;
}

export interface RolloutPosition {
  readonly file: ConvertedFile;
  readonly record: number;
  /** Its position in the record; -1 if that could not be converted. */
  readonly position: number;
}

/** A rollout of a group, with the range of its text. */
export interface WrittenRollout extends RolloutPosition {
  readonly start: number;
  /** In bytes; 0 unless it is a trajectory. */
  readonly length: number;
  /** Its part of the record. Default: all of it. */
  readonly span: Span | undefined;
  /** Digests of its values, and the other part of its dedup key. */
  readonly digest: string;
  readonly identity: string;
  /** Its position in the group, if the record has it. */
  readonly index: number | undefined;
}

export interface ConvertedGroup {
  readonly position: number;
  readonly rollouts: WrittenRollout[];
  /** True if a part of it could not be converted. */
  isBroken: boolean;
  trajectories: number;
  /** JSON of its exceptions, and of its own members. */
  exceptions: string;
  members: string;
}

const maxBufferedBytes = 2 ** 20;

const lineStart = '{"trajectories":[';

const lineEnd = ({ exceptions, members }: ConvertedGroup): string =>
  `]${exceptions === "" ? "" : `,"exceptions":[${exceptions}]`}${members}}\n`;

const digestOf = ({ bytes, span: { start, end } }: Value): string =>
  hash("sha256", bytes.subarray(start, end), "binary");

/** Opens lines, which are written in the order of the rollouts. At the end, separated rollouts of a group are joined. */
export const openGroupLines = (spool: Spool) => {
  const groups: ConvertedGroup[] = [];
  const byKey = new Map<string, ConvertedGroup>();
  const writer = new LineWriter(2 * maxBufferedBytes);
  let flushed = 0;
  /** The group whose line is being written. */
  let open: ConvertedGroup | undefined;
  let isInOrder = true;
  /** The last identity, so that rollouts with an equal identity share one string. */
  let lastIdentity = "";

  const groupOf = (key: string, { scope }: ConvertedFile): ConvertedGroup => {
    const own = `${scope} ${key}`;
    const known = byKey.get(own);
    if (known !== undefined) return known;
    const empty = { isBroken: false, trajectories: 0, exceptions: "", members: "" };
    const group: ConvertedGroup = { position: groups.length, rollouts: [], ...empty };
    groups.push(group);
    byKey.set(own, group);
    return group;
  };
  const beginLine = (group: ConvertedGroup, members: Rollout["members"] = []): void => {
    group.members = members.map(([key, json]) => `,${JSON.stringify(key)}:${toJson(json)}`).join("");
    if (open !== undefined) writer.text(lineEnd(open));
    open = group;
    writer.text(lineStart);
  };
  const flushTo = async (to: Spool): Promise<void> => {
    const bytes = writer.take();
    await to.write(bytes);
    flushed += bytes.length;
  };
  const isFull = (): boolean => writer.length >= maxBufferedBytes;
  const writeLine = async (group: ConvertedGroup, texts: Bytes): Promise<void> => {
    writer.text(group.isBroken ? "!\n" : lineStart);
    if (group.isBroken) return;
    let between = "";
    for (const one of group.rollouts) {
      if (one.length === 0) continue;
      writer.text(between);
      writer.bytes(await readRange(texts, one));
      between = ",";
    }
    writer.text(lineEnd(group));
  };

  return {
    groups,

    add(rollout: Rollout, record: Value, { file, record: at, position }: RolloutPosition): void {
      const group = groupOf(rollout.group, file);
      const { trajectory, exception, index, members, part, identity = "" } = rollout;
      const before = group.rollouts.at(-1);
      if (before === undefined) beginLine(group, members);
      else if (group !== open || (index ?? 0) < (before.index ?? 0)) isInOrder = false;
      if (exception !== undefined) group.exceptions += `${group.exceptions === "" ? "" : ","}${toJson(exception)}`;
      if (trajectory !== undefined && group.trajectories++ > 0) writer.text(",");
      const start = flushed + writer.length;
      if (trajectory !== undefined) writer.write(trajectory);
      const length = flushed + writer.length - start;
      const { identityValues = [part ?? record, ...(rollout.documents ?? [])] } = rollout;
      const digest = identityValues.map(digestOf).join("");
      if (identity !== lastIdentity) lastIdentity = identity;
      const span = part === undefined || part.isWhole ? undefined : part.span;
      // Without a spread, which needs twice the memory. There can be a million.
      group.rollouts.push({ file, record: at, position, start, length, span, digest, identity: lastIdentity, index });
    },

    /** Adds a record, or a part of one, that could not be converted, so that its group is broken. Returns the group. */
    addBroken(key: string, at: RolloutPosition, span: Span | undefined): ConvertedGroup {
      const group = groupOf(key, at.file);
      isInOrder = false;
      group.isBroken = true;
      group.rollouts.push({ ...at, start: 0, length: 0, span, digest: "", identity: "", index: undefined });
      return group;
    },

    isFull,
    flush: async (): Promise<void> => await flushTo(spool),

    /** Returns all lines. */
    async end(host: Host): Promise<Bytes> {
      if (open !== undefined) writer.text(lineEnd(open));
      await flushTo(spool);
      const texts = spool.bytes();
      if (isInOrder) return texts;
      const ordered = await openSpool(host);
      for (const group of groups) {
        group.rollouts.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
        await writeLine(group, texts);
        if (isFull()) await flushTo(ordered);
      }
      await flushTo(ordered);
      await texts.close();
      return ordered.bytes();
    },

    discard: async (): Promise<void> => await spool.discard(),
  };
};

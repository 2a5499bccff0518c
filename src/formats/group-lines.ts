/** Puts rollouts into groups, and writes each group as a line of rollcall's format. */
import { hash } from "node:crypto";
import type { Host } from "../host.ts";
import { type Bytes, openSpool, readRange, type Spool } from "../input/index.ts";
import type { Span } from "../json/walk.ts";
import type { Rollout } from "./format.ts";
import { LineWriter, toJson } from "./output-json.ts";
import type { Value } from "./value.ts";

/** A record among those of all files, and the position of a rollout of it: -1 if it could not be converted. */
export interface RolloutPosition {
  readonly file: number;
  readonly record: number;
  readonly position: number;
}

/** A rollout of a group: what it was made of, and the range of its text. */
export interface WrittenRollout extends RolloutPosition {
  readonly start: number;
  /** In bytes; 0 if it is not a trajectory. */
  readonly length: number;
  /** The part of the record that it is. Default: all of it. */
  readonly span: Span | undefined;
  readonly isException: boolean;
  readonly digest: string;
  /** Its position in the group, if the record has it. */
  readonly index: number | undefined;
}

/** A group, which becomes a line. */
export interface ConvertedGroup {
  readonly position: number;
  readonly rollouts: WrittenRollout[];
  /** True if something of it could not be converted. */
  isBroken: boolean;
  trajectories: number;
  /** JSON of its exceptions, and of its own members. */
  exceptions: string;
  members: string;
}

export type GroupLines = ReturnType<typeof openGroupLines>;

/** Bytes of lines that are in memory before they are written. */
const maxBufferedBytes = 2 ** 20;

const lineStart = '{"trajectories":[';

const lineEnd = ({ exceptions, members }: ConvertedGroup): string =>
  `]${exceptions === "" ? "" : `,"exceptions":[${exceptions}]`}${members}}\n`;

const digestOf = ({ bytes, span: { start, end } }: Value): string =>
  hash("sha256", bytes.subarray(start, end), "binary");

/**
 * Opens lines, which are written as rollouts come. If those of a group are apart, all are written again at the end.
 * @param hasGroupsAcrossFiles true if a group can have rollouts in several files
 */
export const openGroupLines = (spool: Spool, hasGroupsAcrossFiles: boolean) => {
  /** In the order of their first rollouts. */
  const groups: ConvertedGroup[] = [];
  const byKey = new Map<string, ConvertedGroup>();
  /** The group of the last rollout: most rollouts belong to that of the one before. */
  let last: { readonly key: string; readonly file: number; readonly group: ConvertedGroup } | undefined;
  const writer = new LineWriter(2 * maxBufferedBytes);
  let flushed = 0;
  /** The group whose line is being written. */
  let open: ConvertedGroup | undefined;
  let isInOrder = true;

  const groupOf = (key: string, file: number): ConvertedGroup => {
    if (key === last?.key && file === last.file) return last.group;
    const own = hasGroupsAcrossFiles ? key : `${file} ${key}`;
    let group = byKey.get(own);
    if (group === undefined) {
      const empty = { isBroken: false, trajectories: 0, exceptions: "", members: "" };
      group = { position: groups.length, rollouts: [], ...empty };
      groups.push(group);
      byKey.set(own, group);
    }
    last = { key, file, group };
    return group;
  };
  const beginLine = (group: ConvertedGroup, members: Rollout["members"] = []): void => {
    group.members = members.map(([key, built]) => `,${JSON.stringify(key)}:${toJson(built)}`).join("");
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

    /** Adds a rollout of a record. @param withoutLines bytes that contain no line ends */
    add(
      rollout: Rollout,
      record: Value,
      { place, withoutLines }: { place: RolloutPosition; withoutLines: Buffer | undefined },
    ): void {
      const group = groupOf(rollout.group, place.file);
      const { trajectory, exception, index, members, part: of = record } = rollout;
      const before = group.rollouts.at(-1);
      if (before === undefined) beginLine(group, members);
      else if (group !== open || (index ?? 0) < (before.index ?? 0)) isInOrder = false;
      if (exception !== undefined) group.exceptions += `${group.exceptions === "" ? "" : ","}${toJson(exception)}`;
      if (trajectory !== undefined && group.trajectories++ > 0) writer.text(",");
      const start = flushed + writer.length;
      writer.withoutNewlines = withoutLines;
      if (trajectory !== undefined) writer.write(trajectory);
      const length = flushed + writer.length - start;
      const { identityValues: known = [of, ...(rollout.documents ?? [])], identity = "" } = rollout;
      const digest = `${known.map(digestOf).join("")}${identity}`;
      const isException = exception !== undefined;
      const { file, record: own, position } = place;
      group.rollouts.push({
        file,
        record: own,
        position,
        start,
        length,
        span: rollout.part?.span,
        isException,
        digest,
        index,
      });
    },

    /** Adds a record, or a part of one, that could not be converted, so that its group is broken. Returns the group. */
    addBroken(key: string, place: RolloutPosition, span: Span | undefined): ConvertedGroup {
      const group = groupOf(key, place.file);
      isInOrder = false;
      group.isBroken = true;
      const nothing = { position: -1, start: 0, length: 0, isException: true, digest: "", index: undefined };
      group.rollouts.push({ ...place, ...nothing, span });
      return group;
    },

    /** True if so much is in memory that it should be flushed. */
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

/** Groups rollouts, and writes each group as a line of rollcall's format. */
import { hash } from "node:crypto";
import type { Host } from "../host.ts";
import { type Bytes, openSpool, type Records, readRange, type Spool } from "../input/index.ts";
import type { Rollout } from "./format.ts";
import { type Json, JsonWriter } from "./output-json.ts";
import type { Value } from "./value.ts";

export interface ConvertedFile {
  readonly name: string;
  readonly records: Records;
  readonly position: number;
  /** Files with the same number share their groups. */
  fileSet: number;
}

export type RolloutPosition = Readonly<{
  file: ConvertedFile;
  record: number;
  /** Index among the record's rollouts; -1 if the record could not be converted. */
  position: number;
}>;

export interface WrittenRollout extends RolloutPosition {
  /** Byte offset in the spool. */
  readonly start: number;
  /** Bytes; 0 without a trajectory. */
  readonly length: number;
  /** Undefined for the whole record. */
  readonly span: Value["span"] | undefined;
  /** Digests of `Rollout.identityValues`, then `Rollout.identity`. */
  readonly digest: string;
  readonly index: number | undefined;
}

export interface ConvertedGroup {
  readonly position: number;
  readonly rollouts: WrittenRollout[];
  isBroken: boolean;
  trajectories: number;
  /** Items of a JSON array. */
  exceptions: string;
  /** Members of a JSON object. */
  members: string;
}

/** First character of the keys of groups across files. */
export const crossFileMark = "\0";

const maxBufferedBytes = 2 ** 20;

const lineStart = '{"trajectories":[';
const lineEnd = ({ exceptions, members }: ConvertedGroup) =>
  `]${exceptions === "" ? "" : `,"exceptions":[${exceptions}]`}${members && ","}${members}}\n`;

const digestOf = ({ bytes, span: { start, end } }: Value) => hash("sha256", bytes.subarray(start, end), "binary");

/** Groups are in the order of their first rollouts. */
export const openGroupLines = (spool: Spool, { skipsDigests }: { readonly skipsDigests: boolean }) => {
  const groups: ConvertedGroup[] = [];
  const byKey = new Map<string, ConvertedGroup>();
  const pending = new JsonWriter();
  let flushed = 0;
  let current: ConvertedGroup | undefined;
  let isInOrder = true;
  let ordered: Spool | undefined;
  const groupOf = (key: string, { fileSet }: ConvertedFile) => {
    const fullKey = key.startsWith(crossFileMark) ? key : `${fileSet} ${key}`;
    const existing = byKey.get(fullKey);
    if (existing) return existing;
    const empty = { isBroken: false, trajectories: 0, exceptions: "", members: "" };
    const group: ConvertedGroup = { position: groups.length, rollouts: [], ...empty };
    groups.push(group);
    byKey.set(fullKey, group);
    return group;
  };
  const writeText = (text: string) => pending.write(Buffer.from(text, "latin1"));
  const toLatin1Json = (json: Json) => {
    const start = pending.length;
    pending.writeOnOneLine(json);
    return pending.take(start).toString("latin1");
  };
  const flushTo = async (to: Spool) => {
    const bytes = pending.take();
    flushed += bytes.length;
    await to.write(bytes);
  };
  const flushFullTo = (to: Spool) => (pending.length >= maxBufferedBytes ? flushTo(to) : undefined);

  return {
    groups,
    add(rollout: Rollout, record: Value, { file, record: at, position }: RolloutPosition): void {
      const group = groupOf(rollout.group ?? "", file);
      const { trajectory, exception, index, members = [], part, documents = [], identity = "" } = rollout;
      const before = group.rollouts.at(-1);
      if (!before) {
        group.members = toLatin1Json(new Map(members)).slice(1, -1);
        writeText(`${current ? lineEnd(current) : ""}${lineStart}`);
        current = group;
      } else if (group !== current || (index ?? 0) < (before.index ?? 0)) isInOrder = false;
      if (exception !== undefined) group.exceptions += `${group.exceptions && ","}${toLatin1Json(exception)}`;
      if (trajectory !== undefined && group.trajectories++ > 0) writeText(",");
      const start = flushed + pending.length;
      const length = trajectory === undefined ? 0 : pending.writeOnOneLine(trajectory).length;
      const identities = skipsDigests ? [] : (rollout.identityValues ?? [part ?? record, ...documents]);
      const digest = identities.map(digestOf).join("") + identity;
      // A spread would need twice the memory, and there can be a million rollouts.
      group.rollouts.push({ file, record: at, position, start, length, span: part?.span, digest, index });
    },
    addBroken(key: string, at: RolloutPosition, part: Value | undefined): ConvertedGroup {
      const group = groupOf(key, at.file);
      isInOrder = false;
      group.isBroken = true;
      group.rollouts.push({ ...at, start: 0, length: 0, span: part?.span, digest: "", index: undefined });
      return group;
    },
    /** Returns undefined if the buffer is not full, because an await takes time. */
    flushFull: (): Promise<void> | undefined => flushFullTo(spool),
    async end(host: Host): Promise<Bytes> {
      if (current) writeText(lineEnd(current));
      await flushTo(spool);
      const texts = spool.bytes();
      if (isInOrder) return texts;
      ordered = await openSpool(host);
      for (const group of groups) {
        group.rollouts.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
        // A line that is not JSON makes the group invalid. The group's problems are already reported.
        writeText(group.isBroken ? "!\n" : lineStart);
        const trajectories = group.isBroken ? [] : group.rollouts.filter(({ length }) => length > 0);
        for (const [at, trajectory] of trajectories.entries()) {
          if (at > 0) writeText(",");
          pending.write(await readRange(texts, trajectory));
        }
        if (!group.isBroken) writeText(lineEnd(group));
        await flushFullTo(ordered);
      }
      await flushTo(ordered);
      await texts.close();
      return ordered.bytes();
    },
    discard: () => Promise.all([spool.discard(), ordered?.discard()]),
  };
};

/** Writes groups as lines of rollcall's format, and maps the lines to records. */

import { hash } from "node:crypto";
import type { Host } from "../host.ts";
import * as input from "../input/index.ts";
import { replaceLineEnds } from "../json/json-bytes.ts";
import { findSource, type Json, JsonWriter } from "../messages/output-json.ts";
import type { Value } from "../messages/value.ts";
import { invalidInput } from "../problems/failures.ts";
import { Problems } from "../problems/problems.ts";
import type { FormatConversion } from "./convert.ts";
import { type DroppedCopy, dropCopies, pathInGroup } from "./copies.ts";
import type { Rollout } from "./format.ts";
import {
  type ConvertedFile,
  convertRecord,
  locateInRecord,
  parseRecord,
  type RolloutPosition,
} from "./source-records.ts";

export interface WrittenRollout extends RolloutPosition, Pick<Rollout, "id" | "changedAt" | "index"> {
  readonly start: number;
  /** The number of bytes, or 0 without a trajectory. */
  readonly length: number;
  /** The byte range of the part, or undefined for a whole record. */
  readonly span: Value["span"] | undefined;
  readonly digest: string;
  /** The JSON of the exception, or an empty text. */
  readonly exception: string;
  readonly isBroken?: true;
}

export interface ConvertedGroup {
  readonly position: number;
  readonly rollouts: WrittenRollout[];
  /** True for a group of `--group-by`. */
  readonly isKeyed: boolean;
  isBroken: boolean;
  trajectories: number;
  members: string;
}

/** A prefix for the keys of groups that span files. */
export const crossFileMark = "\0";

const maxBufferedBytes = 2 ** 20;

/** The positions of this many rollouts, each in its own group, take about 1.5 GB. */
const maxRollouts = 2_000_000;

const lineStart = '{"trajectories":[';
const lineEnd = ({ rollouts, members }: ConvertedGroup) => {
  const exceptions = rollouts.flatMap(({ exception }) => (exception === "" ? [] : exception));
  return `]${exceptions.length === 0 ? "" : `,"exceptions":[${exceptions.join()}]`}${members && ","}${members}}\n`;
};

const computeDigest = ({ bytes, span: { start, end } }: Value) => hash("sha256", bytes.subarray(start, end), "binary");

/** Writes groups in the order of their first rollouts. */
export const openGroupLines = (spool: input.Spool, { skipsDigests }: { readonly skipsDigests: boolean }) => {
  const groups: ConvertedGroup[] = [];
  const byKey = new Map<string, ConvertedGroup>();
  const pending = new JsonWriter();
  let [count, flushed] = [0, 0];
  let current: ConvertedGroup | undefined;
  let isInOrder = true;
  let ordered: input.Spool | undefined;
  const groupOf = (key: string, { fileSet }: ConvertedFile) => {
    const isKeyed = key.startsWith(crossFileMark);
    const fullKey = isKeyed ? key : `${fileSet} ${key}`;
    const existing = byKey.get(fullKey);
    if (existing) return existing;
    const empty = { isBroken: false, trajectories: 0, members: "" };
    const group: ConvertedGroup = { position: groups.length, rollouts: [], isKeyed, ...empty };
    groups.push(group);
    byKey.set(fullKey, group);
    return group;
  };
  /** @throws Failure `invalid-input` */
  const addTo = (group: ConvertedGroup, rollout: WrittenRollout) => {
    group.rollouts.push(rollout);
    if (++count <= maxRollouts) return;
    const refusal = new Problems();
    refusal.report("too-many-records", { rollouts: maxRollouts }, { file: rollout.file.name });
    throw invalidInput(refusal);
  };
  const writeText = (text: string) => pending.write(Buffer.from(text, "latin1"));
  const toLatin1Json = (json: Json) => {
    const start = pending.length;
    pending.writeOnOneLine(json);
    return pending.take(start).toString("latin1");
  };
  const flushTo = async (to: input.Spool) => {
    const bytes = pending.take();
    flushed += bytes.length;
    await to.write(bytes);
  };
  const writeGroup = async (group: ConvertedGroup, texts: input.Bytes) => {
    writeText(lineStart);
    for (const [at, trajectory] of group.rollouts.filter(({ length }) => length > 0).entries()) {
      if (at > 0) writeText(",");
      pending.write(await input.readRange(texts, trajectory));
    }
    writeText(lineEnd(group));
  };
  const flushFullTo = (to: input.Spool) => (pending.length >= maxBufferedBytes ? flushTo(to) : undefined);

  return {
    groups,
    add(rollout: Rollout, record: Value, { file, record: at, position }: RolloutPosition) {
      const group = groupOf(rollout.group ?? "", file);
      const { trajectory, index, members = [], part, documents = [], identity = "", id, changedAt } = rollout;
      const before = group.rollouts.at(-1);
      if (!before) {
        group.members = toLatin1Json(new Map(members)).slice(1, -1);
        writeText(`${current ? lineEnd(current) : ""}${lineStart}`);
        current = group;
      } else if (group !== current || (index ?? 0) < (before.index ?? 0)) isInOrder = false;
      const exception = rollout.exception === undefined ? "" : toLatin1Json(rollout.exception);
      if (trajectory !== undefined && group.trajectories++ > 0) writeText(",");
      const start = flushed + pending.length;
      const length = trajectory === undefined ? 0 : pending.writeOnOneLine(trajectory).length;
      const identities = skipsDigests ? [] : (rollout.identityValues ?? [part ?? record, ...documents]);
      const digest = identities.map(computeDigest).join("") + identity;
      const span = part?.span;
      // Spread syntax would need twice the memory.
      const written = { file, record: at, position, start, length, span, digest, index, exception, id, changedAt };
      addTo(group, written);
    },
    addBroken(key: string, at: RolloutPosition, { part, id, changedAt }: Rollout) {
      const group = groupOf(key, at.file);
      isInOrder = false;
      const nothing = { start: 0, length: 0, digest: "", exception: "", index: undefined };
      const rollout: WrittenRollout = { ...at, ...nothing, span: part?.span, id, changedAt, isBroken: true };
      addTo(group, rollout);
      return { group, rollout };
    },
    /** Expects that all rollouts were added. */
    dropCopies() {
      const copies = dropCopies(groups);
      if (copies.length > 0) isInOrder = false;
      return copies;
    },
    /** Returns a promise only if the buffer is full, because an await takes time. */
    flushFull: () => flushFullTo(spool),
    async end(host: Host) {
      if (current) writeText(lineEnd(current));
      await flushTo(spool);
      const texts = spool.bytes();
      if (isInOrder) return texts;
      ordered = await input.openSpool(host);
      for (const group of groups) {
        group.rollouts.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
        // `!` is not JSON, so the group becomes invalid.
        if (group.isBroken) writeText("!\n");
        // The rollouts of a joined group are in another line.
        else if (group.rollouts.length === 0) writeText("\n");
        else await writeGroup(group, texts);
        await flushFullTo(ordered);
      }
      await flushTo(ordered);
      await texts.close();
      return ordered.bytes();
    },
    discard: () => Promise.all([spool.discard(), ordered?.discard()]),
  };
};

/** @param keys names that `--group-by` could use instead */
export const findKeyUse = (groups: readonly ConvertedGroup[], keys: readonly string[]): input.GroupKeyUse => {
  const filesOf = ({ rollouts }: ConvertedGroup) => new Set(rollouts.map(({ file }) => file)).size;
  const lacksKey = ({ isKeyed, isBroken }: ConvertedGroup) => !isKeyed && !isBroken;
  return {
    keys,
    isUsed: groups.some(({ isKeyed }) => isKeyed),
    joined: groups.filter((group) => group.isKeyed && filesOf(group) > 1).length,
    linesWithout: groups.flatMap((group, at) => (lacksKey(group) ? at + 1 : [])),
  };
};

export const createLineOrigin = (
  { files, format, converter, output: { groups } }: FormatConversion,
  copies: readonly DroppedCopy[],
): input.OriginalLines => {
  const rolloutsOf = (line: number) => groups[line - 1]?.rollouts ?? [];
  const rereadRecord = async (at: RolloutPosition) => {
    const raw = await at.file.records.reread(at.record);
    const record = raw && parseRecord(format, raw, at);
    return { raw, value: record?.value, rollouts: record && convertRecord(converter, record) };
  };
  /** A document can be the record of many groups. */
  let latest: { at: RolloutPosition; converted: ReturnType<typeof rereadRecord> } | undefined;
  const convertAgain = async (written: WrittenRollout) => {
    if (latest?.at.file !== written.file || latest.at.record !== written.record)
      latest = { at: written, converted: rereadRecord(written) };
    const { raw, value, rollouts } = await latest.converted;
    return { raw, value, rollout: rollouts?.[written.position] };
  };
  const locateRollout = async (written: WrittenRollout) => {
    const { raw, value, rollout } = await convertAgain(written);
    return raw && value ? locateInRecord(raw, rollout?.part ?? value) : written.file.records.locate(written.record);
  };
  return {
    files: files.map(({ name }) => name),
    copies: copies.flatMap(({ copy, kept, keptIn }) => {
      const pathOf = ({ name }: ConvertedFile) => name.replace(format.repeatedPath ?? "", "");
      const isExpected = copy.file !== kept.file && pathOf(copy.file) === pathOf(kept.file);
      const locate = async () => await locateRollout(copy);
      const findPath = () => pathInGroup(keptIn, kept);
      return isExpected ? [] : { line: keptIn.position + 1, findPath, locate };
    }),
    canRegroup: format.takesGroupKey === true && files.length > 1,
    isBroken: (line) => groups[line - 1]?.isBroken === true,
    digestOf: (line, kept) => {
      const rollouts = rolloutsOf(line);
      const trajectories = rollouts.filter(({ length }) => length > 0);
      const selected = new Set(kept?.map((at) => trajectories[at]) ?? trajectories);
      const chosen = rollouts.filter((rollout) => rollout.length === 0 || selected.has(rollout));
      // The digest must not depend on the order of the records.
      const digests = chosen.map(({ digest }) => digest).sort();
      return hash("sha256", digests.join("\n"), "buffer");
    },
    positionOf: (line) => {
      const [first] = rolloutsOf(line);
      const record = first?.file.records.locate(first.record) ?? { label: "the input", line: 1 };
      return { file: record.label, line: record.line };
    },
    async locationOf(line, path) {
      const [key, position] = path;
      const rollouts = rolloutsOf(line);
      const isException = key === "exceptions";
      const candidates = rollouts.filter((one) => (one.length === 0) === isException && !one.isBroken);
      const written = (typeof position === "number" ? candidates[position] : undefined) ?? rollouts[0];
      const { raw, value, rollout } = written ? await convertAgain(written) : {};
      if (!raw || !value) return {};
      const json = rollout?.trajectory ?? rollout?.exception;
      const source = json === undefined || path.length < 3 ? undefined : findSource(json, path.slice(2));
      return locateInRecord(raw, source?.value ?? rollout?.part ?? value, source?.rest);
    },
    /** Returns each record, part and document once, as a single line. */
    async recordsOf(line) {
      const parts = rolloutsOf(line).map(
        (one) => [`${one.file.position} ${one.record} ${one.span?.start ?? 0}`, one] as const,
      );
      const records: input.OriginalRecord[] = [];
      const documents = new Set<string>();
      const add = (file: string, line: number, bytes: Buffer) =>
        records.push({ file, line, bytes: replaceLineEnds(Buffer.from(bytes)) });
      for (const written of new Map(parts).values()) {
        const { raw, rollout } = await convertAgain(written);
        if (!raw || raw.fault !== undefined) continue;
        const { label, line } = written.file.records.locate(written.record);
        add(label, line, raw.bytes.subarray(written.span?.start, written.span?.end));
        for (const { document = "", bytes } of rollout?.documents ?? []) {
          if (!documents.has(document)) add(document, 1, bytes);
          documents.add(document);
        }
      }
      return records;
    },
    textOf: (label) => files.find(({ name }) => name === label)?.records.text,
  };
};

interface WrittenGroups {
  groups: readonly ConvertedGroup[];
  copies: readonly DroppedCopy[];
}

export function* listRecordMappings(written: readonly WrittenGroups[]) {
  const numbers = new Map<ConvertedGroup, number>();
  const toMapping = ({ file, record }: WrittenRollout, group: number, trajectory: number | null) => {
    const { label, line } = file.records.locate(record);
    return { file: label, line, group, trajectory };
  };
  for (const group of written.flatMap(({ groups }) => groups)) {
    if (group.rollouts.length > 0) numbers.set(group, numbers.size + 1);
    let trajectories = 0;
    for (const rollout of group.rollouts)
      yield toMapping(rollout, numbers.size, rollout.length > 0 ? ++trajectories : null);
  }
  for (const { copy, keptIn } of written.flatMap(({ copies }) => copies))
    yield toMapping(copy, numbers.get(keptIn) ?? 0, null);
}

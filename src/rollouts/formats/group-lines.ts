/** Writes groups as lines of rollcall's format, and maps the lines to records. */

import { hash } from "node:crypto";
import { isDerivedFinish } from "../../conversation/finish-reason.ts";
import { replaceLineEnds } from "../../json/json-bytes.ts";
import { elementsOf, findSource, type Json, JsonWriter, memberOf } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import type { Host } from "../../system/host.ts";
import { formatList, pluralize } from "../../text/sentences.ts";
import { findBounds } from "../index/sums.ts";
import * as sources from "../input/source.ts";
import { openSpool, type Spool } from "../input/spool.ts";
import { tooManyRecords } from "../rules/failures.ts";
import type { Path } from "../rules/positions.ts";
import type { Converter, Format, FormatOptions, Group, Rollout } from "./format.ts";
import {
  type ConvertedFile,
  convertRecord,
  locateInRecord,
  parseRecord,
  type RolloutPosition,
} from "./source-records.ts";

export interface WrittenRollout extends RolloutPosition, Pick<Rollout, "id" | "index"> {
  readonly start: number;
  /** The number of bytes, or 0 without a trajectory. */
  readonly length: number;
  /** The byte range of the part, or undefined for a whole record. */
  readonly span: Value["span"] | undefined;
  readonly digest: string;
  /** The JSON of the exception, or an empty text. */
  readonly exception: string;
  /** True if the record states no finish reason of the last choice. */
  readonly isFinishDerived?: boolean;
  readonly isBroken?: true;
}

export interface ConvertedGroup {
  readonly position: number;
  readonly rollouts: WrittenRollout[];
  /** True for a group with a key of `--group-by`. */
  readonly spansFiles: boolean;
  isBroken: boolean;
  trajectories: number;
  members: string;
}

const maxBufferedBytes = 2 ** 20;

/** The positions of this many rollouts, each in its own group, take about 1.5 GB. */
const maxRollouts = 2_000_000;

const lineStart = '{"trajectories":[';
const lineEnd = ({ rollouts, members }: ConvertedGroup) => {
  const exceptions = rollouts.map(({ exception }) => exception).filter((exception) => exception !== "");
  return `]${exceptions.length === 0 ? "" : `,"exceptions":[${exceptions.join()}]`}${members && ","}${members}}\n`;
};

const computeDigest = ({ bytes, span: { start, end } }: Value) => hash("sha256", bytes.subarray(start, end), "binary");

/** Writes groups in the order of their first rollouts. */
export class GroupLines {
  readonly groups: ConvertedGroup[] = [];
  /** What makes the groups, as in `Group.by`. */
  readonly ways = new Set<string>();
  readonly #byKey = new Map<string, ConvertedGroup>();
  readonly #spool: Spool;
  readonly #skipsDigests: boolean;
  readonly #pending = new JsonWriter();
  #flushedBytes = 0;
  #rollouts = 0;
  #current: ConvertedGroup | undefined;
  /** True while the lines in the spool are complete groups, with their rollouts in order. */
  #isInOrder = true;
  #ordered: Spool | undefined;

  constructor(spool: Spool, { skipsDigests = false }: Pick<FormatOptions, "skipsDigests">) {
    this.#spool = spool;
    this.#skipsDigests = skipsDigests;
  }

  add(rollout: Rollout, value: Value, { file, record, position }: RolloutPosition) {
    const group = this.#findGroup(rollout.group ?? { key: "" }, { file, record });
    const { trajectory, index, part, documents = [], identity = "", id } = rollout;
    const before = group.rollouts.at(-1);
    if (!before) this.#startGroup(group, rollout.members);
    else if (group !== this.#current || (index ?? 0) < (before.index ?? 0)) this.#isInOrder = false;
    const exception = rollout.exception === undefined ? "" : this.#toLatin1Json(rollout.exception);
    if (trajectory !== undefined && group.trajectories++ > 0) this.#writeText(",");
    const start = this.#flushedBytes + this.#pending.length;
    const length = trajectory === undefined ? 0 : this.#pending.writeOnOneLine(trajectory).length;
    const identities = rollout.identityValues ?? [part ?? value, ...documents];
    const digest = this.#skipsDigests ? identity : identities.map(computeDigest).join("") + identity;
    const span = part?.span;
    // Spread syntax would need twice the memory.
    const isFinishDerived = isLastFinishDerived(trajectory);
    const written: WrittenRollout = {
      ...{ file, record, position, start, length, span, digest, index, exception, id, isFinishDerived },
    };
    this.#addTo(group, written);
    return { group, rollout: written };
  }

  addBroken(of: Group, at: RolloutPosition, { part, id }: Rollout) {
    const group = this.#findGroup(of, at);
    this.#isInOrder = false;
    const nothing = { start: 0, length: 0, digest: "", exception: "", index: undefined };
    const rollout: WrittenRollout = { ...at, ...nothing, span: part?.span, id, isBroken: true };
    this.#addTo(group, rollout);
    return group;
  }

  /** Returns a promise only if the buffer is full, because an await takes time. */
  flushFull() {
    return this.#flushFullTo(this.#spool);
  }

  async end(host: Host) {
    if (this.#current) this.#writeText(lineEnd(this.#current));
    await this.#flushTo(this.#spool);
    const texts = this.#spool.bytes();
    if (this.#isInOrder) return texts;
    this.#ordered = await openSpool(host);
    for (const group of this.groups) {
      await this.#writeGroup(group, texts);
      await this.#flushFullTo(this.#ordered);
    }
    await this.#flushTo(this.#ordered);
    await texts.close();
    return this.#ordered.bytes();
  }

  async discard() {
    await Promise.all([this.#spool.discard(), this.#ordered?.discard()]);
  }

  #findGroup({ key, by, spansFiles = false }: Group, { file, record }: Pick<RolloutPosition, "file" | "record">) {
    if (by !== undefined) this.ways.add(by);
    const fullKey = spansFiles ? ` ${key}` : `${file.fileSet} ${file.areRecordsApart ? record : ""} ${key}`;
    const existing = this.#byKey.get(fullKey);
    if (existing) return existing;
    const empty = { isBroken: false, trajectories: 0, members: "" };
    const group: ConvertedGroup = { position: this.groups.length, rollouts: [], spansFiles, ...empty };
    this.groups.push(group);
    this.#byKey.set(fullKey, group);
    return group;
  }

  #startGroup(group: ConvertedGroup, members: Rollout["members"] = []) {
    group.members = this.#toLatin1Json(new Map(members)).slice(1, -1);
    this.#writeText(`${this.#current ? lineEnd(this.#current) : ""}${lineStart}`);
    this.#current = group;
  }

  /** @throws Failure `invalid-input` */
  #addTo(group: ConvertedGroup, rollout: WrittenRollout) {
    group.rollouts.push(rollout);
    if (++this.#rollouts > maxRollouts) throw tooManyRecords({ rollouts: maxRollouts }, rollout.file.name);
  }

  async #writeGroup(group: ConvertedGroup, texts: sources.Bytes) {
    group.rollouts.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
    // `!` is not JSON, so the group becomes invalid.
    if (group.isBroken) return this.#writeText("!\n");
    this.#writeText(lineStart);
    for (const [at, trajectory] of group.rollouts.filter(({ length }) => length > 0).entries()) {
      if (at > 0) this.#writeText(",");
      this.#pending.write(await sources.readRange(texts, trajectory));
    }
    this.#writeText(lineEnd(group));
  }

  #writeText(text: string) {
    this.#pending.write(Buffer.from(text, "latin1"));
  }

  #toLatin1Json(json: Json) {
    const start = this.#pending.length;
    this.#pending.writeOnOneLine(json);
    return this.#pending.take(start).toString("latin1");
  }

  #flushFullTo(to: Spool) {
    return this.#pending.length >= maxBufferedBytes ? this.#flushTo(to) : undefined;
  }

  async #flushTo(to: Spool) {
    const bytes = this.#pending.take();
    this.#flushedBytes += bytes.length;
    await to.write(bytes);
  }
}

const maxNamedSizes = 4;

/** Returns a text such as `grouped by group_id: 3 groups of 16, 8, 1`. */
export const describeGroups = ({ groups, ways }: Pick<GroupLines, "groups" | "ways">) => {
  const sizes = groups.map(({ rollouts }) => rollouts.length);
  const { min, max } = findBounds(sizes);
  const range = min === max ? `${min}` : sizes.length <= maxNamedSizes ? sizes.join(", ") : `${min} to ${max}`;
  const listed = sizes.length === 0 ? "" : ` of ${range}`;
  const by = ways.size === 0 ? "" : `grouped by ${formatList([...ways], 2)}: `;
  return `${by}${pluralize(sizes.length, "group")}${listed}`;
};

/** True if rollcall added the finish reason of the last choice. */
const isLastFinishDerived = (trajectory: Json | undefined) => {
  const turns = elementsOf(memberOf(trajectory, "messages_and_choices"));
  const last = turns.findLast((turn) => memberOf(turn, "finish_reason") !== undefined);
  return isDerivedFinish(memberOf(last, "finish_reason"));
};

/** @param keys names that `--group-by` could use instead */
export const findKeyUse = (groups: readonly ConvertedGroup[], keys: readonly string[]): sources.GroupKeyUse => {
  const filesOf = ({ rollouts }: ConvertedGroup) => new Set(rollouts.map(({ file }) => file)).size;
  const lacksKey = ({ spansFiles, isBroken }: ConvertedGroup) => !spansFiles && !isBroken;
  return {
    keys,
    isUsed: groups.some(({ spansFiles }) => spansFiles),
    joined: groups.filter((group) => group.spansFiles && filesOf(group) > 1).length,
    linesWithout: groups.flatMap((group, at) => (lacksKey(group) ? at + 1 : [])),
  };
};

interface ConvertedFiles {
  readonly files: readonly ConvertedFile[];
  readonly format: Format;
  readonly converter: Converter;
  readonly groups: readonly ConvertedGroup[];
}

export const createLineOrigin = (converted: ConvertedFiles): sources.OriginalLines => {
  const { files, format, converter, groups } = converted;
  const rolloutsOf = (line: number) => groups[line - 1]?.rollouts ?? [];
  const reread = openRereader(format, converter);
  return {
    files: files.map(({ name }) => name),
    canRegroup: format.takesGroupKey === true,
    isBroken: (line) => groups[line - 1]?.isBroken === true,
    digestOf: (line) => digestRollouts(rolloutsOf(line)),
    positionOf: (line) => {
      const first = findFirst(rolloutsOf(line));
      const record = first?.file.records.locate(first.record) ?? { label: "the input", line: 1 };
      return { file: record.label, line: record.line };
    },
    derivedFinishesOf: (line) =>
      rolloutsOf(line).flatMap((rollout) => (rollout.length > 0 ? rollout.isFinishDerived === true : [])),
    locationOf: async (line, path) => await locatePath(rolloutsOf(line), path, reread),
    recordsOf: async (line) => await listRecords(rolloutsOf(line), reread),
    failedRecordsOf: async (line) => await listFailedRecords(rolloutsOf(line), reread),
    textOf: (label) => files.find(({ name }) => name === label)?.records.text,
  };
};

type Reread = ReturnType<typeof openRereader>;

/** Returns a function that reads and converts the record of a rollout again. */
const openRereader = (format: Format, converter: Converter) => {
  const rereadRecord = async (at: RolloutPosition) => {
    const raw = await at.file.records.reread(at.record);
    const record = raw && parseRecord(format, raw, at);
    return { raw, value: record?.value, rollouts: record && convertRecord(converter, record) };
  };
  /** A document can be the record of many groups. */
  let latest: { at: RolloutPosition; converted: ReturnType<typeof rereadRecord> } | undefined;
  return async (written: WrittenRollout) => {
    if (latest?.at.file !== written.file || latest.at.record !== written.record)
      latest = { at: written, converted: rereadRecord(written) };
    const { raw, value, rollouts } = await latest.converted;
    return { raw, value, rollout: rollouts?.[written.position] };
  };
};

const digestRollouts = (rollouts: readonly WrittenRollout[]) => {
  // The digest must not depend on the order of the records.
  const digests = rollouts.map(({ digest }) => digest).sort();
  return hash("sha256", digests.join("\n"), "buffer");
};

/** Returns the first trajectory. A group without trajectories has exceptions. */
const findFirst = (rollouts: readonly WrittenRollout[]) => rollouts.find(({ length }) => length > 0) ?? rollouts[0];

const locatePath = async (rollouts: readonly WrittenRollout[], path: Path, reread: Reread) => {
  const [key, position] = path;
  const isException = key === "exceptions";
  const candidates = rollouts.filter((one) => (one.length === 0) === isException && !one.isBroken);
  const written = (typeof position === "number" ? candidates[position] : undefined) ?? findFirst(rollouts);
  if (!written) return {};
  const { raw, value, rollout } = await reread(written);
  if (!raw || !value) return {};
  const json = rollout?.trajectory ?? rollout?.exception;
  const source = json === undefined || path.length < 3 ? undefined : findSource(json, path.slice(2));
  return locateInRecord(raw, source?.value ?? rollout?.part ?? value, source?.rest);
};

const listFailedRecords = async (rollouts: readonly WrittenRollout[], reread: Reread) => {
  const records: (Buffer | undefined)[] = [];
  for (const written of rollouts) {
    if (written.length > 0 || written.isBroken) continue;
    const { raw } = await reread(written);
    records.push(raw?.bytes.subarray(written.span?.start, written.span?.end));
  }
  return records;
};

/** Returns each record, part and document once, as a single line. */
const listRecords = async (rollouts: readonly WrittenRollout[], reread: Reread) => {
  const partKey = ({ file, record, span }: WrittenRollout) => `${file.position} ${record} ${span?.start ?? 0}`;
  const parts = new Map(rollouts.map((written) => [partKey(written), written]));
  const documents = new Set<string>();
  const records: sources.OriginalRecord[] = [];
  const add = (file: string, line: number, bytes: Buffer) =>
    records.push({ file, line, bytes: replaceLineEnds(Buffer.from(bytes)) });
  for (const written of parts.values()) {
    const { raw, rollout } = await reread(written);
    if (!raw || raw.fault !== undefined) continue;
    const { label, line } = written.file.records.locate(written.record);
    add(label, line, raw.bytes.subarray(written.span?.start, written.span?.end));
    for (const { document = "", bytes } of rollout?.documents ?? []) {
      if (!documents.has(document)) add(document, 1, bytes);
      documents.add(document);
    }
  }
  return records;
};

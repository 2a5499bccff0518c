/** Converts files of another tool: makes of them one source of groups, a line each, that knows where all of it comes from. */

import type { Spot } from "../check/rules/problems.ts";
import type { Host } from "../host.ts";
import type { Cut } from "../input/records.ts";
import type { Source } from "../input/source.ts";
import { openKeeper } from "../input/spool.ts";
import { faultOf } from "../json/reader.ts";
import { newline, type Span } from "../json/walk.ts";
import type { LineWriter } from "./built.ts";
import { type Converter, type Format, type Rollout, Unfit } from "./format.ts";
import { GroupLines } from "./group-lines.ts";
import { type ConvertedFile, originOf, placeIn, recordIn, recordsMade, spotIn } from "./origin.ts";
import type { Receipt } from "./receipt.ts";
import { breakDoubtful, digestOf, type RolloutGroup, type Written } from "./rollout-groups.ts";
import { Value } from "./value.ts";

/** What conversion needs beside the files. */
interface Converting {
  readonly host: Host;
  readonly format: Format;
  readonly converter: Converter;
  /** What the source is called beside the files that it is made of. */
  readonly name: string;
  readonly receipt?: Receipt | undefined;
  /** What people should know of all rollouts together, and how often. */
  readonly notes: Map<string, number>;
}

/** A record that could not be converted, or that breaks its group. */
export interface Broken {
  /** Position of its group among all. */
  readonly group: number;
  /** What is wrong; undefined where the record is no JSON. */
  readonly wrong: string | undefined;
  readonly spot: Spot;
}

/** A group that a record may belong to which can't be read. */
interface InDoubt {
  readonly group: number;
  /** Where that record is. */
  readonly place: string;
}

/** What was made of files: their groups, and what was wrong with records. */
interface Converted {
  readonly source: Source;
  readonly broken: readonly Broken[];
  readonly inDoubt: readonly InDoubt[];
  /** Records whose group nobody knows. */
  readonly unplaced: number;
}

/** Converts files, one after the other. @throws Failure `spool-failed`; the signal's reason; what reading throws */
export const convertFiles = async (files: readonly ConvertedFile[], options: Converting): Promise<Converted> => {
  const areAcross = options.format.groupsAcross === true;
  const lines = new GroupLines(await openKeeper(options.host), { areAcross });
  const conversion = new Conversion(files, options, lines);
  try {
    await conversion.run();
    return await conversion.end();
  } catch (thrown) {
    await lines.discard();
    throw thrown;
  }
};

/** Where a record stands among the files. */
interface RecordPlace {
  readonly file: number;
  readonly record: number;
}

class Conversion {
  readonly #files: readonly ConvertedFile[];
  readonly #options: Converting;
  readonly #lines: GroupLines;
  readonly #broken: Broken[] = [];
  /** Groups of records whose group nobody knows. */
  readonly #unplaced = new Set<RolloutGroup>();

  constructor(files: readonly ConvertedFile[], options: Converting, lines: GroupLines) {
    this.#files = files;
    this.#options = options;
    this.#lines = lines;
  }

  async run(): Promise<void> {
    const { look, lookAtColumns } = this.#options.converter;
    if ((look ?? lookAtColumns) !== undefined) await this.#look();
    for (const [file, { records }] of this.#files.entries()) {
      let record = 0;
      for await (const batch of records.batches()) {
        for (const cut of batch) {
          this.#take(cut, { file, record: record++ });
          if (this.#lines.isFull) await this.#lines.flush();
        }
      }
    }
    this.#lines.close();
    await this.#lines.flush();
  }

  async #look(): Promise<void> {
    const { host, format, converter } = this.#options;
    for (const { name, records } of this.#files) {
      let position = 0;
      for await (const batch of records.batches(format.looksAt)) {
        host.signal.throwIfAborted();
        for (const cut of batch) {
          const place = { file: name, position: position++, member: cut.member };
          if (cut.columns !== undefined) converter.lookAtColumns?.(cut.columns, place);
          const value = converter.look === undefined ? undefined : recordIn(format, cut);
          if (value !== undefined) converter.look?.({ value, ...place });
        }
      }
    }
  }

  /** The source of all groups, a line each. */
  async end(): Promise<Converted> {
    const { host, name, format, converter, receipt } = this.#options;
    const { groups } = this.#lines;
    const inDoubt = breakDoubtful(groups, { unplaced: this.#unplaced, areAcross: format.groupsAcross === true }).map(
      ({ group, file, record }) => {
        const { label, line } = this.#files[file]?.records.placeOf(record) ?? { label: "a record", line: 1 };
        return { group, place: `${label}:${line}` };
      },
    );
    const kept = await this.#lines.bytes(host);
    if (receipt !== undefined) receipt.records = () => recordsMade(this.#files, groups);
    const { descriptor, ...own } = kept;
    // Lines that stand for what could not be converted are known here alone, and to no other thread.
    const shared = this.#broken.length === 0 && descriptor !== undefined ? { ...own, descriptor } : own;
    const close = async () => {
      await kept.close();
      for (const { records } of this.#files) await records.close();
    };
    const origin = originOf({ files: this.#files, groups, format, converter });
    const source = { name, bytes: { ...shared, close }, touched: async () => false, origin };
    return { source, broken: this.#broken, inDoubt, unplaced: this.#unplaced.size };
  }

  #take(cut: Cut, at: RecordPlace): void {
    const { host, format, converter, receipt } = this.#options;
    host.signal.throwIfAborted();
    const value = cut.wrong === undefined ? recordIn(format, cut) : undefined;
    if (value === undefined) {
      this.#breakUnread(cut, at);
      return;
    }
    this.#lines.withoutLines = cut.isMade === true || cut.bytes.includes(newline) ? undefined : cut.bytes;
    const record = { value, file: this.#files[at.file]?.name ?? "", position: at.record, member: cut.member };
    try {
      const rollouts = converter.convert(record);
      if (rollouts === undefined) return;
      for (const [position, rollout] of rollouts.entries()) {
        const { group, of = value, unfit, isUnplaced } = rollout;
        if (unfit === undefined) this.#add(rollout, value, { file: at.file, record: at.record, position });
        else
          this.#break(
            group,
            { ...at, span: of.span, isUnplaced },
            { wrong: unfit.message, spot: spotIn(cut, unfit.value) },
          );
      }
      receipt?.take(format, { file: record.file, value, rollouts });
    } catch (thrown) {
      if (!(thrown instanceof Unfit)) throw thrown;
      this.#break(thrown.group, at, { wrong: thrown.message, spot: spotIn(cut, thrown.value) });
      receipt?.take(format, { file: record.file, value, rollouts: undefined });
    }
  }

  /** A record that is no JSON, or can't be read: its groups are known where its name says them, or NaN is all that is wrong. */
  #breakUnread(cut: Cut, at: RecordPlace): void {
    const { converter, receipt, format } = this.#options;
    const fault = cut.wrong === undefined ? faultOf(cut.bytes) : undefined;
    const spot = placeIn(cut, fault?.at ?? 0);
    const value = fault === undefined ? undefined : Value.ofPython(cut.bytes);
    if (fault === undefined || value === undefined) {
      const group = cut.member === undefined ? undefined : converter.groupOf?.(cut.member);
      this.#break(group, at, { wrong: fault?.fault === "end" ? "it is cut off" : cut.wrong, spot });
      return;
    }
    const [word] = /^-?[A-Za-z]*/.exec(cut.bytes.toString("latin1", fault.token, fault.token + 9)) ?? [];
    for (const group of this.#groupsIn(value, cut, at)) this.#break(group, at, { wrong: `${word} is not JSON`, spot });
    receipt?.take(format, { file: this.#files[at.file]?.name ?? "", value, rollouts: undefined });
  }

  /** The groups that the rollouts of a record belong to, which can't be converted itself. */
  #groupsIn(value: Value, cut: Cut, { file, record: position }: RecordPlace): ReadonlySet<string | undefined> {
    const record = { value, file: this.#files[file]?.name ?? "", position, member: cut.member };
    try {
      const rollouts = this.#options.converter.convert(record) ?? [];
      return new Set(rollouts.length === 0 ? [undefined] : rollouts.map(({ group }) => group));
    } catch (thrown) {
      if (!(thrown instanceof Unfit)) throw thrown;
      return new Set([thrown.group]);
    }
  }

  #add(rollout: Rollout, value: Value, { file, record, position }: RecordPlace & Pick<Written, "position">): void {
    const { trajectory, exception, index, identity = "", of = value, known = [of, ...(rollout.with ?? [])] } = rollout;
    const digest = known.map(({ bytes, span }) => digestOf(bytes, span)).join("") + identity;
    const isException = exception !== undefined;
    const { notes } = this.#options;
    if (isException) notes.set(failedRollout, (notes.get(failedRollout) ?? 0) + 1);
    const span = rollout.of?.span;
    const own = { file, record, position, start: 0, length: 0, span, isException, digest, index, next: undefined };
    const writing = trajectory === undefined ? undefined : (sink: LineWriter) => sink.write(trajectory);
    this.#lines.add(rollout.group, own, { beside: rollout, write: writing });
  }

  /** A record that is not as it should be makes its group one that can't be read; alone, where nobody knows its group. */
  #break(
    key: string | undefined,
    {
      file,
      record,
      span,
      isUnplaced = key === undefined,
    }: RecordPlace & { readonly span?: Span | undefined; readonly isUnplaced?: boolean | undefined },
    broken: Omit<Broken, "group">,
  ): void {
    const place = { file, record, position: -1, start: 0, length: 0 };
    const own = { ...place, span, isException: true, digest: "", index: undefined, next: undefined };
    const group = this.#lines.addBroken(key ?? `broken ${file} ${record}`, own);
    if (isUnplaced) this.#unplaced.add(group);
    this.#broken.push({ ...broken, group: group.position });
  }
}

/** What is said of rollouts that failed. */
const failedRollout = "a rollout that failed is counted among the exceptions of its group, and is no trajectory";

/** Puts rollouts into groups, and writes each group as a line of rollcall's format. */
import { hash } from "node:crypto";
import type { Host } from "../host.ts";
import { type Bytes, openSpool, readRange, type Spool } from "../input/index.ts";
import type { Span } from "../json/walk.ts";
import { jsonOf, LineWriter } from "./built.ts";
import type { Rollout } from "./format.ts";
import type { Value } from "./value.ts";

/** A record among those of all files. */
export interface RecordPlace {
  readonly file: number;
  readonly record: number;
}

/** A rollout of a group: what it was made of, and the range of its text. */
export interface WrittenRollout extends RecordPlace {
  /** Its position among the rollouts of the record; -1 if the record could not be converted. */
  readonly position: number;
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
export interface Group {
  /** Its position among all groups. */
  readonly position: number;
  readonly rollouts: WrittenRollout[];
  /** True if something of it could not be converted. */
  isBroken: boolean;
  /** True if its rollouts came in another order than that of their positions. */
  isMixed: boolean;
  trajectories: number;
  /** JSON of its exceptions, and of its own members. */
  exceptions: string;
  members: string;
}

/** Bytes of lines that are in memory before they are written. */
const bufferedBytes = 2 ** 20;

const lineStart = '{"trajectories":[';

const lineEnd = ({ exceptions, members }: Group): string =>
  `]${exceptions === "" ? "" : `,"exceptions":[${exceptions}]`}${members}}\n`;

/** Lines are written as rollouts come. If the rollouts of a group are apart, all lines are written again at the end. */
export class GroupLines {
  /** In the order of their first rollouts. */
  readonly groups: Group[] = [];
  readonly #spool: Spool;
  readonly #areAcross: boolean;
  readonly #byKey = new Map<string, Group>();
  /** The group of the last rollout: most rollouts belong to that of the one before. */
  #last: { readonly key: string; readonly file: number; readonly group: Group } | undefined;
  readonly #writer = new LineWriter(2 * bufferedBytes);
  #flushed = 0;
  /** The group whose line is being written. */
  #open: Group | undefined;
  #isInOrder = true;

  /** @param areAcross true if a group can have rollouts in several files */
  constructor(spool: Spool, areAcross: boolean) {
    this.#spool = spool;
    this.#areAcross = areAcross;
  }

  /** Adds a rollout of a record. @param withoutLines bytes that contain no line ends */
  add(rollout: Rollout, { record, at, position, withoutLines }: AddedRollout): void {
    const group = this.#groupOf(rollout.group, at.file);
    const { trajectory, exception, index, members, of = record } = rollout;
    if (group.rollouts.length === 0) this.#begin(group, members);
    else if (group !== this.#open) this.#isInOrder = false;
    if (exception !== undefined) group.exceptions += `${group.exceptions === "" ? "" : ","}${jsonOf(exception)}`;
    if (trajectory !== undefined && group.trajectories++ > 0) this.#writer.text(",");
    const start = this.#flushed + this.#writer.length;
    this.#writer.withoutLines = withoutLines;
    if (trajectory !== undefined) this.#writer.write(trajectory);
    const length = this.#flushed + this.#writer.length - start;
    const { known = [of, ...(rollout.with ?? [])], identity = "" } = rollout;
    const digest = `${known.map(digestOf).join("")}${identity}`;
    const isException = exception !== undefined;
    const span = rollout.of?.span;
    append(group, { file: at.file, record: at.record, position, start, length, span, isException, digest, index });
    if (group.isMixed) this.#isInOrder = false;
  }

  /** Adds a record, or a part of one, that could not be converted, so that its group is broken. Returns the group. */
  addBroken(key: string, at: RecordPlace, span: Span | undefined): Group {
    const group = this.#groupOf(key, at.file);
    this.#isInOrder = false;
    group.isBroken = true;
    const { file, record } = at;
    const nothing = { position: -1, start: 0, length: 0, isException: true, digest: "", index: undefined };
    append(group, { file, record, span, ...nothing });
    return group;
  }

  /** True if so much is in memory that it should be flushed. */
  get isFull(): boolean {
    return this.#writer.length >= bufferedBytes;
  }

  async flush(): Promise<void> {
    await this.#flushTo(this.#spool);
  }

  /** Returns all lines. */
  async end(host: Host): Promise<Bytes> {
    if (this.#open !== undefined) this.#writer.text(lineEnd(this.#open));
    await this.flush();
    const texts = this.#spool.bytes();
    if (this.#isInOrder) return texts;
    const spool = await openSpool(host);
    for (const group of this.groups) {
      if (group.isMixed) group.rollouts.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
      await this.#writeLine(group, texts);
      if (this.isFull) await this.#flushTo(spool);
    }
    await this.#flushTo(spool);
    await texts.close();
    return spool.bytes();
  }

  async discard(): Promise<void> {
    await this.#spool.discard();
  }

  async #flushTo(spool: Spool): Promise<void> {
    const bytes = this.#writer.take();
    await spool.write(bytes);
    this.#flushed += bytes.length;
  }

  #groupOf(key: string, file: number): Group {
    if (key === this.#last?.key && file === this.#last.file) return this.#last.group;
    const own = this.#areAcross ? key : `${file} ${key}`;
    let group = this.#byKey.get(own);
    if (group === undefined) {
      const flags = { isBroken: false, isMixed: false };
      group = { position: this.groups.length, rollouts: [], ...flags, trajectories: 0, exceptions: "", members: "" };
      this.groups.push(group);
      this.#byKey.set(own, group);
    }
    this.#last = { key, file, group };
    return group;
  }

  #begin(group: Group, members: Rollout["members"] = []): void {
    group.members = members.map(([key, built]) => `,${JSON.stringify(key)}:${jsonOf(built)}`).join("");
    if (this.#open !== undefined) this.#writer.text(lineEnd(this.#open));
    this.#open = group;
    this.#writer.text(lineStart);
  }

  async #writeLine(group: Group, texts: Bytes): Promise<void> {
    this.#writer.text(group.isBroken ? "!\n" : lineStart);
    if (group.isBroken) return;
    let between = "";
    for (const one of group.rollouts) {
      if (one.length === 0) continue;
      this.#writer.text(between);
      this.#writer.bytes(await readRange(texts, one));
      between = ",";
    }
    this.#writer.text(lineEnd(group));
  }
}

const digestOf = ({ bytes, span: { start, end } }: Value): string =>
  hash("sha256", bytes.subarray(start, end), "binary");

const append = (group: Group, written: WrittenRollout): void => {
  if ((written.index ?? 0) < (group.rollouts.at(-1)?.index ?? 0)) group.isMixed = true;
  group.rollouts.push(written);
};

interface AddedRollout {
  readonly record: Value;
  readonly at: RecordPlace;
  readonly position: number;
  readonly withoutLines: Buffer | undefined;
}

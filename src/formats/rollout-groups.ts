/** The groups that rollouts belong to, in the order in which each was seen first; and what of each was written where. */
import { hash } from "node:crypto";
import { groupsInDoubt } from "../check/rules/in-doubt.ts";
import type { Span } from "../json/walk.ts";
import { jsonOf } from "./built.ts";
import type { Rollout } from "./format.ts";

/** A rollout: the record that it is of, which of that record's it is, and where its text was written. */
export interface Written {
  readonly file: number;
  readonly record: number;
  /** Among the rollouts of the record; -1 where the record could not be converted. */
  readonly position: number;
  start: number;
  /** Bytes of its text; 0 where it is no trajectory. */
  length: number;
  /** What of the record it is; all of it where nothing is said. */
  readonly span: Span | undefined;
  readonly isException: boolean;
  readonly digest: string;
  /** Where it stands in its group, where the record says so. */
  readonly index?: number | undefined;
  next: Written | undefined;
}

/** A group. */
export class RolloutGroup {
  /** Among all groups, which is the line that it becomes. */
  readonly position: number;
  /** Whether something of it could not be converted. */
  isBroken = false;
  /** Whether its rollouts came in another order than they stand in. */
  isMixed = false;
  trajectories = 0;
  /** Rollouts are a chain: of a million groups of one, a list each takes more than they do. */
  #first: Written | undefined;
  #last: Written | undefined;
  /** JSON of its exceptions, and of the members that stand on it. */
  #exceptions: string[] | undefined;
  #members = "";

  constructor(position: number) {
    this.position = position;
  }

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  /** Takes what stands beside the trajectories: exceptions, and of the first rollout the group's own members. */
  takeBeside({ exception, members }: Pick<Rollout, "exception" | "members">): void {
    if (this.isEmpty && members !== undefined) {
      this.#members = members.map(([key, built]) => `,${JSON.stringify(key)}:${jsonOf(built)}`).join("");
    }
    if (exception === undefined) return;
    this.#exceptions ??= [];
    this.#exceptions.push(jsonOf(exception));
  }

  append(written: Written): void {
    this.isMixed ||= (written.index ?? 0) < (this.#last?.index ?? 0);
    if (this.#last === undefined) this.#first = written;
    else this.#last.next = written;
    this.#last = written;
  }

  /** Puts rollouts into the order in which they stand. */
  sort(): void {
    const own = this.rollouts().sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
    for (const [at, one] of own.entries()) one.next = own[at + 1];
    this.#first = own[0];
    this.#last = own.at(-1);
  }

  rollouts(): Written[] {
    const own: Written[] = [];
    for (let one = this.#first; one !== undefined; one = one.next) own.push(one);
    return own;
  }

  /** Those that are trajectories. */
  trajectoriesWritten(): readonly Written[] {
    return this.rollouts().filter(({ length }) => length > 0);
  }

  /** What ends its line. */
  lineEnd(): string {
    const exceptions = this.#exceptions === undefined ? "" : `,"exceptions":[${this.#exceptions.join(",")}]`;
    return `]${exceptions}${this.#members}}\n`;
  }
}

/** Breaks the groups that records may belong to whose group nobody knows; gives them, each with such a record. */
export const breakDoubtful = (
  groups: readonly RolloutGroup[],
  { unplaced, areAcross }: { readonly unplaced: ReadonlySet<RolloutGroup>; readonly areAcross: boolean },
): readonly (Pick<Written, "file" | "record"> & { readonly group: number })[] => {
  if (unplaced.size === 0) return [];
  const members = groups
    .flatMap((group) =>
      group.rollouts().map(({ file, record, span }) => ({ file, record, start: span?.start ?? 0, group })),
    )
    .sort((a, b) => a.file - b.file || a.record - b.record || a.start - b.start);
  const doubtful = groupsInDoubt(members.length, {
    mayBeApart: true,
    standingAt: (at) => {
      const { file = 0, group } = members[at] ?? {};
      const isUnknown = group !== undefined && unplaced.has(group);
      return { scope: areAcross ? 0 : file, group: group?.position, isUnknown };
    },
  });
  return Array.from(doubtful).flatMap(([position, at]) => {
    const group = groups[position];
    const { file = 0, record = 0 } = members[at] ?? {};
    if (group === undefined || group.isBroken) return [];
    group.isBroken = true;
    return { group: position, file, record };
  });
};

/** What begins the line of a group. */
export const lineStart = '{"trajectories":[';

/** Bytes of what is short, which is often the same as before, and how many digests of such are kept. */
const shortBytes = 64;
const mostDigests = 2 ** 10;
const digests = new Map<string, string>();

/** What the ledger knows a value by: a digest of its bytes. */
export const digestOf = (bytes: Buffer, { start, end }: Span): string => {
  const text = end - start > shortBytes ? undefined : bytes.toString("latin1", start, end);
  const known = text === undefined ? undefined : digests.get(text);
  if (known !== undefined) return known;
  const isAll = start === 0 && end === bytes.length;
  const digest = hash("sha256", isAll ? bytes : bytes.subarray(start, end), "binary");
  if (text !== undefined && digests.size < mostDigests) digests.set(text, digest);
  return digest;
};

/** Assembles the lines of a growing file into groups. */

import type { InputKeys } from "../index/dedup-keys.ts";
import { digestBytes } from "../index/digests.ts";
import { type GroupedPart, type GroupingOptions, openGroupDigest, openGrouping } from "../index/groups.ts";
import type { ScanResult } from "../index/scan-result.ts";

export interface AssemblyOptions extends Pick<GroupingOptions, "groups" | "isGroupedByKey"> {
  file: string;
  scan: ScanResult;
  keys: InputKeys;
  /** Trajectories per group; undefined if unknown. */
  size: number | undefined;
  elapsed: () => number;
  /** True if another run may have logged a group with this dedup key. */
  wasSent: (dedupKey: Uint8Array) => boolean;
  /** Called for each invalid line and each rejected group. */
  onInvalid: () => void;
  onComplete: (group: number) => void;
}

/** `changedAt` is in milliseconds of a monotonic clock. */
type OpenGroup = Readonly<
  Record<"group" | "trajectories" | "changedAt", number> & { digest: ReturnType<typeof openGroupDigest> }
>;

export class GroupAssembler {
  readonly #options: AssemblyOptions;
  readonly #grouping: ReturnType<typeof openGrouping>;
  /** The open groups by key, least recently changed first. */
  readonly #open = new Map<string, OpenGroup>();
  readonly #completeGroups = new Map<string, number>();
  /** The last line, if it is unreadable. */
  #unreadableLine: number | undefined;

  constructor(options: AssemblyOptions) {
    this.#options = options;
    this.#grouping = openGrouping({
      ...options,
      parts: options.scan.parts,
      onPart: (part, { endsGroups }) => this.#startPart(part, endsGroups),
      onGrouped: (grouped) => this.#takePart(grouped),
    });
  }

  get incomplete() {
    return Array.from(this.#open.values(), ({ group }) => group);
  }

  /** Takes the parts from `first` on, but only those before a line. */
  take(first: number, beforeLine?: number) {
    this.#grouping.groupParts(first, beforeLine);
  }

  completeIdle(since: number) {
    for (const [key, openGroup] of this.#open) {
      if (openGroup.changedAt > since) return;
      this.#complete(key, openGroup);
    }
  }

  completeSent() {
    for (const [key, openGroup] of this.#open) if (this.#isComplete(openGroup)) this.#complete(key, openGroup);
  }

  completeAll() {
    for (const [key, openGroup] of this.#open) this.#complete(key, openGroup);
  }

  #startPart(part: number, endsGroups: boolean) {
    const { scan, onInvalid } = this.#options;
    if (endsGroups) this.completeAll();
    if (!scan.parts.isValid(part)) onInvalid();
    if (scan.parts.kindOf(part) !== "unreadable") return;
    for (const { group } of this.#open.values()) this.#markAmbiguous(group, this.#lineOf(part));
  }

  #takePart(grouped: GroupedPart) {
    const { scan, groups, elapsed } = this.#options;
    const { part, group, key, isNew } = grouped;
    const previousUnreadable = this.#unreadableLine;
    this.#unreadableLine = scan.parts.kindOf(part) === "unreadable" ? this.#lineOf(part) : undefined;
    if (key === undefined) return this.#finish(group, groups.digestOf(group));
    if (isNew) this.#reportRepeatedKey(key, grouped);
    if (previousUnreadable !== undefined) this.#markAmbiguous(group, previousUnreadable);
    const before = this.#open.get(key) ?? { digest: openGroupDigest(), trajectories: 0 };
    const trajectories = before.trajectories + scan.parts.columns.trajectories.at(part);
    const digest = before.digest.update(scan.parts.digests.at(part));
    const openGroup = { group, digest, trajectories, changedAt: elapsed() };
    this.#open.delete(key);
    this.#open.set(key, openGroup);
    if (this.#isComplete(openGroup)) this.#complete(key, openGroup);
  }

  #isComplete({ group, digest, trajectories }: OpenGroup) {
    const { size, groups, keys, wasSent } = this.#options;
    if (size !== undefined && trajectories >= size) return true;
    return groups.isValid(group) && wasSent(keys.next(digest.copy().digest().subarray(0, digestBytes)));
  }

  #complete(key: string, { group, digest }: OpenGroup) {
    this.#grouping.endGroup(key);
    this.#open.delete(key);
    this.#completeGroups.set(key, group);
    this.#finish(group, digest.digest().subarray(0, digestBytes));
  }

  #finish(group: number, digest: Uint8Array) {
    this.#options.keys.add(group, digest);
    this.#options.onComplete(group);
  }

  #reportRepeatedKey(key: string, { part, group, isAdjacent }: GroupedPart) {
    const last = this.#completeGroups.get(key);
    if (last === undefined) return;
    const { scan, groups, file } = this.#options;
    const data = { id: key, line: this.#lineOf(groups.firstOf(last)) };
    const location = { file, line: this.#lineOf(part) };
    const severity = scan.problems.report(isAdjacent ? "group-changed" : "group-scattered", data, location);
    if (severity === "error") this.#reject(group);
  }

  #markAmbiguous(group: number, unreadableLine: number) {
    const { scan, groups, file } = this.#options;
    if (!groups.isValid(group)) return;
    const location = { file, line: this.#lineOf(groups.firstOf(group)) };
    scan.problems.report("ambiguous-group", { position: `line ${unreadableLine}` }, location);
    this.#reject(group);
  }

  #reject(group: number) {
    this.#options.groups.reject(group);
    this.#options.onInvalid();
  }

  #lineOf(part: number) {
    return this.#options.scan.parts.columns.line.at(part);
  }
}

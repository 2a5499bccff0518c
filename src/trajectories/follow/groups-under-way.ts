/** Puts lines into groups as they are written, and says of each group when it is complete. */
import { createHash, hash } from "node:crypto";
import { digestBytes } from "../read/parts/digests.ts";
import type { Found } from "../read/parts/found.ts";
import type { GrowingGroups } from "./growing-groups.ts";
import { type EarlierMarks, type GrowingMarks, MarkTable } from "./growing-marks.ts";

/** How groups are gathered. */
interface GroupsUnderWayOptions {
  readonly found: Found;
  readonly groups: GrowingGroups;
  readonly marks: GrowingMarks;
  /** Whether trajectories belong together wherever they stand, instead of side by side. */
  readonly byKey: boolean;
  /** Trajectories of a complete group; undefined where nobody knows. */
  readonly size: number | undefined;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  readonly fileOf: (source: number) => string;
  /** What was sent before: a group ends where it ended then. */
  readonly earlier: EarlierMarks;
  /** Told of a line that makes its group not valid, before that group is complete. */
  readonly onInvalid: () => void;
  /** Told of a group that is complete, and of its mark. */
  readonly onComplete: (group: number, mark: Uint8Array) => void;
}

/** A group that more may be written of. */
interface OpenGroup {
  readonly group: number;
  /** Digest so far. */
  readonly hash: ReturnType<typeof createHash>;
  /** When its last trajectory was read. */
  at: number;
}

/** The groups of one file after the other. */
export class GroupsUnderWay {
  readonly #options: GroupsUnderWayOptions;
  /** By their keys, the one that was longest without a new trajectory first. */
  readonly #open = new Map<string, OpenGroup>();
  /** The last group of each key that was complete, by the key's digest. */
  #ended = new MarkTable();
  /** Key of the line before; undefined for a group by itself. */
  #before: string | undefined;
  #taken = 0;

  constructor(options: GroupsUnderWayOptions) {
    this.#options = options;
  }

  /** Groups that more may be written of. */
  get open(): readonly number[] {
    return Array.from(this.#open.values(), ({ group }) => group);
  }

  /** Takes the parts that were found since it was last asked: all of them, or those on lines before one. */
  take(before = Number.POSITIVE_INFINITY): void {
    const { parts } = this.#options.found;
    for (; this.#taken < parts.count; this.#taken++) {
      if (parts.at(this.#taken).line >= before) return;
      this.#take(this.#taken);
    }
  }

  /** Completes the groups that nothing was written of since a time. */
  completeIdle(since: number): void {
    for (const [key, open] of this.#open) {
      if (open.at > since) return;
      this.#complete(key, open);
    }
  }

  /** Completes all groups: nothing more is written to their file, and another one begins. */
  endFile(): void {
    this.#completeAll();
    this.#ended = new MarkTable();
    this.#before = undefined;
  }

  #take(at: number): void {
    const { found, byKey, groups, onInvalid } = this.#options;
    const part = found.parts.at(at);
    const key = found.keys.at(at);
    // Its group is known now; a million of them would be as large as the index.
    found.keys.forget(at);
    // What can't be read may have belonged to the group it stands in: it ends none.
    if (!byKey && key !== this.#before && part.kind !== "unreadable") this.#completeAll();
    if (!part.valid) onInvalid();
    if (key === undefined) {
      const group = groups.start(at, part);
      if (part.kind !== "unreadable") this.#before = undefined;
      this.#tell(group, Uint8Array.from(groups.digestOf(group)));
      return;
    }
    const open = this.#openOf(key, at);
    open.hash.update(found.parts.digests.at(at));
    open.at = this.#options.elapsed();
    this.#before = key;
    // The one with the newest trajectory stands last.
    this.#open.delete(key);
    this.#open.set(key, open);
    if (this.#isComplete(open)) this.#complete(key, open);
  }

  #openOf(key: string, at: number): OpenGroup {
    const { found, groups, elapsed } = this.#options;
    const part = found.parts.at(at);
    const open = this.#open.get(key);
    if (open !== undefined) {
      groups.add(open.group, at, part);
      return open;
    }
    const group = groups.start(at, part);
    const ended = this.#ended.get(digestOfKey(key));
    if (ended !== undefined) this.#reportAgain(key, { group, at, ended });
    return { group, hash: createHash("sha256").update("trajectories"), at: elapsed() };
  }

  /** A key comes again whose group was complete: what comes is a group of its own. */
  #reportAgain(
    key: string,
    { group, at, ended }: { readonly group: number; readonly at: number; readonly ended: number },
  ): void {
    const { found, groups, byKey, fileOf, onInvalid } = this.#options;
    const { source, line } = found.parts.at(at);
    const data = { id: key, line: found.parts.at(groups.firstOf(ended)).line };
    const spot = () => ({ file: fileOf(source), line });
    const grew = byKey || key === this.#before;
    const severity = grew
      ? found.problems.report("group-changed", data, spot)
      : found.problems.report("group-scattered", data, spot);
    if (severity !== "error") return;
    groups.reject(group);
    onInvalid();
  }

  /** Whether a group has as many trajectories as it should, or as it had when it was sent before. */
  #isComplete({ group, hash }: OpenGroup): boolean {
    const { groups, size, marks, earlier } = this.#options;
    if (size !== undefined && groups.trajectoriesOf(group) >= size) return true;
    if (earlier.runs.isEmpty || !groups.isValid(group)) return false;
    return earlier.outcomeOf(marks.next(hash.copy().digest().subarray(0, digestBytes))) !== "not_sent";
  }

  #completeAll(): void {
    for (const [key, open] of this.#open) this.#complete(key, open);
  }

  #complete(key: string, { group, hash }: OpenGroup): void {
    this.#open.delete(key);
    this.#ended.set(digestOfKey(key), group);
    this.#tell(group, hash.digest().subarray(0, digestBytes));
  }

  #tell(group: number, digest: Uint8Array): void {
    this.#options.onComplete(group, this.#options.marks.add(group, digest));
  }
}

const digestOfKey = (key: string): Uint8Array => hash("sha256", key, "buffer").subarray(0, digestBytes);

/** Puts lines into groups as they are written, and says of each group when it is complete. */
import { createHash, hash } from "node:crypto";
import { digestBytes } from "../../groups/parts/digests.ts";
import type { Found } from "../../groups/parts/found.ts";
import type { GrowingGroups } from "./growing-groups.ts";
import { type EarlierMarks, type FileMarks, type GrowingMarks, MarkTable } from "./growing-marks.ts";

/** How groups are gathered. */
export interface Gathering {
  readonly found: Found;
  readonly groups: GrowingGroups;
  readonly marks: GrowingMarks;
  /** Whether trajectories belong together wherever they stand, instead of side by side. */
  readonly byKey: boolean;
  /** Trajectories of a complete group; undefined where nobody knows. */
  readonly size: number | undefined;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** What was sent before: a group ends where it ended then. */
  readonly earlier: EarlierMarks;
  /** Told of a line that makes its group not valid, before that group is complete. */
  readonly onInvalid: () => void;
  /** Told of a group that is complete, and has its mark. */
  readonly onComplete: (group: number) => void;
}

/** A group that more may be written of. */
interface OpenGroup {
  readonly group: number;
  /** Digest so far. */
  readonly hash: ReturnType<typeof createHash>;
  /** When its last trajectory was read. */
  at: number;
}

/** The groups of one file. */
export class GroupsUnderWay {
  readonly #options: Gathering & { readonly file: string };
  /** The marks of its groups: equal ones are counted in each file anew, as a run sees them that reads that one alone. */
  readonly #marks: FileMarks;
  /** By their keys, the one that was longest without a new trajectory first. */
  readonly #open = new Map<string, OpenGroup>();
  /** The last group of each key that was complete, by the key's digest. */
  readonly #ended = new MarkTable();
  /** Key of the line before; undefined for a group by itself. */
  #before: string | undefined;
  /** The line before, where it can't be read. */
  #unreadable: number | undefined;

  constructor(options: Gathering & { readonly file: string }) {
    this.#options = options;
    this.#marks = options.marks.openFile();
  }

  /** Groups that more may be written of. */
  get open(): readonly number[] {
    return Array.from(this.#open.values(), ({ group }) => group);
  }

  /** Takes the parts that were found from one on: all of them, or those on lines before one. */
  take({
    first,
    before = Number.POSITIVE_INFINITY,
  }: {
    readonly first: number;
    readonly before?: number | undefined;
  }): void {
    const { parts } = this.#options.found;
    for (let at = first; at < parts.count && parts.at(at).line < before; at++) this.#take(at);
  }

  /** Completes the groups that nothing was written of since a time. */
  completeIdle(since: number): void {
    for (const [key, open] of this.#open) {
      if (open.at > since) return;
      this.#complete(key, open);
    }
  }

  /** Completes the groups that another run sent as they stand. */
  completeKnown(): void {
    for (const [key, open] of this.#open) if (this.#isComplete(open)) this.#complete(key, open);
  }

  /** Completes all groups: nothing more will be written of them. */
  completeAll(): void {
    for (const [key, open] of this.#open) this.#complete(key, open);
  }

  #take(at: number): void {
    const { found, byKey, groups, onInvalid } = this.#options;
    const part = found.parts.at(at);
    const key = found.keys.at(at);
    // Its group is known now; a million of them would be as large as the index.
    found.keys.forget(at);
    const isUnreadable = part.kind === "unreadable";
    // What can't be read may have belonged to the groups it stands among: it ends none.
    if (!byKey && key !== this.#before && !isUnreadable) this.completeAll();
    if (!part.valid) onInvalid();
    if (isUnreadable) for (const { group } of this.#open.values()) this.#doubt(group, part.line);
    const unreadable = this.#unreadable;
    this.#unreadable = isUnreadable ? part.line : undefined;
    if (key === undefined) {
      const group = groups.start(at, part);
      if (!isUnreadable) this.#before = undefined;
      this.#tell(group, Uint8Array.from(groups.digestOf(group)));
      return;
    }
    const open = this.#openOf(key, at);
    if (unreadable !== undefined) this.#doubt(open.group, unreadable);
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
    const { found, groups, byKey, file, onInvalid } = this.#options;
    const { line } = found.parts.at(at);
    const data = { id: key, line: found.parts.at(groups.firstOf(ended)).line };
    const spot = () => ({ file, line });
    const grew = byKey || key === this.#before;
    const severity = grew
      ? found.problems.report("group-changed", data, spot)
      : found.problems.report("group-scattered", data, spot);
    if (severity !== "error") return;
    groups.reject(group);
    onInvalid();
  }

  /** Keeps a group back: a line that can't be read may belong to it. */
  #doubt(group: number, line: number): void {
    const { found, groups, file, onInvalid } = this.#options;
    if (!groups.isValid(group)) return;
    const spot = { file, line: found.parts.at(groups.firstOf(group)).line };
    found.problems.report("group-in-doubt", { place: `line ${line}` }, () => spot);
    groups.reject(group);
    onInvalid();
  }

  /** Whether a group has as many trajectories as it should, or as it had when it was sent before. */
  #isComplete({ group, hash }: OpenGroup): boolean {
    const { groups, size, earlier } = this.#options;
    if (size !== undefined && groups.trajectoriesOf(group) >= size) return true;
    if (earlier.runs.isEmpty || !groups.isValid(group)) return false;
    return earlier.outcomeOf(this.#marks.next(hash.copy().digest().subarray(0, digestBytes))) !== "not_sent";
  }

  #complete(key: string, { group, hash }: OpenGroup): void {
    this.#open.delete(key);
    this.#ended.set(digestOfKey(key), group);
    this.#tell(group, hash.digest().subarray(0, digestBytes));
  }

  #tell(group: number, digest: Uint8Array): void {
    this.#marks.add(group, digest);
    this.#options.onComplete(group);
  }
}

const digestOfKey = (key: string): Uint8Array => hash("sha256", key, "buffer").subarray(0, digestBytes);

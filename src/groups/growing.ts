/** Groups of a file that is still written: which of them are complete, and which lines come too late. */
import { hash } from "node:crypto";
import { Column } from "./parts/column.ts";
import type { InputKeys } from "./parts/dedup-keys.ts";
import { Digests, DigestTable, digestBytes } from "./parts/digests.ts";
import type { Found } from "./parts/found.ts";
import { type Grouped, Grouping, type GroupingOptions } from "./parts/grouping.ts";
import { openDigest } from "./parts/groups.ts";

/** How the groups of a growing file become complete. */
export interface GrowingOptions extends GroupingOptions {
  /** Name of the file, and the problems of its lines. */
  readonly file: string;
  readonly found: Found;
  /** The dedup keys of its groups. */
  readonly keys: InputKeys;
  /** Trajectories of a complete group; undefined if unknown. */
  readonly size: number | undefined;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** True if an earlier run sent the group with a dedup key: a group ends where it ended then. */
  readonly wasSent: (dedupKey: Uint8Array) => boolean;
  /** Told of a line that makes its group invalid, before that group is complete. */
  readonly onInvalid: () => void;
  /** Told of a group that is complete, and has its dedup key. */
  readonly onComplete: (group: number) => void;
}

/** A group that more may be written of. */
interface Open {
  /** Digest so far. */
  readonly digest: ReturnType<typeof openDigest>;
  /** When its last trajectory was read. */
  at: number;
}

/** The groups of one growing file. */
export class GrowingGroups extends Grouping<GrowingOptions> {
  /** What is known of the open groups, by their keys. */
  readonly #states = new Map<string, Open>();
  /** The last complete group of each key, by the key's digest: keys of a long run would be as large as the index. */
  readonly #endedKeys = new Digests();
  readonly #endedTable = new DigestTable(this.#endedKeys);
  readonly #ended = new Column("u32");
  /** Line of the part before, if it can't be read. */
  #unreadable: number | undefined;

  /** Numbers of the groups that more may be written of, the one that was longest without a new trajectory first. */
  get incomplete(): readonly number[] {
    return [...this.open.values()];
  }

  /** Completes the groups that nothing was written of since a time. */
  completeIdle(since: number): void {
    for (const key of this.open.keys()) {
      if ((this.#states.get(key)?.at ?? 0) > since) return;
      this.#complete(key);
    }
  }

  /** Completes the groups that another run sent as they are. */
  completeSent(): void {
    for (const key of this.open.keys()) if (this.#isComplete(key)) this.#complete(key);
  }

  /** Completes all groups: nothing more will be written of them. */
  completeAll(): void {
    for (const key of this.open.keys()) this.#complete(key);
  }

  protected override onPart(part: number, { endsGroups }: { readonly endsGroups: boolean }): void {
    const { found, onInvalid } = this.options;
    if (endsGroups) this.completeAll();
    if (!found.parts.isValid(part)) onInvalid();
    const line = found.parts.columns.line.at(part);
    if (found.parts.kindOf(part) === "unreadable") for (const group of this.open.values()) this.#doubt(group, line);
  }

  protected override onGrouped({ part, group, key, isNew, isAdjacent }: Grouped): void {
    const { found, elapsed, groups } = this.options;
    const { parts } = found;
    const unreadable = this.#unreadable;
    this.#unreadable = parts.kindOf(part) === "unreadable" ? parts.columns.line.at(part) : undefined;
    if (key === undefined) {
      this.#tell(group, Uint8Array.from(groups.digestOf(group)));
      return;
    }
    if (isNew) this.#reportAgain(key, { part, group, isAdjacent });
    if (unreadable !== undefined) this.#doubt(group, unreadable);
    const state = this.#states.get(key) ?? { digest: openDigest(), at: 0 };
    state.digest.update(parts.digests.at(part));
    state.at = elapsed();
    this.#states.set(key, state);
    // The one with the newest trajectory comes last.
    this.open.delete(key);
    this.open.set(key, group);
    if (this.#isComplete(key)) this.#complete(key);
  }

  /** Reports a key that comes again after its group was complete: what comes is a group of its own. */
  #reportAgain(
    key: string,
    { part, group, isAdjacent }: { readonly part: number; readonly group: number; readonly isAdjacent: boolean },
  ): void {
    const { found, groups, file, onInvalid } = this.options;
    const position = this.#endedTable.find(digestOfKey(key));
    if (position === undefined) return;
    const { line } = found.parts.columns;
    const data = { id: key, line: line.at(groups.firstOf(this.#ended.at(position))) };
    const spot = () => ({ file, line: line.at(part) });
    const severity = isAdjacent
      ? found.problems.report("group-changed", data, spot)
      : found.problems.report("group-scattered", data, spot);
    if (severity !== "error") return;
    groups.reject(group);
    onInvalid();
  }

  /** Rejects a group: a line that can't be read may belong to it. */
  #doubt(group: number, line: number): void {
    const { found, groups, file, onInvalid } = this.options;
    if (!groups.isValid(group)) return;
    const spot = { file, line: found.parts.columns.line.at(groups.firstOf(group)) };
    found.problems.report("group-in-doubt", { place: `line ${line}` }, () => spot);
    groups.reject(group);
    onInvalid();
  }

  /** True if a group has as many trajectories as it should, or as it had when it was sent before. */
  #isComplete(key: string): boolean {
    const { groups, size, keys, wasSent } = this.options;
    const [group, state] = [this.open.get(key), this.#states.get(key)];
    if (group === undefined || state === undefined) return false;
    if (size !== undefined && groups.trajectoriesOf(group) >= size) return true;
    return groups.isValid(group) && wasSent(keys.next(state.digest.copy().digest().subarray(0, digestBytes)));
  }

  #complete(key: string): void {
    const [group, state] = [this.open.get(key), this.#states.get(key)];
    if (group === undefined || state === undefined) return;
    this.open.delete(key);
    this.#states.delete(key);
    const ended = digestOfKey(key);
    const position = this.#endedTable.find(ended);
    if (position === undefined) {
      this.#endedKeys.append(ended);
      this.#ended.push(group);
      this.#endedTable.add(this.#ended.length - 1);
    } else this.#ended.set(position, group);
    this.#tell(group, state.digest.digest().subarray(0, digestBytes));
  }

  #tell(group: number, digest: Uint8Array): void {
    this.options.keys.assign(group, digest);
    this.options.onComplete(group);
  }
}

const digestOfKey = (key: string): Uint8Array => hash("sha256", key, "buffer").subarray(0, digestBytes);

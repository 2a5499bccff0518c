/** Assembles the lines of a growing file into groups, and reports when a group is complete. */
import type { InputKeys } from "./dedup-keys.ts";
import { digestBytes } from "./parts/column.ts";
import { type GroupedPart, type GroupingOptions, openGroupDigest, openGrouping } from "./parts/groups.ts";
import type { ScanResult } from "./parts/scan-result.ts";

export interface AssemblyOptions extends GroupingOptions {
  readonly file: string;
  readonly found: ScanResult;
  readonly keys: InputKeys;
  /** Trajectories per group; undefined if unknown. */
  readonly size: number | undefined;
  /** Returns monotonic milliseconds. */
  readonly elapsed: () => number;
  /** True if an earlier run sent the group with a dedup key. The group is complete as it was sent. */
  readonly wasSent: (dedupKey: Uint8Array) => boolean;
  /** Called when a line makes its group invalid, before the group is complete. */
  readonly onInvalid: () => void;
  /** Called when a group is complete and has its dedup key. */
  readonly onComplete: (group: number) => void;
}

export type GroupAssembler = ReturnType<typeof openGroupAssembler>;

export const openGroupAssembler = (options: AssemblyOptions) => {
  const { found, groups, file, keys, size, elapsed, wasSent, onInvalid, onComplete } = options;
  const { parts, problems } = found;
  const { line } = parts.columns;
  /** Digest so far and time of the last trajectory of each open group, by key. */
  const openStates = new Map<string, { readonly digest: ReturnType<typeof openGroupDigest>; readonly at: number }>();
  const completeGroups = new Map<string, number>();
  /** Line of the previous part if it is unreadable. */
  let unreadable: number | undefined;

  const reject = (group: number): void => {
    groups.reject(group);
    onInvalid();
  };
  /** Rejects a group that an unreadable line can belong to. */
  const markAmbiguous = (group: number, by: number): void => {
    if (!groups.isValid(group)) return;
    const spot = { file, line: line.at(groups.firstOf(group)) };
    problems.report("ambiguous-group", { place: `line ${by}` }, () => spot);
    reject(group);
  };
  /** Reports a key that appears again after its group was complete. The key starts another group. */
  const reportRepeatedKey = (key: string, { part, group, isAdjacent }: GroupedPart): void => {
    const last = completeGroups.get(key);
    if (last === undefined) return;
    const data = { id: key, line: line.at(groups.firstOf(last)) };
    const spot = { file, line: line.at(part) };
    const severity = problems.report(isAdjacent ? "group-changed" : "group-scattered", data, () => spot);
    if (severity === "error") reject(group);
  };
  const finish = (group: number, digest: Uint8Array): void => {
    keys.add(group, digest);
    onComplete(group);
  };
  const complete = (key: string): void => {
    const [group, state] = [grouping.open.get(key), openStates.get(key)];
    if (group === undefined || state === undefined) return;
    grouping.open.delete(key);
    openStates.delete(key);
    completeGroups.set(key, group);
    finish(group, state.digest.digest().subarray(0, digestBytes));
  };
  /** True if a group has its full size, or the size that an earlier run sent. */
  const isComplete = (key: string): boolean => {
    const [group, state] = [grouping.open.get(key), openStates.get(key)];
    if (group === undefined || state === undefined) return false;
    if (size !== undefined && groups.trajectoriesOf(group) >= size) return true;
    return groups.isValid(group) && wasSent(keys.next(state.digest.copy().digest().subarray(0, digestBytes)));
  };
  const completeAll = (): void => {
    for (const key of grouping.open.keys()) complete(key);
  };

  const grouping = openGrouping(options, {
    onPart: (part, { endsGroups }) => {
      if (endsGroups) completeAll();
      if (!parts.isValid(part)) onInvalid();
      if (parts.kindOf(part) !== "unreadable") return;
      for (const group of grouping.open.values()) markAmbiguous(group, line.at(part));
    },
    onGrouped: (grouped) => {
      const { part, group, key, isNew } = grouped;
      const before = unreadable;
      unreadable = parts.kindOf(part) === "unreadable" ? line.at(part) : undefined;
      if (key === undefined) {
        finish(group, groups.digestOf(group));
        return;
      }
      if (isNew) reportRepeatedKey(key, grouped);
      if (before !== undefined) markAmbiguous(group, before);
      const digest = openStates.get(key)?.digest ?? openGroupDigest();
      openStates.set(key, { digest: digest.update(parts.digests.at(part)), at: elapsed() });
      // Keeps the map in the order of the last trajectories.
      grouping.open.delete(key);
      grouping.open.set(key, group);
      if (isComplete(key)) complete(key);
    },
  });
  return {
    take: grouping.groupParts,
    /** The open groups, longest idle first. */
    get incomplete(): readonly number[] {
      return [...grouping.open.values()];
    },
    completeIdle(since: number): void {
      for (const key of grouping.open.keys()) {
        if ((openStates.get(key)?.at ?? 0) > since) return;
        complete(key);
      }
    },
    /** Completes groups that another run has sent. */
    completeSent(): void {
      for (const key of grouping.open.keys()) if (isComplete(key)) complete(key);
    },
    completeAll,
  };
};

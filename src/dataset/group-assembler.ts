/** Assembles the lines of a growing file into groups. */

import { digestBytes } from "../index/column.ts";
import type { InputKeys } from "../index/dedup-keys.ts";
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
type OpenGroup = Readonly<{ group: number; digest: ReturnType<typeof openGroupDigest>; changedAt: number }>;

export type GroupAssembler = ReturnType<typeof openGroupAssembler>;

export const openGroupAssembler = (options: AssemblyOptions) => {
  const { scan, groups, file, keys, size, elapsed, wasSent, onInvalid, onComplete } = options;
  const { parts, problems } = scan;
  const { line } = parts.columns;
  /** The open groups by key, least recently changed first. */
  const open = new Map<string, OpenGroup>();
  const completeGroups = new Map<string, number>();
  let unreadable: number | undefined;
  const reject = (group: number) => {
    groups.reject(group);
    onInvalid();
  };
  const markAmbiguous = (group: number, unreadableLine: number) => {
    if (!groups.isValid(group)) return;
    const location = { file, line: line.at(groups.firstOf(group)) };
    problems.report("ambiguous-group", { position: `line ${unreadableLine}` }, location);
    reject(group);
  };
  const reportRepeatedKey = (key: string, { part, group, isAdjacent }: GroupedPart) => {
    const last = completeGroups.get(key);
    if (last === undefined) return;
    const data = { id: key, line: line.at(groups.firstOf(last)) };
    const location = { file, line: line.at(part) };
    const severity = problems.report(isAdjacent ? "group-changed" : "group-scattered", data, location);
    if (severity === "error") reject(group);
  };
  const finish = (group: number, digest: Uint8Array) => {
    keys.add(group, digest);
    onComplete(group);
  };
  const complete = (key: string, { group, digest }: OpenGroup) => {
    grouping.endGroup(key);
    open.delete(key);
    completeGroups.set(key, group);
    finish(group, digest.digest().subarray(0, digestBytes));
  };
  const isComplete = ({ group, digest }: OpenGroup) => {
    if (size !== undefined && groups.trajectoriesOf(group) >= size) return true;
    return groups.isValid(group) && wasSent(keys.next(digest.copy().digest().subarray(0, digestBytes)));
  };
  const completeAll = () => {
    for (const [key, openGroup] of open) complete(key, openGroup);
  };

  const grouping = openGrouping({
    ...options,
    parts,
    onPart: (part, { endsGroups }) => {
      if (endsGroups) completeAll();
      if (!parts.isValid(part)) onInvalid();
      if (parts.kindOf(part) !== "unreadable") return;
      for (const { group } of open.values()) markAmbiguous(group, line.at(part));
    },
    onGrouped: (grouped) => {
      const { part, group, key, isNew } = grouped;
      const previousUnreadable = unreadable;
      unreadable = parts.kindOf(part) === "unreadable" ? line.at(part) : undefined;
      if (key === undefined) return finish(group, groups.digestOf(group));
      if (isNew) reportRepeatedKey(key, grouped);
      if (previousUnreadable !== undefined) markAmbiguous(group, previousUnreadable);
      const digest = open.get(key)?.digest ?? openGroupDigest();
      const openGroup = { group, digest: digest.update(parts.digests.at(part)), changedAt: elapsed() };
      open.delete(key);
      open.set(key, openGroup);
      if (isComplete(openGroup)) complete(key, openGroup);
    },
  });
  return {
    take: grouping.groupParts,
    get incomplete() {
      return Array.from(open.values(), ({ group }) => group);
    },
    completeIdle(since: number) {
      for (const [key, openGroup] of open) {
        if (openGroup.changedAt > since) return;
        complete(key, openGroup);
      }
    },
    completeSent() {
      for (const [key, openGroup] of open) if (isComplete(openGroup)) complete(key, openGroup);
    },
    completeAll,
  };
};

/** Searches groups for text, and for trajectories that match an expression. */
import { setImmediate } from "node:timers/promises";
import { listSpellings } from "../../../json/raw-json.ts";
import { ReadWindow } from "../group-bytes.ts";
import { getPart, type IndexedGroups } from "../locate.ts";
import { type FilterOptions, openFilter } from "./filter-groups.ts";

/** `text` is a case-sensitive substring. `where` is a CEL expression that a trajectory of the group must match. */
export type SearchQuery = Readonly<{ text?: string | undefined; where?: string | undefined }>;

interface SearchOptions extends Omit<FilterOptions, "where"> {
  /** Called in the order of the parts. A text search can report a group once per part. */
  onFound(group: number): void;
  /** @param share from 0 to 1 */
  onProgress(share: number): void;
}

const maxTrajectoriesAtOnce = 100;
const maxBytesAtOnce = 2 ** 22;

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const searchGroups = async (
  dataset: IndexedGroups,
  { text = "", where }: SearchQuery,
  { signal, onFound, onProgress, pass, rewardsOf }: SearchOptions,
) => {
  const { groups } = dataset;
  const { parts } = dataset.scan;
  if (text === "" && where === undefined) return;
  const filterGroup = where === undefined ? undefined : openFilter(dataset, { where, pass, signal, rewardsOf });
  const isWanted = async (group: number) =>
    filterGroup === undefined || (groups.isValid(group) && (await filterGroup(group)).wanted.length > 0);
  const hasText = openTextSearch(dataset, text);
  for (let at = 0, trajectories = 0, bytes = 0; at < parts.count; at++) {
    trajectories += parts.columns.trajectories.at(at);
    bytes += parts.columns.length.at(at);
    if (trajectories >= maxTrajectoriesAtOnce || bytes >= maxBytesAtOnce) {
      trajectories = 0;
      bytes = 0;
      onProgress(at / parts.count);
      await setImmediate();
      signal.throwIfAborted();
    }
    const group = groups.groupOf(at);
    // Any part can contain a substring, but an expression needs all parts of a group.
    const isCandidate = text === "" ? groups.firstOf(group) === at : await hasText(at);
    if (isCandidate && (await isWanted(group))) onFound(group);
  }
};

const openTextSearch = (dataset: IndexedGroups, text: string) => {
  const needles = listSpellings(text).map((spelled) => Buffer.from(spelled));
  const window = new ReadWindow();
  return async (at: number) => {
    const bytes = await window.readPart(getPart(dataset, at));
    return needles.some((needle) => bytes.includes(needle));
  };
};

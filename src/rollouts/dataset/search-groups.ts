/** Searches groups for text. */
import { listSpellings } from "../../json/raw-json.ts";
import { Breaks } from "../../system/breaks.ts";
import { ReadWindow } from "./group-bytes.ts";
import { getPart, type IndexedGroups } from "./locate.ts";

interface SearchOptions {
  readonly signal: AbortSignal;
  /** Can be called once per part of a group. */
  onFound(group: number): void;
  /** @param share from 0 to 1 */
  onProgress(share: number): void;
}

/** @param text a case-sensitive substring @throws Failure `input-changed`; the signal's reason */
export const searchGroups = async (
  dataset: IndexedGroups,
  text: string,
  { signal, onFound, onProgress }: SearchOptions,
) => {
  const { parts } = dataset.scan;
  const needles = listSpellings(text).map((spelled) => Buffer.from(spelled));
  const window = new ReadWindow();
  const breaks = new Breaks(signal);
  for (let at = 0; at < parts.count; at++) {
    if (breaks.isDue(2 * parts.columns.length.at(at))) {
      onProgress(at / parts.count);
      await breaks.take();
    }
    const bytes = await window.readPart(getPart(dataset, at));
    if (needles.some((needle) => bytes.includes(needle))) onFound(dataset.groups.groupOf(at));
  }
};

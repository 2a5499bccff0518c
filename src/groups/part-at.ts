/** Finds the part of an input that stands at a place of a file. */
import type { Parts } from "./parts/parts.ts";

/** The last part of a source that begins at or before a place; undefined where none does. */
export const partAt = (
  parts: Parts,
  source: number,
  { line, offset }: { readonly line: number | undefined; readonly offset: number | undefined },
): number | undefined => {
  const isBefore = (at: number): boolean =>
    offset === undefined ? line !== undefined && parts.at(at).line <= line : parts.columns.start.at(at) <= offset;
  const stretch = stretchesOf(parts).findLast((one) => one.source === source && isBefore(one.from));
  if (stretch === undefined) return undefined;
  let [low, high] = [stretch.from, stretch.to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};

/** Parts of one source that stand side by side. */
interface Stretch {
  readonly source: number;
  readonly from: number;
  to: number;
}

const known = new WeakMap<Parts, Stretch[]>();

/** One for each source; of files that are followed, parts come by turns, and each source has several. */
const stretchesOf = (parts: Parts): readonly Stretch[] => {
  const stretches = known.get(parts) ?? [];
  known.set(parts, stretches);
  for (let at = stretches.at(-1)?.to ?? 0; at < parts.count; at++) {
    const [last, source] = [stretches.at(-1), parts.columns.source.at(at)];
    if (last?.source === source) last.to = at + 1;
    else stretches.push({ source, from: at, to: at + 1 });
  }
  return stretches;
};

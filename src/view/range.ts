/** Ranges of numbers: as an address spells them, what lies in one, and where; the server and the page take the same. */

/** From one number to another: with both, or below the last one. */
export type Range = readonly [from: number, to: number] | readonly [from: number, to: number, end: "below"];

export const isWithin = (value: number, [from, to, end]: Range): boolean =>
  value >= from && (end === undefined ? value <= to : value < to);

export const isSame = (a: Range | undefined, b: Range): boolean => a?.join() === b.join();

/** The range that an address spells, its numbers and its end between commas; undefined where it spells none. */
export const rangeIn = (text: string): Range | undefined => {
  const [first = "", second = "", end, ...more] = text.split(",");
  const [from, to] = [first, second].map((one) => (one.trim() === "" ? Number.NaN : Number(one)));
  if (from === undefined || to === undefined || Number.isNaN(from) || Number.isNaN(to) || more.length > 0)
    return undefined;
  if (end === undefined) return [from, to];
  return end === "below" ? [from, to, end] : undefined;
};

/** Where a number lies between two others, as a share from 0 to 1: halfway where these are one. */
export const shareIn = (value: number, from: number, to: number): number => {
  const width = to - from;
  if (width === 0) return 0.5;
  const share = Number.isFinite(width) ? (value - from) / width : (value / 2 - from / 2) / (to / 2 - from / 2);
  return Math.min(1, Math.max(0, share));
};

/** The middle between two numbers, of whichever size. */
export const middleOf = (from: number, to: number): number => from / 2 + to / 2;

/** Where equal parts of what lies between two numbers begin, and where the last one ends. */
export const edgesOf = (from: number, to: number, parts: number): readonly number[] =>
  Array.from({ length: parts + 1 }, (_, at) => {
    if (at === 0 || at === parts) return at === 0 ? from : to;
    const width = (to - from) * parts;
    // The width of what is as wide as doubles go is none.
    if (!Number.isFinite(width)) return 2 * (from / 2 + ((to / 2 - from / 2) / parts) * at);
    return Math.min(to, from + ((to - from) * at) / parts);
  });

/** Lets Node report signals during a long loop. */
import { setImmediate } from "node:timers/promises";

/** A step costs as much as reading this many bytes. */
export const bytesPerStep = 2 ** 12;
/** Less than 50 ms of work. */
const maxBytes = 2 ** 23;

export class Breaks {
  readonly #signal: AbortSignal | undefined;
  #bytes = 0;

  /** @param signal default: other tasks run, and no signal ends the loop */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Call this function once per step. */
  isDue(bytes = 0) {
    this.#bytes += bytes + bytesPerStep;
    return this.#bytes >= maxBytes;
  }

  /** @throws the signal's reason */
  async take() {
    this.#bytes = 0;
    await setImmediate();
    this.#signal?.throwIfAborted();
  }
}

const maxSortedAtOnce = 2 ** 13;

/** Sorts like `toSorted`. @throws the signal's reason */
export const sortWithBreaks = async <Item extends NonNullable<unknown>>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
  breaks: Breaks,
): Promise<readonly Item[]> => {
  if (items.length <= maxSortedAtOnce) return items.toSorted(compare);
  const middle = items.length >>> 1;
  const before = await sortWithBreaks(items.slice(0, middle), compare, breaks);
  const after = await sortWithBreaks(items.slice(middle), compare, breaks);
  const sorted: Item[] = [];
  for (let [a, b] = [0, 0]; sorted.length < items.length; ) {
    const [first, second] = [before[a], after[b]];
    const isFirst = second === undefined || (first !== undefined && compare(first, second) <= 0);
    const next = isFirst ? first : second;
    if (next !== undefined) sorted.push(next);
    if (isFirst) a++;
    else b++;
    if (breaks.isDue()) await breaks.take();
  }
  return sorted;
};

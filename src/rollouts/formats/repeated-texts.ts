/** Finds texts of a record that repeat texts of the output. */
import type { Value } from "../messages/value.ts";

/** Shorter texts, such as `"assistant"`, can be equal by chance. */
export const minRepeatedBytes = 14;
/** Of more texts with the same sample, only these are compared, so that the time is linear. */
const maxAlike = 8;

/** Returns the ids of the texts that the output has too. @param kept the values that the output has */
export const findRepeatedTexts = (texts: readonly Value[], kept: Iterable<Value>): ReadonlySet<number> => {
  const found = new Set<number>();
  if (texts.length === 0) return found;
  const bySample = new Map<number, Value[]>();
  for (const value of texts) {
    const { start, end } = value.span;
    const sample = computeSample(value.bytes, start, end);
    const alike = bySample.get(sample);
    if (!alike) bySample.set(sample, [value]);
    else if (alike.length < maxAlike) alike.push(value);
  }
  for (const value of kept)
    value.visitTexts(minRepeatedBytes, (start, end) => {
      for (const { id, bytes, span } of bySample.get(computeSample(value.bytes, start, end)) ?? [])
        if (bytes.compare(value.bytes, start, end, span.start, span.end) === 0) found.add(id);
    });
  return found;
};

/** Hashes the length, and four bytes in the middle and at the end. */
const computeSample = (bytes: Buffer, start: number, end: number) => {
  const [middle, last] = [bytes.readInt32LE(((start + end) >>> 1) - 2), bytes.readInt32LE(end - 5)];
  return Math.imul(Math.imul(middle, hashFactor) + last, hashFactor) + end - start;
};

const hashFactor = 0x01000193;

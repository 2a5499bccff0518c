/** Numbers that look random and are the same in each run of the oracle. */

/** Returns a generator of numbers from 0 to 1 (mulberry32). */
export const randomFrom = (seed) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Returns functions that choose, each from the same generator. */
export const chooserFrom = (seed) => {
  const random = randomFrom(seed);
  const below = (count) => Math.floor(random() * count);
  return { below, oneOf: (values) => values[below(values.length)] };
};

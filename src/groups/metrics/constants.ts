/**
 * What both languages count by: the kernel is compiled with this file too (`kernel/`, AssemblyScript, where a whole number
 * is one of 32 bits), so that it holds constants and nothing else.
 */

/** Rewards that are no further apart than this are equal (promises.md, "Metrics"). */
export const rewardTolerance = 1e-12;

/**
 * What trajectories have that is trained on, in bits: one has it, and what stands beside it says that one lacks it: a
 * choice, a choice's logprobs, the tools that are called.
 */
export const withChoice = 1;
export const withoutChoice = 2;
export const withLogprobs = 4;
export const withoutLogprobs = 8;
export const withTools = 16;
export const withoutTools = 32;

/** Limbs of 32 bits that an exact sum has, from 2^-1074 on: one for every bit of a double, and 64 bits of head room for carries. */
export const limbCount = 69;

/** Metrics whose distribution is kept; the means of more are in the metrics. */
export const mostMetricsPictured = 200;

/** Different values that a distribution counts one by one: most rewards are a few marks. */
export const mostValues = 64;

/** Buckets of each doubling: a value is off by less than one in a hundred and twenty-eight. */
export const bucketsPerOctave = 64;
export const bucketBits = 14;

/** Magnitudes that have buckets of their own: 2^-32 to 2^64; smaller ones are 0, larger ones the largest. */
export const leastExponent = -32;
export const bucketsOfSide = 96 * bucketsPerOctave;

/** Buckets of a distribution. */
export const bucketCount = 2 * bucketsOfSide + 1;

/** What is added to the exponent of a double. */
export const exponentBias = 1023;

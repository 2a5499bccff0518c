/** How much the kernel takes at once, and where it writes what. It is compiled with this file too, which holds constants alone. */

/** Lines, trajectories and metrics that are taken at once, at most. */
export const mostLines = 1024;
export const mostTrajectories = 4096;
export const mostMetrics = 16384;

/** Series of numbers: those that are known by their places; metrics follow in the order of their names. */
export const rewardSeries = 0;
export const turnSeries = 1;
export const characterSeries = 2;
export const deviationSeries = 3;
export const metricSeries = 4;

/** Series of which there is a sum; the first ones have a distribution too. */
export const mostSeries = 1028;
export const mostSketched = 206;

/** Where a series has what, in bytes from its start. */
export const countAt = 0;
export const differentAt = 4;
export const leastAt = 8;
export const mostAt = 16;
export const meanAt = 24;
export const squaresAt = 32;
/** The sum of whole numbers; whether there are limbs for the others, and these. */
export const wholeAt = 40;
export const hasLimbsAt = 48;
/** Where the buckets stand in memory; 0 as long as values are counted one by one. */
export const bucketsAt = 52;
export const limbsAt = 56;
/** The different values, how often each came, and a table of their places. */
export const valuesAt = 608;
export const timesAt = 1120;
export const tableAt = 1376;
export const seriesBytes = 1536;

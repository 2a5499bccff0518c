/** How much the kernel takes at once, and where it writes what. It is compiled with this file too, which holds constants alone. */
import { limbCount, mostMetricsPictured, mostValues } from "../../groups/metrics/constants.ts";

/** Lines, trajectories and metrics that are taken at once, at most. */
export const mostLines = 1024;
export const mostTrajectories = 4096;
export const mostMetrics = 16384;

/** Warnings that the kernel counts by itself as soon as nothing but their number is wanted, by their bits; how many there are. */
export const nullField = 0;
export const toolCallsNull = 1;
export const startTimeZone = 2;
export const metadataNested = 3;
export const metricType = 4;
export const metricName = 5;
export const roleUnknown = 6;
export const noAssistant = 7;
export const toolCallIdMissing = 8;
export const toolCallUnanswered = 9;
export const lastCallUnanswered = 10;
export const toolUnlisted = 11;
export const toolIncomplete = 12;
export const policyOrder = 13;
export const policyMixed = 14;
export const countedRules = 15;

/** Series of numbers: those that are known by their places; metrics follow in the order of their names. */
export const rewardSeries = 0;
export const turnSeries = 1;
export const characterSeries = 2;
/** How much the rewards of groups differ. */
export const deviationSeries = 3;
export const metricSeries = 4;

/** Series of which there is a sum; the first ones have a distribution too. */
export const mostSeries = metricSeries + 1024;
export const mostSketched = metricSeries + mostMetricsPictured;

/** Where a series has what, in bytes from its start. */
export const countAt = 0;
export const differentAt = 4;
export const leastAt = 8;
export const mostAt = 16;
export const meanAt = 24;
export const squaresAt = 32;
/** Where the buckets stand in memory; 0 as long as values are counted one by one. */
export const bucketsAt = 40;
/** The sum, in limbs (kernel/series.ts). */
export const limbsAt = 48;
/** The different values, how often each came, and a table of their places: twice as many as there are values. */
export const valuesAt = limbsAt + 8 * limbCount;
export const timesAt = valuesAt + 8 * mostValues;
export const tableAt = timesAt + 4 * mostValues;
export const seriesBytes = tableAt + 2 * mostValues;

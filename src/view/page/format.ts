/** Formats numbers and sizes for people. */
import type { Range } from "../query.ts";

export const formatCount = (value: number) => value.toLocaleString("en");

const withMinus = (digits: string) => digits.replace(/^-/, "−");

export const formatMeasure = (value: number | boolean | null | undefined) => {
  if (typeof value === "boolean") return String(value);
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size > 0 && (size >= 1e6 || size < 1e-3)) return withMinus(value.toExponential(2));
  return withMinus(size < 1 ? String(Number(value.toPrecision(3))) : formatCount(Number(value.toPrecision(6))));
};

/** Formats a bound with more digits than a measure, because a bound separates similar values. */
const formatBound = (value: number) => withMinus(String(Number(value.toPrecision(6))));

export const formatRange = ([from, to, below]: Range) =>
  from === to ? formatBound(from) : `${formatBound(from)} to ${below ? "below " : ""}${formatBound(to)}`;

export const formatPercent = (done: number, of: number) => `${of === 0 ? 0 : Math.floor((done / of) * 100)}%`;

export const counted = (count: number, noun: string) =>
  `${formatCount(count)} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

export const formatTime = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");

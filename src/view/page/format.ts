/** Formats numbers and sizes for people. */
import type { Range } from "../query.ts";

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const measured = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

export const formatCount = (value: number) => grouped.format(value);

const withMinus = (digits: string) => digits.replace(/^-/, "−");

export const formatMeasure = (value: number | boolean | null | undefined) => {
  if (typeof value === "boolean") return String(value);
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size > 0 && (size >= 1e6 || size < 1e-3)) return withMinus(value.toExponential(2));
  return withMinus(size < 1 ? String(Number(value.toPrecision(3))) : measured.format(Number(value.toPrecision(6))));
};

/** Formats the edge of a range with more digits than a measure, because an edge separates similar values. */
export const formatEdge = (value = Number.NaN) =>
  Number.isFinite(value) ? withMinus(String(Number(value.toPrecision(6)))) : "–";

export const formatRange = ([from, to, end]: Range) =>
  from === to ? formatEdge(from) : `${formatEdge(from)} to ${end === undefined ? "" : "below "}${formatEdge(to)}`;

export const formatPercent = (done: number, of: number) => `${of === 0 ? 0 : Math.floor((done / of) * 100)}%`;

export const counted = (count: number, noun: string) =>
  `${formatCount(count)} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

export const formatTime = (time: Date) => time.toISOString().slice(0, 19).replace("T", " ");

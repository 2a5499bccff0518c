/** Numbers and texts as a person reads them. */
import type { Range } from "../range.ts";

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A count. */
export const number = (value: number): string => grouped.format(value);

/** A reward, or any measure; a dash where there is none. */
export const measure = (value: number | null | undefined): string => {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3)) return value.toExponential(2);
  return String(Number(value.toFixed(3)));
};

/** From one measure to another. */
export const rangeText = ([from, to, end]: Range): string => {
  if (from === to) return measure(from);
  return `${measure(from)} to ${end === undefined ? "" : "below "}${measure(to)}`;
};

export const percent = (done: number, of: number): string => `${of === 0 ? 0 : Math.floor((done / of) * 100)}%`;

/** A number of things. */
export const counted = (count: number, noun: string): string =>
  `${number(count)} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

/** A size in bytes. */
export const size = (bytes: number): string => {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
};

/** Seconds, as a person compares them. */
export const duration = (seconds: number): string => {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  return seconds < 3600 ? `${(seconds / 60).toFixed(1)} min` : `${(seconds / 3600).toFixed(1)} h`;
};

/** A date and time to the second, in UTC; what is none stays as it is. */
export const moment = (text: string): string => {
  const time = Date.parse(text);
  return Number.isNaN(time) ? text : new Date(time).toISOString().slice(0, 19).replace("T", " ");
};

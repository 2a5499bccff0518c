/** Lists as lines for other programs: tab-separated, and CSV (RFC 4180). */

import type { Rows } from "../view.ts";

/** Rows one after the other, from one position up to another. */
export function* inOrder<Row>(rows: Rows<Row>, from = 0, to = rows.length): Generator<Row, void> {
  for (let position = from; position < Math.min(to, rows.length); position++) {
    const row = rows.at(position);
    if (row !== undefined) yield row;
  }
}

/** A tab-separated line. The cells hold no white space but single spaces. */
export const tsvLine = (cells: readonly string[]): string => `${cells.join("\t")}\n`;

/** A line of CSV, with the line end that RFC 4180 asks for. */
export const csvLine = (values: readonly string[]): string => `${values.map(quoted).join(",")}\r\n`;

const quoted = (value: string): string => (/[",\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

/** A value of CSV that rollcall made itself: lists joined with `;`, objects as JSON, nothing for what is absent. */
export const csvValue = (value: unknown): string => {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(csvValue).join(";");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
};

/** Writes the table of facts in docs/reference/metrics.md. */
import { readFileSync } from "node:fs";
import { facts } from "../../../src/rollouts/facts.ts";

const table = /(?<=^\| fact \| value \|\n\|---\|---\|\n)(?:\|.*\n)+/m;

/** Returns the page with a row for each fact. */
export const metricsPage = (): string => {
  const rows = facts.map(({ name, about, unknown }) => {
    const absent = unknown === undefined ? "" : `; unknown if ${unknown}`;
    return `| \`${name}\` | ${about}${absent} |\n`;
  });
  return readFileSync("docs/reference/metrics.md", "utf8").replace(table, () => rows.join(""));
};

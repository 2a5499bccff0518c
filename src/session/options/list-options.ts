/** Defines the options of commands that print lists. */

import * as cli from "../../cli/kinds.ts";

export const limitOption = cli.count("only the first n entries");
export const orderOptions = cli.inGroup("order", {
  sort: cli.commaList("columns to sort by; -column for descending order", "columns", (column) => column),
  limit: limitOption,
});

export type OrderOptions = cli.Values<typeof orderOptions>;

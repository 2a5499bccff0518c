/** The list of `rollcall call read --list`: a line a call. */

import { microsecondsOf, modelsOf, operationOf, stateOf } from "../../calls/index.ts";
import { type Spelled, textFrom } from "../../json/spelled.ts";
import { type Column, textColumn } from "../../output/index.ts";

/** What a line says of a call. */
export interface ListedCall {
  readonly id: string;
  readonly status: string;
  readonly op: string;
  readonly models: readonly string[];
  readonly started: string;
  /** Undefined where it can't be known. */
  readonly seconds: number | undefined;
  /** What it failed with: of a traceback the last line, which says it. */
  readonly exception: string;
}

/** A line's facts. `id` is what the call was asked for by. */
export const listedCall = (
  call: Spelled,
  { id, vendorPrefix }: { readonly id: string; readonly vendorPrefix: string },
): ListedCall => {
  const micros = microsecondsOf(call);
  return {
    id,
    status: stateOf(call, vendorPrefix),
    op: operationOf(call) ?? "",
    models: modelsOf(call, vendorPrefix),
    started: textFrom(call, "started_at") ?? "",
    seconds: micros === undefined || micros < 0 ? undefined : micros / 1_000_000,
    exception: lastLine(textFrom(call, "exception") ?? ""),
  };
};

const lastLine = (text: string): string => text.trimEnd().slice(-longestLooked).split("\n").at(-1)?.trim() ?? "";

/** Characters at the end of an exception that are looked at. */
const longestLooked = 2000;

/** The columns, what tells calls apart first. */
export const listColumns: readonly Column<ListedCall>[] = [
  textColumn("id", { text: ({ id }) => id, rank: 0 }),
  textColumn("status", { text: ({ status }) => status, rank: 0 }),
  textColumn("op", { text: ({ op }) => op, rank: 2 }),
  textColumn("model", { text: ({ models }) => models.join(", "), rank: 3 }),
  textColumn("started_at", { text: ({ started }) => started, rank: 4, heading: "started" }),
  textColumn("seconds", {
    text: ({ seconds }) => (seconds === undefined ? undefined : String(seconds)),
    rank: 5,
    heading: "s",
    align: "right",
  }),
  textColumn("exception", { text: ({ exception }) => exception, rank: 1 }),
];

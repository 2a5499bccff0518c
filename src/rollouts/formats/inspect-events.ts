/** Reads the events of a sample of Inspect. */
import type { Value } from "../messages/value.ts";
import type { FormatRun } from "./format.ts";

export const findEvents = (sample: Value) =>
  (sample.get("events") ?? sample.get("transcript", "events"))?.items() ?? [];

export const idOf = (message: Value | undefined) => message?.textAt("id");

export const modelEvents = (events: readonly Value[]): readonly Value[] =>
  events.flatMap((event) => (event.textAt("event") === "model" ? event : modelEvents(event.items("events"))));

/** Leaves out the messages of events and outputs that the sample has too. */
export const leaveOutRepeats = (run: FormatRun, sample: Value, events: readonly Value[]) => {
  if (!run.receipt) return;
  const ids = new Set(sample.items("messages").map(idOf));
  const repeated = [
    ...sample.items("events_data", "messages"),
    ...events.flatMap((event) => event.items("input")),
    ...[...events, sample].flatMap((holder) => holder.items("output", "choices").map((one) => one.get("message"))),
  ];
  for (const message of repeated)
    if (message && ids.has(idOf(message) ?? ""))
      run.receipt.leaveOut(message, "a message of the sample repeats it", true);
};

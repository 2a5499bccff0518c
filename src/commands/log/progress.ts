/** What `log` says of how far it is. */
import type { Meter, MeterEvent } from "../../output/index.ts";
import type { SendProgress } from "../../trajectories/index.ts";

/** Shows how far sending is, and tells what became of each request. */
export const showSending = (meter: Meter, { bytes, ofBytes, groups, requests, of, change }: SendProgress): void => {
  meter.show({ phase: "sending", bytes, ofBytes, groups });
  if (change !== undefined) meter.tell(eventOf(change, { requests, of }));
};

const eventOf = (
  { outcome, again, groups, bytes, reason }: NonNullable<SendProgress["change"]>,
  { requests, of }: { readonly requests: number; readonly of: number },
): MeterEvent => {
  const words = again ? `${sayings[outcome]} (${reason}), trying again` : `${sayings[outcome]} (${reason})`;
  return {
    event: `request_${outcome.replaceAll("-", "_")}`,
    text: `request ${again ? requests + 1 : requests} of ${of}, ${groups} groups, ${bytes} bytes: ${words}`,
    facts: { again, groups, bytes, reason, requests, of_requests: of },
  };
};

const sayings = {
  logged: "logged",
  "not-sent": "not sent",
  "not-processed": "not processed",
  "too-large": "too large",
  refused: "refused",
  unknown: "outcome unknown",
} as const;

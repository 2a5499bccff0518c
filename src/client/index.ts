/** Sends one endpoint's request to the service and reads its reply. */
export type {
  Answered,
  Attempt,
  Broken,
  Client,
  ClientOptions,
  Held,
  Patience,
  Reply,
  StreamedBody,
  Validators,
} from "./client.ts";
export { openClient } from "./open.ts";
export type { Probed } from "./probe.ts";

/** The door of looking at addresses: no request of the interface needs it. */
export const probeDoor = () => import("./probe.ts");

/** Sends one endpoint's request to the service and reads its reply. */
export type {
  Answered,
  Attempt,
  Broken,
  Client,
  ClientOptions,
  Patience,
  Reply,
  StreamedBody,
} from "./client.ts";
export { openClient } from "./open.ts";

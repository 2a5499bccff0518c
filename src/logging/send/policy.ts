/** Defines the policy, the tools and the events of a run that sends groups. */

import type { Failure } from "../../failure.ts";
import type { Host } from "../../system/host.ts";
import type { Retry } from "../../wire/client/build-request.ts";
import type { Client } from "../../wire/client/client.ts";
import type { LedgerEvents, LedgerPolicy } from "../ledger/request-recorder.ts";

/** The options and settings of a run. */
export type LogPolicy = LedgerPolicy &
  Readonly<{
    maxRequestBytes: number;
    concurrency: number;
    onInvalid: "stop" | "skip";
    onUnknown: "stop" | "resend";
    /** Default: the path of the first file, followed by `.rejected`. */
    rejects: string | undefined;
    /** The options of `rollcall ledger` that select this run's ledger and service. */
    ledgerArgs: readonly string[];
  }>;

export type LogTools = Readonly<{
  host: Host;
  destination: () => Promise<string>;
  client: () => Promise<Client>;
  /** Redacts secrets, and escapes control and bidi characters. */
  redact: (json: string) => string;
  /** Cleans a text of the service. */
  clean: (text: string) => string;
}>;

export type LogEvents = LedgerEvents &
  Readonly<{
    onProgress: (progress: SendProgress) => void;
    onResend: (requests: number) => void;
  }>;

export type LogSetup = Readonly<{ policy: LogPolicy; tools: LogTools; events: LogEvents }>;

export interface SendProgress {
  /** Bytes that are logged or being sent. */
  bytes: number;
  ofBytes: number;
  groups: number;
  /** Set when a request waits for its next attempt. */
  retry?: (Retry & Readonly<{ failure: Failure | undefined }>) | undefined;
}

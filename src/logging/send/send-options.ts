/** Defines the options of a run that sends groups. */

import type { Failure } from "../../failure.ts";
import type { DedupKeys } from "../../rollouts/index/dedup-keys.ts";
import type { Client } from "../../wire/client/client.ts";
import type { Retry } from "../../wire/client/request-options.ts";
import type { PriorOutcomes } from "../ledger/prior-outcomes.ts";
import type { RunLedger, RunLedgerOptions } from "../ledger/recorded-requests.ts";
import type { GroupOutcomes } from "./group-outcomes.ts";
import type { Outcome } from "./outcome.ts";
import type { RequestEnvelope } from "./plan.ts";
import type { Compression } from "./request-body.ts";

export interface DeliverOptions extends RunLedgerOptions {
  destination: () => Promise<string>;
  client: () => Promise<Client>;
  maxRequestBytes: number;
  oneRequest: boolean;
  concurrency: number;
  onInvalid: "stop" | "skip";
  onRefused: "stop" | "skip";
  onUnknown: "stop" | "resend" | "leave";
  /** Default: the path of the first file, followed by `.rejected`. */
  rejects: string | undefined;
  redact: (json: string) => string;
  /** Cleans a text of the service. */
  clean: (text: string) => string;
  /** The options of `rollcall ledger` that select this run's ledger and service. */
  ledgerArgs: readonly string[];
  compression: Compression | undefined;
  /** The request to write in a dry run, numbered from 1. A piece is valid until `write` resolves. */
  body?: { number: number; write: (piece: Uint8Array) => Promise<void> } | undefined;
  onProgress: (progress: SendProgress) => void;
  onResend: (requests: number) => void;
}

export interface DeliveryState {
  file: string;
  runLedger: RunLedger;
  outcomes: GroupOutcomes;
  dedupKeys: DedupKeys;
  priorOutcomes: PriorOutcomes;
  numberOf: (group: number) => number;
}

export type SendOptions = Omit<DeliverOptions, "client"> &
  DeliveryState & { client: Client; envelope: RequestEnvelope };

export interface SendProgress {
  /** The number of requests that ended, with any outcome. */
  requests: number;
  of: number;
  /** Bytes that are logged or being sent. */
  bytes: number;
  ofBytes: number;
  groups: number;
  change: RequestChange | undefined;
}

export interface RequestChange {
  outcome: Outcome;
  retry: Retry | undefined;
  groups: number;
  bytes: number;
  reason: string;
  failure: Failure | undefined;
}

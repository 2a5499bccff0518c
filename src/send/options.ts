/** How groups are delivered. */
import type { Client } from "../client/index.ts";
import type { DedupKeys } from "../groups/index.ts";
import type { PriorOutcomes, RunLedger, RunLedgerOptions } from "../ledger/index.ts";
import type { Compression } from "./body.ts";
import type { GroupOutcomes } from "./group-outcomes.ts";
import type { RequestEnvelope } from "./plan.ts";
import type { SendProgress } from "./send-result.ts";

/** What stops a run, and what it skips. */
export type StopOrSkip = "stop" | "skip";

/** What follows a request with an unknown outcome. */
export type OnUnknown = "stop" | "resend" | "leave";

/** How a reading is delivered. */
export interface DeliverOptions extends RunLedgerOptions {
  /** Identifies this log address, or this local store; called when it is needed. */
  readonly destination: () => Promise<string>;
  readonly client: () => Promise<Client>;
  /** Largest body, in bytes. */
  readonly maxRequestBytes: number;
  readonly oneRequest: boolean;
  readonly concurrency: number;
  readonly onInvalid: StopOrSkip;
  readonly onRefused: StopOrSkip;
  readonly onUnknown: OnUnknown;
  /** Default: the first file's name with `.rejected`. */
  readonly rejects: string | undefined;
  /** Redacts secrets in JSON that is written to a file. */
  readonly redact: (json: string) => string;
  /** Undefined if requests are not compressed. */
  readonly compression: Compression | undefined;
  /** Which body, from 1, is written instead of being sent; each piece is valid until it was written. */
  readonly body?: { readonly number: number; readonly write: (piece: Uint8Array) => Promise<void> } | undefined;
  /** Called once if the first request took long and more follow, one after the other. */
  readonly onSlow: (ms: number, left: number) => void;
  readonly onProgress: (progress: SendProgress) => void;
  /** Called with the number of unknown requests that are sent again because the service honors their keys. */
  readonly onResend: (requests: number) => void;
}

/** What a delivery knows of groups. */
export interface DeliveryState {
  /** The first file, `-` for standard input. */
  readonly file: string;
  readonly runLedger: RunLedger;
  readonly outcomes: GroupOutcomes;
  readonly dedupKeys: DedupKeys;
  readonly earlier: PriorOutcomes;
  /** The number of a group in `earlier`. */
  readonly numberOf: (group: number) => number;
}

/** How requests are sent. */
export interface SendOptions extends Omit<DeliverOptions, "client">, DeliveryState {
  readonly client: Client;
  readonly frame: RequestEnvelope;
}

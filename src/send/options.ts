/** How groups are delivered. */
import type { Client } from "../client/index.ts";
import type { DedupKeys } from "../groups/index.ts";
import type { PriorOutcomes, RunLedger, RunLedgerOptions } from "../ledger/index.ts";
import type { Compression } from "./body.ts";
import type { GroupOutcomes } from "./group-outcomes.ts";
import type { RequestEnvelope } from "./plan.ts";
import type { SendProgress } from "./send-result.ts";

export type StopOrSkip = "stop" | "skip";

export type OnUnknown = "stop" | "resend" | "leave";

export interface DeliverOptions extends RunLedgerOptions {
  /** Resolves with the log URL, or with the identity of the local store. */
  readonly destination: () => Promise<string>;
  readonly client: () => Promise<Client>;
  readonly maxRequestBytes: number;
  readonly oneRequest: boolean;
  readonly concurrency: number;
  readonly onInvalid: StopOrSkip;
  readonly onRefused: StopOrSkip;
  readonly onUnknown: OnUnknown;
  /** Default: the first file's name with `.rejected`. */
  readonly rejects: string | undefined;
  readonly redact: (json: string) => string;
  readonly compression: Compression | undefined;
  /** Writes the body with this number, from 1, instead of sending it. A piece is valid until `write` resolves. */
  readonly body?: { readonly number: number; readonly write: (piece: Uint8Array) => Promise<void> } | undefined;
  readonly onProgress: (progress: SendProgress) => void;
  readonly onResend: (requests: number) => void;
}

export interface DeliveryState {
  readonly file: string;
  readonly runLedger: RunLedger;
  readonly outcomes: GroupOutcomes;
  readonly dedupKeys: DedupKeys;
  readonly priorOutcomes: PriorOutcomes;
  readonly numberOf: (group: number) => number;
}

export interface SendOptions extends Omit<DeliverOptions, "client">, DeliveryState {
  readonly client: Client;
  readonly envelope: RequestEnvelope;
}

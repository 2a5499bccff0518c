/** Takes groups to the service: requests and their outcomes, the result of a run, rejected lines, and `--follow`. */
import { loadLedger } from "../ledger/index.ts";
import type { Compression } from "./body.ts";

export type { FollowOptions } from "./follow/follow.ts";
export type { FollowEvent } from "./follow/followed-file.ts";
export type { DeliverOptions, OnUnknown, StopOrSkip } from "./options.ts";
export { type CheckResult, checkResult, emptyResult, type LogResult } from "./result.ts";
export type { SendProgress } from "./send-result.ts";

type DeliverModule = typeof import("./deliver.ts");
type FollowModule = typeof import("./follow/follow.ts");

/** Delivers what was read. The result has what the network and the service did. @throws Failure before that */
export const deliverReading: DeliverModule["deliverGroups"] = async (reading, options) =>
  await (await import("./deliver.ts")).deliverGroups(reading, options);

/** Writes what is not valid to a new file, and the reasons to another; returns the file. @throws Failure `rejects-…` */
export const writeRejected: DeliverModule["writeRejected"] = async (reading, options) =>
  await (await import("./deliver.ts")).writeRejected(reading, options);

/** Follows a file until a signal comes, or something stops it. @throws Failure, before anything is sent */
export const followFile: FollowModule["followFile"] = async (options) =>
  await (await import("./follow/follow.ts")).followFile(options);

/** Checks that requests can be compressed. @throws Failure `compression-unsupported` */
export const checkCompression = async (form: Compression | undefined): Promise<void> => {
  if (form !== undefined) (await import("./body.ts")).openCompressor(form).destroy();
};

/** Loads what delivers, and what opens the ledger, before they are used. */
export const loadDelivery = async (ledger: string | undefined): Promise<void> =>
  void (await Promise.all([import("./deliver.ts"), loadLedger(ledger)]));

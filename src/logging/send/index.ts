/** Sends groups, and describes results. */
import type { Compression } from "./request-body.ts";

export type { FollowOptions } from "./follow/follow.ts";
export { emptyResult, type LogResult } from "./log-result.ts";
export { groupOutcomes, outcomes } from "./outcome.ts";
export type { DeliverOptions, SendProgress } from "./send-options.ts";
export type { Verification } from "./verify-ledger.ts";

type DeliverModule = typeof import("./deliver-groups.ts");

export const deliverGroups: DeliverModule["deliverGroups"] = async (dataset, options) =>
  await (await import("./deliver-groups.ts")).deliverGroups(dataset, options);

export const writeRejected: DeliverModule["writeRejected"] = async (dataset, options) =>
  await (await import("./deliver-groups.ts")).writeRejected(dataset, options);

export const followFile: typeof import("./follow/follow.ts").followFile = async (options) =>
  await (await import("./follow/follow.ts")).followFile(options);

export const checkCompression = async (compression: Compression | undefined): Promise<void> => {
  if (compression) (await import("./request-body.ts")).openCompressor(compression).destroy();
};

export const verifyDataset: typeof import("./verify-ledger.ts").verifyDataset = async (...args) =>
  await (await import("./verify-ledger.ts")).verifyDataset(...args);

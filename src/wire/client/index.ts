/** Sends requests to the service, and downloads from other URLs. */
export { type Answer, type Attempt, type Client, openClient } from "./client.ts";
export type { DownloadOptions, DownloadReply, Downloads } from "./download.ts";
export type { StreamedBody } from "./exchange.ts";
export type { ClientOptions, Retry } from "./request-options.ts";
export type { RetryBudget } from "./retry.ts";

export const loadDownloads = () => import("./download.ts");

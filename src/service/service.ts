/** Runs the local service. */
import type { ServiceOptions } from "./service-options.ts";

export type Service = Awaited<ReturnType<typeof openService>>;

/**
 * Opens the service. The code that answers requests is not needed to examine the store.
 * @throws Failure `usage`, `storage`
 */
export const openService = async (options: ServiceOptions) =>
  await (await import("./open-service.ts")).openService(options);

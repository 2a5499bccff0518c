/** Defines the options of requests. */

import type { Host } from "../../system/host.ts";
import type { Credential, CredentialUse, EndpointHost } from "../contract/endpoint.ts";

export type ClientOptions = Readonly<{
  host: Host;
  /** @throws Failure if the URL is not set */
  baseUrl: (host: EndpointHost) => string;
  credential: (use: CredentialUse, origin: string) => Promise<Credential>;
  project: { header: string; value: string } | undefined;
  /** The longest time without data. Default: 30 s for a read, 5 min for a log. */
  timeoutMs: number | undefined;
  maxWaitMs: number;
  /** False limits reads to 4 attempts in 15 s. Default: true. */
  isMaxWaitSet?: boolean;
  /** Default: true. */
  retries?: boolean;
  /** True if reads retry after an unknown host or a refused connection. */
  waitsForHost: boolean;
  insecureHttp: boolean;
  onRetry?: (reason: string, retry: Retry) => void;
  trace: ((line: string) => void) | undefined;
  /** Cleans a text of the service. Default: unchanged. */
  clean?: ((text: string) => string) | undefined;
  /** The error of a service in this process says more than its response. */
  serviceError?: () => unknown;
}>;

export type Retry = Readonly<{
  /** The number of the next attempt, from 2. */
  attempt: number;
  waitMs: number;
  /** The rest of `--max-wait` after this wait. */
  leftMs: number;
}>;

/** What one open client keeps between its requests. */
import type { ClientOptions } from "./client.ts";
import type { Pool } from "./pool.ts";
import type { Credentials } from "./request.ts";

/** One open client. */
export interface Room {
  readonly options: ClientOptions;
  readonly pool: Pool;
  readonly credentials: Credentials;
  /** Is told that another try will be waited for. */
  waiting(about: { readonly origin: string; readonly tries: number; readonly why: string }): void;
}

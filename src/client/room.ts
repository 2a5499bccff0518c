/** What one open client keeps between its requests. */
import type { ClientOptions } from "./client.ts";
import type { Pauses } from "./pause.ts";
import type { Pool } from "./pool.ts";
import type { Credentials } from "./request.ts";

/** One open client. */
export interface Room {
  readonly options: ClientOptions;
  readonly pool: Pool;
  readonly pauses: Pauses;
  readonly credentials: Credentials;
  /** Troubles that a person was told of. */
  readonly announced: Set<string>;
}

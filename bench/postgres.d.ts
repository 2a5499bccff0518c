/** True if PostgreSQL is installed. */
export const hasPostgres: boolean;

interface PostgresPlace {
  readonly folder: string;
  readonly port: number;
}

export interface OwnPostgres extends PostgresPlace {
  /** The URL of the database `rollcall`. */
  readonly address: string;
  sql(text: string): void;
  start(): void;
  /** Stops immediately, like a crash. */
  stopNow(): void;
  /** Creates a database and returns its URL. */
  newDatabase(name: string, user?: "rollcall" | "guarded"): string;
  stop(): void;
}

export function startPostgres(options?: {
  readonly isDurable?: boolean;
  readonly certificate?: { readonly cert: string; readonly key: string };
}): Promise<OwnPostgres>;

export function postgresAt(place: PostgresPlace): OwnPostgres;

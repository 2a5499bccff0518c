/** Whether PostgreSQL is installed. */
export const hasPostgres: boolean;

/** Where a PostgreSQL is that was started. */
interface PostgresPlace {
  readonly folder: string;
  readonly port: number;
}

/** A PostgreSQL of one's own. */
export interface OwnPostgres extends PostgresPlace {
  /** Of its database `rollcall`. */
  readonly address: string;
  sql(text: string): void;
  start(): void;
  /** Ends it as a lost machine does. */
  stopNow(): void;
  /** Makes another database in it, and gives its address. */
  newDatabase(name: string, user?: "rollcall" | "guarded"): string;
  stop(): void;
}

export function startPostgres(options?: {
  readonly isDurable?: boolean;
  readonly certificate?: { readonly cert: string; readonly key: string };
}): Promise<OwnPostgres>;

export function postgresAt(place: PostgresPlace): OwnPostgres;

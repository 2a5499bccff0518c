/** Whether PostgreSQL is installed. */
export const hasPostgres: boolean;

/** A PostgreSQL of one's own. */
export interface OwnPostgres {
  readonly port: number;
  /** Of its database `rollcall`, without a password. */
  readonly address: string;
  start(): void;
  /** Ends it as a lost machine does. */
  stopNow(): void;
  /** Makes another database in it, and gives its address. */
  newDatabase(name: string): string;
  stop(): void;
}

export function startPostgres(options?: {
  readonly asksForPassword?: boolean;
  readonly isDurable?: boolean;
  readonly certificate?: { readonly cert: string; readonly key: string };
}): Promise<OwnPostgres>;

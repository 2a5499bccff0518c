/** Whether a libSQL server is installed. */
export const hasLibsql: boolean;

/** A libSQL server of one's own. */
export interface OwnLibsql {
  readonly port: number;
  /** What it lets in where it asks for one. */
  readonly token: string;
  /** Without the token. */
  readonly address: string;
  start(): Promise<void>;
  /** Ends it as a lost machine does. */
  stopNow(): Promise<void>;
  stop(): Promise<void>;
}

export function startLibsql(options?: { readonly asksForToken?: boolean }): Promise<OwnLibsql>;

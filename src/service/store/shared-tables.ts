/** What kinds of databases say in their own words of a store that several services share. Tables of one name and meaning are in each. */
import type { DatabaseServer, Question, RemoteOptions } from "../../database/index.ts";

/** A kind of database that a store may be kept in. */
export interface StoreKind {
  readonly tables: StoreTables;
  /** Opens a database; nothing is asked of it yet. @throws Failure `database-address` */
  open(options: RemoteOptions): Promise<DatabaseServer>;
}

/** Its tables. */
export interface StoreTables {
  /** What stands before the name of each. */
  readonly prefix: string;
  /** The statements that take them from version n (from 0, none) to version n + 1. */
  readonly migrations: readonly (readonly string[])[];
  /** Whose a model is that a `project` logged to. */
  readonly owner: string;
  /** Transactions that a service writes at once. */
  readonly mostWriting: number;
  /** Bytes of bodies that go in one transaction. */
  readonly mostBytesTogether: number;
  /** How the pieces of a longer body come in transactions before that of its request; undefined where they need not. */
  readonly ahead: Ahead | undefined;
}

/** The questions that stand before those of the first pieces, and before those of the request, which fail where its pieces are not all there. */
export interface Ahead {
  begin(id: Uint8Array): readonly Question[];
  end(id: Uint8Array): readonly Question[];
}

/** An open store of any kind. */
export interface StoreReach {
  readonly remote: DatabaseServer;
  readonly tables: StoreTables;
  readonly path: string;
  readonly title: string;
}

/** A run's turn in a ledger that many machines share: it holds its lease, by the database's clock, until it ends or others take over. */
import type { DatabaseServer, Lock, Question, RemoteOptions } from "../../database/index.ts";
import type { NewEntry } from "./scope.ts";

/** How long a run may go on without word from the database; others wait as long before they take over what it left. */
export const leaseMs = 15_000;
const renewMs = leaseMs / 3;

/** What a kind of database says in its own words. Tables of one name and meaning are in each. */
export interface SharedTables {
  /** What stands before the name of each table. */
  readonly prefix: string;
  /** The statements that take them from version n (from 0, none) to version n + 1. */
  readonly migrations: readonly (readonly string[])[];
  /** The moment, by its clock, as `lease_until` has it. */
  readonly now: string;
  /** When a lease ends that begins now. */
  readonly leaseEnd: string;
  /** What `changed` of a request becomes with each change, and the last of them as a number. */
  readonly change: string;
  readonly lastChange: string;
  /**
   * Renews the run's lease, writes a request down, and with it that its groups are its own: all of them or none. Gives its
   * row, or the marks of groups that others have; undefined where the run is over.
   */
  begin(remote: DatabaseServer, beginning: Beginning): Promise<number | { readonly taken: Uint8Array } | undefined>;
  /** Renews the run's lease, and writes down that it tries a request once more; false where it may not. */
  again(remote: DatabaseServer, about: { readonly run: number; readonly request: number }): Promise<boolean>;
  /** Gives requests, one at least, their groups, but for those that others have; only those that belong to a run, where one is said. */
  claim(requests: readonly { readonly id: number; readonly marks: Uint8Array }[], run?: number): readonly Question[];
  /** Bytes that a row takes of a request: its marks, and the calls that its answer names. */
  readonly mostBytes: number;
  /** Stands between the columns and the values of a request whose id is said. */
  readonly ownIds: string;
  /** Has the ids of new requests go on behind all that there are; undefined where they do by themselves. */
  readonly skipIds: string | undefined;
}

/** A request that is written down before its first byte. */
export interface Beginning {
  readonly scope: number;
  readonly run: number;
  readonly entry: NewEntry;
}

/** A run that is not what it was: its time is up, or another one has ended it. */
export const isOver = ({ now }: Pick<SharedTables, "now">): string => `(has_ended OR lease_until < ${now})`;

/** States in which a request has no claim to its groups once its run is over. */
export const free = "('not_sent', 'refused', 'released')";

/** A run that writes: it holds its lease until it ends. */
export interface Run extends Lock {
  readonly id: number;
  /** Takes over that the lease was renewed by a question that was asked at a time. */
  renewed(askedAt: number): void;
  end(): Promise<void>;
}

export const beginRun = async (
  remote: DatabaseServer,
  tables: SharedTables,
  host: RemoteOptions["host"],
): Promise<Run> => {
  const { prefix, leaseEnd } = tables;
  let renewedAt = host.elapsed();
  const [row] = await remote.ask(`INSERT INTO ${prefix}run (lease_until) VALUES (${leaseEnd}) RETURNING id`);
  const id = row?.integer("id") ?? 0;
  let isLost = false;
  const renew = async (): Promise<void> => {
    const askedAt = host.elapsed();
    const rows = await remote.ask(
      `UPDATE ${prefix}run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver(tables)} RETURNING id`,
      [id],
    );
    if (rows.length === 0) isLost = true;
    else renewedAt = Math.max(renewedAt, askedAt);
  };
  // What can't be renewed runs out by itself.
  const timer = setInterval(() => void renew().catch(() => undefined), renewMs).unref();
  return {
    id,
    isHeld: () => !isLost && host.elapsed() - renewedAt < leaseMs,
    renewed: (askedAt) => {
      renewedAt = Math.max(renewedAt, askedAt);
    },
    // Until it ends, what it did not get sent stays its own: it may try again.
    release: () => undefined,
    end: async () => {
      clearInterval(timer);
      await remote.ask(`UPDATE ${prefix}run SET has_ended = true WHERE id = ?`, [id]);
      await takeOver(remote, tables);
    },
  };
};

/** Settles what runs that are over had in flight as unknown, and gives groups free that they did not get sent; how many requests are unknown now. */
export const takeOver = async (remote: DatabaseServer, tables: SharedTables): Promise<number> => {
  const { prefix, change } = tables;
  await remote.ask(`UPDATE ${prefix}run SET has_ended = true WHERE NOT has_ended AND ${isOver(tables)}`);
  const over = `run IN (SELECT id FROM ${prefix}run WHERE has_ended)`;
  await remote.ask(
    `DELETE FROM ${prefix}mark WHERE request IN (SELECT id FROM ${prefix}request WHERE state IN ${free} AND ${over})`,
  );
  const unknown = await remote.ask(
    `UPDATE ${prefix}request SET state = 'unknown', cause = 'died', changed = ${change}
     WHERE state = 'trying' AND ${over} RETURNING id`,
  );
  return unknown.length;
};

/** A run's turn in a ledger that many machines share: it holds its lease, by the database's clock, until it ends or others take over. */
import type { DatabaseServer, Lock, RemoteOptions } from "../database/index.ts";

/** How long a run may go on without word from the database; others wait as long before they take over what it left. */
const leaseMs = 15_000;
const renewMs = leaseMs / 3;

/** When a lease ends that begins now. */
export const leaseEnd = `clock_timestamp() + interval '${leaseMs} milliseconds'`;

/** A run that is not what it was: its time is up, or another one has ended it. */
export const isOver = "(has_ended OR lease_until < clock_timestamp())";

/** States in which a request has no claim to its groups once its run is over. */
export const free = "('not_sent', 'refused', 'released')";

/** A run that writes: it holds its lease until it ends. */
export interface Run extends Lock {
  readonly id: number;
  /** Takes over that the lease was renewed by a question that was asked at a time. */
  renewed(askedAt: number): void;
  end(): Promise<void>;
}

export const beginRun = async (remote: DatabaseServer, host: RemoteOptions["host"]): Promise<Run> => {
  let renewedAt = host.elapsed();
  const [row] = await remote.ask(`INSERT INTO rollcall.run (lease_until) VALUES (${leaseEnd}) RETURNING id`);
  const id = row?.integer("id") ?? 0;
  let isLost = false;
  const renew = async (): Promise<void> => {
    const askedAt = host.elapsed();
    const rows = await remote.ask(
      `UPDATE rollcall.run SET lease_until = ${leaseEnd} WHERE id = ? AND NOT ${isOver} RETURNING id`,
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
      await remote.ask(`UPDATE rollcall.run SET has_ended = true WHERE id = ?`, [id]);
      await takeOver(remote);
    },
  };
};

/** Settles what runs that are over had in flight as unknown, and gives groups free that they did not get sent; how many requests are unknown now. */
export const takeOver = async (remote: DatabaseServer): Promise<number> => {
  await remote.ask(`UPDATE rollcall.run SET has_ended = true WHERE NOT has_ended AND ${isOver}`);
  const over = `run IN (SELECT id FROM rollcall.run WHERE has_ended)`;
  await remote.ask(
    `DELETE FROM rollcall.mark WHERE request IN (SELECT id FROM rollcall.request WHERE state IN ${free} AND ${over})`,
  );
  const unknown = await remote.ask(
    `UPDATE rollcall.request SET state = 'unknown', cause = 'died', changed = clock_timestamp()
     WHERE state = 'trying' AND ${over} RETURNING id`,
  );
  return unknown.length;
};

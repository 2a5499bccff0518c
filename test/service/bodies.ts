/** The places that a store may be kept at, for tests that hold of each: a new store every time. */
import { afterAll, beforeAll } from "vitest";
import { hasPostgres, type OwnPostgres, startPostgres } from "../../bench/postgres.js";
import type { ServiceOptions } from "../../src/service/index.ts";

/** A body of the store. */
interface Body {
  readonly body: string;
  /** Whether it can't be had here. */
  readonly skip: boolean;
  /** Where a new store of it is. */
  readonly place: () => ServiceOptions["store"];
}

/** The bodies; PostgreSQL is started before the tests of a file, and stopped behind them. */
export const storeBodies = (): { readonly bodies: readonly Body[]; readonly postgres: () => OwnPostgres } => {
  let postgres: OwnPostgres;
  let databases = 0;
  beforeAll(async () => {
    if (hasPostgres) postgres = await startPostgres();
  }, 60_000);
  afterAll(() => {
    if (hasPostgres) postgres.stop();
  });
  return {
    bodies: [
      { body: "a file", skip: false, place: () => undefined },
      {
        body: "PostgreSQL",
        skip: !hasPostgres,
        place: () => ({ path: postgres.newDatabase(`store${++databases}`), password: undefined }),
      },
    ],
    postgres: () => postgres,
  };
};

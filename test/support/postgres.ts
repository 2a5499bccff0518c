/** A PostgreSQL for the tests of a file: it is started before the first of them, and stopped behind the last. */
import { afterAll, beforeAll } from "vitest";
import { hasPostgres, type OwnPostgres, startPostgres } from "../../bench/postgres.js";

export { hasPostgres } from "../../bench/postgres.js";

/** Has one run while the tests of a file do, where it is installed. */
export const postgresForFile = (
  options: Parameters<typeof startPostgres>[0] = {},
): {
  /** Itself, once the tests run. @throws where it is not installed */
  readonly server: () => OwnPostgres;
  /** The address of a new database in it. */
  readonly newDatabase: () => string;
} => {
  let own: OwnPostgres | undefined;
  let databases = 0;
  beforeAll(async () => {
    if (hasPostgres) own = await startPostgres({ ...options, isDurable: false });
  }, 60_000);
  afterAll(() => own?.stop());
  const server = (): OwnPostgres => {
    if (own === undefined) throw new Error("PostgreSQL is not installed, or not started yet");
    return own;
  };
  return { server, newDatabase: () => server().newDatabase(`tests${++databases}`) };
};

/** The places that a store may be kept at, for tests that hold of each: a new store every time. */
import type { ServiceOptions } from "../../src/service/index.ts";
import { hasPostgres, postgresForFile } from "../postgres.ts";

/** A body of the store. */
interface Body {
  readonly body: string;
  /** Whether it can't be had here. */
  readonly skip: boolean;
  /** Where a new store of it is. */
  readonly place: () => ServiceOptions["store"];
}

/** The bodies; PostgreSQL is started before the tests of a file, and stopped behind them. */
export const storeBodies = (): readonly Body[] => {
  const { newDatabase } = postgresForFile();
  return [
    { body: "a file", skip: false, place: () => undefined },
    { body: "PostgreSQL", skip: !hasPostgres, place: () => ({ path: newDatabase(), password: undefined }) },
  ];
};

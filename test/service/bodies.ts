/** Locations of a store. Tests that use a location open a new store. */
import { hasPostgres, newDatabase } from "../support/postgres.ts";

/** A kind of database that has the store. */
interface Body {
  readonly body: string;
  /** True if PostgreSQL is not installed. */
  readonly skip: boolean;
  readonly tags: "database" | [];
  /** Returns the location of a new store; undefined for the file in the data folder. */
  readonly place: () => Promise<{ readonly path: string; readonly password: undefined } | undefined>;
}

/** Queries a database over a separate connection; returns the first value of the first row, which is a number. */
export const query = async (address: string, sql: string): Promise<number> => {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  const answer = [await client.query({ text: sql, rowMode: "array" })].flat().at(-1);
  await client.end();
  return Number(answer?.rows[0]?.[0]);
};

export const bodies: readonly Body[] = [
  { body: "a file", skip: false, tags: [], place: async () => undefined },
  {
    body: "PostgreSQL",
    skip: !hasPostgres,
    tags: "database",
    place: async () => ({ path: await newDatabase(), password: undefined }),
  },
];

/** Opens SQLite files, and ledgers in PostgreSQL by URL. */
import { isDatabaseUrl } from "../system/host.ts";
import type { DatabaseOptions, DatabaseSchema } from "./database.ts";
import { openFile } from "./sqlite.ts";

/**
 * Without `canCreate`, returns undefined for a missing or empty database. `before` is the version that was found.
 * @throws Failure
 */
export const openDatabase = async (schema: DatabaseSchema, options: DatabaseOptions) =>
  isDatabaseUrl(options.path)
    ? await (await import("./postgres.ts")).openPostgres(schema, options)
    : await openFile(schema, options);

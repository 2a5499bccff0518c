/** Opens SQLite files, and ledgers in PostgreSQL by URL. */
import { isDatabaseUrl } from "../system/files.ts";
import type { DatabaseOptions, DatabaseSchema } from "./database.ts";
import { openFile } from "./sqlite.ts";

export type * from "./database.ts";
export { findOwnPath, type Lock, type LockWaitOptions, toFileFailure, tryLock, waitForLock } from "./own-file.ts";
export type { Row } from "./row.ts";
export { examineFile, openFile } from "./sqlite.ts";

/** Without `canCreate`, returns undefined for a missing or empty database. @throws Failure */
export const openDatabase = async (schema: DatabaseSchema, options: DatabaseOptions) =>
  isDatabaseUrl(options.path)
    ? await (await import("./postgres.ts")).openPostgres(schema, options)
    : await openFile(schema, options);

/** Opens SQLite files, and PostgreSQL databases by URL. */
import { isDatabaseUrl } from "../files.ts";
import type { DatabaseOptions, DatabaseSchema } from "./database.ts";
import { openFile } from "./sqlite.ts";

export type * from "./database.ts";
export { type Lock, type LockWaitOptions, toFileFailure, tryLock, waitForLock } from "./own-file.ts";
export type { Row } from "./row.ts";
export { examineFile } from "./sqlite.ts";

/** Without `canCreate`, returns undefined for a missing or empty database. @throws Failure */
export const openDatabase = async (schema: DatabaseSchema, options: DatabaseOptions) =>
  isDatabaseUrl(options.path)
    ? await (await import("./postgres.ts")).openPostgres(schema, options)
    : openFile(schema, options);

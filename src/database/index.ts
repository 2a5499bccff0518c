/** The files rollcall keeps (SQLite, durable at every commit, shared by as many processes as like), and databases in PostgreSQL. */
export { type Examined, examineDatabase, sqliteVersion } from "./examine.ts";
export { systemFailure, type TitledFile } from "./file.ts";
export { isLocked, type Lock, tryLock, waitForLock } from "./lock.ts";
export {
  type Database,
  type DatabaseOptions,
  openDatabase,
  openToRead,
  type Row,
  type Statement,
  type Value,
} from "./open.ts";
export type { DatabaseServer, Question, RemoteOptions } from "./remote.ts";
export { hasTables, makeTables } from "./versions.ts";

/** The door of PostgreSQL: its driver is loaded for a database at an address alone. */
export const postgresDoor = () => import("./postgres.ts");

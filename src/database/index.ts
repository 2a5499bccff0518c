/** The files rollcall keeps: SQLite, durable at every commit, shared by as many processes as like. */
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
export type { Ask, DatabaseServer, Question, RemoteOptions } from "./remote.ts";
export { bringUp, versionOf } from "./versions.ts";

/** The doors of databases at addresses: what speaks to them is loaded for those alone. */
export const postgresDoor = () => import("./postgres.ts");
export const libsqlDoor = () => import("./libsql.ts");

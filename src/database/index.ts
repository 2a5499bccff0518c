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
export type { Ask, Remote, RemoteOptions } from "./postgres.ts";
export { bringUp } from "./versions.ts";

/** The door of databases at addresses: its driver is loaded for those alone. */
export const postgresDoor = () => import("./postgres.ts");

/** The database of a bench that runs on PostgreSQL, or on a libSQL server where `libsql` stands on its command line. */
import { hasLibsql, startLibsql } from "./libsql-server.js";
import { hasPostgres, startPostgres } from "./postgres.js";

/** Starts one, which ends with the bench; where it is not installed, the bench ends here. */
export const openTeamDatabase = async () => {
  const isLibsql = process.argv.includes("libsql");
  if (!(isLibsql ? hasLibsql : hasPostgres)) {
    console.log(`skipped: ${isLibsql ? "sqld" : "PostgreSQL"} is not installed`);
    process.exit();
  }
  const database = isLibsql ? await startLibsql() : await startPostgres();
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await database.stop();
  };
  process.on("exit", () => void stop());
  return {
    database: { ...database, stop },
    kind: isLibsql ? "on a libSQL server" : "in PostgreSQL",
    addressAt: (port) => database.address.replace(`:${database.port}`, `:${port}`),
  };
};

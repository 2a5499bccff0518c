/** Starts PostgreSQL for a bench. */
import { hasPostgres, startPostgres } from "./postgres.js";

/** Starts a server that stops when the bench ends. If PostgreSQL is not installed, ends the bench. */
export const openTeamDatabase = async () => {
  if (!hasPostgres) {
    console.log("skipped: PostgreSQL is not installed");
    process.exit();
  }
  const database = await startPostgres();
  let isStopped = false;
  const stop = () => {
    if (isStopped) return;
    isStopped = true;
    database.stop();
  };
  process.on("exit", stop);
  return { ...database, stop };
};

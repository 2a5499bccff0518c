/** Starts PostgreSQL for a bench. */
import { hasPostgres, startPostgres } from "./postgres.js";

/** The server stops with the bench. If PostgreSQL is not installed, the bench ends. */
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

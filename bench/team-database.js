/** The PostgreSQL of a bench. */
import { hasPostgres, startPostgres } from "./postgres.js";

/** Starts one, which ends with the bench; if it is not installed, the bench ends here. */
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

/** A PostgreSQL of one's own in a folder that goes with it: Debian's package, on a port of loopback. */
import { execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const versions = "/usr/lib/postgresql";

/** Where its programs are; undefined where it is not installed: `apt-get install postgresql`. */
const programs = existsSync(versions)
  ? readdirSync(versions)
      .map((version) => join(versions, version, "bin"))
      .find((folder) => existsSync(join(folder, "initdb")))
  : undefined;

export const hasPostgres = programs !== undefined;

/** It refuses to run as root, who runs it as its package's own user. */
const owner = () => {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, "postgres"])));
  return { uid, gid };
};

/** A port of loopback that nothing listens at. */
export const freePort = async () => {
  const server = createServer();
  await new Promise((settle) => server.listen(0, "127.0.0.1", settle));
  const { port } = server.address();
  await new Promise((settle) => server.close(settle));
  return port;
};

/**
 * Starts one, with a database `rollcall` of the user `rollcall`, whose password is `secret` where one is asked for; encrypted
 * too where it has a certificate. Where it is not durable, it survives its own end, but not the machine's. Must be stopped.
 */
export const startPostgres = async ({ asksForPassword = false, certificate, isDurable = true } = {}) => {
  const as = owner();
  // Its user has to get there: a folder of temporary files may be root's alone.
  const folder = mkdtempSync(join(as.uid === undefined ? tmpdir() : "/tmp", "postgres-"));
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid);
  const port = await freePort();
  const data = join(folder, "data");
  const run = (name, args, more = {}) =>
    execFileSync(join(programs, name), args, { ...as, cwd: folder, stdio: ["pipe", "ignore", "inherit"], ...more });
  const sql = (text) =>
    run("psql", [
      "-q",
      "-v",
      "ON_ERROR_STOP=1",
      "-h",
      folder,
      "-p",
      String(port),
      "-U",
      "rollcall",
      "postgres",
      "-c",
      text,
    ]);
  const own = (name, content) => {
    const file = join(folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    if (as.uid !== undefined) chownSync(file, as.uid, as.gid);
    return file;
  };
  const encryption =
    certificate === undefined
      ? ""
      : ` -c ssl=on -c ssl_cert_file=${own("cert.pem", certificate.cert)} -c ssl_key_file=${own("key.pem", certificate.key)}`;
  const settings = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c max_connections=300${encryption}${isDurable ? "" : " -c fsync=off"}`;
  const control = (...words) => run("pg_ctl", ["-D", data, "-l", join(folder, "log"), "-s", "-w", ...words]);
  const start = () => control("-o", settings, "start");
  const stopNow = () => control("-m", "immediate", "stop");
  run("initdb", [
    ...(isDurable ? [] : ["--no-sync"]),
    "-D",
    data,
    "-U",
    "rollcall",
    "-E",
    "UTF8",
    "--auth-local=trust",
    `--auth-host=${asksForPassword ? "scram-sha-256" : "trust"}`,
  ]);
  start();
  sql("ALTER USER rollcall PASSWORD 'secret'");
  sql("CREATE DATABASE rollcall");
  return {
    port,
    address: `postgres://rollcall@127.0.0.1:${port}/rollcall`,
    start,
    /** Ends it as a lost machine does. */
    stopNow,
    /** Makes another database in it, and gives its address. */
    newDatabase: (name) => {
      sql(`CREATE DATABASE "${name}"`);
      return `postgres://rollcall@127.0.0.1:${port}/${name}`;
    },
    stop: () => {
      stopNow();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

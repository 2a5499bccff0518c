/** Starts a private PostgreSQL server from Debian's package, in a temporary folder and on a loopback port. */
import { execFileSync } from "node:child_process";
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const versions = "/usr/lib/postgresql";

/** The folder of PostgreSQL's programs; undefined if PostgreSQL is not installed (`apt-get install postgresql`). */
const programs = existsSync(versions)
  ? readdirSync(versions)
      .map((version) => join(versions, version, "bin"))
      .find((folder) => existsSync(join(folder, "initdb")))
  : undefined;

export const hasPostgres = programs !== undefined;

/** PostgreSQL refuses to run as root, so root runs PostgreSQL as the user of the package. */
const owner = () => {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, "postgres"])));
  return { uid, gid };
};

const freePort = async () => {
  const server = createServer();
  await new Promise((settle) => server.listen(0, "127.0.0.1", settle));
  const { port } = server.address();
  await new Promise((settle) => server.close(settle));
  return port;
};

const run = (name, args, folder) =>
  execFileSync(join(programs, name), args, { ...owner(), cwd: folder, stdio: ["pipe", "ignore", "inherit"] });

/**
 * Starts a server with a database `rollcall` of the user `rollcall` (no password), and a user `guarded` (password
 * `secret`). With a certificate, the server accepts TLS. Unless `isDurable`, the data can be lost in a crash of the
 * machine, but not if the server is killed.
 */
export const startPostgres = async ({ certificate, isDurable = true } = {}) => {
  const as = owner();
  // The folder of temporary files may be accessible only to root.
  const folder = mkdtempSync(join(as.uid === undefined ? tmpdir() : "/tmp", "postgres-"));
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid);
  const own = (name, content) => {
    const file = join(folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    if (as.uid !== undefined) chownSync(file, as.uid, as.gid);
    return file;
  };
  const port = await freePort();
  const options = ["-D", join(folder, "data"), "-U", "rollcall", "-E", "UTF8", "--auth=trust"];
  run("initdb", [...options, ...(isDurable ? [] : ["--no-sync"])], folder);
  const access = ["local all all trust", "host all guarded all scram-sha-256", "host all all all trust", ""].join("\n");
  const settings = [
    `port = ${port}`,
    `unix_socket_directories = '${folder}'`,
    `hba_file = '${own("access.conf", access)}'`,
    "listen_addresses = '127.0.0.1'",
    "max_connections = 600",
    ...(isDurable ? [] : ["fsync = off"]),
    ...(certificate === undefined
      ? []
      : [
          "ssl = on",
          `ssl_cert_file = '${own("cert.pem", certificate.cert)}'`,
          `ssl_key_file = '${own("key.pem", certificate.key)}'`,
        ]),
  ];
  appendFileSync(join(folder, "data", "postgresql.conf"), settings.join("\n"));
  const server = postgresAt({ folder, port });
  server.start();
  server.sql("CREATE ROLE guarded LOGIN PASSWORD 'secret'");
  server.newDatabase("rollcall");
  return server;
};

/** Connects to a started server. */
export const postgresAt = ({ folder, port }) => {
  const control = (...words) =>
    run("pg_ctl", ["-D", join(folder, "data"), "-l", join(folder, "log"), "-s", "-w", ...words], folder);
  const sql = (text) =>
    run(
      "psql",
      `-q -v ON_ERROR_STOP=1 -h ${folder} -p ${port} -U rollcall postgres -c`.split(" ").concat(text),
      folder,
    );
  const addressOf = (name, user) => `postgres://${user}@127.0.0.1:${port}/${name}`;
  const stopNow = () => control("-m", "immediate", "stop");
  return {
    folder,
    port,
    address: addressOf("rollcall", "rollcall"),
    sql,
    start: () => control("start"),
    stopNow,
    newDatabase: (name, user = "rollcall") => {
      sql(`CREATE DATABASE "${name}" OWNER ${user}`);
      return addressOf(name, user);
    },
    stop: () => {
      stopNow();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

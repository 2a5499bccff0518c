/** Failures of the files and databases that rollcall keeps. */
import { type About, Failure } from "../failure.ts";
import { isDatabaseAddress } from "../files.ts";
import { systemWords } from "../sentences.ts";

/** A file or a database, and its name for a person, such as "the ledger". */
export interface TitledFile {
  readonly path: string;
  readonly title: string;
}

/** What names another place for a file, by its title; for all others, the folder of all data. */
const places: Readonly<Record<string, string>> = {
  "the ledger": "ROLLCALL_DATA_DIR or --ledger",
  "the lock of the ledger": "ROLLCALL_DATA_DIR or --ledger",
  "the store of the local service": "--store, --data-dir or ROLLCALL_DATA_DIR",
  "the key of the local service": "ROLLCALL_DATA_DIR or --data-dir",
  "the lock of the settings": "ROLLCALL_CONFIG_DIR",
};

const elsewhere = (title: string): string => `name another place: ${places[title] ?? "ROLLCALL_DATA_DIR"}`;

/** The variable that may hold an address with its password. */
const addressVariable = (title: string): string =>
  title === "the store of the local service" ? "ROLLCALL_STORE" : "ROLLCALL_LEDGER";

export const databaseLocked = ({ path, title }: TitledFile, about: About = {}): Failure =>
  new Failure("storage", "database-locked", `${title}, ${path}, stayed locked by another process`, {
    hint: "wait for the other rollcall to end, then run the same command again",
    retryable: true,
    ...about,
  });

export const databaseCorrupt = ({ path, title }: TitledFile, about: About = {}): Failure =>
  new Failure("storage", "database-corrupt", `${title}, ${path}, is damaged`, {
    hint: `move it away (mv ${path} ${path}.damaged) to start a new one, or put a copy back`,
    ...about,
  });

export const databaseForeign = ({ path, title }: TitledFile, about: About = {}): Failure => {
  const what = title.replace(/^the /, "a rollcall ");
  return new Failure("storage", "database-foreign", `${path} is not ${what}: another program wrote it`, {
    hint: isDatabaseAddress(path)
      ? "name another database: the schema rollcall of this one is another program's"
      : `move it away, or ${elsewhere(title)}`,
    ...about,
  });
};

/** @param version that of its tables @param expected that of this program */
export const databaseVersion = (
  { path, title, version, expected }: TitledFile & { version: number; expected: number },
  about: About = {},
): Failure => {
  const message = `${title}, ${path}, has version ${version}, but this rollcall expects version ${expected}`;
  return new Failure("storage", "database-version", message, {
    hint:
      version > expected
        ? "use the rollcall that wrote it, or update this one"
        : isDatabaseAddress(path)
          ? "name another database: an older version is not migrated"
          : `move it away (mv ${path} ${path}.old) to start a new one: an older version is not migrated`,
    ...about,
  });
};

/** A database at an address that did not answer for so long. */
export const databaseAway = ({
  path,
  title,
  code,
  waitedMs,
}: TitledFile & { code: string; waitedMs: number }): Failure => {
  const waited = waitedMs < 1000 ? "" : ` for ${Math.round(waitedMs / 1000)} s`;
  return new Failure(
    "unavailable",
    "database-away",
    `${title}, ${path}, did not answer${waited}: ${systemWords(code)}`,
    {
      hint:
        title === "the store of the local service"
          ? "nothing is stored while it is away; the same command again is safe"
          : "nothing is sent that can't be written down there; the same command again is safe, and --max-wait says how long is waited",
    },
  );
};

/** A database that lets nobody in with these credentials, or not to do this. */
export const databaseRefused = ({ path, title, code }: TitledFile & { code: string }): Failure => {
  const why =
    { "3D000": "has no such database", "42501": "does not let this user make or write its tables" }[code] ??
    "lets nobody in with this user and password";
  return new Failure("auth", "database-refused", `${title}, ${path}, ${why} (${code})`, {
    systemCode: code,
    hint:
      code === "3D000"
        ? "what stands behind the last / of the address is the name of the database: it has to be there, made with `createdb` or by whoever runs the server"
        : `the password is looked for in ${addressVariable(title)}'s address, in PGPASSWORD, in ~/.pgpass and with credential_command; the user needs to make and write the schema \`rollcall\``,
  });
};

/** @param wanted the form of address that is taken */
export const databaseAddress = ({ path, title, wanted }: TitledFile & { wanted: string }): Failure =>
  new Failure("usage", "database-address", `${path} is no address that ${title} can be kept at`, {
    hint: `it takes ${wanted}; a password stands in ${addressVariable(title)}, PGPASSWORD or ~/.pgpass, never on a command line`,
  });

export const databaseFailed = ({ path, title, code }: TitledFile & { code: string }, about: About = {}): Failure => {
  // A replica, or a database that is set to be read-only.
  const isReadOnly = code === "25006";
  const why = isReadOnly ? "it takes no writes (25006)" : systemWords(code);
  const hint = (): string => {
    if (!isDatabaseAddress(path)) return `look at the disk under it, or ${elsewhere(title)}`;
    if (isReadOnly)
      return "it is a replica, or was set to be read-only: give the address of the server that takes writes";
    return /CERT|TLS|SSL/.test(code)
      ? "the certificate of the server is checked: NODE_EXTRA_CA_CERTS names a file with one's own authority's"
      : "the log of the database says more; the same command again is safe";
  };
  return new Failure("storage", "database-failed", `${title}, ${path}, can't be used: ${why}`, {
    hint: hint(),
    systemCode: code,
    ...about,
  });
};

export const folderUnusable = ({ path, title, code }: TitledFile & { code: string }, about: About = {}): Failure =>
  new Failure("storage", "folder-unusable", `${title} can't be kept at ${path}: ${systemWords(code)}`, {
    hint: `make the folder writable, or ${elsewhere(title)}`,
    ...about,
  });

export const diskFull = ({ path, title }: TitledFile, about: About = {}): Failure =>
  new Failure("storage", "disk-full", `the disk is full: ${title}, ${path}, can't be written`, {
    hint: `make room, or ${elsewhere(title)}`,
    ...about,
  });

/** Failures of the files and databases that rollcall keeps. */
import { Failure, type FailureDetails } from "../failure.ts";
import { isDatabaseUrl } from "../files.ts";
import { describeSystemCode } from "../sentences.ts";

/** A file or a database, and its name for a person, such as "the ledger". */
export interface TitledFile {
  readonly path: string;
  readonly title: string;
}

type FileError = TitledFile & { readonly code: string };

const storeTitle = "the store of the local service";

/** What names another place for a file, by its title; for all others, the folder of all data. */
const locationOptions: Readonly<Record<string, string>> = {
  "the ledger": "ROLLCALL_DATA_DIR or --ledger",
  "the lock of the ledger": "ROLLCALL_DATA_DIR or --ledger",
  [storeTitle]: "--store, --data-dir or ROLLCALL_DATA_DIR",
  "the key of the local service": "ROLLCALL_DATA_DIR or --data-dir",
  "the lock of the settings": "ROLLCALL_CONFIG_DIR",
};

const elsewhereHint = (title: string): string => `name another place: ${locationOptions[title] ?? "ROLLCALL_DATA_DIR"}`;

/** The variable that may hold an address with its password. */
const urlVariable = (title: string): string => (title === storeTitle ? "ROLLCALL_STORE" : "ROLLCALL_LEDGER");

export const databaseLocked = ({ path, title }: TitledFile, about: FailureDetails = {}): Failure => {
  const hint = "wait for the other rollcall to end, then run the same command again";
  const message = `${title}, ${path}, stayed locked by another process`;
  return new Failure("storage", "database-locked", message, { hint, retryable: true, ...about });
};

export const databaseCorrupt = ({ path, title }: TitledFile, about: FailureDetails = {}): Failure => {
  const hint = `move it away (mv ${path} ${path}.damaged) to start a new one, or put a copy back`;
  return new Failure("storage", "database-corrupt", `${title}, ${path}, is damaged`, { hint, ...about });
};

export const databaseForeign = ({ path, title }: TitledFile, about: FailureDetails = {}): Failure => {
  const message = `${path} is not ${title.replace(/^the /, "a rollcall ")}: another program wrote it`;
  const hint = isDatabaseUrl(path)
    ? "name another database: the schema rollcall of this one is another program's"
    : `move it away, or ${elsewhereHint(title)}`;
  return new Failure("storage", "database-foreign", message, { hint, ...about });
};

/** @param version that of its tables @param expected that of this program */
export const databaseVersion = (
  { path, title, version, expected }: TitledFile & { readonly version: number; readonly expected: number },
  about: FailureDetails = {},
): Failure => {
  const message = `${title}, ${path}, has version ${version}, but this rollcall expects version ${expected}`;
  const older = isDatabaseUrl(path)
    ? "name another database: an older version is not migrated"
    : `move it away (mv ${path} ${path}.old) to start a new one: an older version is not migrated`;
  const hint = version > expected ? "use the rollcall that wrote it, or update this one" : older;
  return new Failure("storage", "database-version", message, { hint, ...about });
};

/** A database at an address that did not answer for so long. */
export const databaseUnavailable = ({
  path,
  title,
  code,
  waitedMs,
}: FileError & { readonly waitedMs: number }): Failure => {
  const waited = waitedMs < 1000 ? "" : ` for ${Math.round(waitedMs / 1000)} s`;
  const message = `${title}, ${path}, did not answer${waited}: ${describeSystemCode(code)}`;
  const hint =
    title === storeTitle
      ? "nothing is stored while it is away; the same command again is safe"
      : "nothing is sent that can't be written down there; the same command again is safe, and --max-wait says how long is waited";
  return new Failure("unavailable", "database-unavailable", message, { hint });
};

/** A database that lets nobody in with these credentials, or not to do this. */
export const databaseRefused = ({ path, title, code }: FileError): Failure => {
  const reasons: Readonly<Record<string, string>> = {
    "3D000": "has no such database",
    "42501": "does not let this user make or write its tables",
  };
  const message = `${title}, ${path}, ${reasons[code] ?? "lets nobody in with this user and password"} (${code})`;
  const hint =
    code === "3D000"
      ? "what stands behind the last / of the address is the name of the database: it has to be there, made with `createdb` or by whoever runs the server"
      : `the password is looked for in ${urlVariable(title)}'s address, in PGPASSWORD, in ~/.pgpass and with credential_command; the user needs to make and write the schema \`rollcall\``;
  return new Failure("auth", "database-refused", message, { systemCode: code, hint });
};

/** @param wanted the form of address that is taken */
export const invalidDatabaseUrl = ({ path, title, wanted }: TitledFile & { readonly wanted: string }): Failure => {
  const hint = `it takes ${wanted}; a password stands in ${urlVariable(title)}, PGPASSWORD or ~/.pgpass, never on a command line`;
  return new Failure("usage", "invalid-database-url", `${path} is no address that ${title} can be kept at`, { hint });
};

export const databaseFailed = ({ path, title, code }: FileError, about: FailureDetails = {}): Failure => {
  // A replica, or a database that is set to be read-only.
  const isReadOnly = code === "25006";
  const why = isReadOnly ? "it takes no writes (25006)" : describeSystemCode(code);
  const hint = !isDatabaseUrl(path)
    ? `look at the disk under it, or ${elsewhereHint(title)}`
    : isReadOnly
      ? "it is a replica, or was set to be read-only: give the address of the server that takes writes"
      : /CERT|TLS|SSL/.test(code)
        ? "the certificate of the server is checked: NODE_EXTRA_CA_CERTS names a file with one's own authority's"
        : "the log of the database says more; the same command again is safe";
  const message = `${title}, ${path}, can't be used: ${why}`;
  return new Failure("storage", "database-failed", message, { hint, systemCode: code, ...about });
};

export const folderUnusable = ({ path, title, code }: FileError, about: FailureDetails = {}): Failure => {
  const hint = `make the folder writable, or ${elsewhereHint(title)}`;
  const message = `${title} can't be kept at ${path}: ${describeSystemCode(code)}`;
  return new Failure("storage", "folder-unusable", message, { hint, ...about });
};

export const diskFull = ({ path, title }: TitledFile, about: FailureDetails = {}): Failure => {
  const message = `the disk is full: ${title}, ${path}, can't be written`;
  return new Failure("storage", "disk-full", message, { hint: `make room, or ${elsewhereHint(title)}`, ...about });
};

/** Failures of rollcall's own files and databases. */
import { Failure, type FailureDetails } from "../failure.ts";
import { isDatabaseUrl } from "../files.ts";
import { describeSystemCode } from "../sentences.ts";

export interface TitledFile {
  readonly path: string;
  readonly title: string;
}

type FileError = TitledFile & { readonly code: string };

const storeTitle = "the store of the local service";

/** Options and variables that move a file, by its title. Default: the variable of the data folder. */
const locationOptions: Readonly<Record<string, string>> = {
  "the ledger": "ROLLCALL_DATA_DIR or --ledger",
  "the lock of the ledger": "ROLLCALL_DATA_DIR or --ledger",
  [storeTitle]: "--store, --data-dir or ROLLCALL_DATA_DIR",
  "the key of the local service": "ROLLCALL_DATA_DIR or --data-dir",
  "the lock of the settings": "ROLLCALL_CONFIG_DIR",
};

const elsewhereHint = (title: string): string =>
  `choose another location with ${locationOptions[title] ?? "ROLLCALL_DATA_DIR"}`;

const urlVariable = (title: string): string => (title === storeTitle ? "ROLLCALL_STORE" : "ROLLCALL_LEDGER");

export const databaseLocked = ({ path, title }: TitledFile, about: FailureDetails = {}): Failure =>
  new Failure("storage", "database-locked", `${title} ${path} is locked by another process`, {
    hint: "wait until the other process ends, then run the same command again",
    retryable: true,
    ...about,
  });

export const databaseCorrupt = ({ path, title }: TitledFile, about: FailureDetails = {}): Failure =>
  new Failure("storage", "database-corrupt", `${title} ${path} is damaged`, {
    hint: `move it away (mv ${path} ${path}.damaged) to start a new one, or restore a copy`,
    ...about,
  });

export const databaseForeign = ({ path, title }: TitledFile, about: FailureDetails = {}): Failure => {
  const message = `${path} is not ${title.replace(/^the /, "a rollcall ")}: another program wrote it`;
  const hint = isDatabaseUrl(path)
    ? "choose another database, because another program owns the schema `rollcall` in this database"
    : `move it away, or ${elsewhereHint(title)}`;
  return new Failure("storage", "database-foreign", message, { hint, ...about });
};

export const databaseVersion = (
  { path, title, version, expected }: TitledFile & { readonly version: number; readonly expected: number },
  about: FailureDetails = {},
): Failure => {
  const message = `${title} ${path} has version ${version}, but this rollcall expects version ${expected}`;
  const start = isDatabaseUrl(path)
    ? "choose another database"
    : `move it away (mv ${path} ${path}.old) to start a new one`;
  const older = `${start}, because older versions are not migrated`;
  const hint = version > expected ? "update rollcall, or use the version of rollcall that wrote it" : older;
  return new Failure("storage", "database-version", message, { hint, ...about });
};

export const databaseUnavailable = (file: FileError & { readonly waitedMs: number }): Failure => {
  const { path, title, code, waitedMs } = file;
  const waited = waitedMs < 1000 ? "" : ` for ${Math.round(waitedMs / 1000)} s`;
  const message = `cannot reach ${title} ${path}${waited}: ${describeSystemCode(code)}`;
  const again = "run the same command again";
  const hint =
    title === storeTitle
      ? `${again} when the database is available`
      : `${again}, or wait longer with --max-wait (nothing is sent without the ledger)`;
  return new Failure("unavailable", "database-unavailable", message, { hint });
};

export const databaseMissing = ({ path, title }: TitledFile): Failure =>
  new Failure("storage", "database-missing", `the database of ${title} ${path} does not exist`, {
    hint: "create the database with `createdb`, or correct the name after the last / of the URL",
  });

export const databaseRefused = ({ path, title, code }: FileError): Failure => {
  const refused = code === "42501" ? "the user cannot create or write the tables of" : "authentication failed for";
  const variables = `${urlVariable(title)}, PGPASSWORD, ~/.pgpass or credential_command`;
  const hint = `check the password in ${variables}, and the user's rights to create and write the schema \`rollcall\``;
  return new Failure("auth", "database-refused", `${refused} ${title} ${path} (${code})`, { systemCode: code, hint });
};

/** @param wanted the valid form of the URL @param path undefined if any part of the URL may be a password */
export const invalidDatabaseUrl = (wrong: { path: string | undefined; title: string; wanted: string }): Failure => {
  const { path, title, wanted } = wrong;
  const passwords = `PGPASSWORD, ~/.pgpass or ${urlVariable(title)} (with %2F instead of /)`;
  const hint = `use ${wanted}, and set passwords only in ${passwords}`;
  return new Failure(
    "usage",
    "invalid-database-url",
    `invalid URL of ${title}${path === undefined ? "" : `: ${path}`}`,
    { hint },
  );
};

export const databaseFailed = ({ path, title, code }: FileError, about: FailureDetails = {}): Failure => {
  // A replica, or a database that is set to be read-only.
  const isReadOnly = code === "25006";
  const why = isReadOnly ? "it is read-only (25006)" : describeSystemCode(code);
  const hint = !isDatabaseUrl(path)
    ? `check its disk, or ${elsewhereHint(title)}`
    : isReadOnly
      ? "use the URL of the server that accepts writes"
      : /CERT|TLS|SSL/.test(code)
        ? "if the server has its own CA, set NODE_EXTRA_CA_CERTS=<file.pem>"
        : "check the log of the database server, then run the same command again";
  const message = `cannot use ${title} ${path}: ${why}`;
  return new Failure("storage", "database-failed", message, { hint, systemCode: code, ...about });
};

export const folderUnusable = ({ path, title, code }: FileError, about: FailureDetails = {}): Failure =>
  new Failure("storage", "folder-unusable", `cannot store ${title} at ${path}: ${describeSystemCode(code)}`, {
    hint: `make the folder writable, or ${elsewhereHint(title)}`,
    ...about,
  });

export const diskFull = ({ path, title }: TitledFile, about: FailureDetails = {}): Failure =>
  new Failure("storage", "disk-full", `cannot write ${title} ${path}: the disk is full`, {
    hint: `free some space, or ${elsewhereHint(title)}`,
    ...about,
  });

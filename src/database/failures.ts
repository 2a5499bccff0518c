import { Failure, type FailureDetails } from "../failure.ts";
import { hasContent, ignoreErrors } from "../system/files.ts";
import { isDatabaseUrl } from "../system/host.ts";
import { describeSystemCode } from "../text/sentences.ts";
import { formatCommandLine } from "../text/shell-words.ts";
import { formatSeconds } from "../text/units.ts";

/**
 * For failures about a file or database. The noun has no article. `moveWith` names options and variables. `ofNew` and
 * `ofBackup` end hints.
 */
export type DescribedFile = Readonly<
  Record<"path" | "noun" | "moveWith", string> & Partial<Record<"ofNew" | "ofBackup", string>>
>;

type FileError = DescribedFile & { code: string };

const formatFile = ({ noun, path }: DescribedFile) => `the ${noun} ${path}`;
/** With a new ledger, a rerun would log groups again. */
const elsewhereHint = ({ moveWith, noun, path }: DescribedFile) =>
  ignoreErrors(() => hasContent(path))
    ? `move the ${noun} elsewhere and name it with ${moveWith}`
    : `choose another location with ${moveWith}`;

const storageFailure = (kind: string, { path }: DescribedFile, message: string, details: FailureDetails) =>
  new Failure("storage", kind, message, { ...(isDatabaseUrl(path) ? {} : { where: { file: path } }), ...details });

export const databaseLocked = (file: DescribedFile, cause?: unknown) =>
  storageFailure("database-locked", file, `${formatFile(file)} is locked by another process`, {
    hint: "wait until the other process ends, then run the same command again",
    retryable: true,
    cause,
  });

const startNewHint = ({ path, noun, ofNew = "" }: DescribedFile, suffix: string) => {
  if (isDatabaseUrl(path)) return `start a new ${noun} in another database with --new-ledger${ofNew}`;
  const command = formatCommandLine(["mv", path, `${path}.${suffix}`]);
  return `move the file away (\`${command}\`) to start a new ${noun}${ofNew}`;
};

const restoreHint = (file: DescribedFile) =>
  `restore a backup${file.ofBackup ?? ""}, or ${startNewHint(file, "damaged")}`;

export const databaseCorrupt = (file: DescribedFile, cause?: unknown) => {
  const hint = restoreHint(file);
  return storageFailure("database-corrupt", file, `${formatFile(file)} is damaged`, { hint, cause });
};

export const databaseLinked = (file: DescribedFile, links: number) =>
  storageFailure("database-linked", file, `${formatFile(file)} has ${links} names (hard links), but must have one`, {
    hint: `remove the other names (\`${formatCommandLine(["find", "/", "-xdev", "-samefile", file.path])}\` lists them)`,
  });

export const packageMissing = ({ code, ...file }: FileError, cause: unknown) => {
  const message = `cannot load libsql, which rollcall needs for the ${file.noun} (${code})`;
  const hint = "reinstall rollcall on this machine, as the README describes";
  return storageFailure("package-missing", file, message, { hint, cause });
};

export const databaseForeign = (file: DescribedFile, cause?: unknown) => {
  const message = `${file.path} is not a rollcall ${file.noun}: another program wrote it`;
  const hint = isDatabaseUrl(file.path)
    ? "choose another database, because another program owns the schema `rollcall` in this database"
    : `move the file away, or choose another location with ${file.moveWith}`;
  return storageFailure("database-foreign", file, message, { hint, cause });
};

export const databaseVersion = (file: DescribedFile, version: number, expected: number) => {
  const start = startNewHint(file, "old");
  const older = `use the version of rollcall that wrote the ${file.noun}`;
  const hint = version > expected ? `update rollcall, or ${older}` : `${older}, or ${start}`;
  const message = `${formatFile(file)} has version ${version}, but this rollcall expects version ${expected}`;
  return storageFailure("database-version", file, message, { hint });
};

export const databaseUnavailable = ({ code, waitedMs, ...file }: FileError & { waitedMs: number }) => {
  const waited = waitedMs < 1000 ? "" : ` (tried for ${formatSeconds(waitedMs)})`;
  const verb = /^\d/.test(code) ? "use" : "reach";
  const message = `cannot ${verb} ${formatFile(file)}${waited}: ${describeSystemCode(code)}`;
  const again = "run the same command again, or wait longer with --max-wait";
  const hint = code in serverHints ? `${serverHints[code]}, or ${again}` : again;
  return new Failure("unavailable", "database-unavailable", message, { hint });
};

/** PostgreSQL's `read_only_sql_transaction` and `insufficient_privilege`. */
const readOnlyCode = "25006";
const deniedCode = "42501";

/** True if the user of the database may only read. */
export const isReadOnly = (thrown: unknown) =>
  thrown instanceof Failure && [readOnlyCode, deniedCode].includes(thrown.details.systemCode ?? "");

export const databaseRefused = (error: FileError) => {
  const isDenied = error.code === deniedCode;
  if (!isDenied && !error.code.startsWith("28")) return databaseFailed(error);
  const isUnlisted = error.code === "28000";
  const failed = isUnlisted ? "the server accepts no such connection to" : "authentication failed for";
  const refused = isDenied ? "the database user cannot create or write the tables of" : failed;
  const grant = "grant the database user the rights to create the schema `rollcall` and to write its tables";
  const hint = isDenied ? grant : (serverHints[error.code] ?? "check the password in ROLLCALL_LEDGER or PGPASSWORD");
  const message = `${refused} ${formatFile(error)} (${error.code})`;
  return new Failure("auth", "database-refused", message, { systemCode: error.code, hint });
};

export const tlsMissing = ({ noun, path }: DescribedFile) =>
  new Failure("usage", "invalid-database-url", `the URL of the ${noun} is invalid: ${path}`, {
    hint: "use sslmode=disable if the server has no TLS",
  });

export const databaseMissing = (file: DescribedFile) =>
  storageFailure("database-missing", file, `the database of ${formatFile(file)} does not exist`, {
    hint: "create the database with `createdb`, or correct the name after the last / of the URL",
  });

export const databaseFailed = ({ code, ...file }: FileError, cause?: unknown) => {
  const known =
    code === readOnlyCode ? "it is read-only" : incompleteCodes.test(code) ? "its tables are incomplete" : "";
  const reason = known ? `${known} (${code})` : describeSystemCode(code);
  const hint = isDatabaseUrl(file.path) ? serverHint(code, file) : `check the disk, or ${elsewhereHint(file)}`;
  const details = { hint, systemCode: code, cause };
  return storageFailure("database-failed", file, `cannot use ${formatFile(file)}: ${reason}`, details);
};

/** The advice for PostgreSQL's codes. The text of a code is in `describeSystemCode`. */
const serverHints: Readonly<Record<string, string>> = {
  [readOnlyCode]: "use the URL of the server that accepts writes",
  "08P01": "use the URL of the server, or set pool_mode of the pooler to transaction or session",
  "28000": "omit sslmode=disable if the server requires TLS, or allow this user and machine in its pg_hba.conf",
  "53100": "free disk space on the database server, then run the same command again",
  "53300": "raise max_connections, or connect through a pooler",
};

/** A table or a column is missing, or a table exists without the row that states its version. */
const incompleteCodes = /^42(?:P0[17]|70[134])$/;

const serverHint = (code: string, file: DescribedFile) => {
  if (incompleteCodes.test(code)) return restoreHint(file);
  if (/CERT|TLS|SSL/.test(code)) return "if the server has its own CA, set NODE_EXTRA_CA_CERTS=<file.pem>";
  return serverHints[code] ?? "check the log of the database server, then run the same command again";
};

export const folderUnusable = ({ code, ...file }: FileError, cause?: unknown) => {
  const isNoFolder = /^(EISDIR|not-a-file|ENOTDIR|EEXIST|ENOENT)$/.test(code);
  // SQLite has opened the file.
  const isFile = code.startsWith("SQLITE_READONLY");
  const hint = `${isNoFolder ? "" : `make the ${isFile ? "file and its folder" : "folder"} writable, or `}${elsewhereHint(file)}`;
  const reason = code === "ENOENT" ? "its folder does not exist" : describeSystemCode(code);
  const message = `cannot ${isFile ? "write" : "create"} the ${file.noun} at ${file.path}: ${reason}`;
  return storageFailure("folder-unusable", file, message, { hint, cause });
};

export const diskFull = (file: DescribedFile, cause?: unknown) => {
  const hint = `free disk space, or ${elsewhereHint(file)}`;
  return storageFailure("disk-full", file, `cannot write ${formatFile(file)}: the disk is full`, { hint, cause });
};

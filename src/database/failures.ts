import { Failure, type FailureDetails } from "../failure.ts";
import { isDatabaseUrl } from "../text/locations.ts";
import { describeSystemCode } from "../text/sentences.ts";
import { formatCommandLine } from "../text/shell-words.ts";
import { formatSeconds } from "../text/units.ts";

export type TitledFile = Readonly<{ path: string; title: string }>;

type FileError = TitledFile & { code: string };

const storeTitle = "the store of the local service";

const locationOptions: Readonly<Record<string, string>> = {
  "the ledger": "--ledger or ROLLCALL_LEDGER",
  "the lock of the ledger": "--ledger or ROLLCALL_LEDGER",
  [storeTitle]: "--store or ROLLCALL_STORE",
  "the key of the local service": "ROLLCALL_DATA_DIR",
  "the lock of the settings": "ROLLCALL_CONFIG_DIR",
};

const elsewhereHint = (title: string) =>
  `choose another location with ${locationOptions[title] ?? "ROLLCALL_DATA_DIR"}`;

const storageFailure = (kind: string, path: string, message: string, details: FailureDetails) =>
  new Failure("storage", kind, message, { ...(isDatabaseUrl(path) ? {} : { where: { file: path } }), ...details });

export const databaseLocked = ({ path, title }: TitledFile, cause?: unknown) =>
  storageFailure("database-locked", path, `${title} ${path} is locked by another process`, {
    hint: "wait until the other process ends, then run the same command again",
    retryable: true,
    cause,
  });

const startNewHint = ({ path, title }: TitledFile, suffix: string) => {
  const command = formatCommandLine(["mv", path, `${path}.${suffix}`]);
  const cost = title === storeTitle ? "" : " (a rerun then logs all groups again)";
  return `move the file away (\`${command}\`) to start a new ${title.replace(/^the /, "")}${cost}`;
};

export const databaseCorrupt = ({ path, title }: TitledFile, cause?: unknown) => {
  const cost = title === storeTitle ? "" : " (a rerun then logs again what the backup does not contain)";
  const hint = `restore a backup${cost}, or ${startNewHint({ path, title }, "damaged")}`;
  return storageFailure("database-corrupt", path, `${title} ${path} is damaged`, { hint, cause });
};

export const databaseLinked = ({ path, title }: TitledFile, links: number) =>
  storageFailure("database-linked", path, `${title} ${path} has ${links} names (hard links), but must have one`, {
    hint: `remove the other names (\`${formatCommandLine(["find", "/", "-xdev", "-samefile", path])}\` lists them)`,
  });

export const packageMissing = ({ path, title, code }: FileError, cause: unknown) => {
  const otherwise = title === "the ledger" ? ", or log without a ledger with --no-ledger" : "";
  const message = `cannot load libsql, which rollcall needs for ${title} (${code})`;
  const hint = `reinstall rollcall on this machine, as the README describes${otherwise}`;
  return storageFailure("package-missing", path, message, { hint, cause });
};

export const databaseForeign = ({ path, title }: TitledFile, cause?: unknown) => {
  const message = `${path} is not ${title.replace(/^the /, "a rollcall ")}: another program wrote it`;
  const hint = isDatabaseUrl(path)
    ? "choose another database, because another program owns the schema `rollcall` in this database"
    : `move the file away, or ${elsewhereHint(title)}`;
  return storageFailure("database-foreign", path, message, { hint, cause });
};

export const databaseVersion = ({ path, title }: TitledFile, version: number, expected: number) => {
  const start = isDatabaseUrl(path) ? "choose another database" : startNewHint({ path, title }, "old");
  const older = `use the version of rollcall that wrote ${title}`;
  const hint = version > expected ? `update rollcall, or ${older}` : `${older}, or ${start}`;
  const message = `${title} ${path} has version ${version}, but this rollcall expects version ${expected}`;
  return storageFailure("database-version", path, message, { hint });
};

export const databaseUnavailable = ({ path, title, code, waitedMs }: FileError & { waitedMs: number }) => {
  const waited = waitedMs < 1000 ? "" : ` (tried for ${formatSeconds(waitedMs)})`;
  const message = `cannot reach ${title} ${path}${waited}: ${describeSystemCode(code)}`;
  const hint = "run the same command again, or wait longer with --max-wait";
  return new Failure("unavailable", "database-unavailable", message, { hint });
};

export const databaseRefused = ({ path, title, code }: FileError) => {
  const isDenied = code === "42501";
  const refused = isDenied ? "the database user cannot create or write the tables of" : "authentication failed for";
  const grant = "grant the database user the rights to create the schema `rollcall` and to write its tables";
  const hint = isDenied ? grant : "check the password in ROLLCALL_LEDGER, PGPASSWORD or credential_command";
  return new Failure("auth", "database-refused", `${refused} ${title} ${path} (${code})`, { systemCode: code, hint });
};

export const invalidDatabaseUrl = ({ path = "", title }: Partial<TitledFile>, hint: string) => {
  const message = `the URL of ${title} is invalid${path && `: ${path}`}`;
  return new Failure("usage", "invalid-database-url", message, { hint });
};

/** The URL can contain a password. */
export const storeNotAFile = () =>
  new Failure("usage", "store-not-a-file", `${storeTitle} must be a file, but its location is a URL`, {
    hint: "pass a path with --store or ROLLCALL_STORE",
  });

/** PostgreSQL's `read_only_sql_transaction`. */
const readOnlyCode = "25006";

export const databaseFailed = ({ path, title, code }: FileError, cause?: unknown) => {
  const reason = code === readOnlyCode ? `it is read-only (${code})` : describeSystemCode(code);
  const hint = isDatabaseUrl(path) ? serverHint(code) : `check the disk, or ${elsewhereHint(title)}`;
  const message = `cannot use ${title} ${path}: ${reason}`;
  return storageFailure("database-failed", path, message, { hint, systemCode: code, cause });
};

const serverHint = (code: string) => {
  if (code === readOnlyCode) return "use the URL of the server that accepts writes";
  if (/CERT|TLS|SSL/.test(code)) return "if the server has its own CA, set NODE_EXTRA_CA_CERTS=<file.pem>";
  return "check the log of the database server, then run the same command again";
};

export const folderUnusable = ({ path, title, code }: FileError, cause?: unknown) => {
  const isNoFolder = /^(EISDIR|not-a-file|ENOTDIR|EEXIST|ENOENT)$/.test(code);
  const hint = `${isNoFolder ? "" : "make the folder writable, or "}${elsewhereHint(title)}`;
  const reason = code === "ENOENT" ? "its folder does not exist" : describeSystemCode(code);
  const message = `cannot create ${title} at ${path}: ${reason}`;
  return storageFailure("folder-unusable", path, message, { hint, cause });
};

export const diskFull = ({ path, title }: TitledFile, cause?: unknown) => {
  const hint = `free disk space, or ${elsewhereHint(title)}`;
  return storageFailure("disk-full", path, `cannot write ${title} ${path}: the disk is full`, { hint, cause });
};

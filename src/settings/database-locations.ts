/** Locations of the ledger and the local service's store. A database password is never an argument, never shown. */
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { invalidDatabaseUrl } from "../database/failures.ts";
import type { DatabaseLocation } from "../database/index.ts";
import { getErrorCode } from "../files.ts";
import { decodePercent } from "../host.ts";
import { withoutLineEnd } from "./credentials.ts";
import { passwordFileNotPrivate, unreadableCredentialFile } from "./failures.ts";
import { type FolderHost, findDataFolder } from "./saved.ts";

interface LocationSources {
  readonly host: FolderHost;
  readonly hide: (secret: string) => void;
  /** Returns a function that runs `credential_command`; undefined if none is set. */
  readonly findCommand: () =>
    | ((about: { readonly use: DatabaseUse; readonly origin: string }) => Promise<string>)
    | undefined;
}

type DatabaseUse = "ledger" | "store";

const kinds = {
  ledger: { title: "the ledger", variable: "ROLLCALL_LEDGER" },
  store: { title: "the store of the local service", variable: "ROLLCALL_STORE" },
} as const;

/** Returns the file of the ledger, from the environment or in the data folder; undefined without a folder. */
export const findLedgerFile = (host: FolderHost): string | undefined => {
  const folder = findDataFolder(host);
  if (host.env.ROLLCALL_LEDGER) return resolve(host.env.ROLLCALL_LEDGER);
  return folder === undefined ? undefined : join(folder, "ledger.db");
};

/** Returns the typed location, that of the environment, or the file. @throws Failure `database-address` */
export const findLedgerLocation = (sources: LocationSources, typed?: string): DatabaseLocation | undefined => {
  const path = typed ?? findLedgerFile(sources.host);
  return findDatabase(sources, "ledger", typed) ?? (path === undefined ? undefined : { path });
};

/** Returns the typed location or that of the environment; undefined for the file in the data folder. */
export const findStoreLocation = (sources: LocationSources, typed?: string): DatabaseLocation | undefined => {
  const { ROLLCALL_STORE: file } = sources.host.env;
  const path = typed ?? (file ? resolve(file) : undefined);
  return findDatabase(sources, "store", typed) ?? (path === undefined ? undefined : { path });
};

/** Finds a typed URL, or the URL in the environment, with its password; undefined if the location is a file. */
const findDatabase = (
  { host, hide, findCommand }: LocationSources,
  use: DatabaseUse,
  typed?: string,
): DatabaseLocation | undefined => {
  const { PGPASSWORD = "" } = host.env;
  const { title, variable } = kinds[use];
  hide(PGPASSWORD);
  const text = (typed ?? readVariable(host, variable))?.trim();
  if (text === undefined || !urlPattern.test(text)) return undefined;
  const parsed = parseDatabaseUrl(text);
  if (parsed === undefined) {
    // Any part of an invalid URL may be a password.
    const [scheme] = /^[a-z][a-z\d+.-]*:(?=\/\/)/i.exec(text) ?? [];
    const wanted = "a path, or postgres://user@host/database without parameters except sslmode";
    throw invalidDatabaseUrl({ path: scheme === undefined ? undefined : `${scheme}//…`, title, wanted });
  }
  const { url, secret } = parsed;
  const path = url.href;
  hide(secret);
  hide(encodeURIComponent(secret));
  if (typed !== undefined && secret !== "") {
    throw invalidDatabaseUrl({ path, title, wanted: "a URL without its password" });
  }
  // A typed URL has no password, but the same URL in the environment may have one.
  const own = typed === undefined ? undefined : parseDatabaseUrl(readVariable(host, variable)?.trim() ?? "");
  if (own !== undefined) hide(own.secret);
  const known = (own?.url.href === path ? own.secret : secret) || PGPASSWORD;
  const inFile = known ? undefined : findInPasswordFile(host, url);
  const password = known || (inFile?.isReadableByOthers === false ? inFile.password : undefined);
  hide(password ?? "");
  if (password !== undefined) return { path, password };
  const run = findCommand();
  if (run !== undefined) return { path, passwordCommand: async () => await run({ use, origin: path }) };
  if (inFile === undefined) return { path };
  const failure = passwordFileNotPrivate({ file: inFile.file, title, path });
  return { path, passwordCommand: async () => await Promise.reject(failure) };
};

/** Matches URLs, even incomplete ones, and connection strings of other programs, which are not names of files. */
const urlPattern = /^[a-z][a-z\d+.-]+:[/\\]|^(?:postgres(?:ql)?|libsql):|^https?:.*@|(?:^|\s)(?:host|password)\s*=/i;

/** Parses a URL, and removes its password, which may be empty. */
const parseDatabaseUrl = (text: string): { readonly url: URL; readonly secret: string } | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hash !== "" || !/^postgres(ql)?:$/.test(url.protocol)) return undefined;
  // An unencoded / or ? in a password ends the host early.
  const isPlain = url.username !== "" && /^\/?[^/@]*$/.test(url.pathname);
  if (!isPlain || [...url.searchParams.keys()].some((key) => key !== "sslmode")) return undefined;
  const secret = decodePercent(url.password);
  url.password = "";
  return { url, secret };
};

/** Returns the value of a variable, or the content of the file in `…_FILE`. */
const readVariable = ({ env }: FolderHost, variable: string): string | undefined => {
  const { [variable]: value, [`${variable}_FILE`]: file } = env;
  if (value || !file) return value || undefined;
  try {
    return withoutLineEnd(readFileSync(file, "utf8"));
  } catch (thrown) {
    throw unreadableCredentialFile(`${variable}_FILE`, file, { code: getErrorCode(thrown) });
  }
};

/** Finds the password in PostgreSQL's password file. PostgreSQL's programs ignore it if others can read it. */
const findInPasswordFile = ({ env }: FolderHost, url: URL) => {
  const file = env.PGPASSFILE || (env.HOME === undefined ? undefined : join(env.HOME, ".pgpass"));
  if (file === undefined) return undefined;
  const wanted = [url.hostname, url.port || "5432", decodePercent(url.pathname.slice(1)), decodePercent(url.username)];
  try {
    const facts = statSync(file);
    // Reading a pipe without a writer would never end.
    if (!facts.isFile()) return undefined;
    const isReadableByOthers = (facts.mode & 0o077) !== 0;
    for (const line of readFileSync(file, "utf8").split(/\r?\n/)) {
      const escaped = line.split(/(?<=(?:^|[^\\])(?:\\\\)*):/);
      const fields = escaped.map((field) => field.replaceAll(/\\(.)/g, "$1"));
      const password = fields[wanted.length];
      const isMatch = wanted.every((value, at) => escaped[at] === "*" || fields[at] === value);
      if (isMatch && !line.startsWith("#") && password !== undefined) return { file, password, isReadableByOthers };
    }
  } catch {
    // The file does not exist.
  }
  return undefined;
};

/** Locations of the ledger and of the local service's store. A database password is never an argument, and never shown. */
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
    | ((about: { readonly use: DatabaseKind["use"]; readonly origin: string }) => Promise<string>)
    | undefined;
}

interface DatabaseKind {
  readonly use: "ledger" | "store";
  readonly title: string;
  readonly variable: "ROLLCALL_LEDGER" | "ROLLCALL_STORE";
}

const ledger: DatabaseKind = { use: "ledger", title: "the ledger", variable: "ROLLCALL_LEDGER" };
const store: DatabaseKind = { use: "store", title: "the store of the local service", variable: "ROLLCALL_STORE" };

/** Returns the file of the ledger, from the environment or in the data folder; undefined without a folder. */
export const findLedgerFile = (host: FolderHost): string | undefined => {
  const folder = findDataFolder(host);
  if (host.env.ROLLCALL_LEDGER) return resolve(host.env.ROLLCALL_LEDGER);
  return folder === undefined ? undefined : join(folder, "ledger.db");
};

/** Returns the typed location, that of the environment, or the file. @throws Failure `database-address` */
export const findLedgerLocation = (sources: LocationSources, typed: string | undefined): DatabaseLocation | undefined =>
  findLocation(sources, ledger, typed) ?? toFileLocation(findLedgerFile(sources.host));

/** Returns the typed location or that of the environment; undefined for the file in the data folder. */
export const findStoreLocation = (
  sources: LocationSources,
  typed: string | undefined,
): DatabaseLocation | undefined => {
  const { ROLLCALL_STORE: path } = sources.host.env;
  return findLocation(sources, store, typed) ?? toFileLocation(path ? resolve(path) : undefined);
};

const toFileLocation = (path: string | undefined): DatabaseLocation | undefined =>
  path === undefined ? undefined : { path };

/** Finds a typed location, or the URL in the environment. */
const findLocation = (
  { host, hide, findCommand }: LocationSources,
  kind: DatabaseKind,
  typed?: string,
): DatabaseLocation | undefined => {
  const { PGPASSWORD = "" } = host.env;
  hide(PGPASSWORD);
  const text = (typed ?? readVariable(host, kind))?.trim();
  if (text === undefined || !urlPattern.test(text)) return toFileLocation(typed);
  const { url, secret } = parseDatabaseUrl(text) ?? refuseUrl(text, kind);
  const path = url.href;
  hide(secret);
  hide(encodeURIComponent(secret));
  if (typed !== undefined && secret !== "") {
    throw invalidDatabaseUrl({ path, title: kind.title, wanted: "a URL without its password" });
  }
  // A typed URL has no password, but the same URL in the environment may have one.
  const own = typed === undefined ? undefined : parseDatabaseUrl(readVariable(host, kind)?.trim() ?? "");
  if (own !== undefined) hide(own.secret);
  const known = (own?.url.href === path ? own.secret : secret) || PGPASSWORD;
  const inFile = known ? undefined : findInPasswordFile(host, url);
  const password = known || (inFile?.isReadableByOthers === false ? inFile.password : undefined);
  hide(password ?? "");
  if (password !== undefined) return { path, password };
  const run = findCommand();
  if (run !== undefined) return { path, passwordCommand: async () => await run({ use: kind.use, origin: path }) };
  if (inFile === undefined) return { path };
  const failure = passwordFileNotPrivate({ file: inFile.file, title: kind.title, path });
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

/** Refuses an invalid URL without showing it, because any part may be a password. */
const refuseUrl = (text: string, { title }: DatabaseKind): never => {
  const [scheme] = /^[a-z][a-z\d+.-]*:(?=\/\/)/i.exec(text) ?? [];
  const path = scheme === undefined ? `the URL of ${title}` : `${scheme}//…`;
  const wanted = "a path, or postgres://user@host/database without parameters except sslmode";
  throw invalidDatabaseUrl({ path, title, wanted });
};

/** Returns the value of the variable, or the content of the file in `…_FILE`. */
const readVariable = ({ env }: FolderHost, { variable }: DatabaseKind): string | undefined => {
  const { [variable]: value, [`${variable}_FILE`]: file } = env;
  if (value || !file) return value || undefined;
  try {
    return withoutLineEnd(readFileSync(file, "utf8"));
  } catch (thrown) {
    throw unreadableCredentialFile(`${variable}_FILE`, file, { code: getErrorCode(thrown) });
  }
};

/** The bits of a mode that let others read. */
const othersModeBits = 0o077;

/** Finds the password in PostgreSQL's password file, which PostgreSQL's programs ignore if others can read it. */
const findInPasswordFile = ({ env }: FolderHost, url: URL) => {
  const file = env.PGPASSFILE || (env.HOME === undefined ? undefined : join(env.HOME, ".pgpass"));
  if (file === undefined) return undefined;
  const database = decodePercent(url.pathname.slice(1));
  const wanted = [url.hostname, url.port || "5432", database, decodePercent(url.username)];
  try {
    const isReadableByOthers = (statSync(file).mode & othersModeBits) !== 0;
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

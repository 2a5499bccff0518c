/** Where the ledger is, and the password of a database that it is kept in: it never stands on a command line, and is never shown. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { ledgerFile, type Machine } from "./files.ts";
import { type Hide, hideKey, withoutLastLineEnd } from "./secrets.ts";

/** Where a ledger is. */
export interface LedgerPlace {
  /** A file, or the address of a database, without its password. */
  readonly path: string;
  /** Undefined where nobody has one. */
  readonly password: string | undefined;
}

/** The place that was typed, else the environment's, else a file of the data folder; undefined where there is none. @throws Failure `database-address` */
export const ledgerPlace = (
  { host, hide }: { readonly host: Machine; readonly hide: Hide },
  typed: string | undefined,
): LedgerPlace | undefined => {
  hideKey(hide, host.env.PGPASSWORD ?? "");
  const said = (typed ?? addressIn(host))?.trim();
  if (said === undefined || !isMeantAsAddress.test(said)) {
    const path = typed ?? ledgerFile(host);
    return path === undefined ? undefined : { path, password: undefined };
  }
  const url = addressOf(said);
  const own = decoded(url.password);
  hideKey(hide, url.password);
  hideKey(hide, own);
  url.password = "";
  const path = url.href;
  if (typed !== undefined && own !== "") throw unusable(path, "an address without its password");
  const password = own || host.env.PGPASSWORD || passwordIn(host, url);
  hideKey(hide, password ?? "");
  return { path, password };
};

/** What nobody calls a file: an address of any kind, whole or not, or what other programs take for one. */
const isMeantAsAddress = /^[a-z][a-z\d+.-]+:\/\/|^(?:postgres(?:ql)?|libsql):|(?:^|\s)(?:host|password)\s*=/i;

/** Reads an address. What can't be read may hold a password anywhere, so that nothing of it is shown. @throws Failure `database-address` */
const addressOf = (text: string): URL => {
  const [scheme = ""] = /^[a-z][a-z\d+.-]*:(?=\/\/)/i.exec(text) ?? [];
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // A password with a / or ? that is not written as %2F or %3F ends the host early.
  const isWhole = url !== undefined && url.username !== "" && url.hash === "" && /^\/?[^/@]*$/.test(url.pathname);
  if (!isWhole) {
    throw unusable(
      `${scheme === "" ? "the ledger's address" : `${scheme}//…`}`,
      `${form}, with %2F for / in a password`,
    );
  }
  const other = [...url.searchParams.keys()].find((key) => key !== "sslmode");
  if (other !== undefined) {
    throw unusable(`${url.protocol}//…`, `${form}, and of all behind ? only sslmode`);
  }
  return url;
};

const form = "postgres://user@host/database";

const unusable = (path: string, wanted: string): Failure =>
  new Failure("database-address", { path, title: "the ledger", wanted });

/** What `ROLLCALL_LEDGER` says, or the file that `ROLLCALL_LEDGER_FILE` names. */
const addressIn = ({ env }: Machine): string | undefined => {
  if (env.ROLLCALL_LEDGER) return env.ROLLCALL_LEDGER;
  const file = env.ROLLCALL_LEDGER_FILE;
  if (!file) return undefined;
  try {
    return withoutLastLineEnd(readFileSync(file, "utf8"));
  } catch (thrown) {
    throw new Failure("credential-file-unreadable", { variable: "ROLLCALL_LEDGER_FILE", file, code: codeOf(thrown) });
  }
};

/** The bits of a mode that let others read. */
const othersMode = 0o077;

/** The password in PostgreSQL's own file (`PGPASSFILE`, else `~/.pgpass`): as its own programs, not in one that others may read. */
const passwordIn = ({ env }: Machine, url: URL): string | undefined => {
  const file = env.PGPASSFILE || (env.HOME === undefined ? undefined : join(env.HOME, ".pgpass"));
  if (file === undefined) return undefined;
  const wanted = [url.hostname, url.port || "5432", decoded(url.pathname.slice(1)), decoded(url.username)];
  try {
    if ((statSync(file).mode & othersMode) !== 0) return undefined;
    for (const line of readFileSync(file, "utf8").split(/\r?\n/)) {
      const fields = line.split(/(?<=(?:^|[^\\])(?:\\\\)*):/);
      const isMeant = wanted.every((value, at) => fields[at] === "*" || unescaped(fields[at] ?? "") === value);
      if (isMeant && !line.startsWith("#") && fields[4] !== undefined) return unescaped(fields[4]);
    }
  } catch {
    // A file that is not there has none.
  }
  return undefined;
};

const unescaped = (field: string): string => field.replaceAll(/\\(.)/g, "$1");

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

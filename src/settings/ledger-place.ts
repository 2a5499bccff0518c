/** Where the ledger is, and the password of a database that it is kept in: it never stands on a command line. */
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
  /** Looked for when it is needed. */
  readonly password: () => Promise<string | undefined>;
}

/** The place that was typed, else the environment's, else a file of the data folder; undefined where there is none. @throws Failure `database-address` */
export const ledgerPlace = (
  { host, hide }: { readonly host: Machine; readonly hide: Hide },
  typed: string | undefined,
): LedgerPlace | undefined => {
  hideKey(hide, host.env.PGPASSWORD ?? "");
  const said = typed ?? addressIn(host);
  const url =
    said !== undefined && /^[a-z][a-z\d+.-]+:\/\//i.test(said) && URL.canParse(said) ? new URL(said) : undefined;
  if (url === undefined || said === undefined) {
    const path = typed ?? ledgerFile(host);
    return path === undefined ? undefined : { path, password: async () => undefined };
  }
  const own = decoded(url.password);
  hideKey(hide, url.password);
  hideKey(hide, own);
  url.password = "";
  const path = url.href;
  if (typed !== undefined && own !== "") {
    throw new Failure("database-address", { path, title: "the ledger", wanted: "an address without its password" });
  }
  const password = async (): Promise<string | undefined> => {
    const found = own || host.env.PGPASSWORD || passwordIn(host, url);
    hideKey(hide, found ?? "");
    return found;
  };
  return { path, password };
};

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

/** The password in PostgreSQL's own file (`PGPASSFILE`, else `~/.pgpass`), which nobody else may read. */
const passwordIn = ({ env }: Machine, url: URL): string | undefined => {
  const file = env.PGPASSFILE || (env.HOME === undefined ? undefined : join(env.HOME, ".pgpass"));
  if (file === undefined) return undefined;
  const wanted = [url.hostname, url.port || "5432", decoded(url.pathname.slice(1)), decoded(url.username)];
  try {
    // PostgreSQL's own programs leave such a file alone too.
    if ((statSync(file).mode & othersMode) !== 0) return undefined;
    for (const line of readFileSync(file, "utf8").split(/\r?\n/)) {
      if (line.startsWith("#")) continue;
      const fields = line.split(/(?<=(?:^|[^\\])(?:\\\\)*):/);
      const password = fields[4];
      const isMeant = wanted.every((value, at) => fields[at] === "*" || unescaped(fields[at] ?? "") === value);
      if (isMeant && password !== undefined) return unescaped(password);
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

/** Where the ledger is, and the password of a database that it is kept in: it never stands on a command line. */
import { readFileSync } from "node:fs";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { ledgerFile, type Machine } from "./files.ts";
import { type Hide, hideKey, withoutLastLineEnd } from "./secrets.ts";

/** Where a ledger is. */
export interface LedgerPlace {
  /** A file, or the address of a database, without its password. */
  readonly path: string;
  /** Undefined where it does not stand in the address: then PGPASSWORD and `~/.pgpass` are looked at. */
  readonly password: string | undefined;
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
    return path === undefined ? undefined : { path, password: undefined };
  }
  const own = decoded(url.password);
  hideKey(hide, url.password);
  hideKey(hide, own);
  url.password = "";
  const path = url.href;
  if (typed !== undefined && own !== "") {
    throw new Failure("database-address", { path, title: "the ledger", wanted: "an address without its password" });
  }
  return { path, password: own === "" ? undefined : own };
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

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Where the ledger and the store of the local service are, and the password of a database that they are kept in: it never stands on a command line, and is never shown. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { unescapedPercent } from "../percent.ts";
import { ledgerFile, type Machine, storeFile } from "./files.ts";
import { type Hide, withoutLastLineEnd } from "./secrets.ts";

/** Where a ledger or a store is. */
export interface DatabasePlace {
  /** A file, or the address of a database, without its password. */
  readonly path: string;
  /** Undefined where nobody has one. */
  readonly password: string | undefined;
  /** Asks `credential_command` for one, where nothing else has it. @throws Failure `password-file-open` where the only one stands in a file that others may read */
  readonly passwordCommand?: () => Promise<string>;
}

interface Kept {
  readonly title: string;
  /** What `credential_command` is told that its password is for. */
  readonly use: "ledger" | "store";
  readonly variable: "ROLLCALL_LEDGER" | "ROLLCALL_STORE";
  /** The file that it is where nothing was typed and no address is set; undefined where there is no place for one. */
  readonly file: (host: Machine) => string | undefined;
}

/** The addresses that something can be kept at, for a person. */
const forms =
  "a path, or postgres://user@host/database, with %2F for / in a password, and of all behind ? only sslmode";

const ledger: Kept = {
  title: "the ledger",
  use: "ledger",
  variable: "ROLLCALL_LEDGER",
  file: ledgerFile,
};
const store: Kept = {
  title: "the store of the local service",
  use: "store",
  variable: "ROLLCALL_STORE",
  file: storeFile,
};

interface Sources {
  readonly host: Machine;
  readonly hide: Hide;
  /** Runs `credential_command`; undefined where none is set. */
  readonly command: () => DatabaseCommand | undefined;
}

/** Runs a command for the password of a database. */
export type DatabaseCommand = (about: { readonly use: "ledger" | "store"; readonly origin: string }) => Promise<string>;

/** The place that was typed, else the environment's, else a file of the data folder; undefined where there is none. @throws Failure `database-address` */
export const ledgerPlace = (sources: Sources, typed: string | undefined): DatabasePlace | undefined =>
  placeOf(sources, ledger, typed);

/** The place that was typed, else the environment's; undefined for the data folder's own file. @throws Failure `database-address` */
export const storePlace = (sources: Sources, typed: string | undefined): DatabasePlace | undefined =>
  placeOf(sources, store, typed);

const placeOf = (
  { host, hide, command }: Sources,
  kept: Kept,
  typed: string | undefined,
): DatabasePlace | undefined => {
  hide(host.env.PGPASSWORD ?? "");
  const said = (typed ?? addressIn(host, kept))?.trim();
  if (said === undefined || !isMeantAsAddress.test(said)) {
    const path = typed ?? kept.file(host);
    return path === undefined ? undefined : { path, password: undefined };
  }
  const { url, secret } = addressOf(said, kept);
  hide(secret);
  hide(encodeURIComponent(secret));
  const path = url.href;
  if (typed !== undefined && secret !== "") throw unusable(path, "an address without its password", kept);
  // A typed address has no password; the one in force may be the same with one.
  const own = typed === undefined ? undefined : readAddress(addressIn(host, kept)?.trim() ?? "");
  if (own !== undefined) hide(own.secret);
  const known = (own?.url.href === path ? own.secret : secret) || host.env.PGPASSWORD;
  const inFile = known ? undefined : passwordIn(host, url);
  const password = known || (inFile?.isOpen === false ? inFile.password : undefined);
  hide(password ?? "");
  if (password !== undefined) return { path, password };
  const run = command();
  if (run !== undefined) {
    return { path, password, passwordCommand: async () => await run({ use: kept.use, origin: path }) };
  }
  if (inFile === undefined) return { path, password };
  const { file } = inFile;
  return {
    path,
    password,
    passwordCommand: async () => {
      throw new Failure("password-file-open", { file, title: kept.title, path });
    },
  };
};

/** What nobody calls a file: an address of any kind, whole or not, or what other programs take for one. */
const isMeantAsAddress =
  /^[a-z][a-z\d+.-]+:[/\\]|^(?:postgres(?:ql)?|libsql):|^https?:.*@|(?:^|\s)(?:host|password)\s*=/i;

interface Address {
  readonly url: URL;
  /** The password; empty where there is none. */
  readonly secret: string;
}

/** Reads an address. What can't be read may hold a password anywhere, so that nothing of it is shown. @throws Failure `database-address` */
const addressOf = (text: string, kept: Kept): Address => {
  const address = readAddress(text);
  if (address !== undefined) return address;
  const [scheme = ""] = /^[a-z][a-z\d+.-]*:(?=\/\/)/i.exec(text) ?? [];
  throw unusable(scheme === "" ? `the address of ${kept.title}` : `${scheme}//…`, forms, kept);
};

const readAddress = (text: string): Address | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hash !== "" || !/^postgres(ql)?:$/.test(url.protocol)) return undefined;
  // A password with a / or ? that is not written as %2F or %3F ends the host early.
  const isPlain = url.username !== "" && /^\/?[^/@]*$/.test(url.pathname);
  const isWhole = isPlain && [...url.searchParams.keys()].every((key) => key === "sslmode");
  const secret = unescapedPercent(url.password);
  url.password = "";
  return isWhole ? { url, secret } : undefined;
};

const unusable = (path: string, wanted: string, { title }: Kept): Failure =>
  new Failure("database-address", { path, title, wanted });

/** What the variable says, or the file that `…_FILE` names. */
const addressIn = ({ env }: Machine, { variable }: Kept): string | undefined => {
  const inFile = `${variable}_FILE`;
  const file = env[inFile];
  if (env[variable] || !file) return env[variable] || undefined;
  try {
    return withoutLastLineEnd(readFileSync(file, "utf8"));
  } catch (thrown) {
    throw new Failure("credential-file-unreadable", { variable: inFile, file, code: codeOf(thrown) });
  }
};

/** The bits of a mode that let others read. */
const othersMode = 0o077;

/** The password in PostgreSQL's own file (`PGPASSFILE`, else `~/.pgpass`), and whether others may read that: its own programs take none from it then. */
const passwordIn = (
  { env }: Machine,
  url: URL,
): { readonly file: string; readonly password: string; readonly isOpen: boolean } | undefined => {
  const file = env.PGPASSFILE || (env.HOME === undefined ? undefined : join(env.HOME, ".pgpass"));
  if (file === undefined) return undefined;
  const wanted = [
    url.hostname,
    url.port || "5432",
    unescapedPercent(url.pathname.slice(1)),
    unescapedPercent(url.username),
  ];
  try {
    const isOpen = (statSync(file).mode & othersMode) !== 0;
    for (const line of readFileSync(file, "utf8").split(/\r?\n/)) {
      const fields = line.split(/(?<=(?:^|[^\\])(?:\\\\)*):/);
      const isMeant = wanted.every((value, at) => fields[at] === "*" || unescaped(fields[at] ?? "") === value);
      if (isMeant && !line.startsWith("#") && fields[4] !== undefined) {
        return { file, password: unescaped(fields[4]), isOpen };
      }
    }
  } catch {
    // A file that is not there has none.
  }
  return undefined;
};

const unescaped = (field: string): string => field.replaceAll(/\\(.)/g, "$1");

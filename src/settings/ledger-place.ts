/** Locations of the ledger and of the local service's store. The password of a database is never on a command line, and never shown. */

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { databaseAddress } from "../database/failures.ts";
import type { DatabasePlace } from "../database/index.ts";
import type { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import { unescapedPercent } from "../percent.ts";
import { credentialFileUnreadable, passwordFileOpen } from "./failures.ts";
import { ledgerFile, type Machine, storeFile } from "./files.ts";
import { type Hide, withoutLastLineEnd } from "./secrets.ts";

/** Runs a command for the password of a database. */
export type DatabaseCommand = (about: { readonly use: "ledger" | "store"; readonly origin: string }) => Promise<string>;

interface Sources {
  readonly host: Machine;
  readonly hide: Hide;
  /** Returns what runs `credential_command`; undefined if none is set. */
  readonly command: () => DatabaseCommand | undefined;
}

/** What has a location: its name for `credential_command` and for a person, its variable, and its default file. */
interface Kind {
  readonly use: "ledger" | "store";
  readonly title: string;
  readonly variable: "ROLLCALL_LEDGER" | "ROLLCALL_STORE";
  readonly file: (host: Machine) => string | undefined;
}

const ledger: Kind = { use: "ledger", title: "the ledger", variable: "ROLLCALL_LEDGER", file: ledgerFile };
const store: Kind = {
  use: "store",
  title: "the store of the local service",
  variable: "ROLLCALL_STORE",
  file: storeFile,
};

/** Returns the typed location, else that of the environment, else a file of the data folder, if there is one. @throws Failure `database-address` */
export const ledgerPlace = (sources: Sources, typed: string | undefined): DatabasePlace | undefined =>
  findPlace(sources, ledger, typed);

/** The same for the store. */
export const storePlace = (sources: Sources, typed: string | undefined): DatabasePlace | undefined =>
  findPlace(sources, store, typed);

const findPlace = (
  { host, hide, command }: Sources,
  kind: Kind,
  typed: string | undefined,
): DatabasePlace | undefined => {
  hide(host.env.PGPASSWORD ?? "");
  const given = (typed ?? configured(host, kind))?.trim();
  if (given === undefined || !isMeantAsAddress.test(given)) {
    const path = typed ?? kind.file(host);
    return path === undefined ? undefined : { path };
  }
  const { url, secret } = parseAddress(given) ?? malformed(given, kind);
  hide(secret);
  hide(encodeURIComponent(secret));
  const path = url.href;
  if (typed !== undefined && secret !== "") throw unusable(path, "an address without its password", kind);
  // A typed address has no password, but that of the environment may be the same with one.
  const own = typed === undefined ? undefined : parseAddress(configured(host, kind)?.trim() ?? "");
  if (own !== undefined) hide(own.secret);
  const known = (own?.url.href === path ? own.secret : secret) || host.env.PGPASSWORD;
  const inFile = known ? undefined : findInPasswordFile(host, url);
  const password = known || (inFile?.isOpen === false ? inFile.password : undefined);
  hide(password ?? "");
  if (password !== undefined) return { path, password };
  const run = command();
  if (run !== undefined) return { path, passwordCommand: async () => await run({ use: kind.use, origin: path }) };
  if (inFile === undefined) return { path };
  const failure = passwordFileOpen({ file: inFile.file, title: kind.title, path });
  return { path, passwordCommand: async () => await Promise.reject(failure) };
};

/** Matches addresses of any kind, complete or not, and what other programs take for one: nobody calls a file that. */
const isMeantAsAddress =
  /^[a-z][a-z\d+.-]+:[/\\]|^(?:postgres(?:ql)?|libsql):|^https?:.*@|(?:^|\s)(?:host|password)\s*=/i;

/** Parses an address, and takes the password out of it, which is empty if there is none. */
const parseAddress = (text: string): { readonly url: URL; readonly secret: string } | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.hash !== "" || !/^postgres(ql)?:$/.test(url.protocol)) return undefined;
  // A password with a / or ? that is not written as %2F or %3F ends the host early.
  const isPlain = url.username !== "" && /^\/?[^/@]*$/.test(url.pathname);
  if (!isPlain || [...url.searchParams.keys()].some((key) => key !== "sslmode")) return undefined;
  const secret = unescapedPercent(url.password);
  url.password = "";
  return { url, secret };
};

/** The forms of an address, for a person. */
const forms =
  "a path, or postgres://user@host/database, with %2F for / in a password, and of all behind ? only sslmode";

/** Refuses an address that cannot be parsed. It may have a password anywhere, so none of it is shown. */
const malformed = (text: string, kind: Kind): never => {
  const [scheme] = /^[a-z][a-z\d+.-]*:(?=\/\/)/i.exec(text) ?? [];
  throw unusable(scheme === undefined ? `the address of ${kind.title}` : `${scheme}//…`, forms, kind);
};

const unusable = (path: string, wanted: string, { title }: Kind): Failure => databaseAddress({ path, title, wanted });

/** Returns the value of the variable, or the content of the file that `…_FILE` names. */
const configured = ({ env }: Machine, { variable }: Kind): string | undefined => {
  const inFile = `${variable}_FILE`;
  const file = env[inFile];
  if (env[variable] || !file) return env[variable] || undefined;
  try {
    return withoutLastLineEnd(readFileSync(file, "utf8"));
  } catch (thrown) {
    throw credentialFileUnreadable({ variable: inFile, file, code: codeOf(thrown) });
  }
};

/** The bits of a mode that let others read. */
const othersMode = 0o077;

/** Finds the password in PostgreSQL's own file. `isOpen`: others may read that, so PostgreSQL's programs do not use it. */
const findInPasswordFile = (
  { env }: Machine,
  url: URL,
): { readonly file: string; readonly password: string; readonly isOpen: boolean } | undefined => {
  const file = env.PGPASSFILE || (env.HOME === undefined ? undefined : join(env.HOME, ".pgpass"));
  if (file === undefined) return undefined;
  const database = unescapedPercent(url.pathname.slice(1));
  const wanted = [url.hostname, url.port || "5432", database, unescapedPercent(url.username)];
  try {
    const isOpen = (statSync(file).mode & othersMode) !== 0;
    for (const line of readFileSync(file, "utf8").split(/\r?\n/)) {
      const escaped = line.split(/(?<=(?:^|[^\\])(?:\\\\)*):/);
      const fields = escaped.map((field) => field.replaceAll(/\\(.)/g, "$1"));
      const [password] = fields.slice(wanted.length);
      const isMeant = wanted.every((value, at) => escaped[at] === "*" || fields[at] === value);
      if (isMeant && !line.startsWith("#") && password !== undefined) return { file, password, isOpen };
    }
  } catch {
    // A file that does not exist has none.
  }
  return undefined;
};

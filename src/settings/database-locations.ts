/** Locations of the ledger and the local service's store. A database password is never an argument, never shown. */
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { invalidDatabaseUrl } from "../database/failures.ts";
import type { DatabaseLocation } from "../database/index.ts";
import { decodePercent, type Host } from "../host.ts";
import { runCredentialCommand, type VariableReader } from "./credentials.ts";
import { passwordFileNotPrivate } from "./failures.ts";
import { findValue, type Layers, type SettingsSources } from "./layers.ts";
import { type FolderHost, findDataFolder } from "./saved.ts";

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

/** Opens the locations of one run. They throw `database-address`, `unreadable-credential-file`. */
export const openLocations = ({ host, hide }: SettingsSources, layers: Layers, readVariable: VariableReader) => {
  const readText = async (variable: string) => (await readVariable(variable))?.text.trim();
  /** Finds a typed URL, or the URL in the environment, with its password; undefined if the location is a file. */
  const findDatabase = async (use: keyof typeof kinds, typed?: string): Promise<DatabaseLocation | undefined> => {
    const { PGPASSWORD = "" } = host.env;
    const { title, variable } = kinds[use];
    hide(PGPASSWORD);
    const text = typed?.trim() ?? (await readText(variable));
    if (text === undefined || !urlPattern.test(text)) return undefined;
    const parsed = parseDatabaseUrl(text);
    if (parsed === undefined) {
      // Any part of an invalid URL may be a password.
      const [scheme] = /^[a-z][a-z\d+.-]*:(?=\/\/)/i.exec(text) ?? [];
      const wanted = "a path, or postgres://user@host/database without parameters except sslmode";
      throw invalidDatabaseUrl({ path: scheme === undefined ? undefined : `${scheme}//…`, title, wanted });
    }
    const path = parsed.url.href;
    // A typed URL has no password, but the same URL in the environment may have one.
    const own = typed === undefined ? parsed : parseDatabaseUrl((await readText(variable)) ?? "");
    for (const { secret } of [parsed, own ?? parsed])
      for (const part of [secret, encodeURIComponent(secret)]) hide(part);
    if (typed !== undefined && parsed.secret !== "") {
      throw invalidDatabaseUrl({ path, title, wanted: "a URL without its password" });
    }
    const known = (own?.url.href === path ? own.secret : "") || PGPASSWORD;
    const inFile = known ? undefined : findInPasswordFile(host, parsed.url);
    const password = known || (inFile?.isReadableByOthers === false ? inFile.password : undefined);
    hide(password ?? "");
    if (password !== undefined) return { path, password };
    const line = findValue(layers, "credential_command");
    if (line !== undefined) {
      return { path, passwordCommand: () => runCredentialCommand(line, { host, hide, use, origin: path }) };
    }
    if (inFile === undefined) return { path };
    const failure = passwordFileNotPrivate({ file: inFile.file, title, path });
    return { path, passwordCommand: async () => await Promise.reject(failure) };
  };
  const find = async (use: keyof typeof kinds, typed: string | undefined, file: string | undefined) =>
    (await findDatabase(use, typed)) ?? (file === undefined ? undefined : { path: file });
  return {
    ledgerPlace: async (typed?: string) => await find("ledger", typed, typed ?? findLedgerFile(host)),
    storePlace: async (typed = layers.flags.store) => {
      const { ROLLCALL_STORE: file } = host.env;
      return await find("store", typed, typed ?? (file ? resolve(file) : undefined));
    },
  };
};

/** Matches URLs, even incomplete ones, and connection strings of other programs, which are not names of files. */
const urlPattern = /^[a-z][a-z\d+.-]+:[/\\]|^(?:postgres(?:ql)?|libsql):|^https?:.*@|(?:^|\s)(?:host|password)\s*=/i;

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

/** Finds the password in PostgreSQL's password file. PostgreSQL's programs ignore it if others can read it. */
const findInPasswordFile = ({ env }: Host, url: URL) => {
  const file = env.PGPASSFILE || (env.HOME === undefined ? undefined : join(env.HOME, ".pgpass"));
  if (file === undefined) return undefined;
  const wanted = [url.hostname, url.port || "5432", decodePercent(url.pathname.slice(1)), decodePercent(url.username)];
  try {
    const facts = statSync(file);
    // Reading a pipe without a writer would never end.
    if (!facts.isFile()) return undefined;
    for (const line of readFileSync(file, "utf8").split(/\r?\n/)) {
      const escaped = line.split(/(?<=(?:^|[^\\])(?:\\\\)*):/);
      const fields = escaped.map((field) => field.replaceAll(/\\(.)/g, "$1"));
      const password = fields[wanted.length];
      const isMatch = wanted.every((value, at) => escaped[at] === "*" || fields[at] === value);
      if (isMatch && !line.startsWith("#") && password !== undefined) {
        return { file, password, isReadableByOthers: (facts.mode & 0o077) !== 0 };
      }
    }
  } catch {}
  return undefined;
};

/** The checks of `doctor` that are about this machine: versions, folders, ledger, store, and what the environment says of the network. */

import { arch } from "node:os";
import { version } from "../../../package.json" with { type: "json" };
import { downloadDoor } from "../../client/index.ts";
import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import { isDatabaseAddress } from "../../files.ts";
import {
  type EntryCounts,
  examineLedger,
  ledgerStates,
  openExistingLedger,
  sqliteVersion,
} from "../../ledger/index.ts";
import { examineDoor, type FolderFacts, type Settings } from "../../settings/index.ts";
import { commandLine } from "../../shell-words.ts";
import { error, type Finding, failed, ok, skipped, warning } from "./finding.ts";

/** rollcall, Node, the machine, and SQLite, which is loaded to see that it can be. */
export const versionFindings = async ({ host }: Context): Promise<readonly Finding[]> => {
  const platform = `${host.platform} ${arch()}`;
  const facts = { rollcall: version, node: host.nodeVersion, platform };
  const own = `rollcall ${version}, Node ${host.nodeVersion}, ${platform}`;
  try {
    const sqlite = await sqliteVersion();
    return [ok("versions", `${own}, SQLite ${sqlite}`, { facts: { ...facts, sqlite } })];
  } catch (thrown) {
    return [ok("versions", own, { facts: { ...facts, sqlite: null } }), await failed("libsql", thrown)];
  }
};

/** The folders of settings and data: modes, and whether they can be written. */
export const folderFindings = async ({ host }: Context): Promise<readonly Finding[]> => {
  const { examineFolder, foldersOf } = await examineDoor();
  const folders = foldersOf(host);
  return (["settings", "data"] as const).map((kind) => {
    const path = folders[kind];
    return path === undefined ? noFolder(kind) : folderFinding(kind, examineFolder(path, host), commandLine([path]));
  });
};

type Kind = "settings" | "data";

const variableOf: Readonly<Record<Kind, string>> = { settings: "ROLLCALL_CONFIG_DIR", data: "ROLLCALL_DATA_DIR" };

const noFolder = (kind: Kind): Finding =>
  warning(`folder ${kind}`, `there is none: neither ${variableOf[kind]} nor a home is set`, {
    fix: `${variableOf[kind]}=<folder>`,
  });

const folderFinding = (kind: Kind, folder: FolderFacts, quoted: string): Finding => {
  const { path, exists, wrong, mode, loose, writable } = folder;
  const check = `folder ${kind}`;
  const facts = { path, exists, mode: mode ?? null, writable };
  const elsewhere = `${variableOf[kind]}=<folder> names another`;
  if (wrong !== undefined)
    return error(check, `${path} can't be used (${wrong})`, { facts, fix: elsewhere, code: "storage" });
  if (!writable) {
    const message = exists ? `${path} can't be written` : `${path} can't be made`;
    const fix = `make it writable, or ${elsewhere}`;
    // Settings can be read all the same; without data nothing that was logged is known.
    return kind === "data"
      ? error(check, message, { facts, fix, code: "storage" })
      : warning(check, message, { facts, fix });
  }
  if (loose) {
    return warning(check, `other users can get at ${path} (mode ${mode})`, { facts, fix: `chmod 700 ${quoted}` });
  }
  const state = exists ? `mode ${mode ?? "not known"}` : "made when it is needed";
  return ok(check, `${path}, ${state}`, { facts });
};

/** States of a request whose groups another one may have too. */
const wereTried: ReadonlySet<string> = new Set(["refused", "not_sent"]);

/** The ledger: whether it is whole, what is in it, who writes it. Nothing is changed. */
export const ledgerFindings = async (
  { host }: Context,
  settings: Settings | undefined,
): Promise<readonly Finding[]> => {
  const { ledgerFile } = await examineDoor();
  const place = settings?.ledgerPlace();
  const path = place?.path ?? ledgerFile(host);
  if (path === undefined) {
    return [
      warning("ledger", "there is no place for one", { fix: "ROLLCALL_DATA_DIR=<folder>, or ROLLCALL_LEDGER=<file>" }),
    ];
  }
  try {
    if (place !== undefined && isDatabaseAddress(path)) {
      const ledger = await openExistingLedger(place, { host, maxWaitMs: 0, onAway: () => undefined, toRead: true });
      const held = await ledger?.counted().finally(ledger.close);
      return [held === undefined ? noLedger(path) : heldFinding({ path, ...held, state: "answers" })];
    }
    const found = await examineLedger(path);
    if (found === undefined) return [noLedger(path)];
    const { bytes, version, damages, counts, writers } = found;
    const facts = { bytes, version };
    if (damages !== undefined && damages.length > 0) {
      const all = { path, ...facts, writers, counts: Object.fromEntries(counts) };
      return [damaged("ledger", { path, quoted: commandLine([path]), damages }, all)];
    }
    if (bytes === 0)
      return [
        ok("ledger", `${path} is empty; the next log makes it a ledger`, {
          facts: { path, ...facts, writers, counts: {} },
        }),
      ];
    const state = `is ${damages === undefined ? "too large to be looked through" : "whole"}`;
    return [heldFinding({ path, counts, writers, state, facts })];
  } catch (thrown) {
    return [await failed("ledger", thrown, { path })];
  }
};

const noLedger = (path: string): Finding => ok("ledger", `none yet; the first log makes ${path}`, { facts: { path } });

/** A ledger that can be used. */
interface Held {
  readonly path: string;
  readonly counts: EntryCounts;
  /** Runs that write it now. */
  readonly writers: number;
  /** How it was found. */
  readonly state: string;
  readonly facts?: Readonly<Record<string, number>>;
}

const heldFinding = ({ path, counts, writers, state, facts }: Held): Finding => {
  const told = ledgerStates.flatMap((one) => {
    const count = counts.get(one);
    if (count === undefined) return [];
    // Groups that were not logged are in each request that was tried with them: the requests are what can be counted.
    const [number, noun] = wereTried.has(one) ? [count.requests, "request"] : [count.groups, "group"];
    return [`${number} ${noun}${number === 1 ? "" : "s"} ${one.replace("_", " ")}`];
  });
  const used = writers === 0 ? "" : `; ${writers === 1 ? "a run writes" : `${writers} runs write`} it now`;
  const message = `${path} ${state}: ${told.join(", ") || "empty"}${used}`;
  const all = { path, ...facts, writers, counts: Object.fromEntries(counts) };
  const fix =
    "`rollcall ledger status` names what is unknown; --on-unknown resend, or `rollcall ledger resolve`, settles it";
  const isLeft = counts.has("unknown") || (counts.has("trying") && writers === 0);
  return isLeft ? warning("ledger", message, { facts: all, fix }) : ok("ledger", message, { facts: all });
};

const damaged = (
  check: string,
  { path, quoted, damages }: { readonly path: string; readonly quoted: string; readonly damages: readonly string[] },
  facts: Finding["facts"],
): Finding =>
  error(check, `${path} is damaged: ${damages.join("; ")}`, {
    facts,
    fix: `put a copy back, or move it away: mv ${quoted} damaged.db`,
    code: "storage",
  });

/** The store of the local service. */
export const storeFindings = async (context: Context, settings: Settings | undefined): Promise<readonly Finding[]> => {
  const { foldersOf } = await examineDoor();
  const folder = foldersOf(context.host).data;
  if (folder === undefined) return [skipped("local store", "there is no folder for it")];
  // What keeps the store may be what is missing here: it is loaded where that can be said.
  const { examineStore } = await import("../../service/index.ts");
  const found = await examineStore({ dataDir: folder, store: settings?.storePlace() }, context);
  if (found === undefined) return [ok("local store", "none yet; the first use of --local makes it")];
  if ("isRemote" in found) return [ok("local store", `${found.path} answers`, { facts: { path: found.path } })];
  const { path, bytes, damages, calls, version } = found;
  const facts = { path, bytes, version, calls: calls ?? null };
  if (damages !== undefined && damages.length > 0)
    return [damaged("local store", { path, quoted: commandLine([path]), damages }, facts)];
  return [ok("local store", `${path}: ${calls === undefined ? "empty" : counted(calls, "call")}`, { facts })];
};

const proxyVariables = ["https_proxy", "http_proxy", "all_proxy", "no_proxy"];

/** The proxies that the environment names, and the one that requests to the service go through. */
export const proxyFinding = async ({ host: { env } }: Context, settings: Settings | undefined): Promise<Finding> => {
  const set = proxyVariables.flatMap((name) => [name, name.toUpperCase()].filter((variable) => env[variable]));
  if (set.length === 0) return ok("proxy", "no proxy variable is set", { facts: { variables: [] } });
  const facts = { variables: set };
  try {
    const { proxyFor } = await downloadDoor();
    const address = settings?.local === false ? settings.get("base_url") : undefined;
    if (address === undefined) return ok("proxy", `set: ${set.join(", ")}`, { facts });
    const proxy = proxyFor(address, env);
    const way = proxy === undefined ? "goes without one" : `goes through ${proxy}`;
    return ok("proxy", `set: ${set.join(", ")}; ${address} ${way}`, { facts: { ...facts, proxy: proxy ?? null } });
  } catch (thrown) {
    return await failed("proxy", thrown, facts);
  }
};

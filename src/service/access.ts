/** Reads the key of the local service, and checks the key of a request. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Endpoint } from "../contract/endpoint.ts";
import { databaseLocked } from "../database/failures.ts";
import { toFileFailure, waitForLock } from "../database/index.ts";
import { checkFileMode, requireSafeOwnership, writeFileAtomically } from "../files.ts";
import type { Host } from "../host.ts";
import { isSameSecret, keyDigest, parseCredential } from "../http-server/index.ts";
import { invalidLocalKey } from "./failures.ts";
import type { ServiceOptions } from "./options.ts";
import { HttpRefusal } from "./refusal.ts";
import type { Store } from "./store/store.ts";

const keyTitle = "the key of the local service";
const maxWaitMs = 10_000;

export const loadLocalKey = async (dataDir: string, { host, warn }: Pick<ServiceOptions, "host" | "warn">) => {
  const path = join(dataDir, "local.key");
  requireSafeOwnership(path);
  try {
    const key = readKey(path) ?? (await createLocalKey(path, host));
    const looseMode = checkFileMode(path, "600");
    if (looseMode) warn(looseMode);
    return { key, path };
  } catch (thrown) {
    throw toFileFailure(thrown, { path, title: keyTitle });
  }
};

const readKey = (path: string) => {
  if (!existsSync(path)) return undefined;
  const key = readFileSync(path, "utf8").trim();
  if (/^[\x21-\x7e]{16,}$/.test(key)) return key;
  throw invalidLocalKey(path);
};

const createLocalKey = async (path: string, host: Host) => {
  const lock = await waitForLock({ path: `${path}.lock`, title: keyTitle, host, maxWaitMs });
  if (!lock) throw databaseLocked({ path, title: keyTitle });
  try {
    const existing = readKey(path);
    if (existing !== undefined) return existing;
    const key = `rollcall-local-${randomBytes(24).toString("base64url")}`;
    writeFileAtomically(path, [`${key}\n`], 0o600);
    return key;
  } finally {
    lock.release();
  }
};

/** The service's own key has no `name`. If `projects` is undefined, the caller can use all projects. */
export type Caller = Readonly<{ name: string | undefined; projects: readonly string[] | undefined }>;

const unrestrictedCaller: Caller = { name: undefined, projects: undefined };

export type Authenticator = ReturnType<typeof openAuthenticator>;

export const openAuthenticator =
  (ownKey: string, keys: Store["keys"]) =>
  async (header: string | undefined, { use }: Pick<Endpoint, "use">): Promise<Caller> => {
    if (use === undefined) return unrestrictedCaller;
    const scheme = use === "calls" ? "basic" : "bearer";
    const given = parseCredential(header, scheme);
    if (given !== undefined && isSameSecret(given, ownKey)) return unrestrictedCaller;
    const key = given === undefined ? undefined : await keys.find(keyDigest(given));
    if (!key) {
      const realm = `${scheme === "basic" ? "Basic" : "Bearer"} realm="rollcall"`;
      throw new HttpRefusal(401, "Invalid or missing credentials", { "WWW-Authenticate": realm });
    }
    if (!key.uses.includes(use)) {
      throw new HttpRefusal(403, `the key ${key.name} has no access to ${use}, only to ${key.uses.join(", ")}`);
    }
    return { name: key.name, projects: key.projects.length === 0 ? undefined : key.projects };
  };

/** The store saves the digest, not the key. */
export const createKey = () => {
  const key = `rollcall-${randomBytes(32).toString("base64url")}`;
  return { key, digest: keyDigest(key) };
};

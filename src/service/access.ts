/** Who may use the local service: whoever has its key or a key of the store, but no web page of another origin. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { join } from "node:path";
import type { AuthScheme, CredentialUse } from "../contract/endpoint.ts";
import { databaseLocked } from "../database/failures.ts";
import { toFileFailure, waitForLock } from "../database/index.ts";
import type { Problem } from "../failure.ts";
import { checkFileMode, getErrorCode, requireSafeOwnership, writeFileAtomically } from "../files.ts";
import { type Host, isLoopback } from "../host.ts";
import { invalidLocalKey } from "./failures.ts";
import { Refusal } from "./operation.ts";
import type { StoredKey, StoredKeys } from "./store/store.ts";

/** Returns why a request is refused; undefined if it is not. `allowHosts` are names in addition to loopback. */
export const foreignRequestReason = (
  headers: IncomingHttpHeaders,
  allowHosts: readonly string[],
): string | undefined => {
  const { host = "", origin, "sec-fetch-site": site } = headers;
  const name = hostName(host);
  // A page's own name may lead to this machine (DNS rebinding): only names that are meant are answered.
  if (!isLoopback(name) && !allowHosts.some((allowed) => allowed.toLowerCase() === name)) {
    return `this service does not go by the name ${JSON.stringify(host)}`;
  }
  const own = [`http://${host.toLowerCase()}`, `https://${host.toLowerCase()}`];
  if (origin !== undefined && !own.includes(origin.toLowerCase())) {
    return `requests of ${JSON.stringify(origin)} are refused`;
  }
  const isSameSite = site === undefined || site === "same-origin" || site === "none";
  return isSameSite ? undefined : "requests of other sites are refused";
};

/** The name in a `Host` header, without port and brackets. */
const hostName = (host: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
};

const keyTitle = "the key of the local service";

/** How long to wait for another service that makes its key, which takes milliseconds. */
const maxWaitMs = 10_000;

/** The key in the data folder, and makes it if there is none. @throws Failure `storage` */
export const loadLocalKey = async (
  dataDir: string,
  { host, warn }: { readonly host: Host; readonly warn: (problem: Problem) => void },
): Promise<{ readonly key: string; readonly path: string }> => {
  const path = join(dataDir, "local.key");
  requireSafeOwnership(path);
  try {
    const key = readKey(path) ?? (await makeKey(path, host));
    const loose = host.platform === "win32" ? undefined : checkFileMode(path, "600");
    if (loose !== undefined) warn(loose);
    return { key, path };
  } catch (thrown) {
    throw toFileFailure(thrown, { path, title: keyTitle });
  }
};

const readKey = (path: string): string | undefined => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (thrown) {
    if (getErrorCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
  const key = text.trim();
  if (/^[\x21-\x7e]{16,}$/.test(key)) return key;
  throw invalidLocalKey(path);
};

/** Makes a key, unless another service makes one at the same time: that is then the key of both. */
const makeKey = async (path: string, host: Host): Promise<string> => {
  const lock = await waitForLock({ path: `${path}.lock`, title: keyTitle, host, maxWaitMs });
  if (lock === undefined) throw databaseLocked({ path, title: keyTitle }, { where: { file: path } });
  try {
    const made = readKey(path);
    if (made !== undefined) return made;
    const key = `rollcall-local-${randomBytes(24).toString("base64url")}`;
    writeFileAtomically(path, [`${key}\n`], 0o600);
    return key;
  } finally {
    lock.release();
  }
};

/** Headers of a request that was passed on. */
const proxyHeaders = ["forwarded", "via", "x-forwarded-for", "x-real-ip"];

/** True if a request comes from this machine, by its name, and was not passed on, as far as it says. */
export const isDirectFromLoopback = ({ headers, socket }: IncomingMessage): boolean =>
  isLoopback((socket.remoteAddress ?? "").replace(/^::ffff:/, "")) &&
  isLoopback(hostName(headers.host ?? "")) &&
  !proxyHeaders.some((name) => headers[name] !== undefined);

export const isAuthorized = (header: string | undefined, scheme: AuthScheme, key: string): boolean => {
  const given = parseCredential(header, scheme);
  return given !== undefined && isSameSecret(given, key);
};

/** Returns the key in an `Authorization` header of the scheme (interface 5); undefined if there is none. */
const parseCredential = (header: string | undefined, scheme: AuthScheme): string | undefined => {
  const [, name = "", value = ""] = /^([a-z]+) +(.*)$/i.exec(header ?? "") ?? [];
  if (name.toLowerCase() !== scheme) return undefined;
  if (scheme === "bearer") return value;
  // Assumed: any user may read; the password alone is the key.
  const credential = Buffer.from(value, "base64").toString("utf8");
  return credential.slice(credential.indexOf(":") + 1);
};

/** Compares digests, so that neither the length nor the first wrong character shows in the time it takes. */
const isSameSecret = (given: string, key: string): boolean =>
  timingSafeEqual(createHash("sha256").update(given).digest(), createHash("sha256").update(key).digest());

export interface Caller {
  /** The name of a person's key; undefined for the service's own key, and if no key is required. */
  readonly name: string | undefined;
  /** The projects that the key is for; undefined for all. What it logs is recorded in the first one. */
  readonly projects: readonly string[] | undefined;
}

/**
 * Returns the caller of a request.
 * @throws Refusal 401 for a key that is invalid or revoked, 403 for a key of another use; Failure of the store
 */
export type Authenticator = (
  header: string | undefined,
  asked: { readonly scheme: AuthScheme; readonly use: CredentialUse | undefined },
) => Promise<Caller>;

/** How long the keys of the store are cached: a revoked key is refused everywhere within this time. */
const keyCacheMs = 2000;

const unrestrictedCaller: Caller = { name: undefined, projects: undefined };

/** Opens the check of the service's own key and those of the store. `elapsed`: monotonic milliseconds. */
export const openAuthenticator = (own: string, keys: StoredKeys, elapsed: () => number): Authenticator => {
  let cached: { readonly at: number; readonly keys: Promise<ReadonlyMap<string, StoredKey>> } | undefined;
  const validKeys = async (): Promise<ReadonlyMap<string, StoredKey>> => {
    if (cached === undefined || elapsed() - cached.at >= keyCacheMs) {
      const read = { at: elapsed(), keys: keys.list().then(indexByDigest) };
      cached = read;
      read.keys.catch(() => {
        if (cached === read) cached = undefined;
      });
    }
    return await cached.keys;
  };
  return async (header, { scheme, use }) => {
    if (scheme === "none") return unrestrictedCaller;
    const given = parseCredential(header, scheme);
    if (given !== undefined && isSameSecret(given, own)) return unrestrictedCaller;
    const key = given === undefined ? undefined : (await validKeys()).get(keyDigest(given).toString("hex"));
    if (key === undefined) {
      const realm = `${scheme === "basic" ? "Basic" : "Bearer"} realm="rollcall"`;
      throw new Refusal(401, "Invalid or missing credentials", { headers: { "WWW-Authenticate": realm } });
    }
    if (use !== undefined && !key.uses.includes(use)) {
      throw new Refusal(403, `the key ${key.name} is not for the use ${use}: it is for ${key.uses.join(", ")}`);
    }
    return { name: key.name, projects: key.projects.length === 0 ? undefined : key.projects };
  };
};

const indexByDigest = (keys: readonly StoredKey[]): ReadonlyMap<string, StoredKey> =>
  new Map(keys.flatMap((key) => (key.revoked === undefined ? [[Buffer.from(key.digest).toString("hex"), key]] : [])));

/** Makes a key, and its digest, which is stored. A plain digest of 256 random bits gives nothing away. */
export const createKey = (): { readonly key: string; readonly digest: Uint8Array } => {
  const key = `rollcall-${randomBytes(32).toString("base64url")}`;
  return { key, digest: keyDigest(key) };
};

const keyDigest = (key: string): Buffer => createHash("sha256").update(key).digest();

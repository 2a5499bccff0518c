/** The keys of people, and the caller of a request. A key is shown once, stored as a digest, and valid for some projects and uses. */
import { createHash, randomBytes } from "node:crypto";
import type { AuthScheme, CredentialUse } from "../contract/endpoint.ts";
import { credentialIn, isSame } from "./access.ts";
import { Refusal } from "./refusal.ts";
import type { StoredKey, StoredKeys } from "./store/store.ts";

/** The sender of a request. */
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
export type Authenticate = (
  header: string | undefined,
  asked: { readonly scheme: AuthScheme; readonly use: CredentialUse | undefined },
) => Promise<Caller>;

/** How long the keys of the store are cached: a revoked key is refused everywhere within this time. */
const cachedMs = 2000;

const anybody: Caller = { name: undefined, projects: undefined };

/** Opens the check of the service's own key and those of the store. `elapsed`: monotonic milliseconds. */
export const openAuthentication = ({
  own,
  keys,
  elapsed,
}: {
  readonly own: string;
  readonly keys: StoredKeys;
  readonly elapsed: () => number;
}): Authenticate => {
  let cached: { readonly at: number; readonly keys: Promise<ReadonlyMap<string, StoredKey>> } | undefined;
  const validKeys = async (): Promise<ReadonlyMap<string, StoredKey>> => {
    if (cached === undefined || elapsed() - cached.at >= cachedMs) {
      const read = { at: elapsed(), keys: keys.list().then(byDigest) };
      cached = read;
      read.keys.catch(() => {
        if (cached === read) cached = undefined;
      });
    }
    return await cached.keys;
  };
  return async (header, { scheme, use }) => {
    if (scheme === "none") return anybody;
    const given = credentialIn(header, scheme);
    if (given !== undefined && isSame(given, own)) return anybody;
    const key = given === undefined ? undefined : (await validKeys()).get(digestOf(given).toString("hex"));
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

const byDigest = (keys: readonly StoredKey[]): ReadonlyMap<string, StoredKey> =>
  new Map(keys.flatMap((key) => (key.revoked === undefined ? [[Buffer.from(key.digest).toString("hex"), key]] : [])));

/** Makes a key, and its digest, which is stored. A plain digest of 256 random bits gives nothing away. */
export const newKey = (): { readonly key: string; readonly digest: Uint8Array } => {
  const key = `rollcall-${randomBytes(32).toString("base64url")}`;
  return { key, digest: digestOf(key) };
};

const digestOf = (key: string): Buffer => createHash("sha256").update(key).digest();

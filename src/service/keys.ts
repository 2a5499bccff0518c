/** Keys of people: made once and stored as digests, each for some projects and uses; and who a request is from. */
import { createHash, randomBytes } from "node:crypto";
import type { AuthScheme, CredentialUse } from "../contract/endpoint.ts";
import { credentialIn, isSame } from "./access.ts";
import { Refusal } from "./answer.ts";
import type { StoredKey, StoredKeys } from "./store/store.ts";

/** Who a request is from. */
export interface Caller {
  /** The name of a person's key; undefined for the service's own key, and where none is asked for. */
  readonly name: string | undefined;
  /** The projects that are open to it: all where nothing is said. What it logs is recorded in the first one. */
  readonly projects: readonly string[] | undefined;
}

/** Tells who requests are from. */
export interface Door {
  /** @throws Refusal 401 for a key that is none, or none any more, 403 for one of another use; a Failure where the store can't say */
  enter(
    header: string | undefined,
    asked: { readonly scheme: AuthScheme; readonly use: CredentialUse | undefined },
  ): Promise<Caller>;
}

/** How long what the store said of keys is taken for true: a revoked one is refused everywhere within that. */
const freshMs = 2000;

const anybody: Caller = { name: undefined, projects: undefined };

/** Opens the door with the service's own key and those of the store. `elapsed`: monotonic milliseconds. */
export const openDoor = ({
  own,
  keys,
  elapsed,
}: {
  readonly own: string;
  readonly keys: StoredKeys;
  readonly elapsed: () => number;
}): Door => {
  let read: { readonly at: number; readonly known: Promise<ReadonlyMap<string, StoredKey>> } | undefined;
  const known = async (): Promise<ReadonlyMap<string, StoredKey>> => {
    if (read === undefined || elapsed() - read.at >= freshMs) {
      const asked = { at: elapsed(), known: byDigest(keys) };
      read = asked;
      asked.known.catch(() => {
        if (read === asked) read = undefined;
      });
    }
    return await read.known;
  };
  return {
    enter: async (header, { scheme, use }) => {
      if (scheme === "none") return anybody;
      const given = credentialIn(header, scheme);
      if (given === undefined) throw unauthorised(scheme);
      if (isSame(given, own)) return anybody;
      const key = (await known()).get(digestOf(given).toString("hex"));
      if (key === undefined) throw unauthorised(scheme);
      if (use !== undefined && !key.uses.includes(use)) {
        throw new Refusal(403, `the key ${key.name} is not for the use ${use}: it is for ${key.uses.join(", ")}`);
      }
      return { name: key.name, projects: key.projects.length === 0 ? undefined : key.projects };
    },
  };
};

const byDigest = async (keys: StoredKeys): Promise<ReadonlyMap<string, StoredKey>> =>
  new Map(
    (await keys.list())
      .filter(({ revoked }) => revoked === undefined)
      .map((key) => [Buffer.from(key.digest).toString("hex"), key]),
  );

const unauthorised = (scheme: AuthScheme): Refusal =>
  new Refusal(401, "Invalid or missing credentials", {
    headers: { "WWW-Authenticate": `${scheme === "basic" ? "Basic" : "Bearer"} realm="rollcall"` },
  });

/** Whether a project is open to whoever asks. */
export const mayUse = ({ projects }: Caller, project: string): boolean => projects?.includes(project) ?? true;

/** A new key, and what is stored of it. It is random in 256 bits, so that a plain digest gives nothing away. */
export const newKey = (): { readonly key: string; readonly digest: Uint8Array } => {
  const key = `rollcall-${randomBytes(32).toString("base64url")}`;
  return { key, digest: digestOf(key) };
};

const digestOf = (key: string): Buffer => createHash("sha256").update(key).digest();

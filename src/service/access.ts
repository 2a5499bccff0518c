/** Who may ask the local service: whoever has its key, and no web page of elsewhere. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { join } from "node:path";
import type { AuthScheme } from "../contract/endpoint.ts";
import { fileFailure, waitForLock } from "../database/index.ts";
import { Failure, type Problem } from "../failure.ts";
import { codeOf, looseMode, requireOwn, writeWhole } from "../files.ts";
import { type Host, isLoopback } from "../host.ts";

/** What of a request tells where it comes from. */
type Headers = Pick<IncomingHttpHeaders, "host" | "origin"> & {
  readonly "sec-fetch-site"?: string | string[] | undefined;
};

/** Why a request is refused; undefined where it is not. `allowHosts` are names beside loopback. */
export const whyForeign = (headers: Headers, allowHosts: readonly string[]): string | undefined => {
  const host = headers.host ?? "";
  // A page's own name may be made to lead to this machine (DNS rebinding): only names that are meant are answered.
  if (!isMeant(hostName(host), allowHosts)) return `this service does not go by the name ${JSON.stringify(host)}`;
  const { origin } = headers;
  if (origin !== undefined && !isOwn(origin, host)) return `requests of ${JSON.stringify(origin)} are refused`;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return "requests of other sites are refused";
  return undefined;
};

const isMeant = (name: string, allowHosts: readonly string[]): boolean =>
  isLoopback(name) || allowHosts.some((allowed) => allowed.toLowerCase() === name);

/** The name in a `Host` header, without port and brackets. */
const hostName = (host: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? plain ?? "").toLowerCase();
};

const isOwn = (origin: string, host: string): boolean => {
  const given = origin.toLowerCase();
  return given === `http://${host.toLowerCase()}` || given === `https://${host.toLowerCase()}`;
};

const title = "the key of the local service";

/** How long to wait for another service that makes its key, which takes milliseconds. */
const maxWaitMs = 10_000;

/** The key in the data folder; made there if this is the first start. @throws Failure `storage` */
export const localKey = async (
  dataDir: string,
  { host, warn }: { readonly host: Host; readonly warn: (problem: Problem) => void },
): Promise<{ readonly key: string; readonly path: string }> => {
  const path = join(dataDir, "local.key");
  requireOwn(path);
  try {
    const key = readKey(path) ?? (await makeKey(path, host));
    const loose = host.platform === "win32" ? undefined : looseMode(path, "600");
    if (loose !== undefined) warn(loose);
    return { key, path };
  } catch (thrown) {
    throw fileFailure(thrown, { path, title });
  }
};

const readKey = (path: string): string | undefined => {
  const key = textAt(path)?.trim();
  if (key === undefined || /^[\x21-\x7e]{16,}$/.test(key)) return key;
  throw new Failure("local-key-unusable", { path }, { where: { file: path } });
};

const textAt = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
};

/** Makes a key, unless another service did meanwhile: then its key is this one's too. */
const makeKey = async (path: string, host: Host): Promise<string> => {
  const lock = await waitForLock({ path: `${path}.lock`, title, host, maxWaitMs });
  if (lock === undefined) throw new Failure("database-locked", { path, title }, { where: { file: path } });
  try {
    const made = readKey(path);
    if (made !== undefined) return made;
    const key = `rollcall-local-${randomBytes(24).toString("base64url")}`;
    writeWhole(path, [`${key}\n`], 0o600);
    return key;
  } finally {
    lock.release();
  }
};

/** Headers of what passes requests on. */
const passedOn = ["forwarded", "via", "x-forwarded-for", "x-real-ip"];

/** Whether a request comes from this machine and by its name, and was not passed on from elsewhere, as far as it says. */
export const isOwnMachine = ({ headers, socket }: IncomingMessage): boolean =>
  isLoopback((socket.remoteAddress ?? "").replace(/^::ffff:/, "")) &&
  isLoopback(hostName(headers.host ?? "")) &&
  !passedOn.some((name) => headers[name] !== undefined);

/** Whether an `Authorization` header holds the key, under the scheme asked for. */
export const isAuthorised = (header: string | undefined, scheme: AuthScheme, key: string): boolean => {
  const given = credentialIn(header, scheme);
  return given !== undefined && isSame(given, key);
};

/** The key in an `Authorization` header, under the scheme asked for (interface 5); undefined where there is none. */
export const credentialIn = (header: string | undefined, scheme: AuthScheme): string | undefined => {
  const [, name = "", value = ""] = /^([a-z]+) +(.*)$/i.exec(header ?? "") ?? [];
  if (name.toLowerCase() !== scheme) return undefined;
  if (scheme === "bearer") return value;
  // Assumed: any user may read; who it is stands in the password alone.
  const words = Buffer.from(value, "base64").toString("utf8");
  return words.slice(words.indexOf(":") + 1);
};

/** Digests are compared, so that neither the length nor the first wrong character shows in the time it takes. */
export const isSame = (given: string, key: string): boolean =>
  timingSafeEqual(createHash("sha256").update(given).digest(), createHash("sha256").update(key).digest());

/** The key of the local service: made once, kept in its folder for its owner alone, compared in constant time. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { link, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AuthScheme } from "../contract/endpoint.ts";
import { systemFailure } from "../database/index.ts";
import { Failure } from "../failure.ts";

/** The key in the data folder; made there if this is the first start. @throws Failure `storage` */
export const keptKey = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, "local.key");
  try {
    return (await readKey(path)) ?? (await makeKey(dataDir, path));
  } catch (thrown) {
    throw systemFailure(thrown, { path, title: "the key of the local service" });
  }
};

const readKey = async (path: string): Promise<string | undefined> => {
  const text = await readFile(path, "utf8").catch((thrown: unknown) => {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT") return undefined;
    throw thrown;
  });
  if (text === undefined) return undefined;
  const key = text.trim();
  if (!/^[\x21-\x7e]{16,}$/.test(key)) throw new Failure("local-key-unusable", { path }, { where: { file: path } });
  return key;
};

/** Written whole under a name of its own, then given the real name: who comes second reads the first one's key. */
const makeKey = async (dataDir: string, path: string): Promise<string> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const own = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(own, `rollcall-local-${randomBytes(24).toString("base64url")}\n`, {
    mode: 0o600,
    flag: "wx",
    flush: true,
  });
  try {
    await link(own, path);
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST")) throw thrown;
  } finally {
    await unlink(own);
  }
  const key = await readKey(path);
  if (key === undefined) throw new Failure("local-key-unusable", { path }, { where: { file: path } });
  return key;
};

/** Whether an `Authorization` header holds the key, under the scheme asked for (service-interface 5). */
export const isAuthorised = (header: string | undefined, scheme: AuthScheme, key: string): boolean => {
  if (scheme === "none") return true;
  const [, name = "", value = ""] = /^([a-z]+) +(.*)$/i.exec(header ?? "") ?? [];
  if (name.toLowerCase() !== scheme) return false;
  if (scheme === "bearer") return isSame(value, key);
  // Assumed: any user may read; who it is stands in the password alone.
  const words = Buffer.from(value, "base64").toString("utf8");
  return isSame(words.slice(words.indexOf(":") + 1), key);
};

/** Digests are compared, so that neither the length nor the first wrong character shows in the time it takes. */
const isSame = (given: string, key: string): boolean =>
  timingSafeEqual(createHash("sha256").update(given).digest(), createHash("sha256").update(key).digest());

/** The key of the local service: made once, kept in its folder for its owner alone, compared in constant time. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { constants, copyFile, link, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AuthScheme } from "../contract/endpoint.ts";
import { systemFailure } from "../database/index.ts";
import { Failure, type Problem } from "../failure.ts";
import { codeOf, makeFolder } from "../files.ts";

/** The key in the data folder; made there if this is the first start. @throws Failure `storage` */
export const keptKey = async (
  dataDir: string,
  { platform, warn }: { readonly platform: NodeJS.Platform; readonly warn: (problem: Problem) => void },
): Promise<{ readonly key: string; readonly path: string }> => {
  const path = join(dataDir, "local.key");
  try {
    const key = (await readKey(path)) ?? (await makeKey(dataDir, path));
    if (platform !== "win32") await warnOfMode(path, warn);
    return { key, path };
  } catch (thrown) {
    throw systemFailure(thrown, { path, title: "the key of the local service" });
  }
};

const readKey = async (path: string): Promise<string | undefined> => {
  const text = await readFile(path, "utf8").catch((thrown: unknown) => {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  });
  if (text === undefined) return undefined;
  const key = text.trim();
  if (!/^[\x21-\x7e]{16,}$/.test(key)) throw new Failure("local-key-unusable", { path }, { where: { file: path } });
  return key;
};

/** Written whole under a name of its own, then given the real name: who comes second reads the first one's key. */
const makeKey = async (dataDir: string, path: string): Promise<string> => {
  makeFolder(dataDir);
  const own = `${path}.${randomBytes(6).toString("hex")}`;
  const text = `rollcall-local-${randomBytes(24).toString("base64url")}\n`;
  try {
    await writeFile(own, text, { mode: 0o600, flag: "wx", flush: true });
    await link(own, path).catch(async (thrown: unknown) => {
      // A file system without hard links: a copy is as exclusive, but for a moment not whole.
      if (codeOf(thrown) !== "EEXIST") await copyFile(own, path, constants.COPYFILE_EXCL);
    });
  } catch (thrown) {
    if (codeOf(thrown) !== "EEXIST") throw thrown;
  } finally {
    await rm(own, { force: true });
  }
  const key = await readKey(path);
  if (key === undefined) throw new Failure("local-key-unusable", { path }, { where: { file: path } });
  return key;
};

const warnOfMode = async (file: string, warn: (problem: Problem) => void): Promise<void> => {
  const { mode } = await stat(file);
  if ((mode & 0o077) === 0) return;
  warn({
    file,
    rule: "loose-mode",
    severity: "warning",
    message: `others can get at ${file} (mode ${(mode & 0o777).toString(8).padStart(4, "0")})`,
    advice: `chmod 600 ${file}`,
  });
};

/** Whether an `Authorization` header holds the key, under the scheme asked for (interface 5). */
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

/** Reads the key of the local service, and checks the key of a request. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { databaseLocked } from "../database/failures.ts";
import { toFileFailure, waitForLock } from "../database/own-file.ts";
import { Failure, type Problem } from "../failure.ts";
import { checkFileMode, requireSafeOwnership, writeFileAtomically } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { formatCommandLine } from "../text/shell-words.ts";
import type { Endpoint } from "../wire/contract/endpoint.ts";
import { isAuthorized } from "./http-server.ts";
import { HttpRefusal } from "./operation.ts";

const keyFile = { noun: "key of the local service", moveWith: "--data-dir of `rollcall serve` or ROLLCALL_DATA_DIR" };
const maxWaitMs = 10_000;

type KeyOptions = Readonly<{ host: Host; warn: (problem: Problem) => void }>;

export const loadLocalKey = async (dataDir: string, { host, warn }: KeyOptions) => {
  const path = join(dataDir, "local.key");
  requireSafeOwnership(path);
  try {
    const key = readKey(path) ?? (await createLocalKey(path, host));
    const looseMode = checkFileMode(path, "600");
    if (looseMode) warn(looseMode);
    return { key, path };
  } catch (thrown) {
    throw toFileFailure(thrown, { path, ...keyFile });
  }
};

const readKey = (path: string) => {
  if (!existsSync(path)) return undefined;
  const key = readFileSync(path, "utf8").trim();
  if (/^[\x21-\x7e]{16,}$/.test(key)) return key;
  throw new Failure("storage", "invalid-local-key", `${path} does not contain a valid key of the local service`, {
    hint: `delete the file, so that the next start makes a new key: \`${formatCommandLine(["rm", path])}\``,
    where: { file: path },
  });
};

const createLocalKey = async (path: string, host: Host) => {
  const lock = await waitForLock({ path: `${path}.lock`, ...keyFile, host, maxWaitMs });
  if (!lock) throw databaseLocked({ path, ...keyFile });
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

/** @throws HttpRefusal 401 */
export const requireCredential = (header: string | undefined, { use }: Pick<Endpoint, "use">, key: string) => {
  if (use === undefined) return;
  const scheme = use === "calls" ? "basic" : "bearer";
  if (isAuthorized(header, key, scheme)) return;
  const realm = `${scheme === "basic" ? "Basic" : "Bearer"} realm="rollcall"`;
  throw new HttpRefusal(401, "Invalid or missing credentials", { "WWW-Authenticate": realm });
};

/** A lock file: one writer at a time, and a writer that was killed stops nobody for long. */
import { randomUUID } from "node:crypto";
import { closeSync, linkSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import { codeOf } from "./secrets.ts";

/** A lock that is held takes milliseconds; one this old was left behind by a writer that was killed. */
const abandonedMs = 5000;

/** How long to wait for others, each of which takes milliseconds. */
const patienceMs = 20_000;

/** How long to wait between two looks, at most. */
const pauseMs = 30;

/** A lock that is held. */
export interface Lock {
  /** @throws Failure `place-busy` where somebody took it for abandoned meanwhile */
  assertHeld(): void;
  release(): void;
}

/** Takes the lock at a path, in a folder that exists. @throws Failure `place-busy`; the system's errors */
export const takeLock = async (path: string, host: Host): Promise<Lock> => {
  const token = randomUUID();
  const until = host.elapsed() + patienceMs;
  while (!create(path, token)) {
    if (isAbandoned(path, host)) takeAway(path, host);
    else if (host.elapsed() > until) throw new Failure("place-busy", { lock: path }, { where: { file: path } });
    else await host.sleep(1 + host.random() * pauseMs, host.signal);
  }
  return {
    assertHeld() {
      if (tokenIn(path) !== token) throw new Failure("place-busy", { lock: path }, { where: { file: path } });
    },
    release() {
      if (tokenIn(path) === token) rmSync(path, { force: true });
    },
  };
};

/** Makes the lock file, with who holds it inside; false where there is one. */
const create = (path: string, token: string): boolean => {
  const file = openNew(path);
  if (file === undefined) return false;
  try {
    writeSync(file, token);
    return true;
  } catch (thrown) {
    rmSync(path, { force: true });
    throw thrown;
  } finally {
    closeSync(file);
  }
};

const openNew = (path: string): number | undefined => {
  try {
    return openSync(path, "wx", 0o600);
  } catch (thrown) {
    if (codeOf(thrown) === "EEXIST") return undefined;
    throw thrown;
  }
};

const tokenIn = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};

const isAbandoned = (path: string, host: Host): boolean => {
  const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return changed !== undefined && Math.abs(host.now() - changed) > abandonedMs;
};

/** Takes an abandoned lock away; puts it back where it turns out to be another's new one. */
const takeAway = (path: string, host: Host): void => {
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
    if (!isAbandoned(aside, host)) linkSync(aside, path);
  } catch {
    // Somebody else was quicker.
  }
  rmSync(aside, { force: true });
};

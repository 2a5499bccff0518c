/** Prepares a test run: builds rollcall if needed, makes a temporary folder, and chooses random inputs. */
import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresAt } from "../bench/postgres.js";
import { compileTestSources, testPage } from "./test-sources.ts";

const sources = ["src", "build", "completions", "package.json", "package-lock.json", "rolldown.config.ts"];

/** Vitest's global setup. The returned function removes everything in `os.tmpdir()` after the tests. */
export const setup = async (): Promise<() => void> => {
  if (isStale("dist/main.cjs")) build();
  if (isStale(testPage)) await compileTestSources();
  const temporary = fs.mkdtempSync(join(hasMemory() ? memory : fs.realpathSync(tmpdir()), "rollcall-test-"));
  process.env.TMPDIR = temporary;
  const { stdout: tree } = spawnSync("git", ["rev-parse", "HEAD^{tree}"], { encoding: "utf8" });
  if (tree) process.env.PROPERTY_SEED ??= String(Number.parseInt(tree.slice(0, 7), 16));
  return () => {
    const postgres = join(temporary, "postgres", "place.json");
    if (fs.existsSync(postgres)) postgresAt(JSON.parse(fs.readFileSync(postgres, "utf8"))).stop();
    fs.rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
  };
};

/** A folder in memory, because runs wait for the disk after each write to a ledger. */
const memory = "/dev/shm";

/** True if the folder has room for the files of all tests and can have programs, and `TMPDIR` names no other folder. */
const hasMemory = (): boolean => {
  if (process.env.TMPDIR !== undefined || !fs.existsSync(memory)) return false;
  const { bavail, bsize } = fs.statfsSync(memory);
  const folder = fs.mkdtempSync(join(memory, "rollcall-test-"));
  try {
    fs.writeFileSync(join(folder, "program"), "", { mode: 0o755 });
    fs.accessSync(join(folder, "program"), fs.constants.X_OK);
    return bavail * bsize >= 2 ** 33;
  } catch {
    return false;
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
};

/** True if a source is newer than the file. */
const isStale = (built: string): boolean =>
  !fs.existsSync(built) || Math.max(...sources.map(lastChangeMs)) > fs.statSync(built).mtimeMs;

const build = (): void => {
  const rolldown = "node_modules/rolldown/bin/cli.mjs";
  execFileSync(process.execPath, [rolldown, "-c"], { stdio: ["ignore", "ignore", "inherit"] });
};

/** Returns the time of the last change of a file, or in a folder. */
const lastChangeMs = (path: string): number => {
  const { mtimeMs } = fs.statSync(path);
  if (!fs.statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...fs.readdirSync(path).map((name) => lastChangeMs(join(path, name))));
};

/** Prepares a test run: builds rollcall if needed, makes a temporary folder, and chooses random inputs. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresAt } from "../bench/postgres.js";
import { compileTestSources, testPage } from "./test-sources.ts";

const sources = ["src", "build", "completions", "package.json", "package-lock.json", "rolldown.config.ts"];

/** Vitest's global setup. The returned function removes everything in `os.tmpdir()` after the tests. */
export const setup = async (): Promise<() => void> => {
  if (isStale("dist/main.cjs")) build();
  if (isStale(testPage)) await compileTestSources();
  const temporary = mkdtempSync(join(realpathSync(tmpdir()), "rollcall-test-"));
  process.env.TMPDIR = temporary;
  const { stdout: tree } = spawnSync("git", ["rev-parse", "HEAD^{tree}"], { encoding: "utf8" });
  if (tree) process.env.PROPERTY_SEED ??= String(Number.parseInt(tree.slice(0, 7), 16));
  return () => {
    const postgres = join(temporary, "postgres", "place.json");
    if (existsSync(postgres)) postgresAt(JSON.parse(readFileSync(postgres, "utf8"))).stop();
    rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
  };
};

/** True if a source is newer than the file. */
const isStale = (built: string): boolean =>
  !existsSync(built) || Math.max(...sources.map(lastChangeMs)) > statSync(built).mtimeMs;

const build = (): void => {
  const rolldown = "node_modules/rolldown/bin/cli.mjs";
  execFileSync(process.execPath, [rolldown, "-c"], { stdio: ["ignore", "ignore", "inherit"] });
};

/** Returns the time of the last change of a file, or in a folder. */
const lastChangeMs = (path: string): number => {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => lastChangeMs(join(path, name))));
};

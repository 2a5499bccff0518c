/** What a test run stands on: a build that is not older than its sources, and a temporary folder that is gone afterwards. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresAt } from "../bench/postgres.js";

const madeOf = ["src", "build", "package.json", "package-lock.json", "rolldown.config.ts"];

/** Vitest's global setup. What tests put into `os.tmpdir()` is removed when all of them have ended. */
export const setup = (): (() => void) => {
  buildWhereStale();
  const temporary = mkdtempSync(join(realpathSync(tmpdir()), "rollcall-test-"));
  process.env.TMPDIR = temporary;
  return () => {
    const postgres = join(temporary, "postgres", "place.json");
    if (existsSync(postgres)) postgresAt(JSON.parse(readFileSync(postgres, "utf8"))).stop();
    rmSync(temporary, { recursive: true, force: true, maxRetries: 3 });
  };
};

const buildWhereStale = (): void => {
  const built = existsSync("dist/main.cjs") ? statSync("dist/main.cjs").mtimeMs : 0;
  if (Math.max(...madeOf.map(newest)) <= built) return;
  const rolldown = "node_modules/rolldown/bin/cli.mjs";
  execFileSync(process.execPath, [rolldown, "-c"], { stdio: ["ignore", "ignore", "inherit"] });
};

/** When a file, or anything in a folder, was last changed. */
const newest = (path: string): number => {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
};

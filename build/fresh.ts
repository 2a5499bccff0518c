/** Builds `dist` before the tests where it is older than what it is made of, so that no test runs an old build. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const madeOf = ["src", "build", "package.json", "package-lock.json", "rolldown.config.ts"];

/** Vitest's global setup. */
export const setup = (): void => {
  const built = existsSync("dist/main.js") ? statSync("dist/main.js").mtimeMs : 0;
  if (Math.max(...madeOf.map(newest)) <= built) return;
  execFileSync(process.execPath, ["node_modules/rolldown/bin/cli.mjs", "-c"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
};

/** When a file, or anything in a folder, was last changed. */
const newest = (path: string): number => {
  const { mtimeMs } = statSync(path);
  if (!statSync(path).isDirectory()) return mtimeMs;
  return Math.max(mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
};

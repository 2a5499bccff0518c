/** Builds a commit and the working tree into folders of their own, so that edits during a run change nothing. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Everything the oracle stores between runs of this checkout. Sources in it would be ignored if it were below node_modules. */
export const cacheFolder = join(
  tmpdir(),
  "rollcall-oracle",
  createHash("sha256").update(resolve()).digest("hex").slice(0, 8),
);

/** Commits whose build stays in the cache. */
const maxCachedBuilds = 3;

/**
 * Builds a commit. A later run takes the build from the cache.
 * @returns the folder of the commit, with its files and its dist/
 */
export const buildCommit = (commit) => {
  const id = execFileSync("git", ["rev-parse", "--verify", `${commit}^{commit}`], { encoding: "utf8" }).trim();
  const folder = join(cacheFolder, "commits", id);
  if (existsSync(folder)) return folder;
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  removeOldBuilds();
  const files = execFileSync("git", ["archive", id], { maxBuffer: 2 ** 30 });
  execFileSync("tar", ["-x", "-C", draft], { input: files });
  linkPackages(draft);
  build(draft);
  renameSync(draft, folder);
  return folder;
};

/** Builds the working tree and copies what its program needs into `folder`. */
export const buildWorkingTree = (folder) => {
  build(".");
  mkdirSync(folder, { recursive: true });
  cpSync("dist", join(folder, "dist"), { recursive: true });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  return folder;
};

/** Gives a folder the packages of its lock file: those of the working tree if both lock files are equal. */
const linkPackages = (folder) => {
  const [own, other] = ["package-lock.json", join(folder, "package-lock.json")].map((path) =>
    readFileSync(path, "utf8"),
  );
  if (own === other) symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  else execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
};

const build = (folder) => {
  execFileSync("npm", ["run", "build", "--silent"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
};

const removeOldBuilds = () => {
  const folder = join(cacheFolder, "commits");
  const builds = readdirSync(folder).map((name) => ({
    path: join(folder, name),
    at: statSync(join(folder, name)).mtimeMs,
  }));
  for (const { path } of builds.sort((a, b) => b.at - a.at).slice(maxCachedBuilds)) rmSync(path, { recursive: true });
};

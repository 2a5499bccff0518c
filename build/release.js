/**
 * Makes the files of a release from the built program, and logs a sample with each program that can run here:
 *
 *     npm run release:artifacts -- [--all-platforms] [<folder>]
 *
 * The folder (default: `release/`) then contains the npm tarball, a wheel for each installed addon of libsql, the man
 * pages, a list of packages (SBOM) and the checksums. With --all-platforms, npm downloads the addons of all platforms.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const maxTarballBytes = 1.5e6;

const checkout = join(import.meta.dirname, "..");
const { version } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
const sample = join(checkout, "test/samples/airline.groups.jsonl");

const makeRelease = () => {
  const options = { "all-platforms": { type: "boolean", default: false } };
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const release = resolve(positionals[0] ?? join(checkout, "release"));
  const temporary = mkdtempSync(join(tmpdir(), "release-"));
  try {
    if (existsSync(release) && !existsSync(join(release, "SHA256SUMS")) && readdirSync(release).length > 0)
      throw new Error(`${release} is not empty, and is no release`);
    rmSync(release, { recursive: true, force: true });
    mkdirSync(release, { recursive: true });
    const python = findPython();
    run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", release]);
    for (const addon of values["all-platforms"] ? downloadAddons(temporary) : addonsIn(checkout))
      run(python, [...buildWheel, release, join(checkout, "python")], {
        cwd: temporary,
        env: { ROLLCALL_ADDON: addon },
      });
    run("tar", ["-czf", join(release, `rollcall-${version}-man.tar.gz`), "man"]);
    writeFileSync(join(release, `rollcall-${version}.cdx.json`), `${JSON.stringify(listPackages(), undefined, 2)}\n`);
    installTarball(release, temporary);
    installWheel(release, temporary, python);
    writeChecksums(release);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
};

const buildWheel = ["-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir"];

const run = (command, args, { cwd = checkout, env = {}, stderr = "inherit" } = {}) =>
  execFileSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
    stdio: ["ignore", "pipe", stderr],
  });

const findPython = () => {
  const modules = "import hatchling, build, ensurepip";
  const found = ["python3", "/usr/bin/python3"].find((python) => {
    try {
      run(python, ["-Ic", modules], { stderr: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`wheels need a Python that can run \`${modules}\``);
  return found;
};

const addonsIn = (folder) => {
  const addons = join(folder, "node_modules/@libsql");
  return readdirSync(addons).map((name) => join(addons, name));
};

/** npm compares the addons with the digests in package-lock.json. */
const downloadAddons = (temporary) => {
  const { packages } = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));
  const addons = Object.entries(packages).filter(([path]) => path.startsWith("node_modules/@libsql/"));
  for (const [path, { os, cpu }] of addons) {
    const folder = join(temporary, `${os}-${cpu}`);
    if (!existsSync(folder)) {
      for (const file of ["package.json", "package-lock.json"]) cpSync(join(checkout, file), join(folder, file));
      const platform = ["--os", os[0], "--cpu", cpu[0]];
      run("npm", ["ci", "--omit", "dev", "--ignore-scripts", "--no-audit", "--no-fund", ...platform], { cwd: folder });
    }
    if (!existsSync(join(folder, path))) throw new Error(`npm installed no ${path} for ${os}-${cpu}`);
  }
  return addons.map(([path, { os, cpu }]) => join(temporary, `${os}-${cpu}`, path));
};

/** Returns the packages that npm installs with rollcall, and those whose code is bundled, in the form of CycloneDX. */
const listPackages = () => {
  const list = JSON.parse(run("npm", ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx"]));
  const licenses = readFileSync(join(checkout, "THIRD-PARTY-LICENSES"), "utf8");
  const isDevelopment = ({ properties }) => properties.some(({ name }) => name === "cdx:npm:package:development");
  const isBundled = (component) => licenses.includes(`\n${component.name} ${component.version} (`);
  // npm knows bundled packages as packages of the development.
  const toShipped = ({ properties, scope: _, ...component }) => ({
    ...component,
    scope: "required",
    properties: properties.filter(({ name }) => name !== "cdx:npm:package:development"),
  });
  const components = list.components.flatMap((component) => {
    if (isBundled(component)) return toShipped(component);
    return isDevelopment(component) ? [] : component;
  });
  const known = new Set([list.metadata.component["bom-ref"], ...components.map((component) => component["bom-ref"])]);
  const dependencies = list.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) }));
  const component = { ...list.metadata.component, name: "rollcall" };
  return { ...list, metadata: { ...list.metadata, component }, components, dependencies };
};

const installTarball = (release, temporary) => {
  const [tarball] = filesWith(release, ".tgz");
  const { size } = statSync(tarball);
  if (size > maxTarballBytes) throw new Error(`${tarball} has ${size} bytes, more than ${maxTarballBytes}`);
  const prefix = join(temporary, "prefix");
  time("npm install --global", () =>
    run("npm", ["install", "--global", "--ignore-scripts", "--prefer-offline", "--prefix", prefix, tarball]),
  );
  logSample(join(prefix, "bin/rollcall"), temporary);
};

const installWheel = (release, temporary, python) => {
  const folder = join(temporary, "venv");
  time("pip install", () => {
    run(python, ["-m", "venv", folder]);
    // pip chooses the wheel of this platform.
    const own = ["--no-index", "--no-deps", "--find-links", release, "rollcall-cli"];
    run(join(folder, "bin/pip"), ["install", "--quiet", "--disable-pip-version-check", ...own]);
  });
  logSample(join(folder, "bin/rollcall"), temporary);
};

const logSample = (program, temporary) => {
  const home = mkdtempSync(join(temporary, "home-"));
  const words = ["log", "airline", sample, "--split", "train", "--local", "--json"];
  const env = { HOME: home, XDG_DATA_HOME: "", XDG_CONFIG_HOME: "" };
  const { status } = time("log", () => JSON.parse(run(program, words, { env })));
  if (status !== "logged") throw new Error(`${program} ${words.join(" ")}: ${status}`);
};

const time = (name, action) => {
  const start = performance.now();
  const result = action();
  process.stdout.write(`${name}: ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
  return result;
};

const filesWith = (folder, end) =>
  readdirSync(folder)
    .filter((name) => name.endsWith(end))
    .sort()
    .map((name) => join(folder, name));

const writeChecksums = (release) => {
  const names = readdirSync(release).sort();
  const lines = names.map((name) => {
    const bytes = readFileSync(join(release, name));
    process.stdout.write(`${name}: ${bytes.length} bytes\n`);
    return `${createHash("sha256").update(bytes).digest("hex")}  ${name}\n`;
  });
  writeFileSync(join(release, "SHA256SUMS"), lines.join(""));
};

makeRelease();

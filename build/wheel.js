/**
 * Fills `package/` in a folder for a Python package: the files of `npm pack`, and libsql for one platform.
 *
 *     node build/wheel.js <folder>
 *
 * ROLLCALL_ADDON is the folder of the addon (default: that of this platform). `package/platform` has the tag of the
 * platform.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

const machines = { x64: "x86_64", arm64: "aarch64", arm: "armv7l" };

/** Returns the platform of a wheel with an addon, such as `manylinux_2_18_x86_64`. */
const platformTag = (addon) => {
  const [system, cpu, library = ""] = basename(addon).split("-");
  if (system === "win32") return "win_amd64";
  const code = readFileSync(join(addon, "index.node"), "latin1");
  if (system === "darwin") {
    // The command LC_BUILD_VERSION has the oldest macOS that can load the addon.
    const [, major] = /\x32\0{3}.{4}\x01\0{3}..(.)\0/s.exec(code.slice(0, 8192));
    return `macosx_${major.charCodeAt()}_0_${cpu === "x64" ? "x86_64" : cpu}`;
  }
  if (library.startsWith("musl")) return `musllinux_1_2_${machines[cpu]}`;
  const minors = Array.from(code.matchAll(/GLIBC_2\.(\d+)/g), ([, minor]) => Number(minor));
  return `manylinux_2_${Math.max(...minors)}_${machines[cpu]}`;
};

const findAddon = () => {
  const folder = "node_modules/@libsql";
  const { glibcVersionRuntime } = process.report.getReport().header;
  const isOwn = (name) =>
    name.startsWith(`${process.platform}-${process.arch}`) &&
    (process.platform !== "linux" || name.includes("musl") === (glibcVersionRuntime === undefined));
  const name = existsSync(folder) && readdirSync(folder).find(isOwn);
  if (!name || !existsSync("man")) throw new Error(`rollcall is not built: run \`npm ci\` in ${process.cwd()}`);
  return join(folder, name);
};

const folder = resolve(process.argv[2] ?? ".");
process.chdir(join(import.meta.dirname, ".."));
const addon = process.env.ROLLCALL_ADDON ?? findAddon();
const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
const packed = execFileSync("npm", pack, { encoding: "utf8", shell: process.platform === "win32" }).trim();
execFileSync("tar", ["-xzf", packed], { cwd: folder });
const unpacked = join(folder, "package");
for (const name of ["libsql", "@neon-rs/load", "detect-libc"])
  cpSync(join("node_modules", name), join(unpacked, "node_modules", name), { recursive: true });
cpSync(addon, join(unpacked, "node_modules/@libsql", basename(addon)), { recursive: true });
writeFileSync(join(unpacked, "platform"), `${platformTag(addon)}\n`);

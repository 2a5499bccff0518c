import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { runRollcall } from "./run.ts";

/** Every file below a folder, by its path from there. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();

describe("the package", () => {
  let unpacked: string;

  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), "package-"));
    // No scripts: `prepare` would build into the folder that other tests are running from.
    const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
      encoding: "utf8",
      env: { ...process.env, HOME: folder },
    });
    execFileSync("tar", ["-xzf", join(folder, packed.trim()), "-C", folder]);
    unpacked = join(folder, "package");
  });

  it("holds what a user needs and nothing else", () => {
    const files = filesIn(unpacked).map((name) => name.replace(/^dist\/.*\.cjs$/, "dist/*.cjs"));
    expect([...new Set(files)]).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "THIRD-PARTY-LICENSES",
      "bin/package.json",
      "bin/rollcall.js",
      "completions/_rollcall",
      "completions/rollcall.bash",
      "completions/rollcall.fish",
      "completions/rollcall.ps1",
      "dist/*.cjs",
      "package.json",
    ]);
  });

  it("names no path of the machine that built it", () => {
    const named = filesIn(unpacked).filter((name) =>
      readFileSync(join(unpacked, name), "utf8").includes(process.cwd()),
    );
    expect(named).toEqual([]);
  });

  it("runs where it is unpacked, with libsql as its one dependency", async () => {
    mkdirSync(join(unpacked, "node_modules"));
    symlinkSync(realpathSync("node_modules/libsql"), join(unpacked, "node_modules/libsql"));
    const ran = await runRollcall(["--version"], { program: unpacked });
    expect(ran).toEqual({
      code: 0,
      stdout: `${JSON.parse(readFileSync("package.json", "utf8")).version}\n`,
      stderr: "",
    });
  });
});

it("lists the licences of what is in the bundle", async () => {
  await expect(readFileSync("dist/THIRD-PARTY-LICENSES", "utf8")).toMatchFileSnapshot("../THIRD-PARTY-LICENSES");
});

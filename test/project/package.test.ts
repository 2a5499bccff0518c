import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { newHome, runRollcall } from "../support/run.ts";

/** Every file below a folder, by its path from there. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();

/** How every file of a folder looks from outside. */
const lookOf = (folder: string): readonly string[] =>
  filesIn(folder).map((name) => {
    const { size, mode, mtimeMs } = statSync(join(folder, name));
    return [name, size, mode, mtimeMs].join(" ");
  });

const trajectory = '{"messages_and_choices":[{"role":"assistant","content":"hi"}],"reward":1}';

/** A run of most commands, and what they read. */
const runs: readonly (readonly [args: readonly string[], stdin: string])[] = [
  [["--version"], ""],
  [["log", "my-model", "--split", "train", "--local"], trajectory],
  [["check"], trajectory],
  [["models", "--local"], ""],
  [["catalog", "analysis", "--local"], ""],
  [["catalog", "router", "--local", "--json"], ""],
  [["config", "set", "base_url", "https://train.example"], ""],
  [["auth", "login", "--with-token", "--no-check"], "a-key"],
  [["auth", "status"], ""],
  [["completion", "bash"], ""],
];

/** Files that nothing but other tools' formats, choosing among their trajectories, and files at addresses needs. */
const readers =
  /^(?:art|atif|choose|decoded|download|expression|foreign|format|harbor|hub|inspect|logprobs|mini-swe-agent|nemo|openai-chat|openrlhf|parquet|remote|responses|rows|s3|sharegpt|skyrl|tau2|tool-calls|trl|turns|value|verifiers|verl|zip|zstd)[\w-]*\.cjs$/;

describe("the package", () => {
  let unpacked: string;

  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), "package-"));
    // No scripts: `prepack` would build into the folder that other tests are running from.
    const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
      encoding: "utf8",
      env: { ...process.env, HOME: folder },
    });
    execFileSync("tar", ["-xzf", join(folder, packed.trim()), "-C", folder]);
    unpacked = join(folder, "package");
  });

  it("holds what a user needs and nothing else", () => {
    const files = filesIn(unpacked).map((name) => name.replace(/^(dist|man|schemas)\/.*\.(cjs|1|json)$/, "$1/*.$2"));
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
      "man/*.1",
      "package.json",
      "schemas/*.json",
    ]);
  });

  it("has nothing that npm would run, or warn of, where it is installed", () => {
    const { scripts } = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
    const run = ["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare"];
    expect(run.filter((name) => Object.hasOwn(scripts, name))).toEqual([]);
    // A checkout is built by `npm ci`, and the tarball by `npm pack`.
    expect(scripts).toMatchObject({ dependencies: scripts.prepack, prepack: expect.stringContaining("build") });
  });

  it("takes at most 250 kB for other tools' formats and files elsewhere, as it is downloaded", () => {
    const own = filesIn(join(unpacked, "dist")).filter((name) => readers.test(name));
    expect(own.length).toBeGreaterThan(20);
    const packed = own.map((name) => gzipSync(readFileSync(join(unpacked, "dist", name)), { level: 9 }).length);
    expect(packed.reduce((sum, size) => sum + size)).toBeLessThan(250_000);
  });

  it("names no path of the machine that built it", () => {
    const named = filesIn(unpacked).filter((name) =>
      readFileSync(join(unpacked, name), "utf8").includes(process.cwd()),
    );
    expect(named).toEqual([]);
  });

  it("runs where it is unpacked and can't be written, with libsql as its one dependency, and stays as it is", async () => {
    mkdirSync(join(unpacked, "node_modules"));
    symlinkSync(realpathSync("node_modules/libsql"), join(unpacked, "node_modules/libsql"));
    const folders = ["bin", "completions", "dist", "."].map((name) => join(unpacked, name));
    for (const folder of folders) chmodSync(folder, 0o555);
    onTestFinished(() => {
      for (const folder of folders) chmodSync(folder, 0o755);
    });
    const before = lookOf(unpacked);
    const env = newHome();
    const codes: (number | null)[] = [];
    for (const [args, stdin] of runs) {
      codes.push((await runRollcall(args, { program: unpacked, cwd: unpacked, env, stdin })).code);
    }
    expect(codes).toEqual(runs.map(() => 0));
    expect(lookOf(unpacked)).toEqual(before);
  });
});

it("lists the licences of what is in the bundle", async () => {
  await expect(readFileSync("dist/THIRD-PARTY-LICENSES", "utf8")).toMatchFileSnapshot("../../THIRD-PARTY-LICENSES");
});

import { execFileSync, spawnSync } from "node:child_process";
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
import { commandPaths } from "./docs/commands.ts";

const hasMan = spawnSync("man", ["--version"], { stdio: "ignore" }).status === 0;

/** The paths of all files below a folder, relative to the folder. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();

/** The path, size, mode and time of every file in a folder. */
const lookOf = (folder: string): readonly string[] =>
  filesIn(folder).map((name) => {
    const { size, mode, mtimeMs } = statSync(join(folder, name));
    return [name, size, mode, mtimeMs].join(" ");
  });

const trajectory = '{"messages_and_choices":[{"role":"assistant","content":"hi"}],"reward":1}';

/** Runs of most commands, with their standard input. */
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

/** Files that only other tools' formats need. */
const readers =
  /^(?:art|atif|convert|format|harbor|inspect|messages|mini-swe-agent|nemo|parquet|responses|rows|tau2|verifiers|zip|zstd)[\w-]*\.cjs$/;

describe("the package", () => {
  let unpacked: string;

  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), "package-"));
    // Other tests use the result of the build, too.
    execFileSync(process.execPath, ["build/package-files.js"]);
    const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
      encoding: "utf8",
      env: { ...process.env, HOME: folder },
    });
    execFileSync("tar", ["-xzf", join(folder, packed.trim()), "-C", folder]);
    unpacked = join(folder, "package");
  });

  it("contains only files that users need", () => {
    const files = filesIn(unpacked).map((name) => name.replace(/^(dist|man)\/.*\.(cjs|1)$/, "$1/*.$2"));
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
    ]);
  });

  it("uses zstd of a Node that is newer than the Node of the build", () => {
    const script = `
      const zlib = require("node:zlib"), { Transform } = require("node:stream");
      const flush = function (done) { this.push(${JSON.stringify(`${trajectory}\n`)}); done(); };
      const value = () => new Transform({ transform: (chunk, encoding, done) => done(), flush });
      Object.defineProperty(zlib, "createZstdDecompress", { value });
      require("./bin/rollcall.js");`;
    const words = ["-e", script, "--", "rollcall", "check", "test/rollouts/input/two-groups.jsonl.zst", "--json"];
    const ran = spawnSync(process.execPath, words, { encoding: "utf8" });
    expect([JSON.parse(ran.stdout).trajectories.read, ran.stderr]).toEqual([2, ""]);
  });

  it("refuses a version of Node that its package.json does not name", () => {
    const { engines } = JSON.parse(readFileSync("package.json", "utf8"));
    const script = `Object.defineProperty(process.versions, "node", { value: "20.18.1" }); require("./bin/rollcall.js");`;
    const ran = spawnSync(process.execPath, ["-e", script, "--", "check", "--json"], { encoding: "utf8" });
    const { error } = JSON.parse(ran.stderr);
    expect([ran.status, error.exit_code, engines.node]).toEqual([2, 2, ">=20.19"]);
    expect(error.message).toMatch(/^rollcall needs Node 20\.19 or newer, but .* is Node 20\.18\.1$/);
  });

  it("has no script that npm runs at installation", () => {
    const { scripts } = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
    const run = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"];
    expect(run.filter((name) => Object.hasOwn(scripts, name))).toEqual([]);
  });

  it("lists the license of each bundled package", () => {
    const list = readFileSync(join(unpacked, "THIRD-PARTY-LICENSES"), "utf8");
    for (const name of ["commander", "hono", "zod"])
      expect(list).toMatch(new RegExp(`^${name} [\\d.]+ \\(MIT\\)$`, "m"));
  });

  it("has a man page of every top-level command for npm to link", () => {
    const pages = filesIn(join(unpacked, "man")).map((name) => `man/${name}`);
    const { man } = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"));
    expect(man.toSorted()).toEqual(pages);
    const nouns = commandPaths().filter((path) => path.length <= 2);
    expect(pages).toEqual(nouns.map((path) => `man/${path.join("-")}.1`).sort());
  });

  it.skipIf(!hasMan)(
    "has man pages that `man` prints without a warning, with every option in its typed form",
    { tags: "slow" },
    () => {
      for (const name of filesIn(join(unpacked, "man"))) {
        const page = readFileSync(join(unpacked, "man", name), "utf8");
        const { status, stdout, stderr } = spawnSync("man", ["--warnings", "-E", "UTF-8", "-l", "-"], {
          input: page,
          encoding: "utf8",
          env: { PATH: process.env.PATH, MANWIDTH: "80", MAN_KEEP_FORMATTING: "" },
        });
        expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: "" });
        const typed = Array.from(page.matchAll(/\\fB(\\-\\-[^ ]*?)\\fR/g), ([, term = ""]) =>
          term.replaceAll("\\-", "-"),
        );
        expect(typed.filter((term) => !stdout.includes(term))).toEqual([]);
        expect(stdout).not.toMatch(/\\|\u001b/);
      }
    },
  );

  it("takes at most 250 kB compressed for other tools' formats", () => {
    const own = filesIn(join(unpacked, "dist")).filter((name) => readers.test(name));
    expect(own.length).toBeGreaterThan(14);
    const packed = own.map((name) => gzipSync(readFileSync(join(unpacked, "dist", name)), { level: 9 }).length);
    expect(packed.reduce((sum, size) => sum + size)).toBeLessThan(250_000);
  });

  it("contains no path of the build machine", () => {
    const named = filesIn(unpacked).filter((name) =>
      readFileSync(join(unpacked, name), "utf8").includes(process.cwd()),
    );
    expect(named).toEqual([]);
  });

  it("fails with the fix if libsql's addon is not installed, and logs without a ledger", async () => {
    const { HOME, ...home } = newHome();
    const service = { ROLLCALL_BASE_URL: "http://127.0.0.1:9", ROLLCALL_API_KEY: "a-key" };
    const env = { HOME, ...home, ...service, NODE_DISABLE_COMPILE_CACHE: "1" };
    const groups = join(process.cwd(), "test/samples/airline.groups.jsonl");
    const fix = "reinstall rollcall on this machine, as the README describes";
    const log = ["log", "m", groups, "--split", "train", "--max-wait", "0s"];
    for (const [args, code, text] of [
      [log, 11, fix],
      [["ledger", "status"], 11, fix],
      [["models", "--local"], 11, fix],
      [["serve", "--port", "0"], 11, fix],
      [[...log, "--no-ledger"], 5, "refused"],
    ] as const) {
      const ran = await runRollcall(args, { program: unpacked, cwd: unpacked, env });
      const said = (ran.stdout + ran.stderr).replaceAll(/\s+/g, " ");
      expect([args, ran.code, said.includes(text)], said).toEqual([args, code, true]);
    }
    expect(filesIn(HOME)).toEqual([]);
  });

  it("runs from a read-only folder with libsql as its only dependency, and changes nothing there", {
    tags: "slow",
  }, async () => {
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

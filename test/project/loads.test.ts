import { mkdtempSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { type OutputChunk, rolldown } from "rolldown";
import { beforeAll, describe, expect, it } from "vitest";
import { program } from "../../rolldown.config.ts";
import { fileServer } from "../support/file-server.ts";
import { runRollcall } from "../support/run.ts";

const groups = "test/samples/airline.groups.jsonl";
const routerFile = "test/samples/catalog.router.json";

/**
 * The packages that each command loads, and `catalogs` if it loads the code that reads catalogs.
 */
const loads: Readonly<Record<string, string>> = {
  "--version": "",
  "--help": "commander",
  "log --help": "commander",
  [`log m ${groups} --split train`]: "commander libsql undici",
  [`log m ${groups} --split train --dry-run --json`]: "commander libsql",
  [`log m ${groups} --split train --local --json`]: "@hono/node-server commander hono libsql undici zod",
  [`check ${groups}`]: "commander",
  [`check ${groups} --json`]: "commander",
  [`convert ${groups} --out out.jsonl --json`]: "commander",
  [`view ${groups} --html page.html --json`]: "commander",
  "ledger status": "commander libsql",
  models: "catalogs commander undici zod",
  "models -o table":
    "@colors/colors ansi-regex catalogs cli-table3 commander get-east-asian-width string-width-current strip-ansi undici zod",
  "models --local": "@hono/node-server catalogs commander hono libsql undici zod",
  "call read id --json": "commander undici zod",
  "catalog router": "catalogs commander undici zod",
  "auth status": "commander",
  "config list": "commander",
  "config set split train":
    "ajv ajv-formats atomically commander conf debounce-fn dot-prop fast-deep-equal fast-uri json-schema-traverse libsql mimic-function semver stubborn-fs stubborn-utils uint8array-extras when-exit",
  "profile list": "commander",
  "completion bash": "commander",
  "__complete zsh -- : log m file --on-invalid": "commander",
};

/** The files of `dist` and modules of Node that a run of ten groups loads. bench/README.md has the reasons. */
const shortRuns = [
  {
    line: "check groups.jsonl",
    maxBytes: 610_000,
    files:
      "check-command connect list main message print-failure read-rollouts rolldown-runtime run run-check trajectory",
    ofNode: "",
  },
  {
    line: "log m groups.jsonl --split train",
    maxBytes: 1_240_000,
    files:
      "client connect connections failures failures2 failures3 ledger list log-command log-dataset main message outcome own-file pool print-failure read-rollouts rolldown-runtime run run-log send-requests sqlite trajectory",
    ofNode: "crypto http http2 tls zlib",
  },
];

/** Modules of Node that take milliseconds. The addon of libsql loads `child_process` on Linux. */
const slowModules = /^NativeModule (crypto|http2?|tls|zlib)$/;

const files = {
  "/v1/preview/models/m/log": '{"metrics":{},"call_ids":[]}',
  "/v1/models": readFileSync("test/samples/models.json"),
  "/call/read": readFileSync("test/samples/call.json"),
  "/inference/router/r/models": readFileSync(routerFile),
};

const tell = `process.on("exit", () => {
  require("node:fs").writeFileSync("loaded.json", JSON.stringify([Object.keys(require.cache), process.moduleLoadList]));
});`;

/** Runs a command in a new process. Returns the files of `dist` and the slow modules of Node that it loaded. */
const listLoaded = async (line: string) => {
  const { url } = await fileServer({ files, type: "application/json" });
  const cwd = mkdtempSync(join(tmpdir(), "loads-"));
  symlinkSync(resolve("test"), join(cwd, "test"));
  writeFileSync(join(cwd, "tell.cjs"), tell);
  const rewards = Array.from({ length: 10 }, (_, reward) => reward);
  writeFileSync(join(cwd, "groups.jsonl"), rewards.map((reward) => `${groupOf(reward)}\n`).join(""));
  const env = {
    NODE_OPTIONS: "--require ./tell.cjs",
    ROLLCALL_BASE_URL: url,
    ROLLCALL_INFERENCE_BASE_URL: url,
    ROLLCALL_API_KEY: "key",
    ROLLCALL_PROJECT: "team/project",
    ROLLCALL_ROUTER_PROVIDER: "r",
  };
  const { code, stderr } = await runRollcall(line.split(" "), { cwd, env });
  if (code !== 0) throw new Error(`${line}: ${stderr}`);
  const [paths, modules]: readonly [readonly string[], readonly string[]] = JSON.parse(
    readFileSync(join(cwd, "loaded.json"), "utf8"),
  );
  return {
    dist: paths.filter((path) => path.startsWith(resolve("dist"))),
    ofNode: modules.flatMap((name) => slowModules.exec(name)?.[1] ?? []).sort(),
  };
};

/** The package that is not bundled. */
const outside = /\brequire\("(libsql)"\)/g;

const catalogCode = /\/catalog\/filter\.ts$/;

const groupOf = (reward: number) =>
  JSON.stringify({ trajectories: [{ messages_and_choices: [{ role: "user", content: "q" }], reward }] });

describe("a short run", () => {
  it.each(shortRuns)("of `$line` loads only the files that it uses", async ({ line, ...expected }) => {
    const { dist, ofNode } = await listLoaded(line);
    const names = dist.map((path) => basename(path, ".cjs")).sort();
    expect({ files: names.join(" "), ofNode: ofNode.join(" ") }).toEqual({
      files: expected.files,
      ofNode: expected.ofNode,
    });
    expect(dist.reduce((sum, path) => sum + statSync(path).size, 0)).toBeLessThan(expected.maxBytes);
  });
});

describe("a command", { tags: "slow" }, () => {
  const chunks = new Map<string, OutputChunk>();

  beforeAll(async () => {
    // These plugins take long and do not change what is loaded.
    const slow = new Set(["kernel", "licenses"]);
    const plugins = program.plugins.filter(({ name }) => !slow.has(name));
    const build = await rolldown({ ...program, plugins, logLevel: "silent" });
    const { output } = await build.generate(program.output);
    await build.close();
    for (const one of output) if (one.type === "chunk") chunks.set(one.fileName, one);
  });

  const listParts = (file: string): readonly string[] => {
    const chunk = chunks.get(file);
    if (chunk === undefined) throw new Error(`${file} is not in the build`);
    const paths = Object.keys(chunk.modules).filter((path) => (chunk.modules[path]?.renderedLength ?? 0) > 0);
    const packages = paths.flatMap((path) => path.split("/node_modules/").slice(1).map(packageOf));
    const catalogs = paths.some((path) => catalogCode.test(path)) ? ["catalogs"] : [];
    return [...packages, ...catalogs, ...Array.from(chunk.code.matchAll(outside), ([, name = ""]) => name)];
  };

  it.each(Object.entries(loads))("loads for `%s` only the packages it uses", async (line, expected) => {
    const loaded = new Set((await listLoaded(line)).dist.flatMap((path) => listParts(basename(path))));
    expect([...loaded].sort().join(" ")).toBe(expected);
  });
});

const packageOf = (path: string): string =>
  path
    .split("/")
    .slice(0, path.startsWith("@") ? 2 : 1)
    .join("/");

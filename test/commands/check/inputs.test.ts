import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { getRuleSubject, ruleNames } from "../../../src/rollouts/rules/rules.ts";
import { newFolder } from "../../support/inputs.ts";
import { peakOf, runRollcall } from "../../support/run.ts";
import { hasZstd } from "../../support/zstd.ts";

const good = "test/samples/airline.groups.jsonl";

/** A named pipe. When it is opened, its writer runs a command and leaves the pipe empty. */
const pipeIn = (folder: string, deed = ":"): string => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  const writer = spawn("sh", ["-c", `exec 3>"${pipe}"; ${deed}`]);
  onTestFinished(() => void writer.kill());
  return pipe;
};

const fileIn = (folder: string, content: string | Uint8Array, name = "it.jsonl"): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

/** A file that no user can read, not even root. */
const unreadable = (folder: string): string => {
  if (process.getuid?.() === 0) return "/proc/self/mem";
  const file = fileIn(folder, readFileSync(good));
  chmodSync(file, 0);
  return file;
};

const linkToItself = (folder: string): string => {
  const link = join(folder, "link.jsonl");
  symlinkSync(link, link);
  return link;
};

const zstd = readFileSync("test/rollouts/input/two-groups.jsonl.zst");

/** Unusable inputs: the rule, a description, and a function that creates the input and returns its name. */
const situations: readonly (readonly [rule: string, what: string, make: (folder: string) => string])[] = [
  ["file-not-found", "a name without a file", (folder) => join(folder, "nowhere.jsonl")],
  ["glob-without-match", "a pattern that the shell left as it was", (folder) => join(folder, "*.nothing")],
  ["file-unreadable", "a file that may not be read", unreadable],
  ["file-unreadable", "a link to itself", linkToItself],
  [
    "folder-without-rollouts",
    "a folder without rollouts",
    (folder) => mkdirSync(join(folder, "a/b"), { recursive: true }) ?? "",
  ],
  ["input-empty", "an empty file", (folder) => fileIn(folder, "")],
  ["input-empty", "a file of blank lines", (folder) => fileIn(folder, "\n \n")],
  ["input-empty", "a pipe that its writer leaves empty", pipeIn],
  ["input-empty", "standard input with nothing in it", () => "-"],
  ["utf-16", "a file of another encoding", (folder) => fileIn(folder, Buffer.from("\ufeff{}", "utf16le"))],
  ["not-json", "a table", (folder) => fileIn(folder, "prompt,completion,reward\n2+2?,4,1\n")],
  ["not-json", "a page of Markdown", () => "README.md"],
  ["not-json", "a Parquet file", (folder) => fileIn(folder, "PAR1\u0015\u0004PAR1", "it.parquet")],
  ["not-json", "a database", (folder) => fileIn(folder, `SQLite format 3\0${"x".repeat(600)}`, "it.db")],
  ["not-json", "a device without an end", () => "/dev/zero"],
  [
    "compressed-corrupt",
    "a gzip file that was cut off",
    (folder) => fileIn(folder, gzipSync(readFileSync(good)).subarray(0, 60), "it.jsonl.gz"),
  ],
  hasZstd
    ? ["compressed-corrupt", "a zstd file that was cut off", (folder) => fileIn(folder, zstd.subarray(0, 30), "it.zst")]
    : ["not-json", "a zstd file", (folder) => fileIn(folder, zstd, "it.zst")],
  ["decompressed-too-large", "a file that holds more than it may", (folder) => fileIn(folder, packed, "it.jsonl.gz")],
];

const packed = execFileSync("gzip", ["-c", good]);

/** Rules about whole inputs that other tests cover. */
const elsewhere = [
  ...["text-too-long", "too-many-records", "split-mismatch", "request-key-mismatch"],
  ...["ambiguous-format", "lossy-format", "file-is-folder", "skipped-file", "equal-prompts"],
  ...["reward-part-missing", "unknown-format", "logged-differently"],
  ...["input-changed", "compressed-corrupt"],
];

const lineOf = (reward: string): string => `{"messages_and_choices":[],"reward":${reward}}`;

/** A trajectory of one turn, without a choice. */
const turn = (text: string): string => `{"messages_and_choices":[{"role":"assistant","content":"${text}"}],"reward":1}`;

/** Runs `check`. Returns the errors in the error document and in the result. */
const toldOf = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const ran = await runRollcall(["check", ...args, "--json"], { env });
  const errorsIn = (problems: readonly { file?: string; rule: string; severity: string }[]) =>
    problems.filter(({ severity }) => severity === "error").map(({ file, rule }) => `${file} ${rule}`);
  return {
    code: ran.code,
    error: errorsIn(JSON.parse(ran.stderr).error.problems ?? []),
    document: ran.stdout === "" ? undefined : errorsIn(JSON.parse(ran.stdout).problems),
    status: ran.stdout === "" ? undefined : JSON.parse(ran.stdout).status,
  };
};

describe("this file", () => {
  it("has a test for every rule about whole inputs", () => {
    const wholes = ruleNames.filter((name) => getRuleSubject(name) === "input");
    const named = [...situations.map(([rule]) => rule), ...elsewhere];
    expect(
      wholes.filter((name) => !named.includes(name)),
      "add it to this file",
    ).toEqual([]);
  });
});

describe("rollcall check of several inputs", () => {
  it.each([...situations.slice(0, 1), ...situations.slice(-1)])(
    "reports %s in both documents for %s",
    async (rule, _, make) => {
      const input = make(newFolder());
      const env = rule === "decompressed-too-large" ? { ROLLCALL_MAX_UNPACKED_SIZE: "100" } : {};
      const said = [`${input} ${rule}`];
      const told = { code: 3, error: said };
      const among = await toldOf(
        [good, input, "test/samples/airline.trajectories.jsonl", "--allow", "mixed-shapes"],
        env,
      );
      expect(among).toEqual({ ...told, document: said, status: "invalid" });
      expect(await toldOf([input], env)).toEqual({ ...told, document: undefined, status: undefined });
    },
  );

  it("reports all unusable inputs together", async () => {
    const made = situations.map(([rule, , make]) => ({ rule, input: make(newFolder()) }));
    const bad = made.filter(({ rule }) => rule !== "decompressed-too-large");
    const told = await toldOf([...bad.map(({ input }) => input), good]);
    const said = bad.map(({ input, rule }) => `${input} ${rule}`).toSorted();
    for (const one of [told.error, told.document]) expect(one?.toSorted()).toEqual(said);
    expect(told).toMatchObject({ code: 3, status: "invalid" });
  });

  const invalid: readonly (readonly [what: string, options: readonly string[], line: (at: number) => string])[] = [
    ["errors in its lines", [], () => lineOf(`"x"`)],
    ["repeated groups", [], (at: number) => `{"group_id":${at % 2},${lineOf("1").slice(1)}`],
    ["warnings with --strict", ["--strict"], (at: number) => `{"trajectories":[${turn(`${at}a`)},${turn(`${at}b`)}]}`],
    ["a problem of all files", ["--strict", "--allow", "single-trajectory-group"], (at: number) => turn(`${at}`)],
  ];

  const expectEachNamed = async (
    counts: readonly number[],
    [, options, line]: (typeof invalid)[number],
  ): Promise<void> => {
    const folder = newFolder();
    const linesOf = (count: number) => Array.from({ length: count }, (_, at) => `${line(at)}\n`).join("");
    const files = counts.map((count, at) => fileIn(folder, linesOf(count), `${at}.jsonl`));
    const told = await toldOf([...files, ...options]);
    expect(told).toMatchObject({ code: 3, status: "invalid" });
    expect(new Set(told.document?.map((said) => said.replace(/ .*/, "")))).toEqual(new Set(files));
  };

  it.each(invalid)("names each file with %s", async (...one) => {
    await expectEachNamed([8, 4, 6], one);
  });

  it.each([
    ["is rewritten", (file: string) => `head -c 3000 "${good}" >"${file}"`, "input-changed"],
    ["is deleted", (file: string) => `rm "${file}"`, "file-unreadable"],
  ])("names the file if a file %s during the check", async (_, deed, rule) => {
    const folder = newFolder();
    // The files are too many to stay open, so the last one is read again after the pipe.
    const files = Array.from({ length: 70 }, (_, at) => join(folder, `${at}.jsonl`));
    const groups = readFileSync(good, "utf8").split("\n").slice(0, 2).join("\n");
    for (const file of files) writeFileSync(file, groups);
    const last = files.at(-1) ?? "";
    const told = await toldOf([...files, pipeIn(folder, deed(last))]);
    const said = [`${last} ${rule}`];
    expect(told).toEqual({ code: 3, error: said, document: undefined, status: undefined });
    rmSync(folder, { recursive: true });
  });
});

describe("a group of 20,000 equal trajectories", { tags: "slow" }, () => {
  it("is checked in time with --allow duplicate-trajectory", async () => {
    const trajectory = { messages_and_choices: [{ role: "user", content: "what was said\n".repeat(60) }], reward: 1 };
    const text = JSON.stringify({ trajectories: Array.from({ length: 20_000 }, () => trajectory) });
    const file = fileIn(newFolder(), text);
    const { code, stdout } = await runRollcall(["check", file, "--json", "--allow", "duplicate-trajectory"]);
    expect([code, JSON.parse(stdout).trajectories.read]).toEqual([0, 20_000]);
  });
});

describe("a group of 40 MB on several lines", { tags: "slow" }, () => {
  const said = "what was said, in letters beyond Latin-1: \u4e00\u4e8c\n".repeat(20);
  const trajectory = (at: number) => ({ messages_and_choices: [{ role: "user", content: `${said}${at}` }], reward: 1 });
  const count = 37_000;
  let text = "";
  beforeAll(() => {
    text = JSON.stringify({ trajectories: Array.from({ length: count }, (_, at) => trajectory(at)) }, null, 1);
  });

  it("takes at most 3.5 times its size in memory", async () => {
    const file = fileIn(newFolder(), text, "group.json");
    const { code, stdout } = await runRollcall(["check", file, "--json"]);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { trajectories: { read: count }, metrics: { reward: 1 } }]);
    const least = await peakOf(["check", good, "-q"]);
    expect(((await peakOf(["check", file, "-q"])) - least) / Buffer.byteLength(text)).toBeLessThan(3.5);
  });

  const lastComma = () => text.lastIndexOf("},\n  {") + 1;

  it.each([
    ["a comma is missing", () => `${text.slice(0, lastComma())}${text.slice(lastComma() + 1)}`, "json-syntax"],
    ["a trajectory has another type", () => `${text.slice(0, lastComma() + 1)}\n  7\n ]\n}`, "wrong-type"],
    [
      "it has its trajectories twice, first with NaN",
      () => `{\n "trajectories": [\n  NaN\n ],${text.slice(1)}`,
      "json-not-finite",
    ],
  ])("is reported at the line of the error if %s", async (_, damaged, rule) => {
    const file = fileIn(newFolder(), damaged(), "group.json");
    const { code, stderr } = await runRollcall(["check", file, "--json"]);
    expect([code, JSON.parse(stderr).error.problems]).toMatchObject([3, [{ rule }]]);
  });
});

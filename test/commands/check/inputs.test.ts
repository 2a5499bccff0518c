import { execFileSync, spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ruleNames, rules, subjectOf } from "../../../src/trajectories/index.ts";
import { peakOf, runRollcall } from "../../support/run.ts";
import { hasZstd, newFolder } from "../../trajectories/inputs.ts";

const good = "test/samples/airline.groups.jsonl";

/** A named pipe whose writer comes once it is read, does what it does, and leaves it empty. */
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

/** A file that the system lets nobody read; root reads what is forbidden to everybody, but not another address space. */
const unreadable = (folder: string): string => {
  if (process.getuid?.() === 0) return "/proc/self/mem";
  const file = fileIn(folder, readFileSync(good));
  chmodSync(file, 0);
  return file;
};

const firing = (name: "glob-empty" | "utf-16" | "not-json" | "gzip-broken" | "zstd-broken"): string | Uint8Array =>
  Object.values("fires" in rules[name].example ? (rules[name].example.fires?.files ?? {}) : {})[0] ?? "";

const zstd = readFileSync("test/trajectories/input/two-groups.jsonl.zst");

/** What makes an input unusable as a whole, by the rule that says so, and the input's name. */
const situations: readonly (readonly [rule: string, what: string, make: (folder: string) => string])[] = [
  ["file-missing", "a name without a file", (folder) => join(folder, "nowhere.jsonl")],
  ["glob-empty", "a pattern that the shell left as it was", (folder) => join(folder, "*.nothing")],
  ["file-unreadable", "a file that may not be read", unreadable],
  [
    "folder-without-rollouts",
    "a folder without rollouts",
    (folder) => mkdirSync(join(folder, "a/b"), { recursive: true }) ?? "",
  ],
  ["input-empty", "an empty file", (folder) => fileIn(folder, "")],
  ["input-empty", "a file of blank lines", (folder) => fileIn(folder, "\n \n")],
  ["input-empty", "a pipe that its writer leaves empty", pipeIn],
  ["input-empty", "standard input with nothing in it", () => "-"],
  ["utf-16", "a file of another encoding", (folder) => fileIn(folder, firing("utf-16"))],
  ["not-json", "a table", (folder) => fileIn(folder, firing("not-json"))],
  ["not-json", "a Parquet file", (folder) => fileIn(folder, "PAR1\u0015\u0004PAR1", "it.parquet")],
  ["not-json", "a database", (folder) => fileIn(folder, `SQLite format 3\0${"x".repeat(600)}`, "it.db")],
  ["endless-device", "a device without an end", () => "/dev/zero"],
  ["gzip-broken", "a gzip file that was cut off", (folder) => fileIn(folder, firing("gzip-broken"), "it.jsonl.gz")],
  hasZstd
    ? ["zstd-broken", "a zstd file that was cut off", (folder) => fileIn(folder, zstd.subarray(0, 30), "it.zst")]
    : ["zstd-unsupported", "a zstd file", (folder) => fileIn(folder, zstd, "it.zst")],
  ["unpacked-too-large", "a file that holds more than it may", (folder) => fileIn(folder, packed, "it.jsonl.gz")],
];

const packed = execFileSync("gzip", ["-c", good]);

/** Rules of an input as a whole that stand elsewhere: lines too long for a test, what all inputs say together, other tools' files, those at addresses, what changes or is followed. */
const elsewhere = [
  ...["line-too-long", "document-too-long", "group-key-nowhere", "split-differs", "request-keys-differ"],
  ...["format-in-doubt", "format-lossy", "file-is-folder", "remote-missing", "nothing-chosen"],
  ...["input-changed", hasZstd ? "zstd-unsupported" : "zstd-broken"],
];

const lineOf = (reward: string): string => `{"messages_and_choices":[],"reward":${reward}}`;

/** A trajectory of one turn that no choice stands for. */
const turn = (text: string): string => `{"messages_and_choices":[{"role":"assistant","content":"${text}"}],"reward":1}`;

/** What each of the ways to tell says: files with their errors, and files that are called valid. */
const toldOf = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const folder = newFolder();
  const [junit, github] = [join(folder, "report.xml"), join(folder, "report.txt")];
  const reports = ["--report", `junit=${junit}`, "--report", `github=${github}`];
  const ran = await runRollcall(["check", ...args, "--json", ...reports], { env });
  const xml = readFileSync(junit, "utf8");
  const annotations = readFileSync(github, "utf8").matchAll(/^::error (?:file=([^,:]*),)?.*?title=([^,:]*)::/gm);
  const errorsIn = (problems: readonly { file?: string; rule: string; severity: string }[]) =>
    problems.filter(({ severity }) => severity === "error").map(({ file, rule }) => `${file} ${rule}`);
  return {
    code: ran.code,
    error: errorsIn(JSON.parse(ran.stderr).error.problems ?? []),
    document: ran.stdout === "" ? undefined : errorsIn(JSON.parse(ran.stdout).problems),
    status: ran.stdout === "" ? undefined : JSON.parse(ran.stdout).status,
    junit: Array.from(
      xml.matchAll(/classname="([^"]*)" name="[^"]*"><failure type="([^"]*)"/g),
      ([, file, rule]) => `${file} ${rule}`,
    ),
    github: Array.from(annotations, ([, file, rule]) => `${file} ${rule}`),
    valid: Array.from(xml.matchAll(/classname="([^"]*)" name="is valid"/g), ([, file]) => file),
  };
};

describe("rollcall check of several inputs", () => {
  it("has a situation for every rule of an input as a whole", () => {
    const wholes = ruleNames.filter((name) => subjectOf(name) === "input");
    const named = [...situations.map(([rule]) => rule), ...elsewhere];
    expect(
      wholes.filter((name) => !named.includes(name)),
      "add it to this test",
    ).toEqual([]);
  });

  it.each(situations)("tells the same everywhere of one that is %s: %s", async (rule, _, make) => {
    const input = make(newFolder());
    const env = rule === "unpacked-too-large" ? { ROLLCALL_MAX_UNPACKED_SIZE: "100" } : {};
    const said = [`${input} ${rule}`];
    const told = { code: 3, error: said, junit: said, github: said };
    const among = await toldOf(
      [good, input, "test/samples/airline.trajectories.jsonl", "--allow", "mixed-shapes"],
      env,
    );
    const valid = [good, "test/samples/airline.trajectories.jsonl"];
    expect(among).toEqual({ ...told, document: said, status: "invalid", valid });
    if (!input.endsWith("pipe")) {
      expect(await toldOf([input], env)).toEqual({ ...told, document: undefined, status: undefined, valid: [] });
    }
  });

  it("tells the same of all of them together", async () => {
    const made = situations.map(([rule, , make]) => ({ rule, input: make(newFolder()) }));
    const bad = made.filter(({ rule }) => rule !== "unpacked-too-large");
    const told = await toldOf([...bad.map(({ input }) => input), good]);
    const said = bad.map(({ input, rule }) => `${input} ${rule}`).toSorted();
    for (const one of [told.error, told.document, told.junit, told.github]) expect(one?.toSorted()).toEqual(said);
    expect(told).toMatchObject({ code: 3, status: "invalid", valid: [good] });
  });

  it.each([
    ["errors of its lines", [], () => lineOf(`"x"`)],
    ["groups that come again", [], (at: number) => `{"group_id":${at % 2},${lineOf("1").slice(1)}`],
    [
      "warnings that are errors",
      ["--strict"],
      (at: number) => `{"trajectories":[${turn(`${at}a`)},${turn(`${at}b`)}]}`,
    ],
    ["what all of them lack", ["--strict", "--allow", "group-of-one"], (at: number) => turn(`${at}`)],
  ])("calls none valid that has %s, however many other files have", async (_, options, line) => {
    const folder = newFolder();
    const linesOf = (count: number) => Array.from({ length: count }, (_, at) => `${line(at)}\n`).join("");
    const files = [2400, 4, 6].map((count, at) => fileIn(folder, linesOf(count), `${at}.jsonl`));
    const told = await toldOf([...files, ...options]);
    expect(told).toMatchObject({ code: 3, status: "invalid", valid: [] });
    for (const one of [told.document, told.junit, told.github]) {
      expect(new Set(one?.map((said) => said.replace(/ .*/, "")))).toEqual(new Set(files));
    }
  });

  it.each([
    ["is written anew", (file: string) => `head -c 3000 "${good}" >"${file}"`, "input-changed"],
    ["is deleted", (file: string) => `rm "${file}"`, "file-unreadable"],
  ])("calls none valid where one %s meanwhile, and reports that one", async (_, deed, rule) => {
    const folder = newFolder();
    // So many are opened one after the other: none stays open, and the last is read after the pipe.
    const files = Array.from({ length: 70 }, (_, at) => join(folder, `${at}.jsonl`));
    for (const file of files) copyFileSync(good, file);
    const last = files.at(-1) ?? "";
    const told = await toldOf([...files, pipeIn(folder, deed(last))]);
    const said = [`${last} ${rule}`];
    expect(told).toEqual({
      code: 3,
      error: said,
      junit: said,
      github: said,
      document: undefined,
      status: undefined,
      valid: [],
    });
    rmSync(folder, { recursive: true });
  });
});

describe("a group of the same trajectory, 20,000 times", () => {
  it("is looked at once, and not again for each, where nobody wants to know of that", async () => {
    const trajectory = { messages_and_choices: [{ role: "user", content: "what was said\n".repeat(60) }], reward: 1 };
    const group = JSON.stringify({ trajectories: Array.from({ length: 20_000 }, () => trajectory) });
    const file = fileIn(newFolder(), group);
    const { code, stdout } = await runRollcall(["check", file, "--json", "--allow", "trajectory-twice"]);
    expect([code, JSON.parse(stdout).trajectories.read]).toEqual([0, 20_000]);
  });
});

describe("a printed group of 40 MB", () => {
  const said = "what was said, in letters beyond Latin-1: \u4e00\u4e8c\n".repeat(20);
  const trajectory = (at: number) => ({ messages_and_choices: [{ role: "user", content: `${said}${at}` }], reward: 1 });
  const count = 37_000;
  const text = JSON.stringify({ trajectories: Array.from({ length: count }, (_, at) => trajectory(at)) }, null, 1);

  it("is read in three times its size, and is as it would be on a line", async () => {
    const file = fileIn(newFolder(), text, "group.json");
    const { code, stdout } = await runRollcall(["check", file, "--json"]);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { trajectories: { read: count }, metrics: { reward: 1 } }]);
    const least = await peakOf(["check", good, "-q"]);
    expect(((await peakOf(["check", file, "-q"])) - least) / Buffer.byteLength(text)).toBeLessThan(3.5);
  });

  const last = text.lastIndexOf("},\n  {");

  it.each([
    ["a comma is missing", `${text.slice(0, last + 1)}${text.slice(last + 2)}`, "json-syntax"],
    ["a trajectory is of another type", `${text.slice(0, last + 2)}\n  7\n ]\n}`, "wrong-type"],
    [
      "its trajectories stand twice, and first as no JSON",
      `{\n "trajectories": [\n  NaN\n ],${text.slice(1)}`,
      "json-nan",
    ],
  ])("is told like any other where %s", async (_, damaged, rule) => {
    const { code, stderr } = await runRollcall(["check", fileIn(newFolder(), damaged, "group.json"), "--json"]);
    expect([code, JSON.parse(stderr).error.problems]).toMatchObject([3, [{ rule }]]);
  });
});

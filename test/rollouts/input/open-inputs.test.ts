import {
  appendFileSync,
  chmodSync,
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { spoolFailed } from "../../../src/rollouts/input/failures.ts";
import { createChangeDetector, openInputs } from "../../../src/rollouts/input/open-inputs.ts";
import { combineModes, createCloser, openReopenedBytes, readHead } from "../../../src/rollouts/input/source.ts";
import { testHost } from "../../support/host.ts";
import { newFolder } from "../../support/inputs.ts";
import { runRollcall } from "../../support/run.ts";

/** A folder with two files, and a file outside of the folder. */
const openFiles = () => {
  const [folder, other] = [newFolder(), join(newFolder(), "c.jsonl")];
  for (const path of [join(folder, "a.jsonl"), join(folder, "b.jsonl"), other]) writeFileSync(path, "{}\n");
  return { folder, other };
};

it.each<[hasChanged: boolean, change: (files: ReturnType<typeof openFiles>) => void]>([
  [false, () => undefined],
  [true, ({ folder }) => writeFileSync(join(folder, "a.jsonl"), "{}\n{}\n")],
  [true, ({ folder }) => utimesSync(join(folder, "b.jsonl"), 1, 1)],
  [true, ({ other }) => utimesSync(other, 1, 1)],
  [true, ({ folder }) => writeFileSync(join(folder, "d.jsonl"), "{}\n")],
  [false, ({ folder }) => writeFileSync(join(folder, "d.jsonl"), "")],
  [true, ({ folder }) => rmSync(join(folder, "b.jsonl"))],
  [
    false,
    ({ folder, other }) => {
      for (const path of [join(folder, "a.jsonl"), join(folder, "b.jsonl"), other]) rmSync(path);
    },
  ],
])(
  "inputs have changed if a file is new, another version, or deleted unless none is left (row %$)",
  (hasChanged, change) => {
    const files = openFiles();
    const [ofBoth, ofStdin] = [[], ["-"]].map((more) =>
      createChangeDetector([files.folder, files.other, "https://x.invalid/e.jsonl", ...more], testHost()),
    );
    change(files);
    expect([ofBoth?.(), ofStdin?.()]).toEqual([hasChanged, false]);
  },
);

it.each(["", "abc", "abcdef"])("a reopened file has its bytes at each position, also with `%s` in memory", (start) => {
  const name = join(newFolder(), "f");
  writeFileSync(name, "abcdef");
  const bytes = openReopenedBytes({ name, size: 6, head: Buffer.from(start) });
  const read = (at: number) => {
    const into = Buffer.alloc(2);
    return into.toString("utf8", 0, bytes.read(into, at));
  };
  expect([0, 1, 2, 4, 5].map(read)).toEqual(["ab", "bc", "cd", "ef", "f"]);
});

it.each<[name: string, touched: boolean, change: (file: string, other: string) => void]>([
  ["unchanged", false, () => undefined],
  ["longer", false, (file) => appendFileSync(file, "more")],
  ["shorter", true, (file) => truncateSync(file, 1)],
  ["rewritten with the same length", true, (file) => utimesSync(file, 1, 1)],
  ["replaced", false, (file, other) => renameSync(other, file)],
  ["deleted", false, (file) => rmSync(file)],
])("an opened file that is %s is rewritten: %s", async (_, touched, change) => {
  const { folder, other } = openFiles();
  const file = join(folder, "a.jsonl");
  const { sources } = await openInputs({ host: testHost(), files: [file], maxUnpackedBytes: 2 ** 30 });
  const [source] = sources;
  change(file, other);
  expect(await source?.touched?.()).toBe(touched);
  // A change is reported once.
  expect(await source?.touched?.()).toBe(false);
  await source?.bytes.close();
});

it.each([
  ["of the group", "a.jsonl", "640", "640"],
  ["of all", "b.jsonl", "644", "644"],
  ["that each of them has", "b.jsonl a.jsonl", "640", "640"],
  ["that a URL is given", "b.jsonl https://x.invalid/a", "644", "600"],
  ["that a folder is given", ".", "666", "600"],
  ["of a new file without inputs", "", "666", "666"],
])("an output of inputs has the rights %s: %s", (_, names, byDefault, withPrivatePipes) => {
  const { folder } = openFiles();
  chmodSync(join(folder, "a.jsonl"), 0o640);
  chmodSync(join(folder, "b.jsonl"), 0o644);
  const toPath = (name: string) => (name.includes(":") ? name : join(folder, name));
  const sources = names.split(" ").flatMap((name) => (name ? { name: toPath(name) } : []));
  const modes = [combineModes(sources), combineModes(sources, 0o600)];
  expect(modes.map((mode) => mode.toString(8))).toEqual([byDefault, withPrivatePipes]);
});

it("the rights of a file that is named - do not change an output of standard input", async () => {
  const { folder } = openFiles();
  writeFileSync(join(folder, "-"), "", { mode: 0o600 });
  const group = '{"trajectories":[{"messages_and_choices":[{"role":"user","content":"q"}],"reward":1}]}';
  await runRollcall(["convert", "-", "--out", "out.jsonl"], { cwd: folder, stdin: group });
  expect(statSync(join(folder, "out.jsonl")).mode & 0o044).toBe(0o666 & ~process.umask() & 0o044);
});

it("an empty file in a folder is skipped", async () => {
  const { folder } = openFiles();
  for (const name of ["b.jsonl", "c.bin"]) writeFileSync(join(folder, name), "");
  const opened = await openInputs({ host: testHost(), files: [folder], maxUnpackedBytes: 2 ** 30 });
  for (const { bytes } of opened.sources) await bytes.close();
  const [a, b, c] = ["a.jsonl", "b.jsonl", "c.bin"].map((name) => join(folder, name));
  expect([opened.sources.map(({ name }) => name), [...opened.folders]]).toEqual([[a], [[a, folder]]]);
  expect(opened.skipped).toEqual([{ file: c, reason: "name" }, { file: b }]);
  expect(opened.problems.sorted()).toEqual([]);
});

it.each([
  ["ENOSPC", "with more space"],
  ["EDQUOT", "with more space"],
  ["EACCES", "that you can write to"],
])("temporary data that cannot be written because of %s needs a folder %s", (code, folder) => {
  const { details } = spoolFailed("/tmp", code, { subject: "x" });
  expect([details.hint, details.subject]).toEqual([
    expect.stringContaining(`set TMPDIR to a folder ${folder}, or`),
    "x",
  ]);
});

describe("the inputs of a command line", () => {
  const open = async (platform: NodeJS.Platform, names: readonly string[]) => {
    const { folder } = openFiles();
    const files = names.map((name) => join(folder, name));
    // A folder does not list hidden names.
    mkdirSync(join(folder, ".empty/.none"), { recursive: true });
    for (const name of [".e.jsonl", ".empty/e.jsonl"]) writeFileSync(join(folder, name), "");
    writeFileSync(join(folder, ".t.jsonl"), "A text.\nIt has two lines.\n");
    const host = { ...testHost(), platform };
    const { sources, problems, repeated } = await openInputs({
      ...{ host, files, maxUnpackedBytes: 2 ** 30 },
    });
    for (const { bytes } of sources) await bytes.close();
    const plain = (name: string) => name.replace(`${folder}/`, "");
    return [sources.map(({ name }) => plain(name)), problems.sorted().map(({ rule }) => rule), repeated.map(plain)];
  };

  it.each<[platform: NodeJS.Platform, names: string, opened: string, rules: string, repeated: string]>([
    ["win32", "*.jsonl", "a.jsonl b.jsonl", "", ""],
    ["linux", "*.jsonl", "", "glob-without-match", ""],
    ["win32", "x*", "", "glob-without-match", ""],
    ["linux", "b.jsonl .", "b.jsonl a.jsonl", "", "b.jsonl"],
    ["linux", ". b.jsonl", "a.jsonl b.jsonl", "", "b.jsonl"],
    ["linux", "a.jsonl none.jsonl b.jsonl", "a.jsonl b.jsonl", "file-not-found", ""],
    ["linux", "b.jsonl/none.jsonl b.jsonl/*", "", "file-not-found glob-without-match", ""],
    ["win32", "a.jsonl *.jsonl", "a.jsonl b.jsonl", "", "a.jsonl"],
    ["linux", "a.jsonl b.jsonl a.jsonl", "a.jsonl b.jsonl", "", "a.jsonl"],
    ["linux", ".e.jsonl b.jsonl", "b.jsonl", "input-empty", ""],
    ["linux", ".t.jsonl b.jsonl", "b.jsonl", "not-json", ""],
    ["linux", ".empty", "", "folder-without-rollouts", ""],
    ["linux", ".empty/.none", "", "folder-without-rollouts", ""],
    ["linux", "a.jsonl/b", "", "file-not-found", ""],
  ])("on %s are expanded and opened once: %s", async (platform, names, ...expected) => {
    expect(await open(platform, names.split(" "))).toEqual(expected.map((list) => list.split(" ").filter(Boolean)));
  });
});

describe("standard input", () => {
  const open = async (files: readonly string[], host = testHost({ stdin: "{}\n" })) => {
    const { sources } = await openInputs({ host, files, maxUnpackedBytes: 2 ** 30 });
    const heads = sources.map(({ name, bytes }) => `${name} ${readHead(bytes, 9)}`);
    for (const { bytes } of sources) await bytes.close();
    return heads;
  };

  it("is read by the name -, and without a file", async () => {
    const file = join(openFiles().folder, "a.jsonl");
    expect([await open(["-"]), await open([]), await open([file, "-"])]).toEqual([
      ...[["- {}\n"], ["- {}\n"]],
      [`${file} {}\n`, "- {}\n"],
    ]);
  });

  it("cannot be read twice, or from a terminal without its name", async () => {
    await expect(open(["-", "-"])).rejects.toHaveProperty("kind", "duplicate-stdin");
    const terminal = { stdin: true };
    await expect(open([], testHost({ stdin: "{}\n", terminal }))).rejects.toHaveProperty("kind", "input-missing");
    expect(await open(["-"], testHost({ stdin: "{}\n", terminal }))).toEqual(["- {}\n"]);
  });
});

it("a file is closed once, because the next file gets its descriptor", async () => {
  const { other } = openFiles();
  const close = createCloser(openSync(other, "r"));
  await close();
  const next = openSync(other, "r");
  await close();
  expect(fstatSync(next).size).toBe(3);
  closeSync(next);
});

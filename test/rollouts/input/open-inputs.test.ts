import { rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createChangeDetector, openInputs } from "../../../src/rollouts/input/open-inputs.ts";
import { openReopenedBytes } from "../../../src/rollouts/input/source.ts";
import { testHost } from "../../support/host.ts";
import { newFolder } from "../../support/inputs.ts";

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

describe("the inputs of a command line", () => {
  const open = async (platform: NodeJS.Platform, names: readonly string[]) => {
    const { folder } = openFiles();
    const files = names.map((name) => join(folder, name));
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
    ["win32", "a.jsonl *.jsonl", "a.jsonl b.jsonl", "", "a.jsonl"],
  ])("on %s are expanded and opened once: %s", async (platform, names, ...expected) => {
    expect(await open(platform, names.split(" "))).toEqual(expected.map((list) => list.split(" ").filter(Boolean)));
  });
});

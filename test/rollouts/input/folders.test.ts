import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { listFolder, skipByName } from "../../../src/rollouts/input/list-folder.ts";
import { expandGlob } from "../../../src/rollouts/input/open-inputs.ts";
import { warningRules } from "../../../src/rollouts/rules/rules.ts";
import { newFolder, read } from "../../support/inputs.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { archiveOf } from "../formats/archive.ts";

/** A folder with files of these texts. */
const folderOf = (files: Readonly<Record<string, string | Buffer>>): string => {
  const folder = newFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
};

const row = (id: number): string =>
  `${JSON.stringify({ example_id: id, prompt: "2+2?", completion: "4", answer: "4", reward: id })}\n`;

const group = `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"hi"},{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"yo"}}],"reward":1}]}\n`;

/** The files of the problems `skipped-file`, in sorted order. */
const skippedIn = (json: string): readonly string[] => {
  const { warnings, error } = JSON.parse(json);
  const problems: readonly { rule: string; file: string }[] = warnings ?? error.problems;
  return problems.flatMap(({ rule, file }) => (rule === "skipped-file" ? file : [])).sort();
};

const rewardsOf = (stdout: string): readonly number[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).trajectories[0].reward);

it.each(["a.bin name", "a.bin.gz name", "a.bin.zst name", "a.jsonl.xz compression", "a.jsonl.7z compression"])(
  "a skipped file has a reason: %s",
  (row) => {
    const [file = "", reason] = row.split(" ");
    expect(skipByName(file)).toEqual([{ file, reason }]);
  },
);

describe("an input file with several names", () => {
  it("is read once by check, convert and log, with a notice", async () => {
    const cwd = folderOf({ "a.jsonl": group, "r/b.jsonl": group.replace('"reward":1', '"reward":2') });
    symlinkSync("a.jsonl", join(cwd, "symbolic.jsonl"));
    linkSync(join(cwd, "a.jsonl"), join(cwd, "hard.jsonl"));
    const files = ["a.jsonl", "a.jsonl", "./a.jsonl", "symbolic.jsonl", "hard.jsonl", "r", "r/b.jsonl", "r"];
    const noted = "note: read 6 repeated files only once: a.jsonl, ./a.jsonl, symbolic.jsonl and 3 more";
    const checked = await runRollcall(["check", ...files], { cwd });
    expect([checked.code, checked.stderr]).toEqual([0, expect.stringContaining(noted)]);
    expect(checked.stderr).not.toContain("duplicate-trajectory");
    expect(checked.stdout).toContain("groups.read\t2\n");
    expect(rewardsOf((await runRollcall(["convert", ...files], { cwd })).stdout)).toEqual([1, 2]);
    const words = ["log", "m", "--split", "train", "--local", "--json", ...files];
    const logged = await runRollcall(words, { cwd, env: newHome() });
    expect(JSON.parse(logged.stdout)).toMatchObject({ groups: { read: 2, logged: 2 } });
  });

  it("gets its rejects file next to its first name", async () => {
    const cwd = folderOf({ "a.jsonl": `${group}{}\n` });
    symlinkSync("a.jsonl", join(cwd, "link.jsonl"));
    const words = ["log", "m", "--split", "train", "--local", "--on-invalid", "skip", "link.jsonl", "a.jsonl"];
    const { code, stderr } = await runRollcall(words, { cwd, env: newHome() });
    expect([code, stderr]).toEqual([7, expect.stringContaining("read 1 repeated file only once: a.jsonl")]);
    expect(readFileSync(join(cwd, "link.jsonl.rejected"), "utf8")).toBe("{}\n");
  });
});

describe("a folder as input", () => {
  it("is read with its subfolders in the order of names, without hidden files and links to its own files", async () => {
    const cwd = folderOf({
      "r/b/results.jsonl": row(3),
      "r/a/results.jsonl": row(2),
      "r/a.jsonl": row(1),
      "r/.x/a.jsonl": row(9),
    });
    symlinkSync("a.jsonl", join(cwd, "r/latest.jsonl"));
    const { code, stdout, stderr } = await runRollcall(["convert", "r", "r/a.jsonl"], { cwd });
    expect(stderr).toContain("3 files were read as results of verifiers v0");
    expect(rewardsOf(stdout)).toEqual([2, 3, 1]);
    expect(code).toBe(0);
  });

  it.for(["secret.jsonl", "r-old/a.jsonl"])("gives exit 3 and names a link to %s outside of it", async (target) => {
    const cwd = folderOf({ "r/a.jsonl": row(1), [target]: row(2) });
    symlinkSync(`../${target}`, join(cwd, "r/link.jsonl"));
    const { code, stderr } = await runRollcall(["check", "r"], { cwd });
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(
        /r\/link\.jsonl: cannot read the file: it is a link to a file outside of the folder .*\n.*pass the path of the file that the link leads to/,
      ),
    ]);
  });

  it("warns of each file without rollouts, except the companions of a format", async () => {
    const files = { "a.json": "{}", "b.json": '{"seed":1}', "c.jsonl": "", "d.json": "[1]", "e.json": "2" };
    const cwd = folderOf({ "r/results.jsonl": row(1), "r/metadata.json": '{"model":"m"}', ...named("r", files) });
    const skipped = Object.keys(files).map((name) => `r/${name}`);
    const convert = ["convert", "r", "--out", "made.jsonl", "--json"];
    const converted = await runRollcall(convert, { cwd });
    expect([converted.code, skippedIn(converted.stdout)]).toEqual([0, skipped]);
    const checked = await runRollcall(["check", "r", "--json"], { cwd });
    expect([checked.code, skippedIn(checked.stdout)]).toEqual([0, skipped]);
    const person = await runRollcall(["check", "r"], { cwd });
    expect(person.stderr).toContain("r/a.json: warning: found no rollout in this file, so rollcall skipped it");
    const allowed = await runRollcall(["check", "r", "--json", "--allow", "skipped-file"], { cwd });
    expect([allowed.code, skippedIn(allowed.stdout)]).toEqual([0, []]);
  });

  it("warns of the files in each part folder of a rollout without a result, once for a folder", async () => {
    const failed = '{"trial_name":"t","task_name":"x","exception_info":{"exception_type":"E"}}';
    const others = { "1/agent/a.json": "{}", "1/agent/b/c.json": "{}", "2/agent/b/d.json": "{}" };
    const complete = { "0/result.json": failed, "0/agent/b/e.json": "{}", "0/verifier/f.json": "{}" };
    const cwd = folderOf(named("j", { ...complete, ...others }));
    const { stdout } = await runRollcall(["check", "j", "--json"], { cwd });
    expect(skippedIn(stdout)).toEqual(["j/1/agent/a.json", "j/2/agent/b/d.json"]);
  });

  it("warns of compressed and empty files in log and ledger verify", async () => {
    const cwd = folderOf({
      "r/groups.jsonl": group,
      "r/a.jsonl.gz": gzipSync('{"loss":1}\n'),
      "r/empty.jsonl": "",
      "r/blank.jsonl": "\ufeff \n\n",
      "r/metadata.json": "{}",
    });
    const env = newHome();
    const skipped = ["r/a.jsonl.gz", "r/blank.jsonl", "r/empty.jsonl", "r/metadata.json"];
    const logged = await runRollcall(["log", "m", "r", "--local", "--split", "train", "--json"], { cwd, env });
    expect([logged.code, skippedIn(logged.stdout)]).toEqual([0, skipped]);
    const verified = await runRollcall(["ledger", "verify", "r", "--local", "--json"], { cwd, env });
    expect([verified.code, skippedIn(verified.stdout)]).toEqual([0, skipped]);
  });

  it("warns of each entry that could hold rollouts, except hidden files and files that certainly hold none", async () => {
    const others = [
      "a.jsonl.bz2",
      "b.jsonl.xz",
      "c.jsonl.1",
      "d.jsonl~",
      "e.JSON.BAK",
      "f.csv",
      "part-0",
      "g.pt",
      "h.tar.gz",
    ];
    const known = `md markdown rst adoc pdf htm html css scss tex bib doc docx ppt pptx odt rtf png jpg jpeg gif webp svg bmp
      ico tif tiff avif heic mp4 webm mov mkv avi mp3 wav flac ogg m4a ttf otf woff woff2 py pyi pyc ipynb js cjs mjsx ts mts
      tsx map sh bash zsh fish ps1 bat cmd rs go c h cc cpp hpp cu java kt rb pl php lua r sql wasm so yml yaml toml ini cfg
      conf env properties lock diff patch rejected cast safetensors gguf onnx md5 sha1 sha256 sig asc MD tfevents.1`;
    const names = "readme licence notice changelog authors makefile dockerfile gemfile procfile codeowners _SUCCESS";
    const packed = "lzma lz4 lz br sz snappy z 7z rar zip tar tgz tbz tbz2 txz"
      .split(" ")
      .map((name) => `z.jsonl.${name}`);
    others.push(...packed);
    const cwd = folderOf({
      ...named("r", Object.fromEntries(known.split(/\s+/).map((ending) => [`x.${ending}`, group]))),
      ...named("r", Object.fromEntries(names.split(" ").map((name) => [name, group]))),
      ...named("r", { "a.out": "text", "a.err": "text" }),
      "r/sub/A.JSONL": group,
      "r/b.Json": group.replace("hi", "b"),
      "r/.b.jsonl": group.replace("hi", "d"),
      "r/c.jsonl.GZ": gzipSync(group.replace("hi", "c")),
      "r/rows.txt": group,
      "r/a.log": "[12:00] started\n",
      ...named("r", { "README.md": "{}", "a.png": "{}", "a.py": "{}", LICENSE: "", ".a.bz2": "", "a.yaml": "a: 1" }),
      ...named("r", Object.fromEntries(others.map((name) => [name, group]))),
      "out/a.jsonl": group,
    });
    const links = {
      "gone.jsonl": "nothing.jsonl",
      outside: "../out",
      up: "..",
      inside: "sub",
      same: "sub/A.JSONL",
      "hidden.jsonl": ".b.jsonl",
    };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(cwd, "r", name));
    execFileSync("mkfifo", [join(cwd, "r/pipe.jsonl")]);
    const notUtf8 = Buffer.concat([Buffer.from(join(cwd, "r/x")), Buffer.from([0xff]), Buffer.from(".jsonl")]);
    writeFileSync(notUtf8, group);
    const { code, stdout } = await runRollcall(["check", "r", "--json"], { cwd });
    const expected = [...others, "rows.txt", "gone.jsonl", "outside", "up", "pipe.jsonl", "x\ufffd.jsonl"];
    expect([code, skippedIn(stdout)]).toEqual([0, expected.map((name) => `r/${name}`).sort()]);
    expect(JSON.parse(stdout).groups.read).toBe(4);
  });

  it("is listed in the order of paths, with a reason for each skipped entry", () => {
    const names = "b/z.json b/a.traj a.jsonl .hidden/c.json .d.json n.txt x.bin x.md y.json.xz".split(" ");
    const folder = folderOf(named("r", Object.fromEntries(names.map((name) => [name, group]))));
    writeFileSync(join(folder, "outside.json"), group);
    const links = {
      ...{ "to-listed.json": "b/z.json", "to-folder.bin": "b", "to-hidden.json": ".hidden/c.json" },
      ...{ "to-hidden-again.json": ".hidden/c.json", "to-outside.json": "../outside.json", "to-device": "/dev/null" },
      ...{ "to-nothing": "gone", "to-parent": "..", "to-text.bin": "n.txt", "to-hidden.log": ".d.json" },
    };
    for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder, "r", name));
    const plain = (path: string) => path.replace(`${folder}/r/`, "");
    const listed = listFolder(join(folder, "r"));
    expect(listed?.files.map(plain)).toEqual(["a.jsonl", "b/a.traj", "b/z.json", "to-hidden-again.json"]);
    expect(listed?.unreadable.map(({ file, code }) => `${plain(file)} ${code}`)).toEqual([
      "to-outside.json outside-folder",
    ]);
    expect(listed?.skipped.map(({ file, reason }) => `${plain(file)} ${reason}`).sort()).toEqual([
      ...["n.txt name", "to-device special", "to-hidden.log name", "to-nothing dangling", "to-parent outside"],
      ...["to-text.bin name", "x.bin name", "y.json.xz compression"],
    ]);
  });

  it.each(["-", "outside.json", "none"])("is not what %s names", (name) => {
    const folder = folderOf({ "outside.json": group });
    expect(listFolder(name === "-" ? name : join(folder, name))).toBe(undefined);
  });

  it.each([
    ["a.jsonl.bz2", "decompress the file"],
    ["a.gz", "rename the file"],
  ])("names the first entry that could hold rollouts, if it has no rollout file (%s)", async (name, advice) => {
    const cwd = folderOf({ [`r/${name}`]: "BZh" });
    const { code, stderr } = await runRollcall(["check", "r"], { cwd });
    expect([code, stderr]).toEqual([3, expect.stringContaining(`hint: r/${name}: ${advice}`)]);
  });

  it("is refused as a whole with --strict if it has a skipped file, unless the rule is allowed", async () => {
    const folder = join(folderOf({ "r/a.jsonl": group, "r/b.txt": group }), "r");
    const isRefused = async (strict: boolean, isAllowed: boolean) => {
      const allowed = new Set(warningRules.filter((rule) => isAllowed || rule !== "skipped-file"));
      return (await read([folder], { strictness: { strict, allowed } })).scan.problems.isInputBroken;
    };
    expect([await isRefused(false, false), await isRefused(true, false)]).toEqual([false, true]);
    expect(await isRefused(true, true)).toBe(false);
  });

  it("warns of the members of an archive that could hold rollouts", async () => {
    const log = JSON.parse(readFileSync("test/samples/formats/inspect-0.3.260.json", "utf8"));
    const { samples, ...header } = log;
    const member = (name: string, value: unknown) => ({ name, text: JSON.stringify(value) });
    const others = ["samples/1.json", "samples/1_epoch_1.json.bz2", "more.jsonl"];
    const archive = archiveOf([
      member("header.json", header),
      member("_journal/start.json", {}),
      member("summaries.json", []),
      member("README.md", ""),
      ...others.map((name) => member(name, {})),
      member("samples/1_epoch_1.json", samples[0]),
    ]);
    const cwd = folderOf({ "a.eval": archive });
    const scorer = Object.keys(samples[0].scores)[0] ?? "";
    const words = ["check", "a.eval", "--json", "--reward-from", `scores.${scorer}.value`];
    const { stdout, stderr } = await runRollcall(words, { cwd });
    expect(skippedIn(stdout || stderr)).toEqual(others.map((name) => `a.eval!${name}`).sort());
  });

  it("gives an error, and skips no file, if a file with the name of a format has an unknown row", async () => {
    // On Windows, `\` separates the folders of a path.
    const names = ["b/results.jsonl", "b\\results.jsonl", "b.results.jsonl"];
    for (const name of names) {
      const cwd = folderOf({ "r/results.jsonl": row(1), [`r/${name}`]: '{"example_id":2,"reward":1}' });
      const { code, stderr } = await runRollcall(["check", "r"], { cwd });
      expect([code, stderr]).toEqual([
        3,
        expect.stringContaining(`r/${name}:1: cannot convert this verifiers-v0 record`),
      ]);
    }
  });

  it("gives an error with the expected extensions if it has no rollouts", async () => {
    const cwd = folderOf({ "empty/notes.txt": "", "others/a.json": "{}", "others/b.json": "{}", "own/a.jsonl": group });
    const { code, stderr } = await runRollcall(["check", "empty", "others", "own"], { cwd });
    expect(stderr).toContain(
      "empty: error: this folder contains no .jsonl, .ndjson, .json, .eval, .traj or .parquet file",
    );
    expect(stderr).toMatch(/`rollcall check others\/a\.json`/);
    expect(stderr).toMatch(/others: error: no file in this folder contains rollouts/);
    expect(code).toBe(3);
  });

  it("gives an error, and logs nothing, if all its files are empty or without rollouts", async () => {
    const cwd = folderOf({ "bare/a.jsonl": "", "mixed/a.jsonl": "", "mixed/b.json": "{}" });
    for (const folder of ["bare", "mixed"]) {
      const told = `${folder}: no file in this folder contains rollouts [folder-without-rollouts]`;
      for (const args of [["check"], ["log", "m", "--local", "--split", "train"], ["convert", "--out", "made.jsonl"]]) {
        const { code, stderr } = await runRollcall([...args, folder, "--json"], { cwd });
        expect([code, JSON.parse(stderr).error.message]).toEqual([3, told]);
      }
    }
  });

  it("is read with each file in its own format, or only the files of one format", async () => {
    const other = `${JSON.stringify({
      messages: [
        { role: "user", content: "q" },
        { role: "assistant", content: "a" },
      ],
      reward: 5,
    })}\n`;
    const cwd = folderOf({ "r/results.jsonl": row(7), "r/groups.jsonl": group, "r/chats.jsonl": other });
    const all = await runRollcall(["convert", "r"], { cwd });
    expect([all.code, rewardsOf(all.stdout)]).toEqual([0, [5, 7, 1]]);
    expect(all.stderr.replaceAll(/\s+/g, " ")).toMatch(
      /1 file was read as rows of chat messages.* 1 file was read as results of verifiers v0/,
    );
    const written = await runRollcall(["convert", "r", "--out", "out", "--json", "--fields", "format"], { cwd });
    expect(JSON.parse(written.stdout)).toEqual({ format: "openai-chat, verifiers-v0" });
    for (const [from, reward] of [
      ["verifiers-v0", 7],
      ["rollcall", 1],
    ] as const) {
      const only = folderOf({ "r/results.jsonl": row(7), "r/groups.jsonl": group });
      expect(rewardsOf((await runRollcall(["convert", "r", "--from", from], { cwd: only })).stdout)).toEqual([reward]);
    }
  });

  it("gives an error if one of its files cannot be read, for any content of the other files", async () => {
    const parquet = readFileSync("test/samples/formats/art-v2.airline.parquet");
    const cwd = folderOf({
      "lines/a.jsonl": row(1),
      "lines/half.jsonl": row(2).slice(0, 40),
      "own/a.jsonl": group,
      "own/half.jsonl": group.slice(0, 40),
      "half/a.jsonl": group.slice(0, 40),
      "rows/a.parquet": parquet,
      "rows/b.parquet": parquet.subarray(0, 20_000),
    });
    const told = async (folder: string) => {
      const { code, stderr } = await runRollcall(["check", folder], { cwd });
      return [code, ...stderr.split("\n").filter((line) => /^rollcall|no rollouts/.test(line))];
    };
    expect(await told("lines")).toEqual([3, expect.stringMatching(/lines\/half.jsonl:1:41: .* \[json-truncated\]/)]);
    expect(await told("own")).toEqual([3, expect.stringMatching(/own\/half.jsonl:1:41: .* \[json-truncated\]/)]);
    expect(await told("half")).toEqual([3, expect.stringMatching(/half\/a.jsonl:1:41: .* \[json-truncated\]/)]);
    expect(await told("rows")).toEqual([3, expect.stringMatching(/rows\/b.parquet: .* it is cut off or damaged/)]);
    const words = ["log", "m", "rows", "--split", "train", "--local", "--on-invalid", "skip", "--json"];
    const logged = await runRollcall(words, { cwd, env: newHome() });
    expect([logged.code, JSON.parse(logged.stdout).groups]).toMatchObject([7, { read: 5, logged: 4, rejected: 1 }]);
    expect(JSON.parse(logged.stderr.trim().split("\n").at(-1) ?? "").error).toMatchObject({
      message: "1 unreadable record rejected (the rejects file is empty), 4 groups logged",
      next: `rollcall ${words.join(" ")}`,
    });
  });
});

describe("a glob that rollcall expands", () => {
  it.each([
    ["*.jsonl", ["A.JSONL", "a.jsonl", "b+(1).jsonl"]],
    ["?.jsonl", ["A.JSONL", "a.jsonl"]],
    ["b+(1).*", ["b+(1).jsonl"]],
    ["**/*.jsonl", ["A.JSONL", "a.jsonl", "b+(1).jsonl", "sub/a.jsonl", "sub/deep/c.jsonl"]],
    ["sub/**/c.jsonl", ["sub/deep/c.jsonl"]],
    ["s?b\\*", ["sub/a.jsonl"]],
    [".*", [".hidden.jsonl"]],
    ["none/*", []],
  ])("ignores case, and matches hidden names only after a dot (row %$)", (glob, names) => {
    const paths = ["A.JSONL", "a.jsonl", "b+(1).jsonl", ".hidden.jsonl", "sub/a.jsonl", "sub/deep/c.jsonl"];
    const folder = folderOf(named(".", Object.fromEntries([...paths, ".h/d.jsonl"].map((path) => [path, group]))));
    expect(expandGlob(`${folder}/${glob}`)).toEqual(names.map((name) => `${folder}/${name}`));
  });
});

const named = (folder: string, files: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, text]));

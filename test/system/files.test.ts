import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as files from "../../src/system/files.ts";
import { testHost } from "../support/host.ts";
import { newFolder } from "../support/inputs.ts";

/** Returns the path of a new file, or of a missing file if `content` is undefined. */
const newFile = (content?: string, mode = 0o600) => {
  const path = join(newFolder(), "file");
  if (content !== undefined) fs.writeFileSync(path, content);
  if (content !== undefined) fs.chmodSync(path, mode);
  return path;
};

const failureOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
};

const modeOf = (path: string) => fs.statSync(path).mode & 0o777;

describe("requireSafeOwnership", () => {
  it("refuses a folder that other users can write to, also behind a link, unless the folder is sticky", () => {
    const folder = fs.realpathSync(newFolder());
    const open = join(folder, "open");
    const link = join(folder, "link");
    fs.mkdirSync(open);
    fs.symlinkSync("open", link);
    const refusedAt = (mode: number) => {
      fs.chmodSync(open, mode);
      return ["open", "open/new/file", "link/file"].map((name) =>
        failureOf(() => files.requireSafeOwnership(join(folder, name))),
      );
    };
    expect([0o755, 0o1777].flatMap(refusedAt)).toEqual(Array(6).fill(undefined));
    const refused = (path: string) => ({
      code: "storage",
      kind: "unsafe-ownership",
      message: `other users can write to ${open} (mode 0757) and could replace ${path}`,
      details: {
        hint: `deny them access: \`chmod go-w ${open}\`, or choose another location with ROLLCALL_CONFIG_DIR, ROLLCALL_DATA_DIR or --ledger`,
        where: { file: open },
      },
    });
    expect(refusedAt(0o757)).toMatchObject([open, join(open, "new/file"), join(link, "file")].map(refused));
    fs.symlinkSync("loop", join(folder, "loop"));
    expect(failureOf(() => files.requireSafeOwnership(join(folder, "loop")))).toBe(undefined);
    // A group with the id of the owner has no other member.
    const { uid, gid } = fs.statSync(open);
    expect(refusedAt(0o775).every((failure) => failure === undefined)).toBe(uid === gid);
  });
});

describe.skipIf(process.getuid?.() !== 0)("a file of another user, for root", () => {
  it("is not used, nor a file in a folder of another user or its group", () => {
    const folder = fs.realpathSync(newFolder());
    const path = join(folder, "file");
    const refusal = (uid: number, gid: number, of: string) => {
      fs.chownSync(folder, uid, gid);
      return failureOf(() => files.requireSafeOwnership(of));
    };
    const message = `${folder} belongs to another user (uid 4242)`;
    const hint = expect.stringMatching(/^run rollcall as user 4242, or choose/);
    expect(refusal(4242, 4242, folder)).toMatchObject({ message, details: { hint } });
    const inside = `${message}, so rollcall does not use ${path}`;
    expect(refusal(4242, 4242, path)).toMatchObject({ message: inside, details: { hint } });
    fs.chmodSync(folder, 0o720);
    expect(refusal(0, 4242, path)).toMatchObject({ kind: "unsafe-ownership" });
    expect(refusal(0, 0, path)).toBe(undefined);
  });

  it("stays the file of its owner when root replaces it", () => {
    const path = newFile("before");
    fs.chownSync(path, 4242, 4243);
    files.writeFileAtomically(path, ["after"]);
    expect(fs.statSync(path)).toMatchObject({ uid: 4242, gid: 4243 });
  });
});

describe("a draft", () => {
  it("replaces the file only when it is committed, and keeps the link that names the file", () => {
    const path = newFile("before", 0o644);
    const link = `${path}.link`;
    fs.symlinkSync("file", link);
    const draft = files.openDraft(link);
    expect(draft.path).toMatch(/\/file\.[0-9a-f]{8}\.draft$/);
    draft.write("after");
    expect([fs.readFileSync(path, "utf8"), fs.readFileSync(draft.path, "utf8")]).toEqual(["before", "after"]);
    draft.commit();
    draft.discard();
    expect([fs.readFileSync(link, "utf8"), fs.readlinkSync(link), modeOf(path)]).toEqual(["after", "file", 0o600]);
    expect(fs.readdirSync(join(path, "..")).sort()).toEqual(["file", "file.link"]);
  });

  it("writes the missing file that a link names", () => {
    const path = newFile();
    const link = `${path}.link`;
    fs.symlinkSync("file", link);
    files.writeFileAtomically(link, ["new"]);
    expect([fs.readFileSync(path, "utf8"), fs.readlinkSync(link)]).toEqual(["new", "file"]);
  });

  it("leaves nothing if it is discarded, or if a piece fails", () => {
    const path = newFile();
    files.openDraft(path).discard();
    const pieces = function* () {
      yield "a";
      throw new Error("stop");
    };
    expect(() => files.writeFileAtomically(path, pieces())).toThrow("stop");
    expect(fs.readdirSync(join(path, ".."))).toEqual([]);
    files.writeFileAtomically(path, ["a", Buffer.from("b")], 0o700);
    expect([fs.readFileSync(path, "utf8"), modeOf(path)]).toEqual(["ab", 0o700]);
  });

  it("is removed by a later run if it is old", () => {
    const path = newFile();
    const names = ["file.0123abcd.draft", "file.0123abcd.drafts", "file.0123abc.draft", "othe.0123abcd.draft", "file"];
    for (const name of names) fs.writeFileSync(join(path, "..", name), "");
    files.removeDrafts(path, 0);
    expect(fs.readdirSync(join(path, ".."))).toHaveLength(5);
    files.removeDrafts(path, Number.POSITIVE_INFINITY);
    expect(fs.readdirSync(join(path, "..")).sort()).toEqual(names.slice(1).sort());
  });
});

describe("an output file", () => {
  const save = async (file: string, formatMark?: (text: string) => string) =>
    await files.saveOutput(
      { file, pieces: ["é\n", Buffer.from("b\n")], mode: 0o700, ...(formatMark && { formatMark }) },
      testHost(),
    );

  it("is new, empty, or unchanged since rollcall wrote it", async () => {
    const marked = newFile();
    expect(await save(marked, (text) => `<!-- ${text} -->\n`)).toBe(42);
    expect(fs.readFileSync(marked, "utf8")).toMatch(/^é\nb\n<!-- rollcall: checksum [0-9a-f]{8} -->\n$/);
    expect(modeOf(marked)).toBe(0o700);
    const unmarked = newFile("");
    expect(await save(unmarked)).toBe(5);
    expect([newFile(), newFile(""), marked].map(files.requireOutputFile)).toEqual(Array(3).fill(undefined));
    const exists = (path: string) => ({
      ...{ code: "usage", kind: "output-exists", message: `${path} already exists` },
      details: { hint: "choose another file, or move this one away" },
    });
    expect(failureOf(() => files.requireOutputFile(unmarked))).toMatchObject(exists(unmarked));
    fs.writeFileSync(marked, fs.readFileSync(marked, "utf8").replace("b", "c"));
    expect(failureOf(() => files.requireOutputFile(marked))).toMatchObject(exists(marked));
  });

  it("needs a folder, and cannot be a folder", () => {
    const folder = newFolder();
    const missing = join(folder, "a b", "out");
    const unwritable = { code: "storage", kind: "output-unwritable" };
    expect(failureOf(() => files.requireOutputFile(missing))).toMatchObject({
      ...{ ...unwritable, message: `cannot write ${missing}: its folder does not exist` },
      details: { hint: `make the folder: \`mkdir -p '${folder}/a b'\`, or choose another file` },
    });
    expect(failureOf(() => files.requireOutputFile(folder))).toMatchObject({
      ...{ ...unwritable, message: `cannot write ${folder}: it is a folder` },
      details: { hint: "choose another file" },
    });
  });

  it("can be a pipe, which waits for a reader until a signal", async () => {
    const file = newFile();
    execFileSync("mkfifo", [file]);
    const output = { file, pieces: ["a", "b"], mode: 0o600 };
    let reader: Promise<string> | undefined;
    const sleep = async () => {
      reader ??= text(fs.createReadStream(file));
      await setImmediate();
    };
    await files.saveOutput(output, { ...testHost(), sleep });
    expect(await reader).toBe("ab");
    const stop = new AbortController();
    const host = { signal: stop.signal, sleep: async () => stop.abort(new Error("stop")) };
    await expect(files.saveOutput(output, host)).rejects.toThrow("stop");
  });

  it("is found to be creatable without a change", () => {
    const folder = newFolder();
    fs.symlinkSync("away", join(folder, "link"));
    fs.mkdirSync(join(folder, "own"));
    fs.symlinkSync("own/away", join(folder, "deep"));
    for (const name of ["a/b/c", "a", "link", "deep"]) files.requireCreatable(join(folder, name));
    expect(fs.readdirSync(folder)).toEqual(["deep", "link", "own"]);
    expect(failureOf(() => files.requireCreatable(join(folder, "link/b")))).toMatchObject({ code: "ENOENT" });
    const inFile = join(newFile(""), "b");
    expect(failureOf(() => files.requireCreatable(inFile))).toMatchObject({ code: "ENOTDIR" });
  });
});

it("explainUnwritable says how to write the file, or another one", () => {
  const explain = (code: string) => files.explainUnwritable("a b/c", code, "choose another");
  const full = { reason: "the disk is full", hint: "free disk space, or choose another" };
  expect([explain("ENOSPC"), explain("EDQUOT")]).toEqual([full, { ...full, reason: "the disk quota is exceeded" }]);
  expect([explain("EACCES"), explain("ENOENT")]).toEqual([
    { reason: "permission denied", hint: "choose another" },
    { reason: "its folder does not exist", hint: "make the folder: `mkdir -p 'a b'`, or choose another" },
  ]);
});

it("checkFileMode warns if other users have access, and checkDatabaseMode only if there is content", () => {
  const paths = [0o600, 0o700, 0o640, 0o604].map((mode) => newFile("a", mode));
  const warnings = paths.map((path) => files.checkFileMode(path, "600"));
  expect(warnings.map((one) => one?.message.replace(/ \/.*file /, " it "))).toEqual([
    ...[undefined, undefined, "other users can access it (mode 0640)", "other users can access it (mode 0604)"],
  ]);
  const [, , path = ""] = paths;
  expect(warnings[2]).toMatchObject({ file: path, rule: "insecure-permissions", advice: `chmod 600 ${path}` });
  const warned: unknown[] = [];
  for (const one of [path, newFile("", 0o644), newFile()])
    files.checkDatabaseMode(one, ({ file }) => warned.push(file));
  expect([warned, [path, newFile(""), newFolder()].map(files.hasContent)]).toEqual([[path], [true, false, false]]);
});

it("readUpTo reads a file or a stream up to its limit", async () => {
  const path = newFile("12345");
  const read = async (from: Parameters<typeof files.readUpTo>[0], max: number) =>
    (await files.readUpTo(from, max, testHost(), (code) => new Error(code)))?.toString();
  expect([await read(path, 5), await read(path, 4), await read(newFile(""), 0)]).toEqual(["12345", undefined, ""]);
  expect([await read(testHost({ stdin: "ab" }).stdin, 2), await read(testHost({ stdin: "abc" }).stdin, 2)]).toEqual([
    ...["ab", undefined],
  ]);
  await expect(read(newFile(), 5)).rejects.toThrow("ENOENT");
  await expect(read(newFolder(), 5)).rejects.toThrow("EISDIR");
  const signal = AbortSignal.abort(new Error("stop"));
  await expect(files.readUpTo(path, 5, { ...testHost(), signal })).rejects.toThrow("stop");
});

it("makeFolder makes folders that only the user can enter, and readRegularFile reads no device", () => {
  const folder = join(newFolder(), "a");
  for (let run = 0; run < 2; run++) files.makeFolder(join(folder, "b"));
  expect([modeOf(folder), modeOf(join(folder, "b"))]).toEqual([0o700, 0o700]);
  expect(() => files.makeFolder(join(newFile(""), "b"))).toThrow("ENOTDIR");
  expect(files.readRegularFile(newFile("a")).toString()).toBe("a");
  expect(["/dev/null", folder].map((path) => failureOf(() => files.readRegularFile(path)))).toMatchObject([
    ...[{ code: "not-a-file" }, { code: "EISDIR" }],
  ]);
});

it("identifyFile returns the same text for all names of a file, and none for a folder", () => {
  const path = newFile("");
  fs.symlinkSync("file", `${path}.link`);
  fs.linkSync(path, `${path}.other`);
  const ids = [path, `${path}.link`, `${path}.other`].map(files.identifyFile);
  expect([new Set(ids).size, ids[0] === undefined]).toEqual([1, false]);
  expect(files.identifyFile(newFile(""))).not.toBe(ids[0]);
  expect(files.identifyFile(join(path, "../new"))).toBe(join(fs.realpathSync(join(path, "..")), "new"));
  expect(files.identifyFile(join(path, ".."))).toBe(undefined);
});

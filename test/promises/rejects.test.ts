import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { groupOf, linesOf, openPlace, reasonsOf } from "./place.ts";

const skip = ["--on-invalid", "skip"];
const bad = (name: string) => `{"trajectories":[{"messages_and_choices":[],"reward":"${name}"}]}`;
const loose = (name: string) => `{"messages_and_choices":[],"reward":"${name}"}`;
const flat = (id: string, reward: unknown) =>
  `{"messages_and_choices":[],"reward":${JSON.stringify(reward)},"group_id":"${id}"}`;

describe("--on-invalid skip", () => {
  it("rejects a group with a secret with --strict", async (context) => {
    const { service, place } = await openPlace(context);
    const secret = JSON.stringify({
      role: "assistant",
      content: "sk-ant-api03-4kXq9TzR7mWv2LbNc8Yd5HfJ6Gs1PaQe0Ui3Oo",
    });
    const others = "--allow single-trajectory-group --allow no-assistant-turn --allow no-sampled-turns";
    const group = `{"trajectories":[{"messages_and_choices":[${secret}],"reward":1}]}`;
    const file = place.write("secret.jsonl", linesOf(groupOf(1), group));
    const { code, document } = await place.log([file, ...skip, "--strict", ...others.split(" ")]);
    expect([code, document?.groups.rejected]).toEqual([7, 1]);
    expect(service.logged).toEqual([1]);
  });

  it.for([
    ["lines with CRLF", `${groupOf(1)}\r\n${bad("a")}\r\n${groupOf(2)}\r\n`, `${bad("a")}\r\n`],
    ["a last line without an end", `${groupOf(1)}\n${groupOf(2)}\n${bad("a")}`, bad("a")],
    [
      "a last line without an end before another file",
      [`${bad("a")}`, `${bad("b")}\n${groupOf(1)}\n${groupOf(2)}`],
      `${bad("a")}\n${bad("b")}\n`,
    ],
    [
      "trajectories without a group_id of several files",
      [`${loose("a")}\n`, `${loose("b")}\n${groupOf(1)}\n${groupOf(2)}\n`],
      `${loose("a")}\n${loose("b")}\n`,
    ],
    ["a line after a byte order mark", `\ufeff${bad("a")}\n${groupOf(1)}\n${groupOf(2)}\n`, `\ufeff${bad("a")}\n`],
    [
      "a line of a joined file with a byte order mark",
      `${groupOf(1)}\n\ufeff ${bad("a")} \r\n${groupOf(2)}\n`,
      `\ufeff ${bad("a")} \r\n`,
    ],
    ["a document that goes on after a byte order mark", ["{\n\ufeff", `${groupOf(1)}\n${groupOf(2)}\n`], "{\n\ufeff"],
    ["a line between spaces", `${groupOf(1)}\n \t ${bad("a")} \t\r\n\r\n${groupOf(2)}\n`, ` \t ${bad("a")} \t\r\n`],
    ["a line that is not JSON", `${groupOf(1)}\n{"traj\n\u00e9{\n${groupOf(2)}\n`, '{"traj\n\u00e9{\n'],
    ["a cut-off last line", `${groupOf(1)}\n${groupOf(2)}\n{"trajectories":[{"mess`, '{"trajectories":[{"mess'],
    [
      "all lines of a group",
      `${flat("a", 1)}\n${flat("b", 3)}\n${flat("b", "x")}\r\n${flat("b", 4)}\n${flat("c", 2)}\n`,
      `${flat("b", 3)}\n${flat("b", "x")}\r\n${flat("b", 4)}\n`,
    ],
    ["elements of an array", `[${groupOf(1)}, ${bad("a")} ,\n${groupOf(2)}]`, `${bad("a")}\n`],
    [
      "groups of a request",
      `{"split":"train","trajectory_groups":[${groupOf(1)},${bad("a")},${groupOf(2)}]}`,
      `${bad("a")}\n`,
    ],
    [
      "groups and the other keys of a request",
      `{"run":"r","trajectory_groups":[${groupOf(1)},${bad("a")},${groupOf(2)},${bad("c")}],"split":"train","n":[\n1]}`,
      linesOf(
        ...[bad("a"), bad("c")].map((one) => `{"split":"train","trajectory_groups":[${one}],"run":"r","n":[ 1]}`),
      ),
    ],
  ] as const)("copies %s byte for byte, and sends the other groups", async ([, given, rejected], context) => {
    const { service, place } = await openPlace(context);
    const contents: readonly string[] = typeof given === "string" ? [given] : given;
    const files = contents.map((content, at) => place.write(`${at}.jsonl`, content));
    const file = `${files[0]}.rejected`;
    const count = contents.join("").includes('"b"') && contents.length === 1 ? 1 : rejected.trim().split("\n").length;
    const { code, error, document, stderr } = await place.log([...files, ...skip]);
    expect([code, error?.code, error?.cause, error?.retryable], stderr).toEqual([7, "partial", "invalid_input", false]);
    expect(document).toMatchObject({ status: "partial", rejects_file: file, groups: { logged: 2, rejected: count } });
    expect(readFileSync(file, "utf8")).toBe(rejected);
    expect([...service.logged].sort()).toEqual([1, 2]);
    const again = await place.log([...files, ...skip]);
    expect([again.code, again.document?.groups.already_logged, service.requests()]).toEqual([7, 2, 1]);
    expect(readFileSync(file, "utf8")).toBe(rejected);
    for (const reason of reasonsOf(file)) {
      expect(reason.rejects_line).toBeGreaterThan(0);
      expect(reason.line).toBeGreaterThan(0);
    }
  });

  it("has a next command for a model id and a file that begin with a hyphen", async (context) => {
    const { place } = await openPlace(context, { inFolder: true });
    place.write("-a.jsonl", linesOf(groupOf(1), bad("a")));
    const { stderr } = await place.run(["log", "--split", "train", ...skip, "--json", "--", "-m", "-a.jsonl"]);
    expect(JSON.parse(stderr).error.next).toMatch(/^\S+ log --split train -- -m \.\/-a\.jsonl\.rejected$/);
  });

  it("records the line of each invalid record of a converted group", async (context) => {
    const { service, place } = await openPlace(context);
    const rowOf = (prompt: string, reward: unknown) => JSON.stringify({ prompt, completion: "a", reward });
    const rejected = [rowOf("b", 2), rowOf("b", "x"), rowOf("b", "y")];
    const file = place.write("a.jsonl", linesOf(rowOf("a", 1), ...rejected, rowOf("c", 3)));
    await place.log([file, ...skip]);
    expect(service.logged).toEqual([1, 3]);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(linesOf(...rejected));
    expect(reasonsOf(`${file}.rejected`)).toMatchObject([
      { file, line: 3, rejects_line: 2 },
      { file, line: 4, rejects_line: 3 },
    ]);
  });

  it("records each rejected element of a pretty-printed array as one line, so that the repaired lines are read", async (context) => {
    const { service, place } = await openPlace(context);
    const groups = [groupOf(1), bad("3"), groupOf(2), bad("4")].map((group) => JSON.parse(group));
    const file = place.write("a.json", JSON.stringify(groups, null, 2));
    await place.log([file, ...skip, "--rejects", place.path("r")]);
    const reasons = reasonsOf(place.path("r"));
    expect(reasons.map(({ rule, line, rejects_line }) => [rule, line, rejects_line])).toEqual([
      ["wrong-type", 14, 1],
      ["wrong-type", 30, 2],
    ]);
    writeFileSync(place.path("r"), readFileSync(place.path("r"), "utf8").replaceAll(/"(\d)"/g, "$1"));
    await place.log([place.path("r")]);
    expect(service.logged).toEqual([1, 2, 3, 4]);
  });

  it("records problems that depend on earlier lines", async (context) => {
    const { place } = await openPlace(context);
    const count = 1100;
    const lines = Array.from({ length: count }, (_, at) => [flat("a", at), flat(`b${at}`, at)]).flat();
    const { code, document } = await place.log([place.write("a.jsonl", linesOf(...lines)), ...skip]);
    expect([code, document?.groups]).toMatchObject([7, { logged: count, rejected: 1 }]);
    const scattered = reasonsOf(place.path("a.jsonl.rejected")).filter(({ rule }) => rule === "group-scattered");
    const expected = Array.from({ length: count - 1 }, (_, at) => [2 * at + 3, at + 2]);
    expect(scattered.map(({ line, rejects_line }) => [line, rejects_line])).toEqual(expected);
  });

  it("records reasons for each of 100,500 lines, with details for 100,000 lines of a rule", {
    tags: "slow",
  }, async (context) => {
    const { place } = await openPlace(context);
    const lines = Array.from({ length: 100_500 }, (_, at) => bad(`${at}`));
    const file = place.write("a.jsonl", linesOf(groupOf(1), ...lines));
    const { document, code } = await place.log([file, ...skip]);
    expect([code, document?.groups.rejected]).toEqual([7, lines.length]);
    expect(readFileSync(`${file}.rejected`, "utf8") === linesOf(...lines)).toBe(true);
    const reasons = reasonsOf(`${file}.rejected`);
    expect(reasons.map(({ rejects_line }) => rejects_line)).toEqual(lines.map((_, at) => at + 1));
    expect([1, 99_999].map((at) => reasons[at]?.advice)).toEqual([1, 99_999].map((at) => `write ${at} without quotes`));
    expect(reasons.slice(100_000).every(({ rule }) => rule === "group-not-logged")).toBe(true);
  });

  it("separates groups of several files with equal numbers", async (context) => {
    const { place } = await openPlace(context);
    const files = ["x", "y", "z"].map((name, at) =>
      place.write(`${at}.jsonl`, linesOf(flat("a", at), flat("b", name), flat("b", 10 + at))),
    );
    const { document, error } = await place.log([...files, ...skip]);
    expect(document?.groups).toMatchObject({ logged: 3, rejected: 3 });
    // rollcall made groups of the lines of two files.
    expect(error?.next).toMatch(/ --allow mixed-shapes$/);
    const rejects = `${files[0]}.rejected`;
    expect(reasonsOf(rejects).map(({ rejects_line }) => rejects_line)).toEqual([1, 3, 4]);
    writeFileSync(rejects, readFileSync(rejects, "utf8").replaceAll(/"[xyz]"/g, "7"));
    expect((await place.log([rejects])).document?.groups).toMatchObject({ read: 3, logged: 3 });
  });

  it.for([
    ["all groups with --group-by", ["a", "b", "c", "a"], ["--group-by", "group_id"], 0],
    ["the group before it without --group-by", ["a", "b", "c", "c"], [], 2],
  ] as const)("rejects, for a last line that is cut off, %s", async ([, ids, words, logged], context) => {
    const { service, place } = await openPlace(context, { inFolder: true });
    const lines = ids.map((id, at) => flat(id, at));
    const log = async () => await place.log(["a.jsonl", ...words, ...skip]);
    place.write("a.jsonl", [...lines.slice(0, -1), lines.at(-1)?.slice(0, 30)].join("\n"));
    const { code, document } = await log();
    expect([code, document?.groups.logged ?? 0, service.logged.length]).toEqual([logged === 0 ? 3 : 7, logged, logged]);
    place.write("a.jsonl", lines.join("\n"));
    expect((await log()).document?.groups).toMatchObject({ logged: 3 - logged, already_logged: logged });
    expect(service.logged.toSorted()).toEqual([0, 1, 2]);
  });

  it("is completed by logging the corrected rejects file", async (context) => {
    const { service, place } = await openPlace(context);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("3"), groupOf(2)));
    expect((await place.log([file, ...skip])).code).toBe(7);
    const rejects = `${file}.rejected`;
    writeFileSync(rejects, readFileSync(rejects, "utf8").replace('"3"', "3"));
    const mended = await place.log([rejects]);
    expect([mended.code, mended.document?.groups.logged, service.logged]).toEqual([0, 1, [1, 2, 3]]);
    expect((await place.run(["ledger", "verify", rejects])).code).toBe(0);
    expect((await place.log([file])).code).toBe(3);
    // rollcall does not overwrite an edited file.
    const again = await place.log([file, ...skip]);
    expect([again.code, again.error?.code, service.requests()]).toEqual([2, "usage", 2]);
    expect(readFileSync(rejects, "utf8")).toBe(`${groupOf(3)}\n`);
  });

  it("exits with 2 and sends nothing if another program wrote the rejects file", async (context) => {
    const { service, place } = await openPlace(context);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    for (const name of ["mine", "mine.reasons"]) {
      place.write(name, "mine");
      const rejects = place.path("mine");
      const { code, error } = await place.log([file, ...skip, "--rejects", rejects]);
      expect([code, error?.code, service.requests()]).toEqual([2, "usage", 0]);
      expect(error?.message).toMatch(`${place.path(name)} already exists. `);
      expect(readFileSync(place.path(name), "utf8")).toBe("mine");
      writeFileSync(rejects, "");
    }
  });

  it.for([
    ["a folder", ".", 2],
    ["in a missing folder", "none/r", 11],
  ] as const)("sends nothing if the rejects file is %s", async ([, name, code], context) => {
    const { service, place } = await openPlace(context);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    const ended = await place.log([file, ...skip, "--rejects", place.path(name)]);
    expect([ended.code, service.requests()]).toEqual([code, 0]);
  });

  it("changes no other files, and overwrites its own files after a kill", async (context) => {
    const { place } = await openPlace(context);
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    place.write("a.jsonl.rejected.new", "half");
    const { code, document } = await place.log([file, ...skip]);
    expect([code, document?.rejects_file]).toEqual([7, `${file}.rejected`]);
    expect(readFileSync(place.path("a.jsonl.rejected.new"), "utf8")).toBe("half");
    const rejectAgain = async (name: string) => {
      writeFileSync(file, linesOf(groupOf(1), bad(name)));
      expect((await place.log([file, ...skip])).code).toBe(7);
      expect(readFileSync(`${file}.rejected`, "utf8")).toBe(`${bad(name)}\n`);
    };
    await rejectAgain("b");
    // As after a kill between the two files.
    place.write("a.jsonl.rejected", `${bad("a")}\n`);
    await rejectAgain("c");
    rmSync(`${file}.rejected`);
    await rejectAgain("d");
    const reasons = readFileSync(`${file}.rejected.reasons`, "utf8");
    place.write("a.jsonl.rejected.reasons", reasons.replace("reward", "rewards"));
    expect((await place.log([file, ...skip])).code).toBe(2);
    // The same lines may be written again.
    place.write("a.jsonl.rejected.reasons", "");
    await rejectAgain("d");
    place.write("a.jsonl.rejected.reasons", "");
    writeFileSync(file, linesOf(groupOf(1), bad("e")));
    expect((await place.log([file, ...skip])).code).toBe(2);
  });

  it("writes rejects of standard input to files that only their owner can read, and nothing in a dry run", async (context) => {
    const { place } = await openPlace(context);
    const rejects = place.path("r");
    const log = async (...args: readonly string[]) =>
      await place.log([...skip, "--rejects", rejects, ...args], { stdin: linesOf(groupOf(1), bad("a")) });
    const { code, document } = await log("--dry-run");
    expect([code, document?.groups.rejected, existsSync(rejects)]).toEqual([7, 1, false]);
    await log();
    expect([rejects, `${rejects}.reasons`].map((name) => statSync(name).mode & 0o777)).toEqual([0o600, 0o600]);
  });

  it("has the permissions of the input, and the next run removes drafts of a killed run", async (context) => {
    const { place } = await openPlace(context);
    const file = place.write("a.jsonl", `${linesOf(groupOf(1))}{}\n`);
    chmodSync(file, 0o640);
    writeFileSync(`${file}.rejected.0123abcd.draft`, "half");
    const drafts = () => readdirSync(place.folder).filter((name) => name.endsWith(".draft"));
    await expect
      .poll(
        async () => {
          expect((await place.log([file, "--on-invalid", "skip"])).code).toBe(7);
          return drafts();
        },
        { timeout: 30_000 },
      )
      .toEqual([]);
    for (const end of ["", ".reasons"]) expect(statSync(`${file}.rejected${end}`).mode & 0o777).toBe(0o640);
  });

  it("replaces only its own files without a ledger, and logs the groups again", async (context) => {
    const { service, place } = await openPlace(context, { inFolder: true });
    const file = place.write("a.jsonl", linesOf(groupOf(1), bad("a")));
    const first = await place.log([file, ...skip, "--no-ledger"]);
    expect([first.code, first.document?.ledger, first.error?.retryable]).toEqual([7, null, false]);
    expect((await place.log([file, ...skip, "--no-ledger"])).code).toBe(7);
    expect(service.logged).toEqual([1, 1]);
    // Without a ledger or with another one, the run cannot know that its groups are those of an earlier run.
    writeFileSync(file, linesOf(groupOf(1), bad("b")));
    for (const ledger of ["--no-ledger", "--ledger=other.db"])
      expect((await place.log([file, ...skip, ledger])).code).toBe(2);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe(`${bad("a")}\n`);
    place.write("a.jsonl.rejected", "changed");
    expect((await place.log([file, ...skip, "--no-ledger"])).code).toBe(2);
    expect(service.logged).toEqual([1, 1]);
  });
});

import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Failure } from "../../../src/failure.ts";
import { PositionCounter } from "../../../src/rollouts/rules/positions.ts";
import { defaultStrictness } from "../../../src/rollouts/rules/rules.ts";
import { testHost } from "../../support/host.ts";
import { filesOf, newFolder, problemsOf, read, readFailure } from "../../support/inputs.ts";
import { itHolds } from "../../support/property.ts";
import { runRollcall } from "../../support/run.ts";

const plain = { messages_and_choices: [{ role: "user", content: "hi" }], reward: 1 };
const line = JSON.stringify(plain);
const group = (...rewards: readonly number[]) => ({ trajectories: rewards.map((reward) => ({ ...plain, reward })) });

const metricsOf = async (files: readonly string[], groupBy?: string) => {
  const reading = await read(files, groupBy === undefined ? {} : { groupBy });
  expect(reading.scan.problems.errors).toBe(0);
  return reading.scan.tally.metrics(reading.split);
};

describe("a shape of input", () => {
  const groups = [group(0, 1), group(1), group(0.5, 0.25, 0.125)];
  const lines = groups.map((one) => JSON.stringify(one));
  const shapes: Readonly<Record<string, string>> = {
    "a group on each line": lines.join("\n"),
    "an array of groups": `[${lines.join(",")}]`,
    "arrays on lines": `[${lines[0]}]\n[${lines[1]},${lines[2]}]\n`,
    "a pretty-printed array": JSON.stringify(groups, null, 2),
    "a pretty-printed array, one element a line": `[\n${lines.join(",\n")}\n]\n`,
    "an array that opens on the first element's line": `[${lines[0]},\n${lines[1]},\n${lines[2]}]`,
    "trajectories with group_id": groups
      .flatMap(({ trajectories }, at) => trajectories.map((one) => JSON.stringify({ group_id: at, ...one })))
      .join("\r\n"),
    "an array of trajectories": JSON.stringify(
      groups.flatMap(({ trajectories }, at) => trajectories.map((one) => ({ ...one, group_id: `g${at}` }))),
    ),
    "files with byte order marks, concatenated": lines.map((line) => `\ufeff${line}\n`).join(""),
    "groups with white space, blank lines, CRLF and a byte order mark": `\ufeff  ${lines.join(" \t\r\n \r\n\n\t")} \n\n`,
  };

  it.each(Object.entries(shapes))("reads %s as the sample's groups", async (_, text) => {
    const [path = ""] = filesOf(text);
    const expected = {
      reward: (0 + 1 + 1 + 0.875) / 6,
      "data/step_num_groups_submitted": 3,
      "data/step_num_trajectories": 6,
    };
    expect(await metricsOf([path])).toMatchObject(expected);
  });

  it("takes the split from a whole request, on one line or pretty-printed", async () => {
    const request = { split: "val", trajectory_groups: groups };
    for (const text of [JSON.stringify(request), JSON.stringify(request, null, 4), `[${JSON.stringify(request)}]`]) {
      const reading = await read(filesOf(text), { isSplitRequired: true });
      expect([reading.split, reading.groups.count, reading.scan.problems.counts]).toEqual(["val", 3, []]);
    }
  });

  it("gives the same metrics for the sample's groups, its trajectories, gzip, a pipe, and two files", async () => {
    const groupsFile = "test/samples/airline.groups.jsonl";
    const expected = await metricsOf([groupsFile]);
    const text = readFileSync(groupsFile);
    const half = text.indexOf("\n", text.length / 2) + 1;
    const [packed = "", first = "", second = "", members = ""] = filesOf(
      gzipSync(text),
      text.subarray(0, half),
      text.subarray(half),
      Buffer.concat([gzipSync(text.subarray(0, 1000)), gzipSync(text.subarray(1000))]),
    );
    expect(expected.reward).toBe(0.25);
    expect(await metricsOf(["test/samples/airline.trajectories.jsonl"])).toEqual(expected);
    expect(await metricsOf([packed])).toEqual(expected);
    expect(await metricsOf([members])).toEqual(expected);
    expect(await metricsOf([second, first])).toEqual(expected);
    const piped = await read([], { host: testHost({ stdin: text.toString() }) });
    expect(piped.scan.tally.metrics()).toEqual(expected);
    expect(await metricsOf(["test/samples/wordle.trajectories.jsonl"], "prompt_id")).toMatchObject({
      reward: 1.2320991181688887,
      reward_std_dev: expect.closeTo(0.2348228268039439, 14),
    });
  });
});

describe("grouping", () => {
  const with_ = (key: string, value: unknown) => JSON.stringify({ ...plain, [key]: value });
  const sizes = async (texts: readonly string[], groupBy?: string) => {
    const { groups } = await read(filesOf(...texts), groupBy === undefined ? {} : { groupBy });
    return Array.from({ length: groups.count }, (_, at) => groups.trajectoriesOf(at));
  };

  it("joins adjacent lines with equal group_ids, and makes one group per line without a group_id", async () => {
    const text = [1, 1, undefined, undefined, "1", null, 2].map((id) => with_("group_id", id)).join("\n\n");
    expect(await sizes([text, with_("group_id", 2)])).toEqual([2, 1, 1, 1, 1, 1, 1]);
  });

  it("gathers lines by a key at the top level or in metadata, by type and value, in any spelling", async () => {
    const text = [
      with_("id", 1),
      with_("metadata", { id: 1 }),
      with_("id", "1"),
      with_("id", true),
      with_("id", "é"),
      with_("id", "é").replace("é", "\\u00e9"),
      JSON.stringify({ ...plain, id: 2, metadata: { id: 1 } }),
    ].join("\n");
    expect(await sizes([text, with_("id", 1)], "id")).toEqual([3, 1, 1, 2, 1]);
  });

  it("makes a line without the key its own group, with a warning", async () => {
    const text = [with_("id", 1), line, with_("id", null), with_("id", 1)].join("\n");
    expect(await sizes([text], "id")).toEqual([2, 1, 1]);
    const { problems } = (await read(filesOf(text), { groupBy: "id", strictness: defaultStrictness })).scan;
    expect(problems.counts.filter(({ rule }) => rule.startsWith("group-key"))).toEqual([
      { rule: "group-key-missing", severity: "warning", count: 2 },
    ]);
  });

  it("reports scattered groups once, and counts more lines than a call can have arguments", {
    tags: "slow",
  }, async () => {
    const lines = Array.from({ length: 150_000 }, (_, at) => with_("group_id", at % 2));
    const { problems } = (await read(filesOf(lines.join("\n")))).scan;
    const found = problems.sorted().filter(({ rule }) => rule === "group-scattered");
    expect(found.map(({ message }) => message)).toEqual([expect.stringContaining("149997 other lines")]);
  });

  it("rejects only the group of a line that is cut off after its group_id", async () => {
    const text = [...[1, 2, 1, 3].map((id) => with_("group_id", id)), '{"group_id":3,"mess'];
    const sorted = await read(filesOf(text.slice(2).join("\n")));
    const byKey = await read(filesOf(text.join("\n")), { groupBy: "group_id" });
    for (const { scan, groups } of [sorted, byKey]) {
      expect(scan.problems.counts.map(({ rule }) => rule)).toEqual(["json-truncated"]);
      const valid = Array.from({ length: groups.count }, (_, at) => groups.isValid(at));
      expect(valid.indexOf(false)).toBe(valid.length - 1);
    }
  });

  it("leaves all lines of an invalid group out of the metrics", async () => {
    const id = (id: number, reward: unknown) =>
      JSON.stringify({ ...plain, reward, group_id: id, metrics: { m: 0.25 } });
    const text = [id(1, 0.1), id(1, 0.7), id(2, 5), id(2, "x"), id(2, 7), id(3, 0.3)].join("\n");
    const reading = await read(filesOf(text));
    expect(reading.scan.tally.metrics()).toEqual({
      reward: (0.1 + 0.7 + 0.3) / 3,
      reward_std_dev: 0.3,
      exception_rate: 0,
      m: 0.25,
      "data/step_num_scenarios": 2,
      "data/step_num_trajectories": 3,
      "data/step_num_groups_submitted": 2,
    });
    expect(reading.groups.isValid(1)).toBe(false);
  });
});

describe("a whole request in the input", () => {
  it("is rejected if it has a structural key twice, in any spelling", async () => {
    const texts = [
      '{"trajectory_groups":[],"split":"t","trajectory_groups":[{"trajectories":[]}]}',
      `{"split":"s","trajectory_groups":[{"trajectories":[${line}]}],"split":"t"}`,
      `{"split":"s","trajectory_groups":[{"trajectories":[${Array(10_000).fill(line).join()}]}],"split":"t"}`,
      `{"trajectories":[${line}],"trajectories":[${line}]}`,
      `{"traj\\u0065ctories":[${line}],"trajectories":[${line}]}`,
      `{"split":"t","trajectory_groups":[{"trajectories":[${line}], "trajectories" :[${line}]}]}`,
    ];
    for (const text of texts) {
      expect((await read(filesOf(text))).scan.problems.counts.map(({ rule }) => rule)).toContain(
        "duplicate-structural-key",
      );
    }
  });
});

describe("an input file", () => {
  const rulesOf = async (name: string, asked = {}) => {
    const thrown = await readFailure([name], asked);
    if (thrown instanceof Failure) return [thrown.code, ...(thrown.details.problems ?? []).map(({ rule }) => rule)];
    return (await read([name], asked)).scan.problems.counts.map(({ rule }) => rule);
  };

  it("gives the reason if it cannot be used", async () => {
    const folder = newFolder();
    const file = (name: string, content: string | Uint8Array) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const packed = gzipSync(line);
    const cases: readonly (readonly [string, string])[] = [
      [
        file("a.tar", Buffer.concat([Buffer.from("groups.jsonl".padEnd(257, "\0")), Buffer.from("ustar\0")])),
        "not-json",
      ],
      [file("zeros", Buffer.alloc(4096)), "not-json"],
      ["/dev/urandom", "not-json"],
      [file("corrupt.gz", packed.fill(7, 12, 20)), "compressed-corrupt"],
      [file("more.gz", Buffer.concat([gzipSync(line), Buffer.from(line)])), "compressed-corrupt"],
      [file("hidden.gz", Buffer.concat([gzipSync(line), Buffer.from("\0\0more")])), "compressed-corrupt"],
    ];
    for (const [path, rule] of cases) expect([path, ...(await rulesOf(path))]).toEqual([path, "invalid_input", rule]);
    expect(await rulesOf(file("padded.gz", Buffer.concat([gzipSync(line), Buffer.alloc(512)])))).toEqual([]);
    expect(await rulesOf(file("none", "[]"))).toEqual(["input-empty"]);
  });

  it("is reported with a command that helps if it is an archive or a pointer", async () => {
    const files = filesOf("PK\u0003\u0004....", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n");
    expect(await readFailure(files)).toMatchObject({
      details: {
        problems: [
          { rule: "not-json", advice: expect.stringContaining("unzip -p") },
          { rule: "not-json", advice: expect.stringContaining("git lfs pull") },
        ],
      },
    });
  });

  it.each([["check"], ["ledger verify"]])(
    "is not decompressed beyond ROLLCALL_MAX_UNPACKED_SIZE by %s",
    async (words) => {
      const [file = ""] = filesOf(gzipSync(`${line}\n`.repeat(100)));
      const env = { ROLLCALL_MAX_UNPACKED_SIZE: "1000" };
      const ran = await runRollcall([...words.split(" "), file], { env });
      expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining("1000 bytes (`max_unpacked_size`)")]);
    },
  );

  it("is refused immediately if standard input has only NUL bytes", () => {
    const program = resolve("bin/rollcall.js");
    const ran = spawnSync("sh", ["-c", `exec node '${program}' check - < /dev/zero`], { encoding: "utf8" });
    expect([ran.status, ran.stderr]).toEqual([3, expect.stringContaining("binary data")]);
  });

  it("can be one of 400 that need fewer than 256 descriptors and equal one file with all lines", {
    tags: "slow",
  }, async () => {
    const folder = newFolder();
    const lines = Array.from({ length: 400 }, (_, at) => JSON.stringify(group(2 * at, 2 * at + 1)));
    for (const [at, text] of lines.entries()) writeFileSync(join(folder, `${1000 + at}.jsonl`), `${text}\n`);
    writeFileSync(join(folder, "all.jsonl"), lines.join("\n"));
    const program = resolve("bin/rollcall.js");
    const run = (words: string) =>
      execFileSync("sh", ["-c", `ulimit -n 256; exec node '${program}' ${words}`], { cwd: folder, encoding: "utf8" });
    const many = JSON.parse(run("check 1*.jsonl --split train --json"));
    const one = JSON.parse(run("check all.jsonl --split train --json"));
    for (const key of ["groups", "trajectories", "metrics"]) expect(many[key]).toEqual(one[key]);
    expect(many).toMatchObject({ groups: { read: 400 }, trajectories: { read: 800 } });
    const home = `HOME='${folder}' XDG_DATA_HOME='${folder}' XDG_CONFIG_HOME='${folder}'`;
    const logged = execFileSync(
      "sh",
      ["-c", `ulimit -n 256; ${home} exec node '${program}' log m 1*.jsonl --split train --local --json`],
      { cwd: folder, encoding: "utf8" },
    );
    expect(JSON.parse(logged)).toMatchObject({ status: "logged" });
  });

  it("is refused with more than ten million records, because its index would fill the memory", {
    tags: "slow",
  }, async () => {
    const { code, stderr } = await runRollcall(["check", ...filesOf("1\n".repeat(10_000_001))]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("10000000 lines or groups")]);
  });

  it("is read like a stream if it is a pipe or a device", async () => {
    const folder = newFolder();
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const writing = import("node:fs/promises").then(async ({ writeFile }) => await writeFile(pipe, gzipSync(line)));
    expect((await read([pipe])).groups.count).toBe(1);
    await writing;
    expect(await rulesOf("/dev/null")).toEqual(["invalid_input", "input-empty"]);
  });

  it("counts as changed if it becomes shorter while its document is read", async () => {
    const [path = ""] = filesOf(JSON.stringify([{ ...plain, metadata: { text: "é".repeat(2 ** 20) } }], null, 2));
    // The first block remains, so rollcall knows that the file is one document.
    expect(await readFailure([path], { onOpened: () => truncateSync(path, 2 ** 20 + 1) })).toMatchObject({
      kind: "input-changed",
    });
  });

  it("counts as changed if it becomes shorter before scattered groups are reported", async () => {
    const [path = ""] = filesOf([1, 2, 1].map((id) => JSON.stringify({ ...plain, group_id: id })).join("\n"));
    // The file is one block, which was read before this call.
    expect(await readFailure([path], { onProgress: () => truncateSync(path, 5) })).toMatchObject({
      kind: "input-changed",
    });
  });

  it("is not read further after a signal, and not read again for duplicates", async () => {
    const one = `${JSON.stringify(group(0, 0))}\n`;
    for (const content of [one, one.repeat(20_000)]) {
      const stop = new AbortController();
      const reason = new Error("told to stop");
      const onProgress = () => stop.abort(reason);
      expect(await readFailure(filesOf(content), { host: { ...testHost(), signal: stop.signal }, onProgress })).toBe(
        reason,
      );
    }
  });
});

describe("a line", () => {
  const cases: readonly (readonly [text: string | Uint8Array, problem: string])[] = [
    [`${line}\n{"reward":NaN}`, "json-not-finite 2:11"],
    ['{"reward":-Infinity}', "json-not-finite 1:11"],
    ['{"reward": Infinity}', "json-not-finite 1:12"],
    ['{"reward":inf}', "json-not-finite 1:11"],
    ['{"reward":-INF}', "json-not-finite 1:11"],
    ['{"reward":infin}', "json-syntax 1:11"],
    ...["None", "True", "False"].map((word) => [`{"a":${word}}`, "json-syntax 1:6"] as const),
    ['{"a":nan}', "json-not-finite 1:6"],
    ["{'reward':1}", "json-syntax 1:2"],
    ['{"a":1} // no', "json-syntax 1:9"],
    ['{"a":/* no */1}', "json-syntax 1:6"],
    [`${line}\n${line.slice(0, 30)}`, "json-truncated 2:31"],
    [`${line.slice(0, 30)}\n${line}`, "json-truncated 1:31"],
    [`${line} ${line}`, `json-syntax 1:${line.length + 2}`],
    ['{"a":1,}', "json-syntax 1:8"],
    ['{"a":[1,]}', "json-syntax 1:9"],
    ['{"a":"\u0001"}', "json-syntax 1:7"],
    ['{"a":"\\x"}', "json-syntax 1:7"],
    ['{"a":01}', "json-syntax 1:6"],
    ['{"ä":"😀","b":x}', "json-syntax 1:15"],
    [Buffer.from('{"a":"ä\xff"}', "latin1"), "not-utf-8 1:7"],
    ['"text"', "not-an-object 1:1"],
    ["[[]]", "not-an-object 1:2 0"],
    ['{"reward":1}', "missing-field 1:1 messages_and_choices"],
    ['  {"messages_and_choices":[]}', "missing-field 1:3 reward"],
    ['{"messages_and_choices":{},"reward":1}', "wrong-type 1:25 messages_and_choices"],
    ['{"messages_and_choices":[],"reward":"1"}', "wrong-type 1:37 reward"],
    ['{"messages_and_choices":[],"reward":0,"reward":"1"}', "wrong-type 1:48 reward"],
    ['{"messages_and_choices":[],"reward":1,"initial_policy_version":1.5}', "wrong-type 1:64 initial_policy_version"],
    ['{"trajectories":{}}', "wrong-type 1:17 trajectories"],
    ['{"trajectories":[1]}', "wrong-type 1:18 trajectories.0"],
    ['{"split":1,"trajectory_groups":[{"trajectories":[]}]}', "wrong-type 1:10 split"],
    ['{"split":"t"}', "missing-field 1:1 trajectory_groups"],
    ['{"split":"t","trajectory_groups":{}}', "wrong-type 1:34 trajectory_groups"],
    [`[\n ${line},\n {"reward":NaN}\n]`, "json-not-finite 3:12"],
    ['[\n {\n  "reward": 1\n }\n]', "missing-field 2:2 0.messages_and_choices"],
    ['[{"messages_and_choices":[{"role":"usr"}],"reward":1}]', "unknown-role 1:35 0.messages_and_choices.0.role"],
  ];

  it.each(cases)("causes a problem at the position of its fault: $1", async (text, problem) => {
    expect((await problemsOf(filesOf(text)))[0]).toBe(problem);
  });

  /** The positions of a text, and the number of searches for ends of lines. */
  const positionsOfLine = (text = "[1],".repeat(1000)) => {
    const bytes = Buffer.from(text);
    let looks = 0;
    const indexOf = (byte: number, from: number) => {
      looks++;
      return Buffer.prototype.indexOf.call(bytes, byte, from);
    };
    const watched = Object.defineProperty(bytes, "indexOf", { value: indexOf });
    return { positions: new PositionCounter({ bytes: watched, start: 0, line: 7 }), looks: () => looks };
  };

  it("is scanned for its end once if it contains a whole request", () => {
    const { positions, looks } = positionsOfLine();
    for (let at = 0; at < 4000; at += 4) expect(positions.mark(at)).toBe(7);
    expect(positions.locate(3998)).toEqual({ line: 7, column: 3999, offset: 3998 });
    expect(looks()).toBe(1);
  });

  it("is scanned for its end once if it has many problems", () => {
    const { positions, looks } = positionsOfLine();
    for (let at = 0; at < 4000; at += 4) expect(positions.locate(at)).toEqual({ line: 7, column: at + 1, offset: at });
    expect(looks()).toBe(1);
  });

  it("is counted once if a document of many lines has many problems", () => {
    const { positions, looks } = positionsOfLine("[1],\n".repeat(1000));
    for (let at = 0; at < 1000; at++) expect(positions.locate(5 * at + 1)).toMatchObject({ line: 7 + at, column: 2 });
    expect(looks()).toBe(1000);
  });

  it("lets other tasks run if its group has many trajectories, which are measured and invalid", async () => {
    let ticks = 0;
    let next = setImmediate(function again() {
      ticks++;
      next = setImmediate(again);
    });
    const large = (one: object) =>
      filesOf(JSON.stringify({ trajectories: Array(5000).fill({ ...one, logs: ["x".repeat(300)] }) }));
    const ticksOf = async (one: object) => {
      const before = ticks;
      const { scan } = await read(large(one), { measures: { by: "step" } });
      expect(scan.problems.errors).toBe(one === plain ? 0 : 5000);
      return ticks - before;
    };
    expect(await ticksOf(plain)).toBeGreaterThan(35);
    expect(await ticksOf({ ...plain, reward: "1" })).toBeGreaterThan(20);
    clearImmediate(next);
  });

  /** Lines with and without records, broken lines and blank lines. */
  const anyLine = fc.constantFrom(
    line,
    "[]",
    "[ ]",
    "",
    " ",
    "\ufeff[]",
    `[${line}]`,
    "nope",
    "{}",
    '{"split":"train"}',
  );

  itHolds(
    "has its number after any other lines",
    fc.asyncProperty(fc.array(anyLine, { maxLength: 8 }), async (before) => {
      const problems = await problemsOf(filesOf([...before, "null", "[]"].join("\n")));
      expect(problems.filter((problem) => problem.startsWith("not-an-object"))).toEqual([
        `not-an-object ${before.length + 1}:1`,
      ]);
    }),
  );

  it("has its number in the document if a request is pretty-printed", async () => {
    const text = JSON.stringify(
      { split: "t", trajectory_groups: [group(1), { trajectories: [{ ...plain, reward: "1" }] }] },
      null,
      2,
    );
    const at = text.split("\n").findIndex((one) => one.includes('"reward": "1"'));
    expect(await problemsOf(filesOf(text))).toEqual([
      `wrong-type ${at + 1}:21 trajectory_groups.1.trajectories.0.reward`,
    ]);
  });

  it("may contain numbers that no double can represent", async () => {
    const text =
      '{"messages_and_choices":[],"reward":1e400,"initial_policy_version":9007199254740993,"metrics":{"m":1e999}}';
    const reading = await read(filesOf(text));
    expect(reading.scan.problems.counts.map(({ rule, severity }) => [rule, severity])).toEqual([
      ["reward-not-finite", "warning"],
      ["metric-not-finite", "warning"],
    ]);
    expect(reading.scan.tally.metrics()).not.toHaveProperty("reward");
  });

  it("keeps the names of metrics in any script", async () => {
    const text = '{"messages_and_choices":[],"reward":1,"metrics":{"größe":1,"\\u00fc":2,"長さ":3}}';
    expect((await read(filesOf(text))).scan.tally.metrics()).toMatchObject({ größe: 1, ü: 2, 長さ: 3 });
  });

  it("keeps its position if it is longer than a block, between short lines, with any end of the file", async () => {
    const block = 2 ** 20;
    const lengths = [block - 1, block, block + 1, 100, 2 * block + 7, 300];
    for (const end of ["\n", "\r\n", ""]) {
      const separator = end === "" ? "\n" : end;
      const lines = lengths.map((length, at) => {
        const short = JSON.stringify({ ...plain, reward: at, logs: [""] });
        return short.replace('""', `"${"é".repeat(Math.floor(Math.max(0, length - short.length) / 2))}"`);
      });
      const text = lines.join(separator) + end;
      const { scan } = await read(filesOf(text));
      expect(scan.problems.counts).toEqual([]);
      let start = 0;
      for (const [at, line] of lines.entries()) {
        const length = Buffer.byteLength(line);
        expect(scan.parts.at(at)).toMatchObject({ start, length, line: at + 1, valid: true });
        expect(scan.parts.columns.reward.at(at)).toBe(at);
        start += length + separator.length;
      }
      expect(scan.parts.count).toBe(lengths.length);
    }
  });
});

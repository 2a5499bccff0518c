import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { convertFiles, folderOf, sampleText } from "./converting.ts";

const chat = (reward: unknown, role = "assistant") => ({
  messages: [
    { role: "user", content: "q" },
    { role, content: `a${reward}` },
  ],
  reward,
});

describe("the output of convert", () => {
  it("is the same if no temporary file can be written, however the rollouts of groups are mixed", async () => {
    const rows = [0, 1, 0, 1, 0].map((group, at) => ({ ...chat(at), group_id: `group ${group}` }));
    const folder = folderOf({ "a.jsonl": rows });
    const [usual, inMemory] = await Promise.all(
      [{}, { TMPDIR: join(folder, "none") }].map((env) =>
        runRollcall(["convert", "a.jsonl", "-q"], { cwd: folder, env }),
      ),
    );
    expect(inMemory).toEqual(usual);
    expect(usual?.stdout.split("\n")).toHaveLength(3);
  });

  it("is written into a named pipe, which stays a pipe", async () => {
    const folder = folderOf({ "a.jsonl": [chat(0), chat(1)] });
    const pipe = join(folder, "pipe");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    const reader = spawn("cat", [pipe]);
    const closed = once(reader, "close");
    let text = "";
    reader.stdout.on("data", (data: Buffer) => {
      text += data;
    });
    const { code, stderr } = await runRollcall(["convert", "a.jsonl", "--out", pipe], { cwd: folder });
    expect({ code, stderr }).toEqual({ code: 0, stderr });
    expect(statSync(pipe).isFIFO()).toBe(true);
    await closed;
    expect(JSON.parse(text).trajectories).toHaveLength(2);
  });

  it("contains no secret of the records in problems, notices and the receipt", async () => {
    const secret = "sk-proj-AbCdEf0123456789ZyXwVu0123456789QrSt";
    const rows = [chat(0, secret), { ...chat(1), metrics: { note: secret } }, { ...chat(2), reward: secret }];
    const folder = folderOf({ "a.jsonl": rows });
    const checked = await runRollcall(["check", "--json", "a.jsonl"], { cwd: folder });
    const words = ["--on-invalid", "skip", "--out", "out", "--receipt", "receipt"];
    const converted = await runRollcall(["convert", "a.jsonl", ...words], { cwd: folder });
    expect(checked.stdout).toContain("role");
    for (const text of [checked.stdout, checked.stderr, converted.stderr]) expect(text).not.toContain(secret);
    const receipt = readFileSync(join(folder, "receipt"), "utf8");
    expect(receipt).not.toContain(secret);
    writeFileSync(
      join(folder, "own.jsonl"),
      JSON.stringify({ messages_and_choices: [chat(0, secret).messages[1]], reward: 1 }),
    );
    const own = await runRollcall(["check", "own.jsonl"], { cwd: folder });
    expect(own.stderr).toContain("unknown role ***");
  });
});

describe("rows of another tool", () => {
  const rows = [chat(0), chat(1), chat(0.5)].map((row, at) => ({ ...row, group_id: `g${at >> 1}` }));

  it.each([
    ["in a list on one line", JSON.stringify(rows)],
    ["in an indented list after a byte order mark", `\ufeff${JSON.stringify(rows, null, 2)}\r\n`],
    ["in a list with one row on each line", `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]\n`],
    ["in two lists", `${JSON.stringify(rows.slice(0, 1))}\n${JSON.stringify(rows.slice(1))}`],
  ])("are converted like lines if they are %s", async (_, text) => {
    const lines = await convertFiles({ "a.jsonl": rows });
    expect(lines.groups.map(({ trajectories }) => trajectories.length)).toEqual([2, 1]);
    expect((await convertFiles({ "a.json": text })).groups).toEqual(lines.groups);
  });

  it("are read from a folder of indented documents, which share their groups, with and without --from", async () => {
    const [left, right] = [chat(1), { ...chat(1), messages: chat("other").messages }];
    const documents = { "a/1.json": left, "a/2.json": right, "b/1.json": left, "a/config.json": { seed: 1 } };
    const texts = Object.entries(documents).map(([name, row]) => [name, `${JSON.stringify(row, null, 2)}\n\n\n`]);
    for (const args of [[], ["--from", "openai-chat"]]) {
      const { code, groups, notes } = await convertFiles(Object.fromEntries(texts), { names: ["."], args });
      expect({ code, sizes: groups.map(({ trajectories }) => trajectories.length) }).toEqual({
        code: 0,
        sizes: [2, 1],
      });
      expect(notes).toContain("skipped files without rollouts: a/config.json");
    }
    const group = { prompt: "q", completions: ["a", "b"], rewards: [0, 1] };
    const wholeGroups = ["1.json", "2.json"].map((name) => [name, JSON.stringify(group, null, 2)]);
    const { groups } = await convertFiles(Object.fromEntries(wholeGroups));
    expect(groups.map(({ trajectories }) => trajectories.length)).toEqual([2, 2]);
  });

  it("are located in an indented document, and one error reports a document that is cut off", async () => {
    const text = JSON.stringify({ ...chat(1), reward: "x" }, null, 2);
    const folder = folderOf({ "a.json": text, "b.json": text.slice(0, -30) });
    const { stderr } = await runRollcall(["check", "a.json", "b.json", "--from", "openai-chat"], { cwd: folder });
    expect(stderr).toContain("a.json:1: error: reward: cannot convert this record of openai-chat: reward is a string");
    expect(stderr).toMatch(/b\.json:\d+:\d+: error: cannot convert this record of openai-chat: it is cut off/);
    expect(stderr).toContain("the input has 2 errors (2 record-invalid)");
    const other = await runRollcall(["check", ".", "--from", "verl"], { cwd: folderOf({ "a.json": text }) });
    expect(other.stderr).toContain("hint: name the files with --from <format>, which says why a file is");
  });

  it("have their positions in a list", async () => {
    const broken = [rows[0], { ...rows[1], reward: "x" }, rows[2]];
    const line = JSON.stringify(broken);
    const alone = await convertFiles({ "a.json": line }, { args: ["--on-invalid", "skip"] });
    expect(alone.lines).toHaveLength(1);
    const { stderr } = await runRollcall(["check", "a.json"], { cwd: folderOf({ "a.json": line }) });
    expect(stderr).toContain(
      "a.json:1: reward: cannot convert this record of openai-chat: reward is a string, not a number",
    );
  });

  const scored = { example_id: 0, task: "t", prompt: "q", completion: "a", reward: 1 };
  const sampled = { prompt: "q", completion: "a", reward: 1 };

  it.each([
    ["verifiers-v0", [scored, { ...scored, completion: 3 }], "completion"],
    ["trl", [sampled, { ...sampled, reward: "x" }], "reward"],
  ])("have their positions after blank lines if they are rows of %s", async (name, [good, broken], at) => {
    const text = `${JSON.stringify(good)}\n \t\r\n${JSON.stringify(broken)}\n`;
    const { stderr } = await runRollcall(["check", "a.jsonl"], { cwd: folderOf({ "a.jsonl": text }) });
    expect(stderr).toContain(`a.jsonl:3: ${at}: cannot convert this record of ${name}`);
  });

  it("have their positions after a row that is longer than a block of a file", async () => {
    const long = { ...chat(1), id: "x".repeat(2 ** 21) };
    const folder = folderOf({ "a.jsonl": [chat(0), long, chat("none")] });
    const { stderr } = await runRollcall(["check", "a.jsonl"], { cwd: folder });
    expect(stderr).toContain("a.jsonl:3: reward: cannot convert this record of openai-chat");
  });

  it("are converted up to the end of a list that is cut off, which is reported", async () => {
    const text = JSON.stringify(rows).slice(0, -20);
    const { code, errors, groups } = await convertFiles({ "a.json": text }, { args: ["--on-invalid", "skip"] });
    // The row that is cut off may belong to the group before it.
    expect({ code, rules: errors.map((error) => error.replace(/.*\[/, "[")), groups }).toEqual({
      code: 3,
      rules: ["[ambiguous-group]", "[record-invalid]"],
      groups: [],
    });
    const { stderr } = await runRollcall(["check", "a.json"], { cwd: folderOf({ "a.json": text }) });
    expect(stderr).toMatch(/a\.json:1:\d+: .*list is cut off/);
  });

  it("are converted from a folder if the first row of a file is broken", async () => {
    const files = { "a.jsonl": rows, "b.jsonl": [{ ...rows[0], messages: {} }, rows[1], rows[2]] };
    const folder = folderOf(files);
    const { stderr, stdout } = await runRollcall(["check", "--json", "."], { cwd: folder });
    expect(stderr).not.toContain("no rollouts are in them");
    const { groups, problems } = JSON.parse(stdout);
    expect(groups).toEqual({ read: 4, rejected: 1 });
    expect(problems).toContainEqual(expect.objectContaining({ file: "b.jsonl", line: 1, rule: "record-invalid" }));
  });

  it("reject their whole group if they contain NaN or messages in another shape", async () => {
    const text = [
      JSON.stringify(rows[0]),
      JSON.stringify(rows[1]).replace('"reward":1', '"reward":NaN'),
      JSON.stringify({ ...rows[2], group_id: "g2" }),
      JSON.stringify({ ...rows[2], group_id: "g2", messages: "none" }),
      JSON.stringify({ ...rows[2], group_id: "g3" }),
    ].join("\n");
    const folder = folderOf({ "a.jsonl": text });
    const { stdout } = await runRollcall(["check", "--json", "a.jsonl"], { cwd: folder });
    const { groups, problems } = JSON.parse(stdout);
    expect(groups).toEqual({ read: 3, rejected: 2 });
    const errors = problems.filter(({ severity }: { severity: string }) => severity === "error");
    expect(errors.map(({ line, message }: { line: number; message: string }) => `${line}: ${message}`)).toEqual([
      "2: cannot convert this record of openai-chat: NaN is not JSON",
      "4: cannot convert this record of openai-chat: messages is not a list",
    ]);
  });

  it("become two groups if they contain a whole group twice", async () => {
    const row = { prompt: "q", completions: ["a", "b"], rewards: [0, 1] };
    const { groups } = await convertFiles({ "a.jsonl": [row, row] });
    expect(groups.map(({ trajectories }) => trajectories.length)).toEqual([2, 2]);
  });

  it("give one error that names --lossy if only a lossy format fits", async () => {
    const folder = folderOf({ "a.json": sampleText("mini-swe.local.traj.json") });
    const { code, stderr } = await runRollcall(["check", "a.json"], { cwd: folder });
    expect(code).toBe(3);
    expect(stderr).toContain("[lossy-format]");
    expect(stderr).not.toContain("missing-field");
  });

  it("give an error for rewards that belong to none of them", async () => {
    const rewards = ["a", "b", "c", "d", "e"].map((id, at) => ({ id, reward: at }));
    const own = {
      messages: [
        { role: "user", content: "q" },
        { role: "assistant", content: "a" },
      ],
      id: "b",
    };
    const files = { "rows.jsonl": [own], "rewards.lines": rewards };
    const { code, notes, groups } = await convertFiles(files, {
      names: ["rows.jsonl"],
      args: ["--rewards", "rewards.lines"],
    });
    expect([code, groups[0]?.trajectories[0]?.reward]).toEqual([0, 1]);
    expect(notes).toContain("--rewards has 4 ids without a rollout: a, c, d, …");
  });
});

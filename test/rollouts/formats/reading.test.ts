/** How records of other tools are read from files, and how their groups are written. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readlinkSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readDataset } from "../../../src/rollouts/dataset/read-dataset.ts";
import { ignoreErrors } from "../../../src/system/files.ts";
import { testHost } from "../../support/host.ts";
import { runRollcall } from "../../support/run.ts";
import { convertRows, folderOf, itTells, type Row } from "./converting.ts";
import { chat, example, exchange, said, trl, user } from "./records.ts";

const rowOf = (reward: unknown, more: object = {}) =>
  chat({ messages: [user("q"), said(`a${reward}`)], reward, ...more });
/** Rows of two or three groups that are not adjacent. */
const mixed = [0, 1, 0, 1, 0].map((group, at) => rowOf(at, { group_id: `group ${group}` }));

describe.runIf(process.platform === "linux")("the temporary files of a conversion", () => {
  it("are closed if a temporary file cannot be read", async () => {
    const now = 8_640_000_000_000_000;
    const temporaryFiles = () =>
      readdirSync("/proc/self/fd")
        .map((descriptor) => `/proc/self/fd/${descriptor}`)
        .filter((path) => ignoreErrors(() => readlinkSync(path))?.includes(`-${now}`));
    const opened: number[] = [];
    // A random number is part of the name of each temporary file. The second file opens when the first is complete.
    const random = () => {
      for (const path of temporaryFiles()) truncateSync(path);
      return opened.push(temporaryFiles().length) / 10;
    };
    const reading = readDataset({
      host: { ...testHost(), now: () => now, random },
      files: [join(folderOf({ "a.jsonl": mixed }), "a.jsonl")],
      maxUnpackedBytes: 1e9,
      from: "openai-chat",
    });
    await expect(reading).rejects.toThrow();
    expect([opened, temporaryFiles()]).toEqual([[0, 1], []]);
  });
});

describe("the output of convert", () => {
  it("does not depend on temporary files, for any mixture of the rollouts of groups", async () => {
    const cwd = folderOf({ "a.jsonl": mixed });
    const [usual, inMemory] = await Promise.all(
      [{}, { TMPDIR: join(cwd, "none") }].map((env) => runRollcall(["convert", "a.jsonl", "-q"], { cwd, env })),
    );
    expect(inMemory).toEqual(usual);
    expect(usual?.stdout.split("\n")).toHaveLength(3);
  });

  it("is written into a named pipe, which stays a pipe", async () => {
    const folder = folderOf({ "a.jsonl": [rowOf(0), rowOf(1)] });
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

  it("is refused if the positions of its rollouts would fill the memory", { tags: "slow" }, async () => {
    const group = { trajectories: [{ exchanges: { chat_completions: [exchange([user("q")])] } }], exceptions: [] };
    const line = JSON.stringify(group).replace('"exceptions":[', `"exceptions":[${"1,".repeat(2_000_000)}1`);
    const { code, stderr } = await convertRows([line], ["--from", "art"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("the converted files have more than 2000000 rollouts")]);
    expect(stderr).toContain("[too-many-records]");
  });
});

const rows = [0, 1, 0.5].map((reward, at) => rowOf(reward, { group_id: `g${at >> 1}` }));
const read = "(u:q A:a0) =0 (u:q A:a1) =1 & \n(u:q A:a0.5) =0.5";
const list = (of: readonly object[], space = "") => `[${of.map((row) => JSON.stringify(row)).join(`,${space}`)}]`;
const faults: readonly (readonly [format: string, good: object, broken: object, path: string])[] = [
  ["verifiers-v0", example(), example({ completion: 3 }), "completion"],
  ["trl", trl(), trl({ reward: "x" }), "reward"],
];

itTells("rows of another tool are read %s", [
  ["on lines", { "a.json": rows }, read],
  ["in a list on one line", { "a.json": list(rows) }, read],
  ["indented after a byte order mark", { "a.json": `\ufeff${JSON.stringify(rows, null, 2)}\r\n` }, read],
  ["in a list with one row on each line", { "a.json": list(rows, "\n") }, read],
  ["in two lists", { "a.json": `${list(rows.slice(0, 1))}\n${list(rows.slice(1))}` }, read],
  ...faults.flatMap(([format, good, broken, path]): readonly Row[] => {
    const fault = (at: string) => `a.jsonl:3: ${at}: cannot convert this ${format} record`;
    return [
      ["after blank lines", [good, " \t\r", broken], fault(path)],
      ["after a blank line of a list", { "a.jsonl": list([good, broken], "\n\n") }, fault(path)],
      ["in a list after blank lines", { "a.jsonl": `\n\n${list([good, broken])}` }, fault(`1.${path}`)],
    ];
  }),
  [
    "after a row that is longer than a block of a file",
    [rowOf(0), rowOf(1, { id: "x".repeat(2 ** 21) }), rowOf("none")],
    "a.jsonl:3: reward: cannot convert this openai-chat record",
  ],
  ["next to groups of rollcall", { a: [chat()], b: [{ trajectories: [] }] }, '(u:q A:a) =1 & \n{"trajectories":[]}'],
]);

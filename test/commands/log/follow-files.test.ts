import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, renameSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { newFolder } from "../../support/inputs.ts";
import { interruptWaiting, startRollcall } from "../../support/run.ts";

import { fileWith, follow, line, openSink, quiet, resultOf, soon, until, words } from "./following.ts";

describe("rollcall log --follow", () => {
  it("exits with 130 and prints a document after SIGINT while it waits for a file", { tags: "slow" }, async () => {
    const sink = await openSink();
    const file = join(newFolder(), "never.jsonl");
    const { code, stdout } = await interruptWaiting(() => startRollcall(words(file, "--json"), { env: sink.env }));
    expect([code, resultOf(stdout).groups.read]).toEqual([130, 0]);
  });

  it("reads a renamed file to its end, and continues with the new file of that name", async () => {
    const sink = await openSink();
    const file = fileWith(line(0) + line(1, "a") + line(2, "a"));
    const run = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 1);
    renameSync(file, `${file}.1`);
    writeFileSync(file, line(4));
    appendFileSync(`${file}.1`, line(3, "a"));
    await until(() => sink.groups().length === 3);
    const { code, stdout } = await run.end();
    expect(code).toBe(0);
    expect(sink.groups()).toEqual([[0], [1, 2, 3], [4]]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 3, logged: 3 });
  });

  it("reads lines that are written to a renamed file later, after several renames", { tags: "slow" }, async () => {
    const sink = await openSink();
    const file = fileWith(line(1));
    const run = follow(sink, file, ...soon, ...quiet);
    await until(() => sink.groups().length === 1);
    renameSync(file, `${file}.1`);
    writeFileSync(file, line(2));
    // This file is renamed before rollcall reads it.
    await until(() => run.said.stderr.includes(`${file} was replaced`));
    renameSync(file, `${file}.2`);
    writeFileSync(file, line(3));
    await until(() => sink.groups().length === 3);
    appendFileSync(`${file}.1`, line(4) + line(5).slice(0, 20));
    await until(() => sink.groups().length === 4);
    appendFileSync(`${file}.1`, line(5).slice(20));
    appendFileSync(`${file}.2`, line(6) + line(3));
    await until(() => sink.groups().length === 6);
    const { code, stdout } = await run.end();
    expect([code, sink.groups().sort()]).toEqual([0, [[1], [2], [3], [4], [5], [6]]]);
    // The ledger recognizes the group that is equal in two files.
    expect(stdout).toMatch(/groups\.read\t7\ngroups\.logged\t6\ngroups\.already_logged\t1\n/);
  });

  it.each([
    ["shorter", (long: (reward: number) => string) => long(2) + long(3)],
    ["as long, and alike at both ends", (long: (reward: number) => string) => long(1) + long(3) + long(2)],
    ["longer, and alike at both ends", (long: (reward: number) => string) => long(1) + long(3) + long(2) + long(4)],
  ])("reads a rewritten file from its start if the old content was sent: %s", async (_, anew) => {
    const sink = await openSink();
    const long = (reward: number) =>
      `${JSON.stringify({ a: "x".repeat(300), messages_and_choices: [{ role: "assistant" }], reward, z: "x".repeat(300) })}\n`;
    const file = fileWith(long(1) + long(9) + long(2));
    const run = follow(sink, file, ...soon);
    await until(() => sink.groups().length === 3);
    // Groups that were sent before are not sent again.
    writeFileSync(file, anew(long));
    appendFileSync(file, long(5));
    await until(() => sink.groups().flat().includes(5));
    const { code, stderr } = await run.end();
    const news = [...anew(long).matchAll(/"reward":(\d)/g)].map(([, reward]) => Number(reward));
    expect([code, sink.groups().flat()]).toEqual([0, [1, 9, 2, ...news.filter((reward) => reward > 2), 5]]);
    expect(stderr).toContain("was rewritten");
  });

  it("continues with a rewritten file if lines of the old content were rejected", async () => {
    const sink = await openSink();
    const file = fileWith(`${line(1)}{"reward": NaN}\n`);
    const run = follow(sink, file, ...soon, "--on-invalid", "skip", "--json");
    await until(() => sink.groups().length === 1 && existsSync(`${file}.rejected`));
    writeFileSync(file, `${line(2)}{"reward": 1}\n`);
    await until(() => sink.groups().length === 2);
    await until(() => readFileSync(`${file}.rejected`, "utf8").includes('{"reward": 1}\n'));
    appendFileSync(file, line(3));
    await until(() => sink.groups().length === 3);
    const { code, stdout } = await run.end();
    expect([code, resultOf(stdout).groups]).toMatchObject([7, { read: 5, logged: 3, rejected: 2 }]);
    expect(readFileSync(`${file}.rejected`, "utf8")).toBe('{"reward": NaN}\n{"reward": 1}\n');
  });

  it("exits with 7 if the file is truncated before all read groups are sent", async () => {
    const sink = await openSink();
    const file = fileWith(line(1) + line(2, "a") + line(3, "a"));
    const run = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 1);
    truncateSync(file, line(1).length);
    const { code, stdout, stderr } = await run.closed();
    expect([code, JSON.parse(stderr).error.cause]).toEqual([7, "invalid_input"]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 2, logged: 1, not_sent: 1 });
  });

  it.each([
    ["a folder", () => newFolder(), 3, "expected a file, found a folder"],
    ["a pipe", pipe, 2, "is not a file"],
    ["a compressed file", () => fileOf(gzipSync(line(1))), 2, "is compressed"],
    ["a document", () => fileOf(Buffer.from('{\n  "messages": []\n}\n')), 2, "is one JSON document, not lines"],
    ["another kind of file", () => fileOf(Buffer.from("PAR1....")), 3, "a Parquet file"],
  ])("refuses %s", async (_, make, expected, says) => {
    const { code, stderr } = await follow(await openSink(), make()).closed();
    expect([code, stderr.includes(says)]).toEqual([expected, true]);
  });
});

const pipe = (): string => {
  const path = join(newFolder(), "pipe");
  execFileSync("mkfifo", [path]);
  return path;
};

const fileOf = (bytes: Uint8Array): string => {
  const file = join(newFolder(), "run.jsonl.gz");
  writeFileSync(file, bytes);
  return file;
};

/** The dedup key of a converted group. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { newHome } from "../../support/run.ts";
import { fileOf, folderOf, rewardsFile } from "./converting.ts";

const rows = [0, 1].flatMap((task) =>
  [0, 1].map((reward) => ({
    ...{ example_id: task, prompt: `question ${task}`, completion: `answer ${reward}`, answer: "4" },
    ...{ reward, graded: 1 - reward },
  })),
);

/** Logs files into one ledger; returns how many groups were logged and already were, or the rule of the error. */
const openLog = () => {
  const env = newHome();
  const log = async (file: string, ...words: readonly string[]) => {
    const args = ["log", "m", file, "--split", "train", "--local", "--json", "-q", ...words];
    const { code, stdout, stderr } = await runHere(args, { env, stdin: readFileSync(fileOf(rows), "utf8") });
    if (code === 3) return JSON.parse(stderr).error.problems[0].rule;
    expect({ code, stderr }).toEqual({ code: 0, stderr });
    const { logged, already_logged } = JSON.parse(stdout).groups;
    return [logged, already_logged];
  };
  return { env, log };
};

describe("the dedup key of a converted group", () => {
  it("depends only on its records, so another converter logs nothing twice", async () => {
    const file = fileOf(rows);
    const made = async (from: string) => (await runHere(["convert", file, "--from", from, "-q"])).stdout;
    // The two formats convert the rows to different trajectories.
    expect(await made("verifiers-v0")).not.toBe(await made("trl"));
    const { log } = openLog();
    expect(await log(file, "--from", "verifiers-v0")).toEqual([2, 0]);
    expect(await log(file, "--from", "trl")).toBe("logged-differently");
    expect(await log(file)).toEqual([0, 2]);
  });

  it("does not depend on the order, the container, the path and the compression of its records", async () => {
    const { log } = openLog();
    const packed = fileOf([], "rows.jsonl.gz");
    writeFileSync(packed, gzipSync(readFileSync(fileOf(rows))));
    const reversed = rows.toReversed();
    const list = fileOf([JSON.stringify(reversed)], "results.json");
    expect(await log(fileOf(rows))).toEqual([2, 0]);
    for (const file of [fileOf(reversed), list, packed, "-"]) expect(await log(file)).toEqual([0, 2]);
    expect(await log(fileOf([...rows.slice(2), ...rows.slice(0, 2)]))).toEqual([0, 2]);
  });

  it("includes a reward from another file or key, so that the groups are not logged again", async () => {
    const file = fileOf(rows);
    const { log } = openLog();
    expect(await log(file)).toEqual([2, 0]);
    expect(await log(file, "--reward-from", "graded")).toBe("logged-differently");
    const rewards = ["--rewards", rewardsFile("0=0.5,1=0.5")];
    expect(await log(file, ...rewards)).toBe("logged-differently");
    expect(await log(file, ...rewards, "--resend-logged")).toEqual([2, 0]);
    expect(await log(file, ...rewards)).toEqual([0, 2]);
  });

  it("distinguishes logged, partly logged and unlogged files of a folder", async () => {
    const { env, log } = openLog();
    const steps = [1, 2, 3, 10, 12];
    const rowAt = (step: number) => (row: (typeof rows)[number]) =>
      JSON.stringify({ ...row, step, completion: `answer of step ${step}` });
    const rowsOf = (step: number) => rows.map(rowAt(step)).join("\n");
    const folder = folderOf(Object.fromEntries(steps.map((step) => [`step_${step}/results.jsonl`, rowsOf(step)])));
    const fileAt = (step: number) => join(folder, `step_${step}`, "results.jsonl");
    for (const step of [1, 3]) await log(fileAt(step));
    for (const step of [2, 10]) {
      writeFileSync(fileAt(step), rows.slice(0, 2).map(rowAt(step)).join("\n"));
      await log(fileAt(step));
      writeFileSync(fileAt(step), rowsOf(step));
    }
    const { code, stderr } = await runHere(["ledger", "verify", folder, "--local"], { env });
    expect({ code, stderr }).toEqual({ code: 10, stderr });
    expect(stderr.split("\n").filter((line) => /^note: .*exactly once/.test(line))).toEqual([
      `note: ${fileAt(2)}: 1 of 2 groups logged exactly once`,
      `note: ${fileAt(10)}: 1 of 2 groups logged exactly once`,
      `note: ${fileAt(12)}: 0 of 2 groups logged exactly once`,
    ]);
  });
});

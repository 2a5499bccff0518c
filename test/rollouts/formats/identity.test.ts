import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { fileOf } from "./converting.ts";

const rows = [0, 1].flatMap((task) =>
  [0, 1].map((at) => ({
    example_id: task,
    prompt: `question ${task}`,
    completion: `answer ${at}`,
    answer: "4",
    reward: at,
    graded: 1 - at,
  })),
);

/** Logs a file repeatedly into one ledger; returns how many groups were logged, and how many already were. */
const logger = (file: string) => {
  const env = newHome();
  return async (...words: readonly string[]) => {
    const args = ["log", "m", file, "--split", "train", "--local", "--json", "-q", ...words];
    const { code, stdout, stderr } = await runRollcall(args, { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr });
    const { logged, already_logged } = JSON.parse(stdout).groups;
    return { logged, already_logged };
  };
};

describe("the dedup key of a converted group", () => {
  it("depends only on its records, so another converter logs nothing twice", async () => {
    const file = fileOf(rows);
    const made = async (from: string) => {
      const { stdout } = await runRollcall(["convert", file, "--from", from, "-q"]);
      return stdout;
    };
    // The two formats convert the rows to different trajectories.
    expect(await made("verifiers-v0")).not.toBe(await made("trl"));
    const log = logger(file);
    expect(await log("--from", "verifiers-v0")).toEqual({ logged: 2, already_logged: 0 });
    expect(await log("--from", "trl")).toEqual({ logged: 0, already_logged: 2 });
    expect(await log()).toEqual({ logged: 0, already_logged: 2 });
  });

  it("does not depend on the order and the container of its records", async () => {
    const env = newHome();
    const logged = async (file: string) => {
      const { stdout } = await runRollcall(["log", "m", file, "--split", "train", "--local", "--json", "-q"], { env });
      return JSON.parse(stdout).groups;
    };
    const list = join(mkdtempSync(join(tmpdir(), "list-")), "results.json");
    writeFileSync(list, JSON.stringify(rows.toReversed()));
    expect(await logged(fileOf(rows))).toMatchObject({ logged: 2, already_logged: 0 });
    expect(await logged(fileOf(rows.toReversed()))).toMatchObject({ logged: 0, already_logged: 2 });
    expect(await logged(list)).toMatchObject({ logged: 0, already_logged: 2 });
  });

  it("includes a reward from another file or key", async () => {
    const file = fileOf(rows);
    const log = logger(file);
    expect(await log()).toEqual({ logged: 2, already_logged: 0 });
    expect(await log("--reward-from", "graded")).toEqual({ logged: 2, already_logged: 0 });
    const rewards = fileOf(
      [0, 1].map((id) => ({ id, reward: 0.5 })),
      "rewards.jsonl",
    );
    expect(await log("--rewards", rewards)).toEqual({ logged: 2, already_logged: 0 });
    expect(await log("--rewards", rewards)).toEqual({ logged: 0, already_logged: 2 });
  });

  it("distinguishes logged, partly logged and unlogged files of a folder", async () => {
    const env = newHome();
    const folder = mkdtempSync(join(tmpdir(), "run-"));
    const stepFile = (step: number, content: readonly object[]) => {
      mkdirSync(join(folder, `step_${step}`));
      const file = join(folder, `step_${step}`, "results.jsonl");
      writeFileSync(file, content.map((row) => JSON.stringify({ ...row, step })).join("\n"));
      return file;
    };
    const log = async (file: string, ...words: readonly string[]) =>
      await runRollcall(["log", "m", file, "--split", "train", "--local", "-q", ...words], { env });
    for (const step of [1, 3]) await log(stepFile(step, rows));
    for (const step of [2, 10]) {
      const file = stepFile(
        step,
        rows.filter(({ example_id }) => example_id === 0),
      );
      await log(file);
      writeFileSync(file, rows.map((row) => JSON.stringify({ ...row, step })).join("\n"));
    }
    stepFile(12, rows);
    const { code, stderr } = await runRollcall(["ledger", "verify", folder, "--local"], { env });
    const name = (step: number) => join(folder, `step_${step}`, "results.jsonl");
    expect({ code, stderr }).toEqual({ code: 10, stderr });
    expect(stderr.split("\n").filter((line) => /^note: .*exactly once/.test(line))).toEqual([
      `note: ${name(2)}: 1 of 2 groups logged exactly once`,
      `note: ${name(10)}: 1 of 2 groups logged exactly once`,
      `note: ${name(12)}: 0 of 2 groups logged exactly once`,
    ]);
  });

  it("does not depend on the path and the compression", async () => {
    const file = fileOf(rows);
    const env = newHome();
    const words = ["--split", "train", "--local", "--json", "-q"];
    await runRollcall(["log", "m", file, ...words], { env });
    const { stdout } = await runRollcall(["log", "m", "-", ...words], { env, stdin: readFileSync(file) });
    expect(JSON.parse(stdout).groups).toMatchObject({ logged: 0, already_logged: 2 });
    const swapped = fileOf([...rows.slice(2), ...rows.slice(0, 2)]);
    const again = await runRollcall(["log", "m", swapped, ...words], { env });
    expect(JSON.parse(again.stdout).groups).toMatchObject({ logged: 0, already_logged: 2 });
  });
});

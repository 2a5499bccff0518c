import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { newFolder } from "../support/inputs.ts";
import { newHome } from "../support/run.ts";
import { pathWithRollcall } from "./docs/blocks.ts";

const hasPython = spawnSync("python3", ["--version"], { stdio: "ignore" }).status === 0;

const sample = "test/samples/airline.groups.jsonl";

/** Runs a program with `rollcall` on its path and the local service, in a folder. */
const runIn = (cwd: string, [program = "", ...args]: readonly string[], env: Record<string, string> = {}) =>
  spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    env: { ...newHome(), PATH: pathWithRollcall(), PYTHONPATH: resolve("python"), ROLLCALL_PROFILE: "local", ...env },
  });

const folderWith = (...names: readonly string[]): string => {
  const folder = newFolder();
  for (const name of names) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    copyFileSync(sample, join(folder, name));
  }
  return folder;
};

describe.skipIf(!hasPython)("examples/training_loop.py", { tags: "slow" }, () => {
  const train = (folder: string, env?: Record<string, string>) =>
    runIn(folder, ["python3", resolve("examples/training_loop.py"), "."], env);

  it("logs each step in the order of the steps", () => {
    const ran = train(folderWith("step-10.jsonl", "step-9.jsonl"));
    expect(ran).toMatchObject({ status: 0, stderr: "" });
    expect(ran.stdout).toBe("step 9: 20 groups logged\nstep 10: 20 groups logged\n");
  });

  it("continues with the next step if rollcall is killed, and names the files that are not logged", () => {
    const folder = folderWith("step-1.jsonl", "step-2.jsonl");
    // A killed process prints nothing.
    writeFileSync(join(folder, "node"), "#!/bin/sh\nkill -9 $$\n", { mode: 0o755 });
    const ran = train(folder, { PATH: [folder, process.env.PATH].join(delimiter) });
    expect(ran).toMatchObject({ status: 1, stderr: "not completely logged: step-1.jsonl, step-2.jsonl\n" });
  });
});

describe("examples/ci.yml", () => {
  it("checks, compares, logs and verifies, and logs no group again in a second run", { tags: "slow" }, () => {
    const folder = folderWith("rollouts/a.jsonl", "main.jsonl");
    const { steps } = parse(readFileSync("examples/ci.yml", "utf8"));
    const lines = steps.flatMap(({ run }: { run?: string }) => run ?? []);
    expect(lines).toHaveLength(4);
    const home = { ...newHome(), GITHUB_STEP_SUMMARY: "summary.md" };
    for (const line of [...lines, ...lines.slice(1)]) {
      // The sample has warnings.
      const ran = runIn(folder, ["sh", "-c", line.replace(" --strict", "")], home);
      expect({ line, status: ran.status }, ran.stderr).toEqual({ line, status: 0 });
    }
    expect(readFileSync(join(folder, "summary.md"), "utf8")).toContain("No difference that this data can show");
  });
});

describe("examples/pipe.sh", () => {
  it("prints the id of each call that was logged", { tags: "slow" }, () => {
    const folder = folderWith("a.jsonl");
    const ran = runIn(folder, ["sh", resolve("examples/pipe.sh"), "gzip -c a.jsonl"]);
    expect(ran.status).toBe(0);
    expect(ran.stdout.split("\n")).toHaveLength(81);
  });
});

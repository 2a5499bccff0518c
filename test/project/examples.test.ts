import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { newFolder } from "../support/inputs.ts";
import { newHome } from "../support/run.ts";
import { hasShell } from "../support/shell.ts";
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

  it("logs messages and rewards in memory", () => {
    const ran = runIn(newFolder(), ["python3", resolve("examples/training_loop.py")]);
    expect(ran).toMatchObject({ status: 0, stderr: "" });
    expect(ran.stdout).toBe("step 1: 1 groups logged\nstep 2: 1 groups logged\n");
  });

  it.each([
    ["is cut off", (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 500))],
    ["is not text", (file: string) => writeFileSync(file, Buffer.from([0xff, 0xfe, 0x0a]))],
    ["is a folder", (file: string) => void [rmSync(file), mkdirSync(file)]],
    [
      "has a NaN",
      (file: string) => writeFileSync(file, '{"trajectories":[{"messages_and_choices":[],"reward":NaN}]}\n'),
    ],
    ["has no groups", (file: string) => writeFileSync(file, "[]\n")],
  ])("continues with the next step if a file %s, and names the step", (_, damage) => {
    const folder = folderWith("step-1.jsonl", "step-2.jsonl");
    damage(join(folder, "step-1.jsonl"));
    const ran = train(folder);
    expect(ran).toMatchObject({ status: 1, stderr: "not completely logged: step 1\n" });
    expect(ran.stdout).toMatch(/^step 1: .+\nstep 2: 20 groups logged\n$/);
  });

  it("continues with the next step if rollcall is killed, and names the steps that are not logged", () => {
    const folder = folderWith("step-1.jsonl", "step-2.jsonl");
    // A killed process prints nothing.
    writeFileSync(join(folder, "node"), "#!/bin/sh\nkill -9 $$\n", { mode: 0o755 });
    const ran = train(folder, { PATH: [folder, process.env.PATH].join(delimiter) });
    expect(ran).toMatchObject({ status: 1, stderr: "not completely logged: step 1, step 2\n" });
  });
});

interface Step {
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

describe("examples/ci.yml", () => {
  it("compares, logs and verifies, and logs no group again in a second run", { tags: "slow" }, () => {
    const folder = folderWith("rollouts/a.jsonl", "main.jsonl");
    const { steps }: { steps: readonly Step[] } = parse(readFileSync("examples/ci.yml", "utf8"));
    const lines = steps.flatMap(({ run }) => run ?? []);
    expect(lines).toHaveLength(3);
    const home = { ...newHome(), GITHUB_STEP_SUMMARY: "summary.md" };
    for (const line of [...lines, ...lines]) {
      const ran = runIn(folder, ["sh", "-c", line], home);
      expect({ line, status: ran.status }, ran.stderr).toEqual({ line, status: 0 });
    }
    expect(readFileSync(join(folder, "summary.md"), "utf8")).toContain("No difference that this data can show");
  });
});

describe.skipIf(!hasShell("bash"))("action.yml", { tags: "slow" }, () => {
  const action: {
    inputs: Readonly<Record<string, { default: string }>>;
    runs: { steps: readonly Step[] };
  } = parse(readFileSync("action.yml", "utf8"));

  /** Runs the steps as a runner does. They install the checkout, because a release is on another machine. */
  const runAction = (folder: string, given: Readonly<Record<string, string | undefined>>) => {
    const values = new Map([["github.action_path", resolve(".")]]);
    for (const [name, input] of Object.entries(action.inputs))
      values.set(`inputs.${name}`, { package: resolve("."), ...given }[name] ?? input.default);
    const files = { GITHUB_PATH: join(folder, "path"), GITHUB_STEP_SUMMARY: join(folder, "summary") };
    for (const file of Object.values(files)) writeFileSync(file, "");
    const variables = { RUNNER_TEMP: newFolder(), ...files };
    const results = action.runs.steps.map(({ run = "", env = {} }) => {
      const own = Object.entries(env).map(([name, text]) => [
        name,
        text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, value) => values.get(value) ?? ""),
      ]);
      const PATH = [readFileSync(files.GITHUB_PATH, "utf8").trim(), process.env.PATH].join(delimiter);
      const bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run];
      return runIn(folder, bash, { ...variables, ...Object.fromEntries(own), PATH });
    });
    expect(results[0]?.status, results[0]?.stderr).toBe(0);
    return { ...results[1], summary: readFileSync(files.GITHUB_STEP_SUMMARY, "utf8") };
  };

  it("checks files, annotates them and writes the summary", () => {
    const { status, stdout, summary } = runAction(folderWith("rollouts/a.jsonl", "rollouts/b.jsonl"), {
      files: "rollouts/*.jsonl",
    });
    expect(status).toBe(0);
    expect(stdout).toContain("::warning file=rollouts/b.jsonl,");
    expect(summary).toMatch(/^### rollcall check: `rollouts\/a.jsonl`, `rollouts\/b.jsonl`\n/);
  });

  it("passes quoted options, and runs no command in them", () => {
    const folder = folderWith("a.jsonl");
    const ran = runAction(folder, { files: "a.jsonl", args: "--where 'reward > 0' --split $(>ran)" });
    expect([ran.status, ran.stderr, existsSync(join(folder, "ran"))]).toEqual([0, expect.anything(), false]);
    expect(ran.summary).toContain("| `split` | `$(>ran)` |");
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

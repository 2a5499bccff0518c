import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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

  it("continues with the next step if rollcall is killed, and names the files that are not logged", () => {
    const folder = folderWith("step-1.jsonl", "step-2.jsonl");
    // A killed process prints nothing.
    writeFileSync(join(folder, "node"), "#!/bin/sh\nkill -9 $$\n", { mode: 0o755 });
    const ran = train(folder, { PATH: [folder, process.env.PATH].join(delimiter) });
    expect(ran).toMatchObject({ status: 1, stderr: "not completely logged: step-1.jsonl, step-2.jsonl\n" });
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

  /** Runs a step as a runner does. */
  const runStep = (
    { run = "", env = {} }: Step,
    folder: string,
    inputs: Readonly<Record<string, string | undefined>>,
    variables: Readonly<Record<string, string>>,
  ) => {
    const values = new Map([["github.action_path", resolve(".")]]);
    for (const [name, input] of Object.entries(action.inputs))
      values.set(`inputs.${name}`, inputs[name] ?? input.default);
    const own = Object.entries(env).map(([name, text]) => [
      name,
      text.replaceAll(/\$\{\{ (\S+) \}\}/g, (_, value) => values.get(value) ?? ""),
    ]);
    const bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", run];
    return runIn(folder, bash, { ...variables, ...Object.fromEntries(own) });
  };

  /** Runs the steps. They install the checkout, because a release is on another machine. */
  const runAction = (folder: string, given: Readonly<Record<string, string | undefined>>) => {
    const files = { GITHUB_PATH: join(folder, "path"), GITHUB_STEP_SUMMARY: join(folder, "summary") };
    for (const file of Object.values(files)) writeFileSync(file, "");
    const variables = { RUNNER_TEMP: newFolder(), ...files };
    const results = action.runs.steps.map((step) => {
      const PATH = [readFileSync(files.GITHUB_PATH, "utf8").trim(), process.env.PATH].join(delimiter);
      return runStep(step, folder, { package: resolve("."), ...given }, { ...variables, PATH });
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

  const split = (args: string) => {
    const folder = newFolder();
    const program = `#!${process.execPath}\nconsole.log(JSON.stringify(process.argv.slice(2, -4)))`;
    writeFileSync(join(folder, "rollcall"), program, { mode: 0o755 });
    const PATH = [folder, process.env.PATH].join(delimiter);
    const [, step = {}] = action.runs.steps;
    return runStep(step, folder, { args }, { PATH, RUNNER_TEMP: folder, GITHUB_STEP_SUMMARY: "s" });
  };

  it.each<[args: string, words: readonly string[]]>([
    ["", []],
    [" --strict\n--where  'reward > 0'\r\n", ["--strict", "--where", "reward > 0"]],
    [String.raw`--where "name == \"it's\"" --x=a\ b\"c`, ["--where", `name == "it's"`, `--x=a b"c`]],
    [String.raw`'a\b' "a\b\\c\$d" '' ""e`, [String.raw`a\b`, String.raw`a\b\c$d`, "", "e"]],
    ["--a \\\n  --b\\\nc \"d\\\ne\" 'f\ng'", ["--a", "--bc", "de", "f\ng"]],
    ["* ~ $HOME `id` a;b >c # {d,e}", ["*", "~", "$HOME", "`id`", "a;b", ">c", "#", "{d,e}"]],
  ])("splits args into words as a shell does, and expands nothing (row %$)", (args, words) => {
    expect(JSON.parse(split(args).stdout)).toEqual(["check", ...words]);
  });

  it.each(["--where 'a", '"a\\"', "a b\\"])("refuses args with an open quote or escape (row %$)", (args) => {
    expect(split(args)).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("has no end") });
  });

  it.each([
    ["", /^https:\/\/github\.com\/rollcall-cli\/rollcall\/releases\/download\/v[\d.]+\/rollcall-[\d.]+\.tgz$/],
    ["https://host.example/a.tgz", /^https:\/\/host\.example\/a\.tgz$/],
    ["./a.tgz", undefined],
  ])("downloads the release or a package with a URL, and installs the file (row %$)", (file, url) => {
    const folder = newFolder();
    for (const name of ["curl", "npm"])
      writeFileSync(join(folder, name), `#!/bin/sh\nfor last; do :; done; echo ${name} "$last"\n`, { mode: 0o755 });
    const [step = {}] = action.runs.steps;
    const PATH = [folder, process.env.PATH].join(delimiter);
    const variables = { PATH, RUNNER_TEMP: folder, GITHUB_PATH: join(folder, "path") };
    const lines = runStep(step, folder, { package: file }, variables).stdout.trim().split("\n");
    if (url === undefined) expect(lines).toEqual([`npm ${file}`]);
    else expect(lines).toEqual([expect.stringMatching(/^curl /), `npm ${join(folder, "rollcall.tgz")}`]);
    expect(lines[0]?.split(" ")[1]).toMatch(url ?? "./a.tgz");
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

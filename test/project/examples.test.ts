import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { takeAndReset } from "../promises/place.ts";
import { newFolder } from "../support/inputs.ts";
import { faultyService, type RequestHandler, refuse } from "../support/raw-server.ts";
import { newHome } from "../support/run.ts";
import { hasJq, hasShell } from "../support/shell.ts";
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

/** Runs a program next to a service of this process. */
const runBeside = async (words: readonly string[], env: Readonly<Record<string, string>>, cwd = newFolder()) =>
  await new Promise<{ stdout: string; stderr: string; status: unknown }>((done) => {
    const [program = "", ...args] = words;
    const all = { ...newHome(), PATH: pathWithRollcall(), PYTHONPATH: resolve("python"), ...env };
    execFile(program, args, { cwd, env: all }, (error, stdout, stderr) =>
      done({ stdout, stderr, status: error?.code ?? 0 }),
    );
  });

const answer =
  (body: string): RequestHandler =>
  async (asked) => {
    await asked.take();
    asked.answer(200, { body });
  };

const refusal = refuse(422, { body: '{"detail":[]}' });

const deployed = (service: { readonly url: string }) => ({ ROLLCALL_BASE_URL: service.url, ROLLCALL_TOKEN: "key" });

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

  const unlogged = { status: 1, stderr: "not completely logged: step 1\n" };

  it.for<[end: string, deed: RequestHandler, first: RegExp, expected: object]>([
    ["an answer {}", answer("{}"), /^step 1: 1 groups logged\n/, { status: 0, stderr: "" }],
    ["a refusal", refusal, /^step 1: the service refused the request \(422\)\n/, unlogged],
    ["a reset", takeAndReset, /^step 1: .* may or may not have been logged/, unlogged],
  ])("logs the second step after %s for the first, and says so", async ([, deed, first, expected], context) => {
    const service = await faultyService(context);
    service.next(deed);
    const ran = await runBeside(["python3", resolve("examples/training_loop.py")], deployed(service));
    expect(ran).toMatchObject({ ...expected, stdout: expect.stringMatching(first) });
    expect(ran.stdout).toMatch(/\nstep 2: 1 groups logged\n$/);
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
  readonly uses?: string;
  readonly with?: Readonly<Record<string, string>>;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
}

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

describe.skipIf(!hasShell("bash"))("examples/ci.yml", { tags: "slow" }, () => {
  const { steps }: { steps: readonly Step[] } = parse(readFileSync("examples/ci.yml", "utf8"));

  it("checks rollouts of the samples without a failure, and fails on a NaN", () => {
    const inputs = steps.find(({ uses }) => uses?.startsWith("rollcall-cli/rollcall@"))?.with;
    const folder = folderWith("rollouts/a.jsonl");
    copyFileSync("test/samples/formats/verifiers-v1-0.2.0.traces.jsonl", join(folder, "rollouts/b.jsonl"));
    expect(runAction(folder, { ...inputs })).toMatchObject({ status: 0 });
    writeFileSync(join(folder, "rollouts/c.jsonl"), '{"trajectories":[{"messages_and_choices":[],"reward":NaN}]}\n');
    expect(runAction(folder, { ...inputs })).toMatchObject({
      status: 3,
      stdout: expect.stringContaining("json-not-finite"),
    });
  });

  it("compares, logs and verifies, and logs no group again in a second run", () => {
    const folder = folderWith("rollouts/a.jsonl", "main.jsonl");
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
    const ran = runAction(folder, { files: "a.jsonl", args: "--allow 'mixed-shapes' --split $(>ran)" });
    expect([ran.status, ran.stderr, existsSync(join(folder, "ran"))]).toEqual([0, expect.anything(), false]);
    expect(ran.summary).toContain("| `split` | `$(>ran)` |");
  });

  const split = (args: string) => {
    const folder = newFolder();
    const program = `#!${process.execPath}\nconsole.log(JSON.stringify(process.argv.slice(2, -2)))`;
    writeFileSync(join(folder, "rollcall"), program, { mode: 0o755 });
    const PATH = [folder, process.env.PATH].join(delimiter);
    const [, step = {}] = action.runs.steps;
    return runStep(step, folder, { args }, { PATH, RUNNER_TEMP: folder, GITHUB_STEP_SUMMARY: "s" });
  };

  it.each<[args: string, words: readonly string[]]>([
    ["", []],
    [" --strict\n--group-by  'a b'\r\n", ["--strict", "--group-by", "a b"]],
    [String.raw`--group-by "name == \"it's\"" --x=a\ b\"c`, ["--group-by", `name == "it's"`, `--x=a b"c`]],
    [String.raw`'a\b' "a\b\\c\$d" '' ""e`, [String.raw`a\b`, String.raw`a\b\c$d`, "", "e"]],
    ["--a \\\n  --b\\\nc \"d\\\ne\" 'f\ng'", ["--a", "--bc", "de", "f\ng"]],
    ["* ~ $HOME `id` a;b >c # {d,e}", ["*", "~", "$HOME", "`id`", "a;b", ">c", "#", "{d,e}"]],
  ])("splits args into words as a shell does, and expands nothing (row %$)", (args, words) => {
    expect(JSON.parse(split(args).stdout)).toEqual(["check", ...words]);
  });

  it.each(["--allow 'a", '"a\\"', "a b\\"])("refuses args with an open quote or escape (row %$)", (args) => {
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

/** Runs examples/pipe.sh, and returns its output, exit code and last error code. */
const pipe = async (source: string, env: Readonly<Record<string, string>>, ...args: readonly string[]) => {
  const TMPDIR = newFolder();
  const ran = await runBeside(["sh", resolve("examples/pipe.sh"), source, ...args], { TMPDIR, ...env });
  expect(readdirSync(TMPDIR)).toEqual([]);
  return [ran.stdout, ran.status, /"code":"(\w+)"/.exec(ran.stderr)?.[1] ?? ran.stderr] as const;
};

describe("examples/pipe.sh", { tags: "slow" }, () => {
  const source = `gzip -c '${resolve(sample)}'`;

  it("prints the id of each call that was logged", async () => {
    const [stdout, ...end] = await pipe(source, { ROLLCALL_PROFILE: "local" });
    expect(end).toEqual([0, ""]);
    expect(stdout.trim().split("\n")).toHaveLength(80);
  });

  it.for<[end: string, deeds: readonly RequestHandler[], expected: readonly unknown[]]>([
    ["an answer {}", [answer("{}")], ["", 0, ""]],
    ["an answer that is no object", [answer('["call_ids"]')], ["", 0, ""]],
    ["an empty answer", [answer("")], ["", 0, ""]],
    ["ids", [answer('{"call_ids":["a","b"]}')], ["a\nb\n", 0, ""]],
    ["a refusal", [refusal], ["", 6, "refused"]],
    ["ids and a refusal", [answer('{"call_ids":["a"]}'), refuse(422, { body: "{}" })], ["a\n", 7, "partial"]],
    ["a reset", [takeAndReset], ["", 8, "unknown_outcome"]],
  ])("prints the ids of the answers and keeps the exit code after %s", async ([, deeds, expected], context) => {
    const service = await faultyService(context);
    service.next(...deeds);
    const size = deeds.length > 1 ? ["--max-request-size", "1MB"] : [];
    expect(await pipe(source, deployed(service), ...size, "--allow", "error-in-response")).toEqual(expected);
  });

  it("logs nothing if the source fails, also with --on-invalid skip", async () => {
    const fails = `cat '${resolve(sample)}'; exit 5`;
    for (const options of [[], ["--on-invalid", "skip"]]) {
      const env = { ROLLCALL_PROFILE: "local", ROLLCALL_DATA_DIR: newFolder() };
      expect(await pipe(fails, env, ...options)).toEqual(["", 5, ""]);
      expect(readdirSync(env.ROLLCALL_DATA_DIR)).toEqual([]);
    }
  });
});

describe.skipIf(!hasJq)("examples/catalog-guard.sh (skipped without jq 1.7)", { tags: "slow" }, () => {
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const pricing = { prompt: "0.0000001", completion: "0.0000004", other: "on request" };
  const model = { id: "m", name: "m", pricing, deprecation_date: inDays(32) };

  /** Guards the model `m` of a saved list against a current one. */
  const guard = (saved: object, current: object) => {
    const folder = newFolder();
    mkdirSync(join(folder, "catalog/router"), { recursive: true });
    writeFileSync(join(folder, "catalog/router/local.json"), JSON.stringify({ data: [current, { id: "n" }] }));
    writeFileSync(join(folder, "saved.json"), JSON.stringify({ data: [saved] }));
    const { status, stdout, stderr } = runIn(folder, ["sh", resolve("examples/catalog-guard.sh"), "saved.json", "m"], {
      ROLLCALL_DATA_DIR: folder,
    });
    return { status, text: stdout + stderr };
  };

  it.each([
    ["nothing changed", model],
    ["prices rose by less than 10 %", { ...model, pricing: { ...pricing, prompt: "0.000000109" } }],
    ["prices fell", { ...model, pricing: { ...pricing, completion: "0" } }],
  ])("succeeds if %s", (_, current) => {
    expect(guard(model, current)).toEqual({ status: 0, text: "" });
  });

  it.each([
    ["the model is gone", { id: "n" }, "m is gone"],
    ["the model ends within 30 days", { ...model, deprecation_date: inDays(29) }, `m ends on ${inDays(29)}`],
    ["the date cannot be read", { ...model, deprecation_date: "soon" }, "m ends on soon"],
    [
      "a price rose by 10 %",
      { ...model, pricing: { ...pricing, prompt: "0.00000011" } },
      "m has the price prompt 0.00000011, and had 0.0000001",
    ],
    [
      "a price was added",
      { ...model, pricing: { ...pricing, request: "1" } },
      "m has the price request 1, and had null",
    ],
    ["the prices are gone", { id: "m" }, "m has the price completion null, and had 0.0000004"],
  ])("fails if %s", (_, current, reason) => {
    expect(guard(model, current)).toMatchObject({ status: 1, text: expect.stringContaining(`${reason}\n`) });
  });

  it("fails if the saved list lacks the model", () => {
    expect(guard({ id: "n" }, model)).toEqual({ status: 1, text: "m is not in the saved list\n" });
  });
});

describe("the workflows in .github/", () => {
  it("pin each action by its digest, and a file proposes updates of the pins", () => {
    const folder = ".github/workflows";
    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    const actions = texts.flatMap((text) => Array.from(text.matchAll(/uses: (\S+)/g), ([, action]) => action));
    expect(actions).toContainEqual(expect.stringMatching(/^actions\/checkout@/));
    expect(actions.filter((action) => !/@[\da-f]{40}$/.test(action ?? ""))).toEqual([]);
    const { updates } = parse(readFileSync(".github/dependabot.yml", "utf8"));
    expect(updates).toEqual([expect.objectContaining({ "package-ecosystem": "github-actions", directory: "/" })]);
  });
});

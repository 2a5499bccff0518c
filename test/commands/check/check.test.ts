import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";
import { filesOf, newFolder } from "../../trajectories/inputs.ts";

const groups = "test/samples/airline.groups.jsonl";
const line = (reward: unknown, more = "") => `{"messages_and_choices":[],"reward":${reward}${more}}`;

const check = async (args: readonly string[], options: RunOptions = {}) => {
  const { code, stdout, stderr } = await runRollcall(["check", ...args], options);
  return { code, stdout, stderr };
};

const document = async (args: readonly string[], options: RunOptions = {}) => {
  const { code, stdout } = await check([...args, "--json"], options);
  return { code, document: JSON.parse(stdout) as Record<string, unknown> };
};

describe("rollcall check", () => {
  it("prints the metrics without a prefix, or with that of a split", async () => {
    const { code, stdout } = await check([groups]);
    expect(code).toBe(0);
    expect(stdout).toContain("\nreward\t0.25\n");
    expect(stdout).not.toContain("trainable");
    const split = await check([groups, "--split", "train"]);
    expect(split.stdout).toContain("\ntrain/reward_std_dev\t0.22320508075688772\n");
    expect(split.stdout).toContain("\ndata/step_num_groups_trainable\t10\n");
  });

  it("is a page on a terminal", async () => {
    const { stdout } = await check([groups, "-o", "table", "--split", "train"]);
    await expect(stdout).toMatchFileSnapshot("golden/check.txt");
  });

  it("prints what it found as a document, valid or not", async () => {
    expect(await document([groups])).toMatchObject({
      code: 0,
      document: {
        status: "valid",
        split: null,
        groups: { read: 20, rejected: 0 },
        trajectories: { read: 80, rejected: 0 },
        metrics: { reward: 0.25 },
      },
    });
    const [file = ""] = filesOf(`${line(1, ',"group_id":1')}\n${line('"x"', ',"group_id":1')}\n${line(3)}`);
    expect(await document([file])).toMatchObject({
      code: 3,
      document: {
        status: "invalid",
        groups: { read: 2, rejected: 1 },
        trajectories: { read: 3, rejected: 2 },
        metrics: { reward: 3, "data/step_num_trajectories": 1 },
        problems: expect.arrayContaining([
          expect.objectContaining({
            file,
            line: 2,
            column: 37,
            path: ["reward"],
            rule: "wrong-type",
            severity: "error",
          }),
        ]),
      },
    });
  });

  it("says of every problem what to do, in the document too", async () => {
    const files = filesOf(line(1, ',"tools":null'));
    expect((await document(files)).document.problems).toMatchObject([
      { rule: "group-of-one", advice: expect.stringContaining("--group-by") },
      { rule: "no-assistant", advice: expect.stringContaining("assistant") },
      { rule: "null-field", advice: expect.stringContaining("leave the key out") },
    ]);
  });

  it("checks every other file where one can't be used, and calls none valid that was not read", async () => {
    const [bad = ""] = filesOf(line('"x"'));
    const [report = ""] = [join(newFolder(), "report.xml")];
    const args = [bad, "nowhere.jsonl", groups, "--report", `junit=${report}`];
    const { code, document: found } = await document(args);
    expect({ code, found }).toMatchObject({ code: 3, found: { status: "invalid", groups: { read: 21, rejected: 1 } } });
    expect(found.problems).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ file: bad, rule: "wrong-type" }),
        expect.objectContaining({ file: "nowhere.jsonl", rule: "file-missing" }),
      ]),
    );
    expect(readFileSync(report, "utf8").match(/classname="[^"]*" name="is valid"/g)).toEqual([
      `classname="${groups}" name="is valid"`,
      // The mixture of shapes is a warning of none of them.
      'classname="all inputs" name="is valid"',
    ]);
  });

  it("writes every report that is asked for, never over an input or another's file", async () => {
    const folder = newFolder();
    const [junit, github, own] = ["r.xml", "r.txt", "own.xml"].map((name) => join(folder, name));
    const [bad = ""] = filesOf(line('"x"'));
    const asked = ["--report", `junit=${junit}`, "--report", `github=${github}`];
    for (const round of [1, 2])
      expect({ round, code: (await check([bad, ...asked])).code }).toEqual({ round, code: 3 });
    expect(readFileSync(junit ?? "", "utf8")).toContain("<failure");
    expect(readFileSync(github ?? "", "utf8")).toContain("::error ");
    writeFileSync(own ?? "", "<mine/>");
    for (const file of [own, bad]) {
      const before = readFileSync(file ?? "", "utf8");
      const { code, stderr } = await check([bad, "--report", `junit=${file}`]);
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("no report that rollcall wrote"),
      });
      expect(readFileSync(file ?? "", "utf8")).toBe(before);
    }
    expect(readdirSync(folder).toSorted()).toEqual(["own.xml", "r.txt", "r.xml"]);
    expect((await check([bad, "--report", "junit", "--report", "github"])).code).toBe(2);
  });

  it("has no metrics where nothing is valid", async () => {
    expect((await document(filesOf(line('"x"')))).document.metrics).toEqual({});
  });

  it.each(["yesterday", "", "2025-13-01T00:00:00Z", "2025-02-30T00:00:00Z", "2025-11-01", "2025-11-01T24:00:00Z"])(
    "refuses %j as a start_time",
    async (start) => {
      const { code, document: found } = await document(filesOf(line(1, `,"start_time":${JSON.stringify(start)}`)));
      expect({ code, found }).toMatchObject({ code: 3, found: { problems: [{ rule: "start-time-wrong" }] } });
    },
  );

  it("gives advice on start_time that can be taken", async () => {
    const asked = async (start: string) =>
      (await document(filesOf(line(1, `,"start_time":"${start}"`)))).document.problems as readonly {
        rule: string;
        advice: string;
      }[];
    const advice = (await asked("2025-11-01 09:30")).find(({ rule }) => rule === "start-time-zone")?.advice ?? "";
    const better = /add one: (.*) is UTC/.exec(advice)?.[1] ?? "";
    expect((await asked(better)).map(({ rule }) => rule)).not.toContain(expect.stringMatching(/^start-time/));
    expect(better).toBe("2025-11-01 09:30Z");
  });

  it("shows no key of Weights & Biases that is in the environment, though it looks like the id of a commit", async () => {
    const id = "f3a90c71d2b84e6655aa0c1d9e8f7b6a5c4d3e2f";
    const [file = ""] = filesOf(`{"messages_and_choices":[{"role":"${id}"}],"reward":1}`);
    const said = async (env: Record<string, string>) => (await runRollcall(["check", file], { env })).stderr;
    expect(await said({})).toContain(`the role ${id} is unknown`);
    expect(await said({ WANDB_API_KEY: id })).toContain("the role *** is unknown");
  });

  it("shows no half of a secret that a long start_time is cut in", async () => {
    const secret = "4071398265".repeat(8);
    const [file = ""] = filesOf(line(1, `,"start_time":"2025-11-01T09:30:00.${secret}"`));
    const { stdout, stderr } = await runRollcall(["check", file], { env: { ROLLCALL_API_KEY: secret } });
    expect(stdout + stderr).toContain("has no zone");
    expect(stdout + stderr).not.toContain(secret.slice(0, 12));
  });

  it("warns of tools that lack what the interface does not require", async () => {
    const { code, document: found } = await document(filesOf(line(1, ',"tools":[{"function":{}}]')));
    expect(code).toBe(0);
    expect(found.problems).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ rule: "tool-incomplete", message: "a tool has no type" }),
        expect.objectContaining({ rule: "tool-incomplete", message: "a tool has no function.name" }),
      ]),
    );
  });

  const one = line(1);
  it.each([
    [`{"split":"a","trajectory_groups":[${one}]}`, "a trajectory stands where a group should"],
    [`{"trajectories":${one}}`, '"trajectories": [{…}]'],
    [`{"split":"a","trajectory_groups":{"trajectories":[${one}]}}`, '"trajectory_groups": [{…}]'],
    [`{"split":"a","trajectory_groups":[[{"trajectories":[${one}]}]]}`, "one array too many"],
    [`[[{"trajectories":[${one}]}]]`, "one array too many"],
  ])("names what is nested wrongly in %s", async (text, advice) => {
    const problems = (await document(filesOf(text))).document.problems as readonly {
      message: string;
      advice: string;
    }[];
    expect(problems[0]?.advice).toContain(advice);
    expect(problems[0]?.message).not.toMatch(/^ /);
  });

  it.each([
    ["groups", `{"trajectories":[${one}]}`],
    ["whole requests", `{"split":"a","trajectory_groups":[{"trajectories":[${one}]}]}`],
    ["an array of groups", `[{"trajectories":[${one}]},{"trajectories":[${one}]}]`],
  ])("says that --group-by has no effect on %s", async (_, text) => {
    const files = filesOf(text);
    const note = "note: --group-by example_id has no effect: all that was read stands in groups already\n";
    expect((await check([...files, "--group-by", "example_id"])).stderr).toContain(note);
    const log = ["log", "m", ...files, "--group-by", "example_id", "--split", "a", "--dry-run"];
    expect((await runRollcall(log)).stderr).toContain(note);
    expect((await check(files)).stderr).not.toContain("--group-by example_id");
    const [flat = ""] = filesOf(line(1, ',"example_id":1'));
    expect((await check([...files, flat, "--group-by", "example_id"])).stderr).not.toContain("no effect");
  });

  it.each([
    ["a pretty document", JSON.stringify({ trajectories: [JSON.parse(one)] }, null, 2).slice(2), 1],
    ["one in two blocks", JSON.stringify({ trajectories: Array(9000).fill(JSON.parse(one)) }, null, 2).slice(2), 1],
    ["one that lacks its end, too", '  "split": "a",\n  "trajectory_groups": [\n    {\n', 1],
    ["lines", `${one.slice(1)}\n${one.slice(1)}\n`, 2],
  ])("says once what is wrong with %s without the { that it begins with", async (_, text, count) => {
    const { document: found } = await document(filesOf(text));
    const problems = found.problems as readonly { line: number; rule: string; message: string; advice: string }[];
    expect(problems.map(({ line, rule }) => [line, rule])).toEqual(
      Array.from({ length: count }, (_, at) => [at + 1, "json-after"]),
    );
    expect(problems[0]?.message).toContain("the { before it is missing");
    expect(problems[0]?.advice).toContain("put the { back");
  });

  it.each([-1e9, 1e9])("sees a reward of %d as far outside, wherever it stands among many", async (far) => {
    for (const at of [0, 100, 199]) {
      const rewards = Array.from({ length: 200 }, (_, position) => line(position === at ? far : position / 100));
      const problems = (await document(filesOf(rewards.join("\n")))).document.problems as readonly { rule: string }[];
      expect(problems.filter(({ rule }) => rule === "reward-outlier")).toMatchObject([{ line: at + 1 }]);
    }
  });

  it.each([
    [1e-12, ["group-no-signal"]],
    [2e-12, []],
  ])("takes rewards that are %d apart for equal or not, in a group on one line and on two", async (apart, expected) => {
    const pair = [0, apart].map((reward) => line(reward, `,"group_id":"a","logs":["${reward}"]`));
    for (const text of [pair.join("\n"), `{"trajectories":[${pair.join(",")}]}`]) {
      const problems = (await document(filesOf(text))).document.problems as readonly { rule: string }[];
      expect(problems.map(({ rule }) => rule).filter((rule) => rule === "group-no-signal")).toEqual(expected);
    }
  });

  it.each([
    ["example_id", (id: number) => `"example_id":${id}`],
    ["example_id", (id: number) => `"metadata":{"example_id":${id},"a":1}`],
    ["info.prompt_id", (id: number) => `"info":{"prompt_id":"p${id}"}`],
    ["env.task_id", (id: number) => `"metadata":{"env":{"task_id":{"n":${id}}}}`],
    ["prompt_id", (id: number) => `"metadata":{"info":{"prompt_id":${id}}},"prompt_id":"${id}"`],
    ["info.prompt_id", (id: number) => `"question":${id},"info":{"prompt_id":${id}}`],
  ])("names a key that would group what stands alone, as --group-by takes it: %s", async (name, keyed) => {
    const files = filesOf([1, 2, 1].map((id) => line(id, `,${keyed(id)}`)).join("\n"));
    const problems = (await document(files)).document.problems as readonly { rule: string; advice: string }[];
    const [, named = ""] =
      /--group-by (\S+)/.exec(problems.find(({ rule }) => rule === "group-of-one")?.advice ?? "") ?? [];
    expect(named).toBe(name);
    expect((await document([...files, "--group-by", named])).document).toMatchObject({ groups: { read: 2 } });
  });

  it("sees an outlier among few, mixed policies, calls beside no tools, and a rollout that was cut off", async () => {
    const call = '{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"find","arguments":"{}"}}]}';
    const result = '{"role":"tool","tool_call_id":"a","content":""}';
    const said = (messages: readonly string[], more: string) =>
      `{"messages_and_choices":[${messages.join(",")}],"reward":1${more}}`;
    const rewards = Array.from({ length: 18 }, (_, at) => line(at === 7 ? 1e9 : at / 10)).join("\n");
    const mixed = `{"trajectories":[${line(0, ',"final_policy_version":7')},${line(1, ',"final_policy_version":8')}]}`;
    for (const [rule, text] of [
      ["reward-outlier", rewards],
      ["policy-mixed", mixed],
      ["policy-mixed", [7, 8].map((of) => line(of, `,"final_policy_version":${of},"group_id":1`)).join("\n")],
      ["tool-unlisted", said([call, result], ',"tools":[]')],
      ["last-call-unanswered", said([call, result, call], "")],
    ] as const) {
      const problems = (await document(filesOf(text))).document.problems as readonly { rule: string }[];
      expect(problems.map((problem) => problem.rule)).toContain(rule);
    }
  });

  const calling = (...ids: readonly string[]) =>
    `{"role":"assistant","tool_calls":[${ids.map((id) => `{"id":"${id}","function":{"name":"find","arguments":"{}"}}`)}]}`;
  const nameless = '{"role":"tool","content":"x"}';
  const last = '{"role":"assistant","content":"done"}';
  it.each<[what: string, messages: readonly string[], unanswered: readonly string[]]>([
    ["each without its id", [calling("a", "b"), nameless, nameless, last], []],
    ["one of them missing", [calling("a", "b"), nameless, last], ["messages_and_choices.0.tool_calls.1"]],
    [
      "one without its id behind another",
      [calling("a", "b"), '{"role":"tool","tool_call_id":"a","content":"x"}', nameless, last],
      [],
    ],
    ["two calls of one id", [calling("a", "a"), nameless, last], ["messages_and_choices.0.tool_calls.1"]],
  ])(
    "takes a result without its id for that of the oldest call, which is one problem: %s",
    async (_, messages, calls) => {
      const [file = ""] = filesOf(`{"messages_and_choices":[${messages}],"reward":1}`);
      const problems = (await document([file])).document.problems as readonly {
        rule: string;
        path: readonly string[];
      }[];
      expect(problems.filter(({ rule }) => rule === "tool-call-unanswered").map(({ path }) => path.join("."))).toEqual(
        calls,
      );
      expect(problems.map(({ rule }) => rule)).toContain("tool-call-id-missing");
    },
  );

  it.each([
    ["", "the call of a tool without a name has no result"],
    [" ", 'the call of the tool " " has no result'],
  ])("says of a tool called %j what can be read", async (name, message) => {
    const { stderr } = await check([], {
      stdin: `{"messages_and_choices":[${calling("a").replace("find", name)},${last}],"reward":1}`,
    });
    expect(stderr).toContain(`${message} [tool-call-unanswered]`);
  });

  it("calls lines of standard input by its name, in a sentence too", async () => {
    const { stderr } = await check(["-"], { stdin: `${line(1)}\n${line(1)}\n` });
    expect(stderr).toContain(
      "standard input:2:1: warning: the trajectory is, byte for byte, the one at standard input:1 [",
    );
    const [file = ""] = filesOf(`{"trajectories":[${line(1)},${line(0)}]}`);
    const against = await check([file, "--against", "-"], { stdin: readFileSync(file) });
    expect(against.stderr).toContain("the one at standard input:1, which belongs to another split");
  });

  it("looks tools and parallel calls up", async () => {
    const names = Array.from({ length: 2000 }, (_, at) => `tool_number_${at}`);
    const tools = names.map((name) => ({ type: "function", function: { name } }));
    const calls = names.map((name, at) => ({ id: `c${at}`, function: { name: `${name}_x`, arguments: "{}" } }));
    const results = names.map((_, at) => ({ role: "tool", tool_call_id: `c${at}`, content: "" }));
    const messages = [{ role: "assistant", tool_calls: calls }, ...results];
    const [file = ""] = filesOf(JSON.stringify({ messages_and_choices: messages, reward: 1, tools }));
    const { document: found } = await document([file]);
    expect(found).toMatchObject({ status: "valid", problems_left_out: 1000 });
    const near = found.problems as readonly { rule: string; advice: string }[];
    expect(near.find(({ rule }) => rule === "tool-unlisted")?.advice).toContain("did you mean tool_number_0?");
  });

  it("prints an error and no document where there was nothing to check", async () => {
    const { code, stdout, stderr } = await check(["nowhere.jsonl", "--json"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({
      error: { problems: [{ file: "nowhere.jsonl", rule: "file-missing" }] },
    });
  });

  it("needs no writable folder and no home, also for standard input", async () => {
    const env = { HOME: undefined, XDG_CONFIG_HOME: undefined, XDG_DATA_HOME: undefined, TMPDIR: "/nowhere" };
    const { code, document: found } = await document([], { env, stdin: line(2) });
    expect({ code, found }).toMatchObject({ code: 0, found: { metrics: { reward: 2 } } });
  });

  it("reads every shape of the samples to the same metrics", async () => {
    const metrics = (await document([groups])).document.metrics;
    expect((await document(["test/samples/airline.trajectories.jsonl"])).document.metrics).toEqual(metrics);
    const wordle = await document(["test/samples/wordle.trajectories.jsonl", "--group-by", "prompt_id"]);
    expect(wordle.document.metrics).toMatchObject({ reward: 1.2320991181688887, reward_std_dev: 0.2348228268039439 });
  });

  it("tells lines that can't be read from groups, so that the numbers add up", async () => {
    const group = `{"trajectories":[${line(0)},${line(1)}]}`;
    const files = filesOf([group, "{", '{"trajectories":[{"messages_and_choices":[]}]}', group].join("\n"));
    expect((await document(files)).document).toMatchObject({ groups: { read: 4, rejected: 2 }, unreadable_lines: 1 });
    expect((await check(files)).stdout).toContain("groups\t4, 2 of them not valid (1 is a line that can't be read)\n");
    expect((await document(filesOf(group))).document).not.toHaveProperty("unreadable_lines");
    const log = ["log", "m", ...files, "--split", "t", "--local", "--on-invalid", "skip", "--resend-logged"];
    const env = newHome();
    const { stdout, stderr } = await runRollcall(log, { env });
    expect(stdout).toContain("groups\t4: 2 logged, 2 rejected (1 is a line that can't be read)\n");
    expect(stderr).toContain("rollcall: 1 group and 1 unreadable record rejected, 2 logged: ");
    expect(JSON.parse((await runRollcall([...log, "--json"], { env })).stdout)).toMatchObject({ unreadable_lines: 1 });
    const chosen = await document([...files, "--where", "reward >= 0"]);
    expect(chosen.document).toMatchObject({ groups: { read: 4, rejected: 2 }, unreadable_lines: 1 });
    const lines = await check(filesOf(`${group}\n{\n${group}\n{`));
    expect([lines.code, lines.stdout]).toEqual([3, expect.stringContaining("(2 are lines that can't be read)")]);
  });

  it("says the first warnings of a rule, and how many more there are", async () => {
    const [file = ""] = filesOf(`${line(1, ',"tools":null')}\n`.repeat(10));
    const { code, stderr } = await check([file]);
    expect(code).toBe(0);
    expect(stderr.match(/tools is null/g)).toHaveLength(1);
    expect(stderr).toContain("9 more");
  });

  it("strips what a terminal would obey from text of the input", async () => {
    const [file = ""] = filesOf(
      `{"messages_and_choices":[{"role":"\\u001b[31mred\\u202e\\u0000"}],"reward":1,"metrics":{"\\u001b]0;x\\u0007":1}}`,
    );
    const { code, stdout, stderr } = await check([file]);
    expect(code).toBe(0);
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/);
  });

  it("keeps a problem on its line, whatever a file is called, and calls standard input by its name", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "a\n::error::b"), "{}\u0000");
    const named = await check(["a\n::error::b"], { cwd, env: { GITHUB_ACTIONS: "true" } });
    expect(named.stderr).not.toMatch(/^[^\S\n]*(::|: :)/m);
    expect(named.stderr).toContain("rollcall: a ::error::b:1:3: ");
    expect((await check(["-"])).stderr).toContain("rollcall: standard input: there is nothing in it");
  });

  it("names a character that can't be seen by its number, and does not speak of sending", async () => {
    const { stderr } = await check([], { stdin: "{\u0000}\n{\u0000}\n" });
    expect(stderr).toContain("rollcall: the input has 2 errors (2 json-syntax)\n");
    expect(stderr).toContain("standard input:1:2: error: U+0000 can't stand here");
  });

  it("counts in a pipe what it did not keep, too", async () => {
    const lines = Array.from(
      { length: 1500 },
      (_, at) => `{"trajectories":[${line(0, ',"tools":null')},${line(at + 1)}]}`,
    );
    const { code, stderr } = await check([], { stdin: lines.join("\n") });
    expect(code).toBe(0);
    expect(stderr.match(/tools is null/g)).toHaveLength(1);
    expect(stderr).toContain("  and 1499 more: :2, :3,");
  });

  it("leaves nothing in the folder it runs in", async () => {
    const cwd = newFolder();
    await check([], { cwd, stdin: line(1) });
    expect(readdirSync(cwd)).toEqual([]);
  });
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { convertFiles, type Files, folderOf, sampled, user } from "./converting.ts";

const indented = (document: object): string => JSON.stringify(document, null, 2);

const trajectoryOf = (answer: unknown, more: object = {}): string =>
  indented({
    schema_version: "ATIF-v1.6",
    session_id: "s",
    agent: { name: "a", version: "1" },
    steps: [
      { step_id: 1, source: "user", message: "q" },
      { step_id: 2, source: "agent", message: answer },
    ],
    ...more,
  });

const resultOf = (trial_name: string, rewards: object | null, more: object = {}): string =>
  indented({
    task_name: "t",
    task_checksum: "sum",
    trial_name,
    verifier_result: rewards && { rewards },
    exception_info: null,
    agent_result: null,
    ...more,
  });

const trial = (name: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([file, content]) => [`job/${name}/${file}`, content]));

const job: Files = { "job/result.json": '{"id":"j","n_total_trials":1,"stats":{}}', "job/config.json": "{}" };

describe("trial folders of Harbor", () => {
  it("are grouped by task, with rewards, trajectories, exceptions, metrics and metadata, without the job's result", async () => {
    const more = { final_metrics: { total_steps: 2 }, continued_trajectory_ref: "trajectory.cont-1.json" };
    const error = { exception_type: "Timeout", exception_message: "late", exception_traceback: "at" };
    const files = {
      ...job,
      ...trial("a", {
        "result.json": resultOf(
          "a",
          { reward: 1, speed: 0.5 },
          {
            started_at: "2025-11-01T09:30:00Z",
            exception_info: error,
            agent_result: { n_input_tokens: 9007199254740991, cost_usd: 0.1, metadata: {} },
            config: { x: 1 },
          },
        ),
        "agent/trajectory.json": trajectoryOf("one", more),
        "agent/trajectory.cont-1.json": trajectoryOf("two"),
        "agent/mini-swe-agent.trajectory.json": "{}",
        "config.json": "{}",
      }),
      ...trial("b", { "result.json": resultOf("b", { reward: 0.25 }), "agent/trajectory.json": trajectoryOf("b") }),
      ...trial("c", { "result.json": resultOf("c", null, { exception_info: error }) }),
      ...trial("d", {
        "result.json": resultOf("d", { reward: 0 }, { task_checksum: null }),
        "agent/trajectory.json": trajectoryOf("d"),
      }),
      "other/a/result.json": resultOf("a", { reward: 3 }),
      "other/a/agent/trajectory.json": trajectoryOf("other"),
    };
    const { code, groups, notes, left } = await convertFiles(files, { names: ["."] });
    expect(code).toBe(0);
    const metadata = {
      schema_version: "ATIF-v1.6",
      session_id: "s",
      "agent.name": "a",
      "agent.version": "1",
      task_name: "t",
    };
    expect(groups).toEqual([
      {
        trajectories: [
          {
            messages_and_choices: [user("q"), sampled("one"), sampled("two")],
            reward: 1,
            metrics: { n_input_tokens: 9007199254740991, cost_usd: 0.1, speed: 0.5 },
            metadata: {
              ...metadata,
              continued_trajectory_ref: "trajectory.cont-1.json",
              task_checksum: "sum",
              trial_name: "a",
              exception_info: undefined,
              agent_result: undefined,
              started_at: "2025-11-01T09:30:00Z",
              exception_type: "Timeout",
            },
            start_time: "2025-11-01T09:30:00Z",
          },
          {
            messages_and_choices: [user("q"), sampled("b")],
            reward: 0.25,
            metadata: { ...metadata, task_checksum: "sum", trial_name: "b", exception_info: null, agent_result: null },
          },
        ],
        exceptions: [{ type: "Timeout", message: "late", traceback: "at" }],
      },
      { trajectories: [expect.objectContaining({ reward: 0 })] },
      { trajectories: [expect.objectContaining({ reward: 3 })] },
    ]);
    expect(notes[0]).toContain("read 6 files as trials of Harbor (--from harbor): group from task_checksum");
    expect(notes).toContain("skipped the result of a job, which is not a trial");
    expect(notes).toContain("skipped files without rollouts: job/a/config.json, job/config.json");
    expect(left["the metadata contains only its type, because there are rewards"]).toEqual([
      "exception_info.exception_message",
      "exception_info.exception_traceback",
    ]);
    expect(left["a continuation repeats it"]).toEqual(["steps[].message", "steps[].source", "steps[].step_id"]);
  });

  it("give the position of problems in the result or in the trajectory", async () => {
    const files = {
      ...trial("a", { "result.json": resultOf("a", { reward: 1 }) }),
      ...trial("b", { "result.json": resultOf("b", { reward: 1 }), "agent/trajectory.json": trajectoryOf(7) }),
      ...trial("c", { "result.json": resultOf("c", { accuracy: 1 }), "agent/trajectory.json": trajectoryOf("c") }),
      ...trial("d", { "result.json": resultOf("d", null), "agent/trajectory.json": trajectoryOf("d") }),
      ...trial("e", { "result.json": '{"trial_name":' }),
    };
    const { code, errors } = await convertFiles(files, { names: ["."] });
    expect(code).toBe(3);
    expect(errors).toMatchInlineSnapshot(`
      [
        "job/a/result.json:1: error: cannot convert this record of harbor: the trajectory agent/trajectory.json is missing or not JSON [record-invalid]",
        "job/b/agent/trajectory.json:1: error: steps.1.message: cannot convert this record of harbor: the content is neither text nor a list of parts [record-invalid]",
        "job/c/result.json:1: error: verifier_result.rewards: cannot convert this record of harbor: rewards contains accuracy, but not reward [record-invalid]",
        "job/d/result.json:1: error: cannot convert this record of harbor: the reward is missing [record-invalid]",
        "job/e/result.json:1:15: error: cannot convert this record of harbor: it is cut off [record-invalid]",
      ]
    `);
    const from = ["--reward-from", "verifier_result.rewards.accuracy"];
    const { groups } = await convertFiles(
      trial("c", { "result.json": resultOf("c", { accuracy: 0.5 }), "agent/trajectory.json": trajectoryOf("c") }),
      { names: ["."], args: from },
    );
    expect(groups[0]?.trajectories[0]).toMatchObject({ reward: 0.5, metrics: { accuracy: 0.5 } });
  });

  it("give the position of a message's problem in the trajectory's file", async () => {
    const calling = { tool_calls: [{ tool_call_id: "c", function_name: "f", arguments: {} }] };
    const steps = [
      { source: "user", message: "q" },
      { source: "agent", message: "", ...calling },
    ];
    const files = trial("a", {
      "result.json": resultOf("a", { reward: 1 }),
      "agent/trajectory.json": `{"schema_version":"ATIF-v1.7",\n"steps":${JSON.stringify(steps)}}`,
    });
    const { code, stderr } = await runRollcall(["check", "job"], { cwd: folderOf(files) });
    expect(code).toBe(0);
    expect(stderr).toMatch(/job\/a\/agent\/trajectory\.json:1: warning: steps\.0\.source: .*\[missing-tools\]/);
  });

  it("become a trajectory with one history for each step, and rewards and exceptions by the step's name", async () => {
    const step = (step_name: string, more: object) => ({
      step_name,
      agent_result: null,
      exception_info: null,
      ...more,
    });
    const error = { exception_type: "Timeout", exception_message: "late", exception_traceback: "at" };
    const step_results = [
      step("one", { verifier_result: { rewards: { reward: 1, style: 0.5 } }, agent_result: { n_output_tokens: 7 } }),
      step("two", { verifier_result: { rewards: { reward: 0 } }, exception_info: error }),
      step("three", { verifier_result: null }),
    ];
    const files = trial("a", {
      "result.json": resultOf("a", { reward: 0.5 }, { step_results }),
      "steps/one/agent/trajectory.json": trajectoryOf("first", { final_metrics: { total_steps: 2 } }),
      "steps/two/agent/trajectory.json": trajectoryOf("second"),
      "steps/two/verifier/reward.json": '{"reward":0}',
    });
    const { code, groups, notes, left } = await convertFiles({ ...job, ...files }, { names: ["."] });
    expect(code).toBe(0);
    expect(groups[0]?.trajectories).toMatchObject([
      {
        messages_and_choices: [user("q"), sampled("first")],
        additional_histories: [{ messages_and_choices: [user("q"), sampled("second")] }],
        reward: 0.5,
        metrics: {
          "steps.one.total_steps": 2,
          "steps.one.n_output_tokens": 7,
          "steps.one.reward": 1,
          "steps.one.style": 0.5,
          "steps.two.reward": 0,
        },
        metadata: { trial_name: "a", "steps.two.exception_type": "Timeout" },
      },
    ]);
    expect(notes).toContain("skipped a step without a trajectory");
    expect(left["only rewards, numbers and the type of an exception of a step are converted"]).toContain(
      "step_results[].exception_info.exception_message",
    );
    const outside = resultOf("a", { reward: 1 }, { step_results: [step("../../b", {})] });
    const { stderr } = await runRollcall(["check", "job"], { cwd: folderOf(trial("a", { "result.json": outside })) });
    expect(stderr).toContain("step_name is not the name of a folder");
  });

  it("are rejected together with the records that they consist of", async () => {
    const files = {
      ...trial("a", { "result.json": resultOf("a", { reward: 1 }), "agent/trajectory.json": trajectoryOf("a") }),
      ...trial("b", { "result.json": resultOf("b", { reward: 1 }), "agent/trajectory.json": trajectoryOf(7) }),
      ...trial("c", {
        "result.json": resultOf("c", { reward: 1 }, { task_checksum: "other" }),
        "agent/trajectory.json": trajectoryOf("c"),
      }),
    };
    const folder = folderOf(files);
    const args = ["convert", "job", "--on-invalid", "skip", "--rejects", "aside", "--out", "groups.lines"];
    expect((await runRollcall(args, { cwd: folder })).stderr).toContain(
      "the content is neither text nor a list of parts",
    );
    const lines = readFileSync(join(folder, "aside"), "utf8").trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).trial_name ?? JSON.parse(line).steps[1].message)).toEqual([
      "a",
      "a",
      "b",
    ]);
  });
});

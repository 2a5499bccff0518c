/** What the columns of trainers' rows mean. In parentheses are names in the writers' code. */
import { expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { fileOf, itTells } from "./converting.ts";
import { chat, example, said, simulation, trl, user } from "./records.ts";

const verl = (uid: string, more: object) => ({ input: "q", gts: "4", step: 3, uid, ...more });
const slime = (more: object) => ({
  ...{ group_id: 8, prompt: "q", response: "a", label: "4", loss_mask: [1], status: "completed", remove_sample: false },
  ...more,
});
const areal = (more: object) => ({
  ...{ task_id: 7, seqlen: 2, prompt_len: 1, head_version: 3, tail_version: 4, prompt: "q" },
  ...more,
});
const xtuner = (rollout_id: number, response: string, reward: number) => ({
  ...{ rollout_id, group_id: 0, status: "completed", finish_reason: "stop", error_msg: null },
  ...{ prompt: [user("q")], label: "4", response, reward },
});
const evaluated = (content: string, score: number, more: object = {}) => ({
  ...{ messages: [user("q"), said(content)], rollout_status: { code: 100, message: "finished", details: [] } },
  evaluation_result: { score, is_score_valid: true, ...more },
  execution_metadata: { rollout_id: content, finish_reason: "length" },
});
const ragen = (env_id: number, group_id: number, total_reward: number) => ({
  ...{ custom_id: `traj_${env_id}`, messages: [user("q"), said("up")] },
  metadata: { env_id, group_id, num_turns: 1, total_reward, success: true },
});

itTells("rows of %s are rollouts and groups as their writer means them", [
  [
    "verl (_dump_generations: `uid` is prompt, rollout and output)",
    [verl("p_0_0", { output: "a", score: 1 }), verl("p_1_0", { output: "b", score: 0 })],
    "(u:q A:a) =1 (u:q A:b) =0\n & decoded text",
  ],
  [
    "verl with two outputs of a rollout",
    [verl("p_0_0", { output: "a", score: 1 }), verl("p_0_1", { output: "b", score: 0 })],
    "the row is a part of a rollout",
  ],
  [
    "TRL (log_completions: a column for each reward function)",
    ["a", "b"].map((completion, at) => ({ step: 5, prompt: "q", completion, length_reward: at, advantage: at })),
    "(u:q A:a) =0 (u:q A:b) =1\n",
    "--reward-from length_reward",
  ],
  [
    "slime and miles (Sample.to_dict)",
    [
      slime({ reward: 1 }),
      slime({ reward: 0, response: "b", status: "truncated" }),
      slime({ reward: null, status: "aborted" }),
    ],
    "(u:q A:a) =1 (u:q A:b.length) =0 !error: aborted\n",
  ],
  [
    "AReaL (_dump_trajectory: `sample_idx` numbers samples)",
    [areal({ sample_idx: 0, completion: "a", reward: 1 }), areal({ sample_idx: 1, completion: "b", reward: 0 })],
    "(u:q A:a) =1 (u:q A:b) =0\n & no:part",
  ],
  [
    "XTuner (_save_trajectories: a summary is first)",
    [{ reward_mean: 0.5, total_len: 2 }, xtuner(1, "a", 1), xtuner(2, "b", 0)],
    "(u:q A:a) =1 (u:q A:b) =0\n & a.jsonl:1: warning: the line has neither messages nor a reward",
  ],
  [
    "Eval Protocol (EvaluateResult.is_score_valid)",
    [evaluated("a", 1), evaluated("b", 0, { is_score_valid: false })],
    "(u:q A:a.length) =1 !unscored: is_score_valid is false\n & left out the reward 0 of a rollout",
    "--reward-from evaluation_result.score",
  ],
  [
    "ms-swift (completions.jsonl)",
    ["a", "b"].map((completion, at) => ({ gen_step: 1, prompt: "q", completion, reward: at })),
    "(u:q A:a) =0 (u:q A:b) =1\n",
  ],
  [
    "ms-swift (custom datasets: `loss` masks a message)",
    [{ messages: [user("q"), said("a", { loss: false }), user("r"), said("b")], reward: 1 }],
    "A:a u:r A:b) =1 & counted a turn as sampled although a trainer leaves it out (`loss`: false)",
  ],
  [
    "RAGEN (_save_as_jsonl: the group is in the metadata)",
    [ragen(0, 0, 1), ragen(1, 0, 0), ragen(2, 1, 1)],
    "(u:q A:up) =1 (u:q A:up) =0\n & (u:q A:up) =1\n",
    "--reward-from metadata.total_reward",
  ],
  [
    "Agent Lightning (_build_compact_rollout_trajectory_records)",
    ["a", "b"].map((response, at) => ({ rollout_id: `ro-${at}`, reward: at, prompt: "q", response })),
    "(u:q A:a) =0 (u:q A:b) =1\n & read the completions from the key `response`",
  ],
  [
    "verifiers v0 and prime-rl (GenerateOutputs: `example_id` is the task)",
    [example(), example({ completion: [said("b")], reward: 0 }), example({ example_id: 1 })],
    "(u:q A:a) =1 (u:q A:b) =0\n & (u:q A:a) =1\n",
  ],
]);

itTells("rows of %s are refused, because they are not one rollout each", [
  ["NeMo RL (log_batched_dict_as_jsonl)", [{ content: ["q", "a"], rewards: [1], token_loss_mask: [[1]] }], "unknown"],
  ["ROLL (dump_rollout_to_specific_path)", [{ global_step: [1, 1], responses: ["a", "b"], scores: [1, 0] }], "unknown"],
  ["Atropos (ScoredDataGroup)", [{ tokens: [[1]], masks: [[1]], scores: [1], messages: [[user("q")]] }], "unknown"],
  ["open-instruct (RolloutRecord)", [{ step: 1, prompt_idx: 0, response_tokens: [1], reward: 1 }], "unknown"],
  [
    "an evaluation with several samples in a row",
    [{ messages: [user("q")], avg_score: 0.5, traces: [1, 0].map((score) => ({ score, response: "a" })) }],
    "avg_score is the mean of the scores in traces & write a row for each of them",
  ],
  [
    "a grader with a total that is the mean of its parts",
    [chat({ reward: undefined, final_score: 0.5, parts: [1, 0].map((score) => ({ score, name: "a" })) })],
    "the reward is missing & pass --reward-from final_score",
  ],
  ["SkyRL (dumped_evals)", [{ input_prompt: "q", output_response: "a", score: 1, stop_reason: "stop" }], "unknown"],
  [
    "Agent-R1 with its steps in a list",
    [
      trl({
        steps: [
          { prompt: "q", completion: "x" },
          { prompt: "r", completion: "a" },
        ],
      }),
    ],
    "the row has its turns in steps",
  ],
  [
    "an agent with its steps under other names",
    [
      chat({
        steps: [
          { observation: "q", action: "x" },
          { observation: "r", action: "a" },
        ],
      }),
    ],
    "the row has its turns in steps",
  ],
  [
    "benchflow (export_trl_sft: a row for each exchange)",
    [0, 1].map((exchange_index) => trl({ prompt: `q${exchange_index}`, task_id: "t", exchange_index })),
    "the row is a part of a rollout",
  ],
]);

const stepped = (steps: string, make: (step: number, at: number) => object) =>
  [...steps].map((step, at) => make(Number(step), at));

itTells("a column `step` %s", [
  [
    "that numbers turns divides no groups",
    stepped("00120", (step, at) => trl({ task_id: 1, step, prompt: `q${step}`, completion: `${at}` })),
    "(u:q0 A:0) =1 (u:q0 A:1) =1 (u:q1 A:2) =1 (u:q2 A:3) =1 (u:q0 A:4) =1\n & rollouts that differ in step (",
  ],
  [
    "that numbers the turns of a rollout with an id shows its parts",
    stepped("0101", (step, at) =>
      chat({ task_id: 1, session_id: at < 2 ? "x" : "y", info: { step }, messages: [user(`q${at}`), said("a")] }),
    ),
    "a.jsonl:1: error: the row is a part of a rollout",
  ],
  [
    "that begins again for each prompt is a step",
    stepped("0101", (step, at) => trl({ step, prompt: at < 2 ? "q" : "r" })),
    "grouped by step and prompt: 4 groups of 1",
  ],
  [
    "of several rollouts is a step",
    stepped("001100", (step) => trl({ step, task_id: 1, prompt: `q${step}` })),
    "grouped by step and task_id: 2 groups of 4, 2",
  ],
]);

itTells("a row is read with %s", [
  ["a list of messages that repeats its own", [chat({ raw: [user("q"), said("a")] })], "(u:q A:a) =1\n"],
  [
    "candidates for its answer",
    [trl({ candidates: ["x", "a"].map((text) => ({ text, judge: "j" })) })],
    "(u:q A:a) =1\n",
  ],
]);

itTells("a failure that is stated beside %s", [
  [
    "the reward 1",
    [chat({ error: "late" })],
    "=1\n & counted a rollout with a reward and a failure, which `error` states",
  ],
  ["the reward 0", [chat({ reward: 0, error: "late" })], "=0\n & counted a rollout with the reward 0 and a failure"],
  ["no reward", [chat({ reward: null, exception: "late" })], "!error: late\n"],
  ["no reward, in another object", [chat({ reward: null, info: { error: { message: "late" } } })], '"message":"late"'],
  ["no reward, as a status", [chat({ reward: null, status: "failed" })], "!error: failed\n"],
  ["no reward, as another status", [chat({ reward: null, status: "done" })], "the reward is missing"],
  ["no answer", [{ messages: [user("q")], reward: 0, error: "late" }], "!error: late\n"],
  ["a partial reward of verifiers", [example({ reward: 0.5, error: "late" })], "=0.5\n & which `error` states"],
  ["a score that no judge gave", [chat({ reward: 0, judge_failed: true })], "!unscored: judge_failed is true\n"],
  ["a score that a judge gave", [chat({ reward: 1, judge_failed: true })], "=1\n & which `judge_failed` states"],
  ["a judge's flag that is not set", [chat({ reward: 0, judge_failed: false })], "=0\n & no:failure"],
  ["a sample that is removed", [chat({ reward: 0, remove_sample: true })], "!unscored: remove_sample is true\n"],
  ["a reason to discard it", [chat({ reward: 0, discard_reason: "late" })], "=0\n & which `discard_reason` states"],
  [
    "no prompt",
    [chat(), ...["1", "2"].map((error) => chat({ messages: [], reward: null, error }))],
    "!error: 1\n & !error: 2\n",
  ],
  [
    "no messages, also if another attempt follows",
    [{ task_id: 1, rollout_id: "x", error: "late" }, chat({ task_id: 1, rollout_id: "x" }), { done: 1, error: "late" }],
    "(u:q A:a) =1 !error: late\n & a.jsonl:3: warning: the line has neither messages nor a reward",
  ],
  ["a flag with another meaning", [chat({ reward: 0, format_valid: false })], "=0\n & no:failure"],
]);

itTells("a row with %s", [
  ["a reason of tau2-bench is chat", [chat({ task_id: 1, termination_reason: "max_turns" })], "(u:q A:a) =1\n"],
  ["a trial of tau2-bench is a simulation", [simulation()], "results of tau2-bench"],
  ...["info", "extra_info", "execution_metadata", "step_result"].map(
    (name) => [`a reason in ${name}`, [chat({ [name]: { finish_reason: "length" } })], "A:a.length"] as const,
  ),
  ["a flag in extra_info", [chat({ extra_info: { is_truncated: true, step: 3 } })], "A:a.length"],
  ["tool calls as text", [chat({ messages: [user("q"), said('<tool_call>{"name":"f"}')] })], "tool calls are text"],
  [
    "an empty answer",
    [chat(), chat({ messages: [user("q"), said("", { reasoning_content: "t" })], reward: 0 })],
    "1 of 2 trajectories end with an empty answer (mean reward 0, of the others 1)",
  ],
  ["a call without a text", [chat({ messages: [user("q"), said("", { tool_calls: [{ name: "f" }] })] })], "no:without"],
  [
    "an id that tasks share, whose prompts repeat",
    ["q", "q", "r", "r"].map((prompt) => example({ prompt: [user(prompt)] })),
    "(u:q A:a) =1 (u:q A:a) =1\n & (u:r A:a) =1 (u:r A:a) =1\n",
  ],
  [
    "an id of one task, whose prompts differ",
    ["q", "r"].map((prompt) => example({ prompt: [user(prompt)] })),
    "(u:q A:a) =1 (u:r A:a) =1\n",
  ],
  [
    "a mask for a trainer",
    [chat({ messages: [user("q"), said("a", { step_loss_mask: 0 })] })],
    "although a trainer leaves it out (`step_loss_mask`: 0)",
  ],
  [
    "a page of a service around it",
    { "a.json": JSON.stringify({ page: 1, total: 3, samples: [chat(), chat({ reward: 0 })] }, undefined, 2) },
    "(u:q A:a) =1 (u:q A:a) =0\n & a.json:1: warning: the page has 2 of 3 rollouts [incomplete-page]\n  read all pages together",
  ],
]);

itTells("a rollout's id %s", [
  [
    "names parts in one group",
    ["q", "r"].map((q) => chat({ group_id: 1, rollout_id: "x", messages: [user(q), said("a")] })),
    "a.jsonl:1: error: the row is a part of a rollout",
  ],
  [
    "that two groups share names none, also if it repeats",
    [1, 1, 2, 2].map((group_id, at) => chat({ group_id, rollout_idx: at % 2, messages: [user("q"), said(`${at}`)] })),
    "no:part",
  ],
  [
    "is absent in its turns as text",
    [trl({ prompt: "q", completion: "{}" }), trl({ prompt: "q{}r", completion: "a" })],
    "a.jsonl:2: warning: the row continues the row before",
  ],
  [
    "is absent in the turns of a rollout, whose prompts grow",
    [trl({ prompt: [user("q")] }), trl({ prompt: [user("q"), said("a"), user("r")] })],
    "a.jsonl:2: warning: the row continues the row before",
  ],
  [
    "that repeats in groups that share it is a warning",
    ["10", "10", "11", "20"].map((id) => chat({ group_id: id[0], session_id: id[1], messages: [user("q"), said(id)] })),
    "a.jsonl:2: warning: the row continues the row before, or has the rollout id of another",
  ],
]);

it("a finish reason that convert derives is not recorded, also in what it wrote", async () => {
  const rows = [chat(), chat({ reward: 0, finish_reason: "length" }), chat({ messages: [user("r"), said("a")] })];
  const file = fileOf(rows);
  const { stdout } = await runHere(["convert", file]);
  const reasonsOf = async (name: string) =>
    (await runHere(["stats", name, "--json", "--fields", "finish_reasons"])).stdout;
  expect(await reasonsOf(fileOf(stdout.trimEnd().split("\n"), "groups.jsonl"))).toBe(await reasonsOf(file));
  expect(await reasonsOf(file)).toContain('{"name":null,"trajectories":2');
});

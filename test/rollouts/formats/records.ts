/** Records of other tools with their usual values. */

export const user = (content: unknown) => ({ role: "user", content });
export const said = (content: unknown, more: object = {}) => ({ role: "assistant", content, ...more });
export const turn = (content: string, finish_reason = "stop") => ({ finish_reason, index: 0, message: said(content) });
export const call = (id: string) => ({ id, type: "function", function: { name: "f", arguments: "{}" } });

/** A row of chat messages. */
export const chat = (more: object = {}) => ({ messages: [user("q"), said("a")], reward: 1, ...more });

/** A row of TRL. */
export const trl = (more: object = {}) => ({ prompt: "q", completion: "a", reward: 1, ...more });

/** A row of verifiers v0. */
export const example = (more: object = {}) => ({
  ...{ example_id: 0, prompt: [user("q")], completion: [said("a")], task: "t", reward: 1 },
  ...more,
});

/** A trace of verifiers v1. */
export const trace = (more: object = {}) => ({
  ...{ id: "t", task: { key: "k" }, rewards: { x: 1 } },
  nodes: [{ message: user("q") }, { parent: 0, sampled: true, message: said("a"), finish_reason: "stop" }],
  ...more,
});

/** A rollout of NeMo Gym with these items of its response. */
export const gym = (output: readonly object[] = [said("a")], more: object = {}) => ({
  ...{ _ng_task_index: 0, reward: 1, responses_create_params: { input: "q" }, response: { output } },
  ...more,
});

/** A simulation of tau2-bench. */
export const simulation = (messages: readonly object[] = [user("q"), said("a")], more: object = {}) => ({
  ...{ task_id: 1, trial: 0, termination_reason: "user_stop", reward_info: { reward: 1 }, messages },
  ...more,
});

/** A sample of lm-evaluation-harness with the reward `r`. */
export const harness = (more: object = {}) => ({
  ...{ r: 1, doc_id: 0, arguments: [["q", {}]], resps: [["a"]], filtered_resps: ["a"] },
  ...more,
});

/** A row of verl. */
export const verl = (more: object = {}) => ({ input: "q", output: "a", score: 1, step: 0, ...more });

/** A file of mini-swe-agent with the reward `r`. */
export const miniSwe = (messages: readonly object[], more: object = {}) => ({
  ...{ r: 1, info: {}, trajectory_format: "mini-swe-agent-1.1", messages },
  ...more,
});

/** A trajectory of ART with exchanges with an API. */
export const art = (exchanges: object, more: object = {}) => ({ reward: 1, exchanges, ...more });

/** An exchange with the API of chat completions. */
export const exchange = (messages: readonly object[], answer = "a", more: object = {}) => ({
  request: { messages },
  response: { choices: [turn(answer)] },
  ...more,
});

/** A log of Inspect with these samples. */
export const inspect = (samples: readonly object[], more: object = {}) => ({ eval: { task: "t" }, samples, ...more });

export const generated = said("a", { source: "generate" });
export const sample = (more: object = {}) => ({
  ...{ id: 1, epoch: 1, messages: [user("q"), generated], scores: { m: { value: 1 } } },
  ...more,
});

/** Steps and a document of ATIF. */
export const asks = (message: unknown, more: object = {}) => ({ source: "user", message, ...more });
export const agent = (message: unknown, more: object = {}) => ({ source: "agent", message, ...more });
export const atif = (steps: readonly unknown[] = [asks("q"), agent("a")], more: object = {}) => ({
  ...{ schema_version: "ATIF-v1.6", session_id: "s", steps },
  ...more,
});

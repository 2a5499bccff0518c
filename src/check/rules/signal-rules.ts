/** Rules of what a training run learns from its trajectories: they cost people runs, and no service tells them. */
import {
  answer,
  called,
  file,
  goodGroup,
  group,
  messages,
  question,
  result,
  trajectory,
  withContent,
  withMembers,
} from "./example.ts";
import { warning, warningOfWhole } from "./rule.ts";

const tools = (name: string): string => `,"tools":[{"type":"function","function":{"name":"${name}"}}]`;

const choice = (more = ""): string => `{"finish_reason":"stop","index":0,"message":${answer}${more}}`;

/** Thirty trajectories, and the reward of the last. */
const rewards = (last: number): string =>
  Array.from({ length: 30 }, (_, at) => trajectory(at === 29 ? last : at % 2, `,"metadata":{"at":${at}}`)).join("\n");

/** A group of each policy version. */
const versions = (...all: readonly number[]): string =>
  all
    .map((version, at) =>
      group(trajectory(0, `,"final_policy_version":${version},"logs":["${at}"]`), trajectory(1, `,"logs":["${at}"]`)),
    )
    .join("\n");

/** It looks like a key, but not in this file. */
const key = ["sk", "proj", "Ab3dEfGh1JkLmN0pQrStUvWxYz"].join("-");

/** Rules of the training signal; each is a warning. */
export const signalRules = {
  "group-no-signal": warningOfWhole<{ trajectories: number }>({
    says: ({ trajectories }) =>
      `${trajectories === 2 ? "both" : `all ${trajectories}`} rewards of the group are equal: there is nothing to learn from it`,
    advice: "make the task harder or easier, or leave such groups out",
    why: "Most trainers learn from how the rewards of a group differ. Where they are equal, the group is paid for and not used.",
    ...withContent(group(trajectory(1), trajectory(1, ',"logs":["b"]')), goodGroup),
  }),
  "group-of-one": warningOfWhole<{ key: string | undefined }>({
    says: () => "the group has one trajectory: there is nothing to compare its reward with",
    advice: ({ key }) =>
      key === undefined
        ? "sample several trajectories of each prompt; --group-by puts those with the same key into one group"
        : `--group-by ${key} would group them: several of those alone have the same`,
    why: "Most trainers learn from how the rewards of a group differ, and one reward differs from none.",
    ...withContent(trajectory(1), `${trajectory(0, ',"group_id":"a"')}\n${trajectory(1, ',"group_id":"a"')}`),
  }),
  "reward-outlier": warning<{ reward: number; median: number }>({
    says: ({ reward, median }) =>
      `the reward ${reward} is far outside the others of the file, whose median is ${median}`,
    quiet: "the reward is far outside the others of the file",
    advice: "look at the trajectory: one such reward outweighs all others in the mean",
    why: "A reward that is thirty times as far from the median as is usual in the file decides the whole step by itself.",
    ...withContent(rewards(5000), rewards(5)),
  }),
  "policy-order": warning<{ initial: number; final: number }>({
    says: ({ initial, final }) => `final_policy_version ${final} is below initial_policy_version ${initial}`,
    quiet: "final_policy_version is below initial_policy_version",
    advice: "a policy's version only grows: the two may have changed places",
    why: "A policy's version grows while a trajectory is sampled, if it changes at all.",
    fires: file(trajectory(1, ',"initial_policy_version":8,"final_policy_version":7')),
    passes: file(trajectory(1, ',"initial_policy_version":7,"final_policy_version":8')),
  }),
  "policy-mixed": warning<{ least: number; most: number }>({
    says: ({ least, most }) => `the group mixes the policy versions ${least} to ${most}`,
    quiet: "the group mixes policy versions",
    advice: "their rewards are compared as if one policy had earned them: sample a group with one version",
    why: "A trajectory is held against the others of its group. Where an older policy sampled some of them, part of the difference is the policy's age.",
    fires: file(group(trajectory(0, ',"final_policy_version":7'), trajectory(1, ',"final_policy_version":8'))),
    passes: file(group(trajectory(0, ',"final_policy_version":8'), trajectory(1, ',"final_policy_version":8'))),
  }),
  "policy-lags": warningOfWhole<{ version: number; newest: number; line: number }>({
    says: ({ version, newest, line }) =>
      `the group is of policy version ${version}, older than version ${newest} before it in the file (line ${line})`,
    quiet: "the group is of an older policy version than one before it in the file",
    advice: "trajectories of an older policy may be stale: leave them out, or log them with their own step",
    why: "Groups of an older policy than those before them in the file are off-policy data: left over, or merged from another run.",
    ...withContent(versions(7, 8, 7), versions(7, 7, 8)),
  }),
  "tool-call-unanswered": warning<{ name: string | undefined }>({
    says: ({ name }) =>
      name === undefined
        ? "the call of a tool without a name has no result"
        : `the call of the tool ${name} has no result`,
    quiet: "the call of a tool has no result",
    advice: "add the tool message with its tool_call_id",
    why: "A call that has no result, and is not what the trajectory ends with, was lost on the way.",
    ...withContent(messages(question, called, answer), messages(question, called)),
  }),
  "last-call-unanswered": warning<{ name: string }>({
    says: ({ name }) => `the trajectory ends with a call of the tool ${name}, whose earlier calls have results`,
    quiet: "the trajectory ends with a call of a tool whose earlier calls have results",
    advice:
      "was the rollout cut off? add the result, or leave the call out; a call that ends a rollout on purpose is of a tool of its own",
    why: "A rollout that was cut off before its tool answered looks like one that ended there.",
    ...withContent(messages(question, called, result, called), messages(question, called)),
  }),
  "tool-unlisted": warning<{ name: string; suggestion: () => string | undefined }>({
    says: ({ name }) => `the tool ${name} is called, and tools does not list it`,
    quiet: "a tool is called that tools does not list",
    advice: ({ suggestion }) => {
      const meant = suggestion();
      return meant === undefined ? "list it in tools" : `did you mean ${meant}?`;
    },
    why: "The model called a tool that it was not offered: a slip of the recording, or of the model.",
    fires: file(trajectory(1, tools("web_search"), `${question},${called}`)),
    passes: file(trajectory(1, tools("search"), `${question},${called}`)),
  }),
  "no-assistant": warningOfWhole({
    says: "the trajectory has no assistant turn: the policy says nothing in it",
    advice: "messages of the role assistant, or choices, are what is learned from",
    why: "What is learned from are the turns of the model.",
    ...withContent(messages(question), messages(question, choice())),
  }),
  "nothing-trainable": warningOfWhole<{ all: boolean }>({
    says: ({ all }) =>
      `${all ? "no trajectory" : "the trajectory"} has ${all ? "a" : "no"} choice: a trainer finds no sampled turn to learn from`,
    advice:
      'write each turn that the model sampled as a choice: {"finish_reason": "stop", "index": 0, "message": {"role": "assistant", …}}',
    why: "Trainers learn from the turns that the policy sampled, which are choices. A plain message, of the assistant too, is one that was given to it, so that a trajectory without a choice adds nothing.",
    ...withContent(trajectory(1), messages(question, choice())),
  }),
  "choice-without-logprobs": warningOfWhole<{ all: boolean }>({
    says: ({ all }) => (all ? "no choice has logprobs" : "the choice has no logprobs"),
    advice:
      "record them while sampling (in the OpenAI API: logprobs=True), or make sure that the trainer goes without: many leave such choices out",
    why: "Many trainers hold each token against the probability that it was sampled with, and leave out choices that lack it.",
    ...withContent(messages(question, choice()), messages(question, choice(',"logprobs":{"content":[]}'))),
  }),
  "tools-missing": warningOfWhole<{ all: boolean }>({
    says: ({ all }) => `tools are called, and ${all ? "no trajectory has" : "the trajectory has no"} tools`,
    advice:
      'put the definitions that the model was given into tools: [{"type": "function", "function": {"name": …, "parameters": …}}]',
    why: "The tools are part of the prompt that the model saw: without them a trainer computes the probabilities of another prompt.",
    fires: file(messages(question, called, result, answer)),
    passes: file(trajectory(1, tools("search"), `${question},${called},${result},${answer}`)),
  }),
  "trajectory-twice": warningOfWhole<{ place: string }>({
    says: ({ place }) => `the trajectory is, byte for byte, the one at ${place}`,
    quiet: "the trajectory is, byte for byte, another one of the input",
    advice: "leave one of them out, unless the policy is deterministic",
    why: "The same trajectory twice counts twice: a file was written twice, or a sampler's seed never changed.",
    ...withContent(group(trajectory(0), trajectory(1), trajectory(0)), goodGroup),
  }),
  "group-in-both": warningOfWhole<{ place: string }>({
    says: ({ place }) => `the group is, byte for byte, the one at ${place}, which belongs to another split`,
    quiet: "the group stands, byte for byte, in another split too",
    advice: "leave it out of one of them: what was trained on tests nothing",
    why: "A split that was trained on tests nothing (`rollcall check --split train train.jsonl --against val.jsonl`).",
    fires: { ...file(goodGroup), against: `\n${goodGroup}` },
    passes: { ...file(goodGroup), against: group(trajectory(1), trajectory(0)) },
  }),
  "start-time-zone": warning<{ found: string }>({
    says: ({ found }) => `start_time ${found} has no zone, so that nobody can say when it was`,
    quiet: "start_time has no zone, so that nobody can say when it was",
    advice: ({ found }) => `add one: ${found}Z is UTC`,
    why: "A time without a zone is another moment on every machine.",
    ...withMembers(',"start_time":"2025-11-01T09:30:00"', ',"start_time":"2025-11-01T09:30:00+01:00"'),
  }),
  "secret-in-content": warning<{ kind: string }>({
    says: ({ kind }) => `this looks like ${kind}`,
    advice: "take it out before it is logged, and revoke it: whoever reads the trajectories can use it",
    why: "Agents read files and environments, and what they read is logged. Key formats of well-known services are looked for; what is found is never printed.",
    fires: file(messages(question, `{"role":"assistant","content":"export KEY=${key}"}`)),
    passes: file(messages(question, '{"role":"assistant","content":"export KEY=sk-your-key-goes-here-0000"}')),
  }),
};

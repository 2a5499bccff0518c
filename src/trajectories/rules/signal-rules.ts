/** Rules about what a training run learns from its trajectories: they cost people runs, and no service tells them. */
import { warning, wholeWarning } from "./rule.ts";

/** Rules of the training signal; each is a warning. */
export const signalRules = {
  "group-no-signal": wholeWarning<{ trajectories: number }>(
    ({ trajectories }) => `all ${trajectories} rewards of the group are equal: there is nothing to learn from it`,
    "make the task harder or easier, or leave such groups out",
  ),
  "group-of-one": wholeWarning(
    "the group has one trajectory: there is nothing to compare its reward with",
    "--group-by puts trajectories of the same key into one group",
  ),
  "reward-outlier": warning<{ reward: number; median: number }>(
    ({ reward, median }) => `the reward ${reward} is far outside the others of the file, whose median is ${median}`,
    "look at the trajectory: one such reward outweighs all others in the mean",
  ),
  "policy-order": warning<{ initial: number; final: number }>(
    ({ initial, final }) => `final_policy_version ${final} is below initial_policy_version ${initial}`,
    "a policy's version only grows: the two may have changed places",
  ),
  "policy-lags": wholeWarning<{ version: number; newest: number; line: number }>(
    ({ version, newest, line }) =>
      `the group is of policy version ${version}, older than version ${newest} before it in the file (line ${line})`,
    "trajectories of an older policy may be stale: leave them out, or log them with their own step",
  ),
  "tool-call-unanswered": warning<{ name: string }>(
    ({ name }) => `the call of the tool ${name} has no result`,
    "add the tool message with its tool_call_id",
  ),
  "tool-unlisted": warning<{ name: string; suggestion: string | undefined }>(
    ({ name }) => `the tool ${name} is called, and tools does not list it`,
    ({ suggestion }) => (suggestion === undefined ? "list it in tools" : `did you mean ${suggestion}?`),
  ),
  "no-assistant": wholeWarning(
    "the trajectory has no assistant turn: nothing in it was said by the policy",
    "messages of the role assistant, or choices, are what is learned from",
  ),
  "trajectory-twice": wholeWarning<{ place: string }>(
    ({ place }) => `the trajectory is, byte for byte, the one at ${place}`,
    "leave one of them out, unless the policy is deterministic",
  ),
  "group-in-both": wholeWarning<{ place: string }>(
    ({ place }) => `the group is, byte for byte, the one at ${place}, which belongs to another split`,
    "leave it out of one of them: what was trained on tests nothing",
  ),
  "start-time-zone": warning<{ found: string }>(
    ({ found }) => `start_time ${found} has no zone, so that nobody can say when it was`,
    ({ found }) => `add one: ${found}Z is UTC`,
  ),
  "secret-in-content": warning<{ kind: string }>(
    ({ kind }) => `this looks like ${kind}`,
    "take it out before it is logged, and make it void: whoever reads the trajectories can use it",
  ),
};

/** The graph of messages of a trace of verifiers v1 → its branches, as messages and choices. */
import type { Built } from "./built.ts";
import { type FormatRun, needed, Unfit } from "./format.ts";
import { logprobsOf } from "./logprobs.ts";
import { chatMessage, toolCalls } from "./tool-calls.ts";
import { choice, derivedFinish } from "./turns.ts";
import type { Value } from "./value.ts";

/**
 * The branches of a trace, each from its root to a leaf, the last leaf's first. What was sampled is a choice in the
 * first of them that has it, and a message in the others.
 * @throws Unfit
 */
export const branchesOf = (run: FormatRun, trace: Value, group: string): readonly (readonly Built[])[] => {
  const nodes = needed(trace, "nodes", group).items();
  const parents = nodes.map((node, at) => parentOf(node, at, group));
  const held = new Set(parents);
  const leaves = nodes.flatMap((_, at) => (held.has(at) ? [] : [at]));
  const calls = new Map((trace.get("calls")?.items() ?? []).map((call) => [call.get("node")?.number, call]));
  const seen = new Set<number>();
  const turn = (at: number): Built => {
    const node = nodes[at] ?? trace;
    const message = needed(node, "message", group);
    const isSampled = node.get("sampled")?.isTrue === true && !seen.has(at);
    const whole = chatMessage(message, { isSampled });
    if (!isSampled) return whole;
    seen.add(at);
    const finish = calls.get(at)?.get("finish_reason") ?? node.get("finish_reason");
    const logprobs = sampledLogprobs(run, node, group);
    return choice(
      whole,
      finish ?? derivedFinish(run, toolCalls(message) !== undefined),
      logprobs === undefined ? {} : { logprobs },
    );
  };
  return [...leaves.slice(-1), ...leaves.slice(0, -1)].map((leaf) => {
    const path: number[] = [];
    for (let at: number | undefined = leaf; at !== undefined; at = parents[at]) path.unshift(at);
    return path.map(turn);
  });
};

const parentOf = (node: Value, at: number, group: string): number | undefined => {
  const parent = node.get("parent");
  if (parent === undefined) return undefined;
  const index = parent.number;
  if (index !== undefined && Number.isInteger(index) && index >= 0 && index < at) return index;
  throw new Unfit(`parent is no node before it (${at})`, parent, group);
};

/** The logprobs of the tokens that the mask names. */
const sampledLogprobs = (run: FormatRun, node: Value, group: string): Built | undefined => {
  const logprobs = node.get("logprobs");
  if (logprobs?.get(0) === undefined) return undefined;
  const [ids, mask] = [node.get("token_ids")?.items() ?? [], node.get("mask")?.items() ?? []];
  if (ids.length === 0) {
    run.note("logprobs without token ids are left out");
    run.leave(logprobs, "nothing says which tokens they are of");
    return undefined;
  }
  const sampled = mask.length === 0 ? ids : ids.filter((_, at) => mask[at]?.isTrue === true);
  return logprobsOf(logprobs, { ids: sampled, group });
};

/** The usage that `catalog cost` prices: said in numbers, or recorded by a call. */

import { noUsage, type Usage, usageOfCall } from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import { openClient } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { CallReadReply, readCall } from "../../contract/call.ts";
import { counted } from "../../counted.ts";
import { Failure } from "../../failure.ts";
import type { Settings } from "../../settings/index.ts";
import type { TypedCost } from "./command.ts";

/** Where a usage comes from, as meant. */
interface UsageAsked {
  /** The id of the call that recorded it; undefined if it is said in numbers. */
  readonly call: string | undefined;
  /** What was said in numbers; it stands in place of what is recorded. */
  readonly said: Partial<Usage>;
}

/** What the options mean. @throws Failure `option-value-wrong`, `options-contradict`, `usage-missing` */
export const usageAsked = (typed: TypedCost): UsageAsked => {
  const { fromCall: call } = typed;
  const said = saidIn(typed);
  const tokens = ["prompt_tokens", "completion_tokens", "cached_tokens"] as const;
  if (call !== undefined && tokens.some((name) => said[name] !== undefined)) {
    throw contradiction("--from-call", "numbers of tokens", "the tokens are those that are recorded");
  }
  if (call === undefined && Object.values(said).every((count) => count === 0)) throw new Failure("usage-missing", {});
  if ((said.cached_tokens ?? 0) > (said.prompt_tokens ?? 0)) {
    const wanted = "no more than --prompt-tokens, which the cached ones are among";
    throw wrongValue("--cached", String(said.cached_tokens), wanted);
  }
  return { call, said };
};

const saidIn = (typed: TypedCost): Partial<Usage> => {
  const counts = {
    prompt_tokens: typed.promptTokens,
    cached_tokens: typed.cached,
    completion_tokens: typed.completionTokens,
    images: typed.images,
    requests: typed.requests,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined));
};

/** A usage, and what a person should know of it. */
export interface UsageRead {
  readonly usage: Usage;
  readonly from: "options" | "call";
  /** Whether numbers of images or requests were said. */
  readonly unitsAsked: boolean;
  readonly notices: readonly string[];
}

/** Comes by the usage. @throws Failure `usage-unrecorded`, `calls-missing` */
export const readUsage = async (
  context: Context,
  settings: Settings,
  { call, said }: UsageAsked,
): Promise<UsageRead> => {
  const unitsAsked = said.images !== undefined || said.requests !== undefined;
  if (call === undefined) return { usage: { ...noUsage, ...said }, from: "options", unitsAsked, notices: [] };
  const usage = { ...(await usageInCall(context, settings, call)), ...said };
  return { usage, from: "call", unitsAsked, notices: [usageSentence(usage)] };
};

const usageSentence = ({ prompt_tokens, cached_tokens, completion_tokens, requests }: Usage): string =>
  `${prompt_tokens} prompt tokens${cached_tokens === 0 ? "" : ` (${cached_tokens} of them cached)`}, ${completion_tokens} completion tokens, ${counted(requests, "request")}`;

const usageInCall = async (context: Context, settings: Settings, id: string): Promise<Usage> => {
  const client = await openClient(context, settings);
  const project = settings.require("project");
  const { bytes } = await client.send(readCall, { parameters: {}, body: { project_id: project, id } });
  // The reply's value has the call's fields without what is in them.
  const { call } = CallReadReply.parse(JSON.parse(Buffer.from(bytes).toString()));
  if (call === null) throw new Failure("calls-missing", { ids: [id], asked: 1, project });
  const usage = usageOfCall(call);
  if (usage === undefined) throw new Failure("usage-unrecorded", { by: `the call ${id}` });
  return usage;
};

/** The usage that `catalog cost` prices: said in numbers, or recorded by a call or by trajectories. */

import { addUsage, noUsage, type Usage, usageOfCall, usageOfTrajectory } from "../../catalogs/index.ts";
import { openClient } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { CallReadReply, readCall } from "../../contract/call.ts";
import { counted } from "../../counted.ts";
import { Failure } from "../../failure.ts";
import type { Settings } from "../../settings/index.ts";
import { tokensOf } from "./filter.ts";

/** The options as typed. */
export interface TypedUsage {
  readonly promptTokens?: string;
  readonly completionTokens?: string;
  readonly cached?: string;
  readonly images?: string;
  readonly requests?: string;
  readonly fromCall?: string;
  readonly fromFile?: readonly string[];
}

/** Where a usage comes from, as meant. */
interface UsageAsked {
  readonly from: "options" | "call" | "files";
  readonly call: string;
  readonly files: readonly string[];
  /** What was said in numbers; it stands in place of what is recorded. */
  readonly said: Partial<Usage>;
}

/** What the options mean. @throws Failure `option-value-wrong`, `options-contradict`, `usage-missing` */
export const usageAsked = (typed: TypedUsage): UsageAsked => {
  const { fromCall, fromFile = [] } = typed;
  const said = saidIn(typed);
  const from = fromCall !== undefined ? "call" : fromFile.length > 0 ? "files" : "options";
  if (fromCall !== undefined && fromFile.length > 0) {
    throw new Failure("options-contradict", { first: "--from-call", second: "--from-file", why: "give one of them" });
  }
  const tokens = ["prompt_tokens", "completion_tokens", "cached_tokens"] as const;
  if (from !== "options" && tokens.some((name) => said[name] !== undefined)) {
    const why = "the tokens are those that are recorded";
    throw new Failure("options-contradict", {
      first: `--from-${from === "call" ? "call" : "file"}`,
      second: "numbers of tokens",
      why,
    });
  }
  if (from === "options" && Object.values(said).every((count) => count === 0)) throw new Failure("usage-missing", {});
  if ((said.cached_tokens ?? 0) > (said.prompt_tokens ?? 0)) {
    const wanted = "no more than --prompt-tokens, which the cached ones are among";
    throw new Failure("option-value-wrong", { option: "--cached", value: typed.cached ?? "", wanted });
  }
  return { from, call: fromCall ?? "", files: fromFile, said };
};

const saidIn = ({ promptTokens, completionTokens, cached, images, requests }: TypedUsage): Partial<Usage> => {
  const counts = {
    prompt_tokens: tokensOf("--prompt-tokens", promptTokens),
    cached_tokens: tokensOf("--cached", cached),
    completion_tokens: tokensOf("--completion-tokens", completionTokens),
    images: tokensOf("--images", images),
    requests: tokensOf("--requests", requests),
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined));
};

/** A usage, and what a person should know of it. */
export interface UsageRead {
  readonly usage: Usage;
  readonly from: UsageAsked["from"];
  /** Whether numbers of images or requests were said. */
  readonly unitsAsked: boolean;
  /** Trajectories that were read, where they were. */
  readonly recorded?: RecordedCounts;
  readonly notices: readonly string[];
}

/** Numbers of trajectories. */
interface RecordedCounts {
  readonly trajectories: number;
  readonly without_usage: number;
  /** Lines, or groups, that could not be read. */
  readonly unreadable: number;
}

/** Comes by the usage. @throws Failure `usage-unrecorded`, `calls-missing`, `input-invalid` */
export const readUsage = async (context: Context, settings: Settings, asked: UsageAsked): Promise<UsageRead> => {
  const { said, from } = asked;
  const unitsAsked = said.images !== undefined || said.requests !== undefined;
  if (from === "options") return { usage: { ...noUsage, ...said }, from, unitsAsked, notices: [] };
  if (from === "call") {
    const usage = await usageInCall(context, settings, asked.call);
    return { usage: { ...usage, ...said }, from, unitsAsked, notices: [usageSentence({ ...usage, ...said })] };
  }
  const { usage, recorded } = await usageInFiles({ context, settings }, asked.files);
  const notices = [...missingSentences(recorded), usageSentence({ ...usage, ...said })];
  return { usage: { ...usage, ...said }, from, unitsAsked, recorded, notices };
};

const usageSentence = ({ prompt_tokens, cached_tokens, completion_tokens, requests }: Usage): string =>
  `${prompt_tokens} prompt tokens${cached_tokens === 0 ? "" : ` (${cached_tokens} of them cached)`}, ${completion_tokens} completion tokens, ${counted(requests, "request")}`;

const missingSentences = ({ trajectories, without_usage, unreadable }: RecordedCounts): readonly string[] => [
  ...(without_usage > 0
    ? [`${without_usage} of ${trajectories} trajectories record no usage: they cost nothing here`]
    : []),
  ...(unreadable > 0 ? [`${unreadable} lines can't be read: rollcall check says why`] : []),
];

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

const usageInFiles = async (
  { context, settings }: { readonly context: Context; readonly settings: Settings },
  files: readonly string[],
): Promise<{ readonly usage: Usage; readonly recorded: RecordedCounts }> => {
  // Most usages come from no file, and the room of trajectories is large.
  const { readTrajectories, recordedTrajectories } = await import("../../trajectories/index.ts");
  const none = () => undefined;
  const asked = { host: context.host, files, split: undefined, splitNeeded: false, groupBy: undefined };
  const maxUnpackedBytes = settings.require("max_unpacked_size");
  const reading = await readTrajectories({ ...asked, maxUnpackedBytes, onOpened: none, onProgress: none });
  let usage = noUsage;
  let [trajectories, without_usage, unreadable] = [0, 0, 0];
  try {
    for await (const one of recordedTrajectories(reading)) {
      context.host.signal.throwIfAborted();
      const own = one === undefined ? undefined : usageOfTrajectory(one.trajectory);
      if (one === undefined) unreadable++;
      else trajectories++;
      if (own !== undefined) usage = addUsage(usage, own);
      else if (one !== undefined) without_usage++;
    }
  } finally {
    await reading.close();
  }
  if (trajectories === without_usage) throw new Failure("usage-unrecorded", { by: files.join(", ") });
  return { usage, recorded: { trajectories, without_usage, unreadable } };
};

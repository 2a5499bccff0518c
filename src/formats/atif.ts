/** ATIF documents: what an agent did step by step, with continuations and subagents. */
import { basename, dirname, join } from "node:path";
import {
  findContinuation,
  formatReference,
  type Links,
  type LocatedDocument,
  listEmbedded,
  listSubagents,
  openLinks,
  type Reference,
} from "./atif-links.ts";
import {
  commonReasons,
  type Format,
  type FormatRun,
  type LeftOutReasons,
  type Rollout,
  type SourceRecord,
} from "./format.ts";
import { choice, deriveFinish, toArguments, toFunctionTools, toLogprobs } from "./messages.ts";
import { list, literal, type Member, type OutputJson, object } from "./output-json.ts";
import { buildTrajectory, findReward, withGroup } from "./rollout.ts";
import {
  ConversionError,
  flatMembers,
  itemsAt,
  type Members,
  metricMembers,
  requireItems,
  requireKey,
  type Value,
} from "./value.ts";

const firstPartReason = "a history has no place for it: the trajectory has its first part's";

/** Reasons why values of ATIF documents have no place. */
export const atifReasons: LeftOutReasons = [
  ["they are made of the messages", "steps[].metrics.prompt_token_ids"],
  ["no logprobs are recorded with them", "steps[].metrics.completion_token_ids"],
  ["completion_token_ids are missing, or the turn was not sampled", "steps[].metrics.logprobs"],
  ["the interface has no place for the usage of a turn", "steps[].metrics"],
  ["the interface has no place for the time of a turn", "steps[].timestamp"],
  ["the histories are those that it names", "steps[].observation.results[].subagent_trajectory_ref"],
  ["the interface has no place for it on a turn", "steps"],
  [firstPartReason, "agent schema_version session_id trajectory_id notes"],
  ["metrics are numbers, those of the last part", "final_metrics"],
];

export const atif: Format = {
  name: "atif",
  title: "ATIF trajectories",
  keys: { group: "each file by itself", reward: "--rewards", sampled: "the agent's steps" },
  records: { text: "document" },
  files: /(?:^|[/\\])trajectory[^/\\]*\.json(?:\.gz|\.zst)?$/,
  recognizes: ({ value }) =>
    value.textAt("schema_version")?.startsWith("ATIF-") === true && value.get("steps")?.isList === true,
  open: (run) => {
    const links = openLinks(run);
    return {
      preview: (record) => links.addDocument(record),
      convert: (record) => (links.isPart(record) ? undefined : [rolloutOf(run, record, links)]),
    };
  },
  left: [...atifReasons, [firstPartReason, "subagent_trajectories[]"], [commonReasons.nested, "extra"]],
};

const rolloutOf = (run: FormatRun, { value, file }: SourceRecord, links: Links): Rollout => {
  const group = "trajectory";
  return withGroup(group, () => {
    const { partsIdentity: form, documents, main, others, ...read } = readAtif(run, { document: value, file }, links);
    const stem = basename(file).replace(/\.json(?:\.gz|\.zst)?$/, "");
    const ids = [value.get("trajectory_id"), value.get("session_id"), stem];
    const judged = findReward(run, { record: value, ids });
    const trajectory = buildTrajectory({
      ...read,
      ...main,
      histories: others.map(toHistory),
      rolloutReward: judged,
      identity: form,
    });
    return { group, documents, ...trajectory };
  });
};

/** Messages that a model saw, and its tools. */
interface History {
  readonly turns: readonly OutputJson[];
  readonly tools: OutputJson | undefined;
}

export const toHistory = ({ turns, tools }: History): OutputJson =>
  object({ messages_and_choices: list(turns), tools });

/** A document with those that belong to it. */
export interface AtifContent {
  readonly main: History;
  readonly others: readonly History[];
  readonly metrics: Members;
  readonly metadata: readonly Member[];
  readonly startTime: Value | undefined;
  /** What tells parts that are kept apart from the same parts joined. */
  readonly partsIdentity: string;
  readonly documents: readonly Value[];
}

/** Reads a document with its continuations and subagents. @throws Unfit */
export const readAtif = (run: FormatRun, located: LocatedDocument, links: Links): AtifContent => {
  const { document } = located;
  requireVersion(run, document);
  const { documents, partsOf, historiesOf, subagentHistories } = openAtifReader(run, links, modelOf(document));
  const parts = partsOf(located);
  const [main = { turns: [], tools: undefined }, ...more] = historiesOf(parts);
  const others = [...more, ...parts.flatMap(subagentHistories)];
  const agent = (document.get("agent")?.members() ?? []).filter(([, { isScalar }]) => isScalar);
  return {
    main,
    others,
    metrics: metricMembers((parts.at(-1)?.document ?? document).get("final_metrics")),
    metadata: [...flatMembers(document), ...agent.map(([key, value]) => [`agent.${key}`, value] as const)],
    startTime: readStartTime(document),
    partsIdentity: run.options.keepsHistories && parts.length > 1 ? " in parts" : "",
    documents,
  };
};

/** The last minor version whose fields are known. */
const newestVersion = 7;

const requireVersion = (run: FormatRun, document: Value): void => {
  const version = document.get("schema_version");
  const [, major, minor] = /^ATIF-v(\d+)\.(\d+)$/.exec(version?.text ?? "") ?? [];
  if (major !== "1") throw new ConversionError("schema_version is none of ATIF-v1.0 to ATIF-v1.7", version ?? document);
  if (Number(minor) > newestVersion) {
    run.note(`${version?.text} is newer than ATIF-v1.7: what it adds has no place`);
  }
};

const readStartTime = (document: Value): Value | undefined => {
  const time = document.get("steps", 0, "timestamp");
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$/.test(time?.text ?? "") ? time : undefined;
};

const modelOf = (document: Value | undefined): string | undefined => document?.get("agent", "model_name")?.text;

/** Opens the reading of documents that belong to one trajectory. @param model the model whose trajectory it is */
const openAtifReader = (run: FormatRun, links: Links, model: string | undefined) => {
  /** Documents in addition to the first, in the order in which they were found. */
  const documents: Value[] = [];
  const seen = new Set<string>();

  /** The document that a file refers to; undefined if it is missing, or was read before. */
  const readReference = (reference: Reference, from: string, missing: string): LocatedDocument | undefined => {
    const found = links.find(reference, from);
    if (found === undefined) run.note(missing);
    if (found === undefined || seen.has(found.file)) return undefined;
    seen.add(found.file);
    documents.push(found.document);
    return found;
  };
  const readContinuation = ({ document, file }: LocatedDocument): LocatedDocument | undefined => {
    const reference = findContinuation(document);
    if (reference === undefined) return undefined;
    const looked = join(dirname(file), formatReference(reference));
    return readReference(
      reference,
      file,
      `${file} goes on in ${looked}, which is not there: the trajectory ends before it`,
    );
  };
  const partsOf = (located: LocatedDocument): readonly LocatedDocument[] => {
    seen.add(join(located.file));
    const parts = [located];
    for (let next = readContinuation(located); next !== undefined; next = readContinuation(next)) parts.push(next);
    return parts;
  };
  const isOfModel = (document: Value | undefined): boolean => {
    const own = modelOf(document);
    const isOwn = own === undefined || model === undefined || own === model;
    if (!isOwn) run.note("a subagent's model is another: its turns are plain messages");
    return isOwn;
  };
  /** The steps of a continuation without copies: those that are marked or, if none is, those of the beginning. */
  const withoutCopies = (steps: readonly Value[], first: Value | undefined): readonly Value[] => {
    const before = itemsAt(first, "steps");
    const isMarked = steps.some((step) => step.get("is_copied_context") !== undefined);
    const content = (step: Value | undefined) => [step?.textAt("source"), step?.get("message")?.raw].join(" ");
    const different = steps.findIndex((step, at) => content(step) !== content(before[at]));
    const repeated = different < 0 ? steps.length : different;
    const isCopied = (step: Value, at: number): boolean =>
      isMarked ? step.get("is_copied_context")?.isTrue === true : at < repeated;
    for (const step of steps.filter(isCopied)) run.leaveOut(step, "a continuation repeats what it continues");
    return steps.filter((step, at) => !isCopied(step, at));
  };
  /** The parts of a trajectory as one history, or each as its own. @throws Unfit */
  const historiesOf = (parts: readonly LocatedDocument[]): readonly History[] => {
    const first = parts[0]?.document;
    const isSampled = isOfModel(first);
    const isOne = parts.length > 1 && !run.options.keepsHistories;
    if (isOne) {
      run.note(
        "a continued trajectory is put together: its later turns follow a context that the model did not see " +
          "(--histories keeps its parts apart)",
      );
    }
    const histories = parts.map(({ document }, at) => {
      const steps = stepsOf(document);
      if (steps.some(replacesContext)) {
        run.note("a summary or an edit replaced the context: the turns behind it follow what the model did not see");
      }
      const own = isOne && at > 0 ? withoutCopies(steps, first) : steps;
      const turns = own.flatMap((step) => turnsOf(run, step, isSampled));
      return { turns, tools: toFunctionTools(document.get("agent", "tool_definitions")) };
    });
    return isOne ? [{ turns: histories.flatMap(({ turns }) => turns), tools: histories[0]?.tools }] : histories;
  };
  /** The histories of the subagents of a document, and of theirs. @throws Unfit */
  const subagentHistories = ({ document, file }: LocatedDocument): readonly History[] => {
    const embedded = listEmbedded(document).map((own) => ({ document: own, file }));
    const files = listSubagents(document).flatMap((reference) => {
      const missing = `a subagent's trajectory is not there: looked for ${formatReference(reference)}`;
      return readReference(reference, file, missing) ?? [];
    });
    return [...embedded, ...files].flatMap((own) => {
      const parts = partsOf(own);
      return [...historiesOf(parts), ...parts.flatMap(subagentHistories)];
    });
  };
  return { documents, partsOf, historiesOf, subagentHistories };
};

/** Returns the steps of a document. @throws Unfit */
const stepsOf = (document: Value): readonly Value[] => {
  const steps = requireKey(document, "steps");
  const items = steps.items();
  if (items.length === 0) throw new ConversionError("steps has none", steps);
  const broken = items.find(({ isObject }) => !isObject);
  if (broken !== undefined) throw new ConversionError("a step is no object", broken);
  return items;
};

/**
 * Returns the turns of a step: what it says, and its results.
 * @param isSampled true if the agent's steps are those of the model that is trained; other steps are plain messages
 * @throws Unfit
 */
const turnsOf = (run: FormatRun, step: Value, isSampled: boolean): readonly OutputJson[] => [
  ...ownTurn(run, step, isSampled),
  ...resultsOf(step),
];

/** Roles by the source of a step. */
const roles: Readonly<Record<string, string>> = { system: "system", user: "user", agent: "assistant" };

/** What a step itself says: nothing if it only has results. */
const ownTurn = (run: FormatRun, step: Value, isSampled: boolean): readonly OutputJson[] => {
  const source = requireKey(step, "source");
  const role = roles[source.text ?? ""];
  if (role === undefined) throw new ConversionError("source is none of system, user and agent", source);
  const message = step.get("message");
  const calls = callsOf(step);
  if (message === undefined && calls === undefined) {
    if (role !== "assistant" && step.get("observation") !== undefined) return [];
    throw new ConversionError("message is missing", step);
  }
  const turn = object({
    role: literal(role, source, ...["step_id", "is_copied_context", "llm_call_count"].map((key) => step.get(key))),
    content: message === undefined ? literal(null) : contentOf(message),
    reasoning_content: step.get("reasoning_content"),
    tool_calls: calls,
  });
  const isGiven = step.get("is_copied_context")?.isTrue === true || step.get("llm_call_count")?.number === 0;
  if (role !== "assistant" || isGiven || !isSampled) return [turn];
  const logprobs = logprobsIn(step);
  return [choice(turn, deriveFinish(run, calls !== undefined), logprobs)];
};

const callsOf = (step: Value): OutputJson | undefined => {
  const calls = itemsAt(step, "tool_calls");
  if (calls.length === 0) return undefined;
  return list(
    calls.map((call) => {
      const name = requireKey(call, "function_name");
      const fn = object({ name, arguments: toArguments(call.get("arguments")) });
      return object({ id: requireKey(call, "tool_call_id"), type: literal("function"), function: fn });
    }),
  );
};

const logprobsIn = (step: Value): OutputJson | undefined => {
  const [logprobs, ids] = [step.get("metrics", "logprobs"), step.get("metrics", "completion_token_ids")];
  if (logprobs === undefined || ids === undefined || logprobs.items().length === 0) return undefined;
  return toLogprobs(logprobs, ids.items(), [ids]);
};

/** Results: messages of a tool if calls asked for them, otherwise messages of the user; nothing if they say nothing. */
const resultsOf = (step: Value): readonly OutputJson[] => {
  const observation = step.get("observation");
  if (observation === undefined) return [];
  return requireItems(observation, "results").flatMap((result) => {
    const [id, own] = [result.get("source_call_id"), result.get("content")];
    const content = own && contentOf(own);
    if (id !== undefined) return object({ role: literal("tool"), tool_call_id: id, content: content ?? literal("") });
    return content === undefined ? [] : object({ role: literal("user"), content });
  });
};

/** A text, or parts as chat messages have them. */
const contentOf = (content: Value): OutputJson => {
  if (content.isText) return content;
  if (!content.isList) throw new ConversionError("it is neither text nor parts", content);
  return list(
    content.items().map((part) => {
      const [type, path] = [part.get("type"), part.get("source", "path")];
      if (type?.text !== "image" || path === undefined) return part;
      return object({ type: literal("image_url", type), image_url: object({ url: path }) });
    }),
  );
};

/** True if later steps have a new context: after a summary, or after edits that the agent records. */
const replacesContext = (step: Value): boolean => {
  const holders = [step, step.get("observation"), ...itemsAt(step, "observation", "results")];
  const isEdit = (holder: Value | undefined): boolean =>
    (holder?.get("context_management") ?? holder?.get("extra", "context_management")) !== undefined;
  if (holders.some(isEdit)) return true;
  const text = step.textAt("source") === "system" ? (step.textAt("message") ?? "") : "";
  const isSummary = /summari[sz]|compact|condens/i.test(text) && /context|histor|conversation/i.test(text);
  return text.length < maxNoticeLength && isSummary;
};

/** Length in characters of the longest message about the context: a longer message of the system is a prompt. */
const maxNoticeLength = 2000;

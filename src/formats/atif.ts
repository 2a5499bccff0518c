/** ATIF documents: the steps of an agent, with continuations and subagents. */
import { dirname, join } from "node:path";
import * as atifLinks from "./atif-links.ts";
import type { Format, Rollout, Run, SourceRecord } from "./format.ts";
import { buildCall, choice, deriveFinish, toArguments, toLogprobs, toTools } from "./messages.ts";
import { type Json, literal, nonEmpty } from "./output-json.ts";
import { buildTrajectory, findReward, stemOf } from "./rollout.ts";
import type { Value } from "./value.ts";

export const atif: Format = {
  name: "atif",
  title: "ATIF trajectories",
  keys: { group: "each file", reward: "none (pass --rewards)", sampled: "the agent's steps" },
  records: { text: "document" },
  filePattern: /(?:^|\/)trajectory[^/]*\.json$/,
  recognizes: ({ value }) => value.textAt("schema_version")?.startsWith("ATIF-") && value.get("steps")?.isList,
  open: (run) => {
    const links = atifLinks.openLinks(run);
    return {
      preview: (record) => links.addDocument(record),
      convert: (record) => (links.isPart(record) ? undefined : [rolloutOf(run, record, links)]),
    };
  },
};

const rolloutOf = (run: Run, record: SourceRecord, links: atifLinks.Links): Rollout => {
  const { value, file } = record;
  record.group = "trajectory";
  const { documents, ...read } = readAtif(run, record, links);
  const ids = [value.get("trajectory_id"), value.get("session_id"), stemOf(file)];
  return { documents, ...buildTrajectory({ ...read, reward: findReward(run, { record: value, ids }) }) };
};

type History = Readonly<{ turns: readonly Json[]; tools: Json | undefined }>;

/** Converts a document with its continuations and subagents. @throws ConversionError */
export const readAtif = (run: Run, located: atifLinks.LocatedDocument, links: atifLinks.Links) => {
  const { value } = located;
  requireVersion(run, value);
  const { documents, partsOf, historiesOf, subagentHistories } = openAtifReader(run, links, modelOf(value));
  const parts = partsOf(located);
  const [main = { turns: [], tools: undefined }, ...laterHistories] = historiesOf(parts);
  const histories = [...laterHistories, ...parts.flatMap(subagentHistories)];
  const agent = value.members("agent").filter(([, { isScalar }]) => isScalar);
  return {
    ...main,
    histories: histories.map(({ turns, tools }) => ({ messages_and_choices: turns, tools })),
    metrics: (parts.at(-1)?.value ?? value).metricMembers("final_metrics"),
    metadata: [...value.flatMembers(), ...agent.map(([key, member]) => [`agent.${key}`, member] as const)],
    startTime: readStartTime(value),
    /** Separate histories have another dedup key than joined parts. */
    identity: run.options.keepsHistories && parts.length > 1 ? " in parts" : "",
    documents,
  };
};

const requireVersion = (run: Run, document: Value) => {
  const version = document.get("schema_version");
  const [, major, minor] = /^ATIF-v(\d+)\.(\d+)$/.exec(version?.text ?? "") ?? [];
  if (major !== "1") throw (version ?? document).error("schema_version is not between ATIF-v1.0 and ATIF-v1.7");
  if (Number(minor) > 7) run.note(`read ${version?.text} as ATIF-v1.7, so new fields may not be converted`);
};

const readStartTime = (document: Value) => {
  const time = document.get("steps", 0, "timestamp");
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$/.test(time?.text ?? "") ? time : undefined;
};

const modelOf = (document: Value | undefined) => document?.get("agent", "model_name")?.text;

/** Reads the documents of one trajectory. @param model the model of the first document */
const openAtifReader = (run: Run, links: atifLinks.Links, model: string | undefined) => {
  const documents: Value[] = [];
  const seen = new Set<string>();
  const readReference = (reference: atifLinks.Reference, from: string, missing: string) => {
    const document = links.find(reference, from);
    if (!document) run.note(missing);
    if (!document || seen.has(document.file)) return undefined;
    seen.add(document.file);
    documents.push(document.value);
    return document;
  };
  const readContinuation = ({ value, file }: atifLinks.LocatedDocument) => {
    const path = atifLinks.continuationOf(value);
    if (path === undefined) return undefined;
    const missing = `${file} continues in ${join(dirname(file), path)}, which is missing, so the trajectory ends early`;
    return readReference({ path, ids: [] }, file, missing);
  };
  const partsOf = (located: atifLinks.LocatedDocument) => {
    seen.add(join(located.file));
    const parts = [located];
    for (let next = readContinuation(located); next; next = readContinuation(next)) parts.push(next);
    return parts;
  };
  /** If no step has `is_copied_context`, the leading steps that equal the steps in `before` are copies. */
  const withoutCopies = (steps: readonly Value[], before: readonly Value[]) => {
    const isMarked = steps.some((step) => step.has("is_copied_context"));
    const content = (step: Value | undefined) => [step?.textAt("source"), step?.get("message")?.raw].join(" ");
    const different = steps.findIndex((step, at) => content(step) !== content(before[at]));
    const repeated = different < 0 ? steps.length : different;
    return steps.filter((step, at) => {
      const isCopied = isMarked ? step.get("is_copied_context")?.isTrue : at < repeated;
      if (isCopied) run.leaveOut(step, "a continuation repeats it");
      return !isCopied;
    });
  };
  const historiesOf = (parts: readonly atifLinks.LocatedDocument[]) => {
    const first = parts[0]?.value;
    const isSameModel = model === undefined || (modelOf(first) ?? model) === model;
    if (!isSameModel)
      run.note("converted the turns of a subagent to messages, not choices, because another model sampled them");
    const isJoined = parts.length > 1 && !run.options.keepsHistories;
    if (isJoined) run.note("joined the parts of a continued trajectory (--histories keeps them separate)");
    const histories = parts.map(({ value }, at) => {
      const allSteps = stepsOf(value);
      if (allSteps.some(replacesContext))
        run.note(
          "the agent summarized or edited its context, so later turns follow messages that the model no longer saw",
        );
      const steps = isJoined && at > 0 ? withoutCopies(allSteps, first?.items("steps") ?? []) : allSteps;
      const turns = steps.flatMap((step) => [...ownTurn(run, step, isSameModel), ...resultsOf(step)]);
      return { turns, tools: toTools(value.get("agent", "tool_definitions")) };
    });
    return isJoined ? [{ turns: histories.flatMap(({ turns }) => turns), tools: histories[0]?.tools }] : histories;
  };
  const subagentHistories = ({ value, file }: atifLinks.LocatedDocument): readonly History[] => {
    const embedded = atifLinks.listEmbedded(value).map((document) => ({ value: document, file }));
    const files = atifLinks.listSubagents(value).flatMap((reference) => {
      const missing = `a subagent's trajectory is missing: ${reference.path ?? reference.ids[0]}`;
      return readReference(reference, file, missing) ?? [];
    });
    return [...embedded, ...files].flatMap((document) => {
      const parts = partsOf(document);
      return [...historiesOf(parts), ...parts.flatMap(subagentHistories)];
    });
  };
  return { documents, partsOf, historiesOf, subagentHistories };
};

const stepsOf = (document: Value) => {
  const steps = document.require("steps");
  const items = steps.items();
  if (items.length === 0) throw steps.error("steps is empty");
  const broken = items.find(({ isObject }) => !isObject);
  if (broken) throw broken.error("a step is not an object");
  return items;
};

const roles = new Map(Object.entries({ system: "system", user: "user", agent: "assistant" }));

/** @param isSameModel false if another model wrote the agent's steps, so the steps are not choices */
const ownTurn = (run: Run, step: Value, isSameModel: boolean) => {
  const source = step.require("source");
  const role = roles.get(source.text ?? "");
  if (role === undefined) throw source.error("source is not system, user or agent");
  const message = step.get("message");
  const calls = nonEmpty(step.items("tool_calls").map(toCall));
  if (!message && calls === undefined) {
    if (role !== "assistant" && step.has("observation")) return [];
    throw step.error("message is missing");
  }
  const turn = {
    role: literal(role, source, ...["step_id", "is_copied_context", "llm_call_count"].map((key) => step.get(key))),
    content: message ? contentOf(message) : null,
    reasoning_content: step.get("reasoning_content"),
    tool_calls: calls,
  };
  const isUnsampled = step.get("is_copied_context")?.isTrue || step.get("llm_call_count")?.number === 0;
  if (role !== "assistant" || isUnsampled || !isSameModel) return [turn];
  return [choice(turn, deriveFinish(run, calls !== undefined), logprobsIn(run, step))];
};

const toCall = (call: Value) => {
  const name = call.require("function_name");
  return buildCall(call.require("tool_call_id"), name, toArguments(call.get("arguments")));
};

const logprobsIn = (run: Run, step: Value) => {
  const [logprobs, ids] = [step.get("metrics", "logprobs"), step.get("metrics", "completion_token_ids")];
  if (logprobs && !ids) run.leaveOut(logprobs, "completion_token_ids are missing");
  if (!logprobs || !ids || logprobs.items().length === 0) return undefined;
  return toLogprobs(logprobs, ids.items(), [ids]);
};

const resultsOf = (step: Value) => {
  const observation = step.get("observation");
  if (!observation) return [];
  return observation.requireItems("results").flatMap((result) => {
    const [id, output] = [result.get("source_call_id"), result.get("content")];
    const content = output && contentOf(output);
    if (id) return { role: "tool", tool_call_id: id, content: content ?? "" };
    return content === undefined ? [] : { role: "user", content };
  });
};

const contentOf = (content: Value) => {
  if (content.isText) return content;
  if (!content.isList) throw content.error("the content is neither text nor a list of parts");
  return content.items().map((part) => {
    const [type, path] = [part.get("type"), part.get("source", "path")];
    if (type?.text !== "image" || path === undefined) return part;
    return { type: literal("image_url", type), image_url: { url: path } };
  });
};

const replacesContext = (step: Value) => {
  const holders = [step, step.get("observation"), ...step.items("observation", "results")];
  const isEdit = (holder: Value | undefined) =>
    holder?.has("context_management") || holder?.has("extra", "context_management");
  if (holders.some(isEdit)) return true;
  const text = step.textAt("source") === "system" ? (step.textAt("message") ?? "") : "";
  const isSummary = /summari[sz]|compact|condens/i.test(text) && /context|histor|conversation/i.test(text);
  return text.length < maxNoticeLength && isSummary;
};

/** UTF-16 units of the longest notice about the context. A longer message of the system is a prompt. */
const maxNoticeLength = 2000;

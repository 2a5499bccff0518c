/** Converts logs of Inspect. */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { buildCall, decidedChoice, toToolCall } from "../../conversation/apis/openai.ts";
import { type Json, literal, nonEmpty, rawLiteral, unindentJson } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import { shortenName } from "../rules/positions.ts";
import {
  buildException,
  buildTrajectory,
  convertPart,
  listFileIds,
  noteVersion,
  replacedContextNote,
} from "./build-trajectory.ts";
import type { Format, FormatRun, SourceRecord } from "./format.ts";
import { convertMetrics, findGrade, findSampleReward, findScores, isUnscored, type Scores } from "./inspect-scores.ts";

export const inspect: Format = {
  name: "inspect",
  title: "a log of Inspect",
  keys: {
    group: "the epochs of one sample",
    reward: "the score of the only scorer (of several scorers: --reward-from scores.NAME.value)",
    sampled: 'the messages with the source "generate", and the outputs of model events',
  },
  // A sample in chunks has many members, and `sample.json` is the first.
  records: {
    text: "documents",
    zip: /^samples\/(.+)_epoch_\d+(?:\/sample)?\.json$/,
    zipCompanions: /^(?:_journal\/.*|(?:header|summaries|reductions)\.json|samples\/.+_epoch_\d+\/.*)$/,
  },
  filePattern: /\.eval$/,
  companions: /(?:^|\/)(?:eval-set|logs|listing)\.json$/,
  // `inspect score` writes a copy, without the time, next to the log.
  hasNonFinite: true,
  recognizes: ({ value, member }) =>
    member === undefined
      ? value.get("eval", "task")?.isText && value.get("samples")?.isList
      : value.has("id") && value.get("epoch")?.isNumber,
  open: (run) => {
    const scorers = new Map<string, Set<string>>();
    return { convert: (record) => convertRollouts(run, record, scorers) };
  },
};

const chunkedSample = /_epoch_\d+\/sample\.json$/;

/** @param scorers the only scorers of samples of the log */
const convertRollouts = (run: FormatRun, record: SourceRecord, scorers: Map<string, Set<string>>) => {
  const { value, member, file } = record;
  const ofLog = scorers.get(file) ?? new Set<string>();
  scorers.set(file, ofLog);
  const header = member === undefined ? value : run.readSettings(record, "header.json");
  const log = header ?? run.readSettings(record, "_journal/start.json");
  noteIncomplete(run, record, log, header !== undefined);
  noteVersion(run, "a log", log?.get("version"));
  const samples = member === undefined ? value.requireItems("samples") : [value];
  const count = member === undefined ? samples.length : log?.get("eval", "dataset", "samples")?.number;
  const epochs = member === undefined ? 1 : (log?.get("eval", "config", "epochs")?.number ?? 1);
  const names = count === 1 && epochs === 1 ? listFileIds(record) : [];
  const context = { log, names, scorers: ofLog, isChunked: chunkedSample.test(member ?? "") };
  return samples.flatMap((sample) =>
    isUnscored(run, sample, log) && !sample.has("error")
      ? run.skip("a sample without a score")
      : convertRollout(run, sample, context),
  );
};

/** Inspect writes the header last. */
const noteIncomplete = (run: FormatRun, record: SourceRecord, log: Value | undefined, hasHeader: boolean) => {
  const status = log?.textAt("status") ?? "success";
  if ((hasHeader && status === "success") || !run.isFirst(`log ${record.file}`, record)) return;
  const why = hasHeader ? `the status of the log is \`${shortenName(status)}\`` : "the log has no header.json";
  run.note(`${why}, so the evaluation may have ended early, and samples can be missing`);
};

interface SampleLog {
  log: Value | undefined;
  /** The names of the file if the log has no other sample. */
  names: readonly string[];
  isChunked: boolean;
  scorers: Set<string>;
}

const convertRollout = (formatRun: FormatRun, sample: Value, { log, names, isChunked, scorers }: SampleLog) => {
  const run = { ...formatRun, note: noteOnce(formatRun) };
  const id = sample.get("id");
  const group = id && { key: id.plain, by: "sample" };
  return convertPart(sample, { group, id: findId(sample, log) }, () => {
    if (group === undefined) throw sample.error("id is missing");
    const fix = "pass the log from before `inspect log convert-chunked`";
    if (isChunked) throw sample.error(`the sample is stored in chunks, which are not supported (${fix})`);
    const error = sample.get("error");
    const scores = findScores(sample, log);
    if (error && (scores.size === 0 || isUnscored(run, sample, log)))
      return { exception: buildException(error.get("message") ?? error, undefined, error.get("traceback")) };
    if (sample.has("invalidation")) run.note("converted a sample that is marked as invalidated");
    if (sample.has("model_fallbacks", 0)) run.note("converted a sample in which another model answered for the model");
    if (error) run.note("converted a sample with an error and a score to a trajectory, with the error in its metadata");
    const started = sample.get("started_at");
    const startTime = /T.*(?:Z|[+-]\d\d:?\d\d)$/i.test(started?.text ?? "") ? started : undefined;
    return buildTrajectory({
      reward: findSampleReward(run, sample, { scores, names, scorers }),
      ...readMessages(run, sample, log),
      metrics: convertMetrics(run, scores),
      metadata: [...convertMetadata(sample, log, scores, startTime), ["error", error?.get("message") ?? error]],
      startTime,
    });
  });
};

/** A score is the reward and a metric, but counts once. */
const noteOnce = ({ note }: FormatRun) => {
  const noted = new Set<string>();
  return (text: string) => {
    if (!noted.has(text)) note(text);
    noted.add(text);
  };
};

/** Before 0.3.70, samples have no uuid. `inspect score` and `eval-retry` reuse samples of a task. */
const findId = (sample: Value, log: Value | undefined) => {
  const textOf = (key: string) => log?.get("eval", key)?.text ?? "";
  const run = ["task_id", "run_id", "created"].map(textOf).find((text) => text !== "");
  const uuid = sample.textAt("uuid");
  if (uuid !== undefined || run === undefined) return uuid;
  const epoch = ["id", "epoch"].map((key) => sample.get(key)?.data);
  const messages = sample.items("messages").map((message) => [message.textAt("role"), message.get("content")?.data]);
  return hash("sha256", JSON.stringify([run, textOf("task"), textOf("model"), epoch, messages]), "hex");
};

const convertMetadata = (sample: Value, log: Value | undefined, scores: Scores, startTime: Value | undefined) => {
  const taken = ["messages", "error", "input", ...(startTime ? ["started_at"] : [])];
  const members = new Map<string, Value | undefined>(sample.flatMembers().filter(([key]) => !taken.includes(key)));
  const add = (key: string, value: Value | undefined, otherwise: string) => {
    if (value) members.set(members.has(key) ? otherwise : key, value);
  };
  add("limit", sample.get("limit", "type"), "limit.type");
  for (const [key, value] of sample.flatMembers("metadata")) add(key, value, `metadata.${key}`);
  for (const [name, score] of scores) {
    const value = score.get("value");
    if (value?.text !== undefined && findGrade(value.text) === undefined)
      add(`scores.${name}`, value, `scores.${name}.value`);
  }
  add("task", log?.get("eval", "task"), "eval.task");
  add("model", log?.get("eval", "model"), "eval.model");
  return members;
};

const findEvents = (sample: Value) => (sample.get("events") ?? sample.get("transcript", "events"))?.items() ?? [];

const idOf = (message: Value | undefined) => message?.textAt("id");

const modelEvents = (events: readonly Value[]): readonly Value[] =>
  events.flatMap((event) => (event.textAt("event") === "model" ? event : modelEvents(event.items("events"))));

/** Keeps the messages of events and outputs that the sample has too. */
const keepRepeats = (run: FormatRun, sample: Value, events: readonly Value[]) => {
  if (!run.unread) return;
  const ids = new Set(sample.items("messages").map(idOf));
  const repeated = [
    ...sample.items("events_data", "messages"),
    ...events.flatMap((event) => event.items("input")),
    ...[...events, sample].flatMap((holder) => holder.items("output", "choices").map((one) => one.get("message"))),
  ];
  for (const message of repeated) if (message && ids.has(idOf(message) ?? "")) run.unread.keep(message);
};

const readMessages = (run: FormatRun, sample: Value, log: Value | undefined) => {
  const messages = sample.requireItems("messages");
  const events = modelEvents(findEvents(sample));
  keepRepeats(run, sample, events);
  const isSummary = (message: Value) => message.get("metadata", "summary")?.isTrue;
  if (messages.some(isSummary) || findEvents(sample).some((event) => event.textAt("event") === "compaction"))
    run.note(replacedContextNote);
  const attachments = openAttachments(sample);
  const choiceOf = openChoices(attachments, [...events, sample]);
  const models = new Set(messages.flatMap((message) => choiceOf(message)?.model ?? []));
  const ofLog = log?.get("eval", "model")?.text ?? "";
  const isPolicy = (model = ofLog) => model === ofLog || !models.has(ofLog);
  if (models.size > 1 && !models.has(ofLog))
    run.note("converted the turns of several models to choices, because none of them is the model of the log");
  const ids = new Set(messages.map(idOf));
  const toTurn = (message: Value) => {
    const role = message.textAt("role");
    if (role === undefined) throw message.error("a message has no role");
    const isGenerated = message.textAt("source") === "generate";
    const recorded = role === "assistant" ? choiceOf(message) : undefined;
    if (role !== "assistant" || (!isGenerated && !(recorded && idOf(message) !== undefined)))
      return toMessage(run, message, attachments);
    const sampled = isPolicy(recorded?.model) ? findSampled(run, attachments, message, recorded?.choice) : undefined;
    if (!sampled) {
      run.note("kept the turns of other models, and the turns that handoff() rewrote, as messages without a choice");
      ids.delete(idOf(message) ?? "");
      return toMessage(run, message, attachments);
    }
    const { choice } = recorded ?? {};
    const converted = toMessage(run, sampled, attachments);
    return decidedChoice(run, converted, [choice?.get("stop_reason")], convertLogprobs(choice));
  };
  return { turns: messages.map(toTurn), tools: findTools(attachments, events, ids) };
};

/** Returns undefined for a message that `handoff()` rewrote for another agent. */
const findSampled = (run: FormatRun, attachments: Attachments, message: Value, choice: Value | undefined) => {
  const output = choice?.get("message");
  if (!output?.has("content") || idOf(message) === undefined) return message;
  const [own, sampled] = [listTexts(attachments, message), listTexts(attachments, output)];
  const [ownCalls, calls] = [listCalls(attachments, message), listCalls(attachments, output)];
  const isSameText = isDeepStrictEqual(own, sampled);
  if (isSameText && calls.every((call) => ownCalls.includes(call))) return message;
  const [first = "", last = ""] = [own[0], own.at(-1)];
  const hasAgentName = first.startsWith("[") && first.endsWith(`] ${sampled[0] ?? ""}`);
  const names = output.items("tool_calls").map((call) => call.textAt("function"));
  const hasCallText = ownCalls.length === 0 && names.some((name) => last.startsWith(`${name}(`));
  if (!isSameText && (hasAgentName || hasCallText)) return undefined;
  run.note(
    "took turns from the recorded outputs of the model, because messages of the sample differ from them " +
      "(react() removes the call of submit, and can append the answer to the text in both)",
  );
  run.unread?.keep(message);
  return output;
};

const isReasoning = (part: Value) => part.textAt("type") === "reasoning";

const listTexts = ({ follow, json }: Attachments, message: Value) => {
  const content = message.get("content");
  if (content?.isList !== true) return [content ? follow(content).plain : ""];
  return content.items().flatMap((part) => {
    const text = part.get("text");
    return isReasoning(part) ? [] : text ? follow(text).plain : unindentJson(json(part).raw);
  });
};

const listCalls = ({ json }: Attachments, message: Value) =>
  message.items("tool_calls").map((call) => {
    const args = call.get("arguments");
    return JSON.stringify([call.textAt("id"), call.textAt("function"), args && unindentJson(json(args).raw)]);
  });

/** Finds the choice of a message by message id. Without an id, compares content and tool calls. */
const openChoices = ({ follow }: Attachments, holders: readonly Value[]) => {
  const choices = new Map<string, { choice: Value; model: string | undefined }>();
  const keyOf = (message: Value | undefined) => {
    const [id, content] = [idOf(message), message?.get("content")];
    if (id !== undefined) return `id ${id}`;
    return JSON.stringify([content && follow(content).data, message?.get("tool_calls")?.data]);
  };
  for (const holder of holders)
    for (const choice of holder.items("output", "choices")) {
      const message = choice.get("message");
      const key = keyOf(message);
      if (idOf(message) === undefined || !choices.has(key)) choices.set(key, { choice, model: holder.textAt("model") });
    }
  return (message: Value) => choices.get(keyOf(message));
};

const convertLogprobs = (sampledChoice: Value | undefined) => {
  const content = sampledChoice?.get("logprobs", "content");
  if (content?.isList !== true) return undefined;
  const tokens = content.items().map((token) => {
    const members = token.members();
    const top = token.get("top_logprobs");
    if (top && members.some(([key]) => key === "bytes")) return token;
    return new Map<string, Json>([["bytes", null], ...members, ["top_logprobs", top ?? []]]);
  });
  return { content: tokens };
};

const toMessage = (run: FormatRun, message: Value, attachments: Attachments) => {
  const { resolved } = attachments;
  const { content, reasoning } = convertContent(attachments, message);
  const stated = message.textAt("role") === "tool" ? (message.get("error") ?? message.get("tool_error")) : undefined;
  const fault = stated?.isBlank === true ? undefined : stated;
  const isEmpty = content === undefined || message.textAt("content") === "";
  const error = isEmpty ? (fault?.get("message") ?? message.get("tool_error")) : undefined;
  if (error) run.note("used a failed tool's error as the content of the tool message");
  return new Map<string, Json | undefined>([
    ...message.members().filter(([, { isNull }]) => !isNull),
    ["content", error ? resolved(error) : content],
    ["is_error", fault && literal(true, fault)],
    ["reasoning", undefined],
    ["reasoning_content", reasoning],
    ["tool_calls", nonEmpty(message.items("tool_calls").map((call) => convertCall(attachments, call)))],
  ]);
};

const convertCall = ({ resolved, json }: Attachments, call: Value) => {
  const [name, args] = [call.get("function"), call.get("arguments")];
  if (name?.isText !== true) return toToolCall(call);
  const toArguments = (value: Value) => {
    if (value.isText) return resolved(value);
    const { raw, sources } = json(value);
    return literal(unindentJson(raw), ...sources);
  };
  const built = buildCall(call.get("id"), name, args ? toArguments(args) : "{}");
  return { ...built, type: call.get("type") ?? built.type };
};

const convertContent = (attachments: Attachments, message: Value) => {
  const { follow, json, resolved } = attachments;
  const [content, given] = [message.get("content"), message.get("reasoning")];
  if (content?.isList !== true) return { content: content && resolved(content), reasoning: given && resolved(given) };
  const items = content.items();
  const parts = items.filter((part) => !isReasoning(part));
  const thoughts = items.filter(isReasoning).flatMap((part) => {
    const thought = part.get(part.get("redacted")?.isTrue ? "summary" : "reasoning");
    return thought ? [{ part, thought, content: follow(thought) }] : [];
  });
  const thought = thoughts.map(({ content }) => content.plain).join("\n");
  const origins = thoughts.flatMap(({ part, thought, content }) => [thought, content, part.get("type")]);
  const reasoning = thoughts.length === 0 ? given : literal(thought, ...origins);
  const [first] = parts;
  const type = first?.get("type");
  const text = parts.length === 1 && type?.text === "text" ? first?.get("text") : undefined;
  if (!text || !type)
    return { content: nonEmpty(parts.map((part) => convertContentPart(attachments, part))) ?? "", reasoning };
  const { raw, sources } = json(text);
  return { content: rawLiteral(raw, [...sources, type]), reasoning };
};

const convertContentPart = ({ follow, resolved }: Attachments, part: Value) => {
  const [type, image, audio] = [part.get("type"), part.get("image"), part.get("audio")];
  if (type?.text === "image" && image)
    return { type: literal("image_url", type), image_url: { url: resolved(image), detail: part.get("detail") } };
  const sound = audio && follow(audio);
  const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(sound?.text ?? "") ?? [];
  if (type?.text !== "audio" || data === undefined) return resolved(part);
  const input_audio = { data: literal(data, sound, audio), format: part.get("format") };
  return { type: literal("input_audio", type), input_audio };
};

type Attachments = ReturnType<typeof openAttachments>;

/** A scalar with more bytes is not a reference to an attachment. */
const maxReferenceBytes = 64;

/** Older logs have the attachments in `transcript.content`. */
const openAttachments = (sample: Value) => {
  const attachment = (id: string, at: Value) => {
    const content = sample.get("attachments", id) ?? sample.get("transcript", "content", id);
    if (content?.isText !== true) throw at.error(`the attachment ${id} is missing`);
    return content;
  };
  const follow = (value: Value) => {
    const [, id] = /^(?:attachment|tc):\/\/([0-9a-f]{32})$/.exec(value.text ?? "") ?? [];
    return id === undefined ? value : attachment(id, value);
  };
  const json = (value: Value) => {
    const sources = [value];
    const raw = value.raw.replaceAll(/"(?:attachment|tc):\/\/([0-9a-f]{32})"/g, (_, id: string) => {
      const attached = attachment(id, value);
      sources.push(attached);
      return attached.raw;
    });
    return { raw, sources };
  };
  const resolved = (value: Value) => {
    const { start, end } = value.span;
    if (value.isScalar && end - start > maxReferenceBytes) return value;
    const { raw, sources } = json(value);
    return sources.length === 1 ? value : rawLiteral(raw, sources);
  };
  return { follow, json, resolved };
};

const findTools = ({ resolved }: Attachments, events: readonly Value[], ids: ReadonlySet<string | undefined>) => {
  const tools = new Map<string, Json>();
  for (const event of events) {
    const isOwn = event.items("output", "choices").some((item) => ids.has(idOf(item.get("message"))));
    for (const tool of isOwn ? event.items("tools") : []) {
      const name = tool.get("name");
      if (name?.text === undefined || tools.has(name.text)) continue;
      const [description, parameters] = ["description", "parameters"].map((key) => {
        const value = tool.get(key);
        return value && resolved(value);
      });
      tools.set(name.text, { type: "function", function: { name, description, parameters } });
    }
  }
  return nonEmpty([...tools.values()]);
};

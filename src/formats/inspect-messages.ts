/** The messages of a sample of Inspect → messages, choices of what was sampled, and the tools. */
import { asText, type Built, list, object, objectOf, onOneDumpedLine, said } from "./built.ts";
import type { FormatRun } from "./format.ts";
import { choice, derivedFinish, toolCall } from "./messages.ts";
import { Unfit, type Value } from "./value.ts";

/** Returns the turns of a sample, and its tools. @throws Unfit */
export const turnsOf = (
  run: FormatRun,
  sample: Value,
): { readonly turns: readonly Built[]; readonly tools: Built | undefined } => {
  const messages = sample.get("messages");
  if (messages?.isList !== true) throw new Unfit("messages are missing", messages ?? sample);
  const events = modelEvents(sample.get("events") ?? sample.get("transcript", "events"));
  const outputs = outputsOf(sample, events);
  const all = messages.items();
  const turns = all.map((message) => turnOf(run, message, { sample, outputs }));
  return { turns, tools: toolsOf(sample, events, new Set(all.map(idOf))) };
};

const idOf = (message: Value | undefined): string | undefined => message?.textAt("id");

/** Calls of models, including those within tools and subtasks. */
const modelEvents = (events: Value | undefined): readonly Value[] =>
  (events?.items() ?? []).flatMap((event) =>
    event.textAt("event") === "model" ? [event] : modelEvents(event.get("events")),
  );

const choicesOf = (output: Value | undefined): readonly Value[] => output?.get("choices")?.items() ?? [];

/** Choices that models gave, by the ids of their messages; by what the messages say if they have no ids. */
interface Outputs {
  readonly byId: ReadonlyMap<string, Value>;
  readonly byContent: ReadonlyMap<string, Value>;
}

const outputsOf = (sample: Value, events: readonly Value[]): Outputs => {
  const byId = new Map<string, Value>();
  const byContent = new Map<string, Value>();
  for (const output of [...events.map((event) => event.get("output")), sample.get("output")]) {
    for (const one of choicesOf(output)) {
      const message = one.get("message");
      const id = idOf(message);
      if (id === undefined) byContent.set(contentKey(sample, message), one);
      else if (!byId.has(id)) byId.set(id, one);
    }
  }
  return { byId, byContent };
};

const contentKey = (sample: Value, message: Value | undefined): string => {
  const content = message?.get("content");
  const own = content && (attachmentOf(sample, content) ?? content);
  return JSON.stringify([own?.data, message?.get("tool_calls")?.data]);
};

const turnOf = (
  run: FormatRun,
  message: Value,
  { sample, outputs }: { readonly sample: Value; readonly outputs: Outputs },
): Built => {
  const role = message.textAt("role");
  if (role === undefined) throw new Unfit("a message has no role", message);
  const whole = wholeMessage(run, message, { sample, role });
  const id = idOf(message);
  const hasOutput = outputs.byId.has(id ?? "");
  const isSampled = role === "assistant" && (message.textAt("source") === "generate" || hasOutput);
  if (!isSampled) return whole;
  const output = id === undefined ? outputs.byContent.get(contentKey(sample, message)) : outputs.byId.get(id);
  const callsTools = (message.get("tool_calls")?.items() ?? []).length > 0;
  const logprobs = logprobsIn(output);
  return choice(whole, finishOf(output?.get("stop_reason")) ?? derivedFinish(run, callsTools), logprobs);
};

const finishOf = (stop: Value | undefined): Built | undefined => {
  const text = stop?.text ?? "";
  if (["stop", "tool_calls", "content_filter"].includes(text)) return stop;
  return ["max_tokens", "model_length", "length"].includes(text) ? said("length", stop) : undefined;
};

/** Logprobs as they are, with the members that the interface requires. */
const logprobsIn = (output: Value | undefined): Built | undefined => {
  const content = output?.get("logprobs", "content");
  if (content?.isList !== true) return undefined;
  const tokens = content.items().map((token) => {
    const members = token.members();
    const top = token.get("top_logprobs");
    if (top !== undefined && members.some(([key]) => key === "bytes")) return token;
    return objectOf(new Map<string, Built>([["bytes", said(null)], ...members, ["top_logprobs", top ?? said([])]]));
  });
  return object({ content: list(tokens) });
};

const wholeMessage = (
  run: FormatRun,
  message: Value,
  { sample, role }: { readonly sample: Value; readonly role: string },
): Built => {
  const { content, reasoning } = contentOf(sample, message);
  const calls = message.get("tool_calls")?.items() ?? [];
  const saysNothing = role === "tool" && (content === undefined || message.textAt("content") === "");
  const error = saysNothing ? message.get("error", "message") : undefined;
  if (error !== undefined) run.note("a tool failed and said nothing: its message has the error's words");
  return objectOf(
    new Map<string, Built | undefined>([
      ...message.members().filter(([, { isNull }]) => !isNull),
      ["content", error === undefined ? content : resolved(sample, error)],
      ["reasoning", undefined],
      ["reasoning_content", reasoning],
      ["tool_calls", calls.length === 0 ? undefined : list(calls.map((call) => callOf(sample, call)))],
    ]),
  );
};

const callOf = (sample: Value, call: Value): Built => {
  const [name, args] = [call.get("function"), call.get("arguments")];
  if (name?.isText !== true) return toolCall(call);
  return object({
    id: call.get("id"),
    type: call.get("type") ?? said("function"),
    function: object({ name, arguments: args === undefined ? said("{}") : argumentsOf(sample, args) }),
  });
};

const argumentsOf = (sample: Value, args: Value): Built => {
  const { json, of } = resolvedJson(sample, args);
  if (args.isText) return resolved(sample, args);
  return of.length === 1 ? asText(args) : said(onOneDumpedLine(json), ...of);
};

interface Content {
  readonly content: Built | undefined;
  readonly reasoning: Built | undefined;
}

/** The content of a message, and the reasoning before it, which has a key of its own. */
const contentOf = (sample: Value, message: Value): Content => {
  const content = message.get("content");
  const given = message.get("reasoning");
  if (content?.isList !== true) {
    return { content: content && resolved(sample, content), reasoning: given && resolved(sample, given) };
  }
  const items = content.items();
  const isReasoning = (part: Value): boolean => part.textAt("type") === "reasoning";
  const parts = items.filter((part) => !isReasoning(part));
  const thoughts = items.filter(isReasoning).flatMap((part) => thoughtOf(sample, part) ?? []);
  const thought = thoughts.map(({ text }) => text).join("\n");
  const reasoning = thoughts.length === 0 ? given : said(thought, ...thoughts.flatMap(({ of }) => of));
  const [first] = parts;
  const type = first?.get("type");
  const text = parts.length === 1 && type?.text === "text" ? first?.get("text") : undefined;
  if (text === undefined || type === undefined) {
    return { content: parts.length === 0 ? said("") : list(parts.map((part) => partOf(sample, part))), reasoning };
  }
  const { json, of } = resolvedJson(sample, text);
  return { content: { kind: "said", json, of: [...of, type] }, reasoning };
};

/** Reasoning; its summary if nobody may read it. */
const thoughtOf = (
  sample: Value,
  part: Value,
): { readonly text: string; readonly of: readonly Value[] } | undefined => {
  const thought = part.get(part.get("redacted")?.isTrue === true ? "summary" : "reasoning");
  if (thought === undefined) return undefined;
  const attachment = attachmentOf(sample, thought);
  const of = [thought, attachment, part.get("type")].filter((value) => value !== undefined);
  return { text: (attachment ?? thought).text ?? thought.raw, of };
};

const partOf = (sample: Value, part: Value): Built => {
  const [type, image, audio] = [part.get("type"), part.get("image"), part.get("audio")];
  if (type?.text === "image" && image !== undefined) {
    const image_url = object({ url: resolved(sample, image), detail: part.get("detail") });
    return object({ type: said("image_url", type), image_url });
  }
  const sound = audio && (attachmentOf(sample, audio) ?? audio);
  const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(sound?.text ?? "") ?? [];
  if (type?.text === "audio" && data !== undefined) {
    const input_audio = object({ data: said(data, sound, audio), format: part.get("format") });
    return object({ type: said("input_audio", type), input_audio });
  }
  return resolved(sample, part);
};

/** Texts that stand for an attachment of the sample; in older logs, for one of the contents of its transcript. */
const reference = /"(?:attachment|tc):\/\/([0-9a-f]{32})"/g;

/** Length in bytes of the longest reference, with its quotes. */
const maxReference = 64;

/** Returns the attachment that a text stands for. @throws Unfit if it is missing */
const attachmentOf = (sample: Value, value: Value): Value | undefined => {
  const { start, end } = value.span;
  if (!value.isText || end - start > maxReference) return undefined;
  const [, id] = /^(?:attachment|tc):\/\/([0-9a-f]{32})$/.exec(value.text ?? "") ?? [];
  return id === undefined ? undefined : attachment(sample, id, value);
};

const attachment = (sample: Value, id: string, at: Value): Value => {
  const found = sample.get("attachments", id) ?? sample.get("transcript", "content", id);
  if (found?.isText !== true) throw new Unfit(`the attachment ${id} is missing`, at);
  return found;
};

/** A value as JSON with its attachments in place, and the values that it stands for. @throws Unfit if one is missing */
const resolvedJson = (sample: Value, value: Value): { readonly json: string; readonly of: readonly Value[] } => {
  const whole = attachmentOf(sample, value);
  if (whole !== undefined) return { json: whole.raw, of: [value, whole] };
  const of = [value];
  const { raw } = value;
  if (value.isScalar || !/"(?:attachment|tc):/.test(raw)) return { json: raw, of };
  const json = raw.replaceAll(reference, (_, id: string) => {
    const found = attachment(sample, id, value);
    of.push(found);
    return found.raw;
  });
  return { json, of };
};

/** A value with its attachments in place. @throws Unfit if one is missing */
const resolved = (sample: Value, value: Value): Built => {
  if (value.isScalar && value.span.end - value.span.start > maxReference) return value;
  const { json, of } = resolvedJson(sample, value);
  return of.length === 1 ? value : { kind: "said", json: json.replaceAll("\n", " "), of };
};

/** The tools of the models whose messages are in the sample, each once. */
const toolsOf = (sample: Value, events: readonly Value[], ids: ReadonlySet<string | undefined>): Built | undefined => {
  const tools = new Map<string, Built>();
  for (const event of events) {
    const isOwn = choicesOf(event.get("output")).some((one) => ids.has(idOf(one.get("message"))));
    for (const tool of isOwn ? (event.get("tools")?.items() ?? []) : []) {
      const name = tool.get("name");
      if (name?.text === undefined || tools.has(name.text)) continue;
      const [description, parameters] = [tool.get("description"), tool.get("parameters")];
      const fn = object({
        name,
        description: description && resolved(sample, description),
        parameters: parameters && resolved(sample, parameters),
      });
      tools.set(name.text, object({ type: said("function"), function: fn }));
    }
  }
  return tools.size === 0 ? undefined : list([...tools.values()]);
};

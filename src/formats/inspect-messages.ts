/** The messages of a sample of Inspect → what was given, and what was sampled as choices; and the tools that there were. */
import { asDumped, asText, type Built, list, object, objectOf, said } from "./built.ts";
import { type FormatRun, Unfit } from "./format.ts";
import { toolCall } from "./tool-calls.ts";
import { choice, derivedFinish } from "./turns.ts";
import type { Value } from "./value.ts";

/** What the turns of a sample are made of. */
interface Sample {
  readonly run: FormatRun;
  readonly sample: Value;
  readonly group: string;
}

/** The turns of a sample, and its tools. @throws Unfit */
export const turnsOf = (own: Sample): { readonly turns: readonly Built[]; readonly tools: Built | undefined } => {
  const messages = own.sample.get("messages");
  if (messages?.isList !== true) throw new Unfit("messages are missing", messages ?? own.sample, own.group);
  const events = modelEvents(own.sample.get("events") ?? own.sample.get("transcript", "events"));
  const outputs = new Outputs(own, events);
  const turns = messages.items().map((message) => turnOf(own, message, outputs));
  return { turns, tools: toolsOf(own, events, new Set(messages.items().map(idOf))) };
};

const idOf = (message: Value | undefined): string | undefined => message?.get("id")?.text;

/** Calls of models, those inside of tools and subtasks too. */
const modelEvents = (events: Value | undefined): readonly Value[] =>
  (events?.items() ?? []).flatMap((event) => {
    const kind = event.get("event")?.text;
    return kind === "model" ? [event] : modelEvents(event.get("events"));
  });

/** What models gave, by the ids of its messages; by what they say where they have none. */
class Outputs {
  readonly #own: Sample;
  readonly #byId = new Map<string, Value>();
  readonly #byWords = new Map<string, Value>();

  constructor(own: Sample, events: readonly Value[]) {
    this.#own = own;
    for (const output of [...events.map((event) => event.get("output")), own.sample.get("output")]) {
      for (const one of output?.get("choices")?.items() ?? []) {
        const id = idOf(one.get("message"));
        if (id === undefined) this.#byWords.set(this.#wordsOf(one.get("message")), one);
        else if (!this.#byId.has(id)) this.#byId.set(id, one);
      }
    }
  }

  /** Whether a message is one of them. */
  has(message: Value): boolean {
    return this.#byId.has(idOf(message) ?? "");
  }

  /** The choice that a sampled message was. */
  of(message: Value): Value | undefined {
    const id = idOf(message);
    return id === undefined ? this.#byWords.get(this.#wordsOf(message)) : this.#byId.get(id);
  }

  #wordsOf(message: Value | undefined): string {
    const content = message?.get("content");
    const words = content === undefined ? undefined : (attachmentOf(this.#own, content) ?? content).data;
    return JSON.stringify([words, message?.get("tool_calls")?.data]);
  }
}

const turnOf = (own: Sample, message: Value, outputs: Outputs): Built => {
  const role = message.get("role")?.text;
  if (role === undefined) throw new Unfit("a message has no role", message, own.group);
  const whole = wholeMessage(own, message, role);
  const isSampled = role === "assistant" && (message.get("source")?.text === "generate" || outputs.has(message));
  if (!isSampled) return whole;
  const output = outputs.of(message);
  const callsTools = (message.get("tool_calls")?.items() ?? []).length > 0;
  const logprobs = logprobsOf(output?.get("logprobs"));
  const finish = finishOf(output?.get("stop_reason")) ?? derivedFinish(own.run, callsTools);
  return choice(whole, finish, logprobs === undefined ? {} : { logprobs });
};

const finishOf = (stop: Value | undefined): Built | undefined => {
  if (stop?.text === "stop" || stop?.text === "tool_calls" || stop?.text === "content_filter") return stop;
  const isCut = ["max_tokens", "model_length", "length"].includes(stop?.text ?? "");
  return isCut ? said("length", stop) : undefined;
};

/** Tokens as they are; what a token has to say and doesn't is that there is none. */
const logprobsOf = (logprobs: Value | undefined): Built | undefined => {
  const content = logprobs?.get("content");
  if (content?.isList !== true) return undefined;
  const tokens = content.items().map((token) => {
    const has = new Set(token.members().map(([key]) => key));
    if (has.has("bytes") && token.get("top_logprobs") !== undefined) return token;
    const top = token.get("top_logprobs") ?? said([]);
    return objectOf(new Map<string, Built>([["bytes", said(null)], ...token.members(), ["top_logprobs", top]]));
  });
  return object({ content: list(tokens) });
};

const wholeMessage = (own: Sample, message: Value, role: string): Built => {
  const { content, reasoning } = contentOf(own, message);
  const calls = message.get("tool_calls")?.items() ?? [];
  const failed = role === "tool" && (content === undefined || message.get("content")?.text === "");
  const wrong = failed ? message.get("error", "message") : undefined;
  if (wrong !== undefined) own.run.note("a tool failed and said nothing: its message has the error's words");
  return objectOf(
    new Map<string, Built | undefined>([
      ...message.members().filter(([, { isNull }]) => !isNull),
      ["content", wrong === undefined ? content : resolved(own, wrong)],
      ["reasoning", undefined],
      ["reasoning_content", reasoning],
      ["tool_calls", calls.length === 0 ? undefined : list(calls.map((call) => callOf(own, call)))],
    ]),
  );
};

const callOf = (own: Sample, call: Value): Built => {
  const [name, args] = [call.get("function"), call.get("arguments")];
  if (name?.isText !== true) return toolCall(call);
  return object({
    id: call.get("id"),
    type: call.get("type") ?? said("function"),
    function: object({ name, arguments: args === undefined ? said("{}") : argumentsOf(own, args) }),
  });
};

/** A text of the arguments. */
const argumentsOf = (own: Sample, args: Value): Built => {
  const whole = resolved(own, args);
  if (args.isText) return whole;
  return "kind" in whole && whole.kind === "said" ? said(asDumped(whole.json), ...whole.of) : asText(args);
};

interface Content {
  readonly content: Built | undefined;
  readonly reasoning: Built | undefined;
}

/** What a message says, and what was thought before: reasoning has a key of its own. */
const contentOf = (own: Sample, message: Value): Content => {
  const content = message.get("content");
  const before = message.get("reasoning");
  if (content?.isList !== true) {
    const whole = content === undefined ? undefined : resolved(own, content);
    return { content: whole, reasoning: before === undefined ? undefined : resolved(own, before) };
  }
  const isReasoning = (part: Value): boolean => part.get("type")?.text === "reasoning";
  const parts = content.items().filter((part) => !isReasoning(part));
  const thoughts = content
    .items()
    .filter(isReasoning)
    .flatMap((part) => thoughtOf(own, part) ?? []);
  const words = thoughts.map(({ words }) => words).join("\n");
  const reasoning = thoughts.length === 0 ? before : said(words, ...thoughts.flatMap(({ of }) => of));
  const [first] = parts;
  const isOneText = parts.length === 1 && first?.get("type")?.text === "text";
  const text = isOneText ? first?.get("text") : undefined;
  if (first !== undefined && text !== undefined) return { content: covering(own, text, first.get("type")), reasoning };
  return { content: parts.length === 0 ? said("") : list(parts.map((part) => partOf(own, part))), reasoning };
};

/** What was thought; of what nobody may read, its summary. */
const thoughtOf = (own: Sample, part: Value): { readonly words: string; readonly of: readonly Value[] } | undefined => {
  const thought = part.get(part.get("redacted")?.isTrue === true ? "summary" : "reasoning");
  if (thought === undefined) return undefined;
  const attachment = attachmentOf(own, thought);
  const of = [thought, attachment, part.get("type")].filter((value) => value !== undefined);
  return { words: (attachment ?? thought).text ?? thought.raw, of };
};

const partOf = (own: Sample, part: Value): Built => {
  const [type, image, audio] = [part.get("type"), part.get("image"), part.get("audio")];
  if (type?.text === "image" && image !== undefined) {
    const image_url = object({ url: resolved(own, image), detail: part.get("detail") });
    return object({ type: said("image_url", type), image_url });
  }
  const sound = audio === undefined ? undefined : (attachmentOf(own, audio) ?? audio);
  const [, data] = /^data:[^,]*;base64,(.*)$/s.exec(sound?.text ?? "") ?? [];
  if (type?.text === "audio" && data !== undefined) {
    const input_audio = object({ data: said(data, sound, audio), format: part.get("format") });
    return object({ type: said("input_audio", type), input_audio });
  }
  return resolved(own, part);
};

/** Texts that stand for an attachment of the sample: of older logs, for one of its transcript's contents. */
const reference = /"(?:attachment|tc):\/\/([0-9a-f]{32})"/g;

/** Bytes of the longest of them, with its quotes. */
const longestReference = 64;

/** The attachment that a text stands for. @throws Unfit where it is missing */
const attachmentOf = (own: Sample, value: Value): Value | undefined => {
  const { start, end } = value.span;
  if (!value.isText || end - start > longestReference) return undefined;
  const [, id] = /^(?:attachment|tc):\/\/([0-9a-f]{32})$/.exec(value.text ?? "") ?? [];
  return id === undefined ? undefined : attachment(own, id, value);
};

const attachment = ({ sample, group }: Sample, id: string, at: Value): Value => {
  const found = sample.get("attachments", id) ?? sample.get("transcript", "content", id);
  if (found?.isText !== true) throw new Unfit(`the attachment ${id} is missing`, at, group);
  return found;
};

/** A value with its attachments in place. @throws Unfit where one is missing */
const resolved = (own: Sample, value: Value): Built => {
  const whole = attachmentOf(own, value);
  if (whole !== undefined) return { kind: "said", json: whole.raw, of: [value, whole] };
  if (value.isScalar) return value;
  const { raw } = value;
  if (!/"(?:attachment|tc):/.test(raw)) return value;
  const of = [value];
  const json = raw.replaceAll(reference, (_, id: string) => {
    const found = attachment(own, id, value);
    of.push(found);
    return found.raw;
  });
  return { kind: "said", json, of };
};

/** A value that stands for another one too. */
const covering = (own: Sample, value: Value, other: Value | undefined): Built => {
  const whole = resolved(own, value);
  const of = "kind" in whole && whole.kind === "said" ? whole.of : [value];
  const json = "kind" in whole && whole.kind === "said" ? whole.json : value.raw;
  return { kind: "said", json, of: other === undefined ? of : [...of, other] };
};

/** The tools that models had whose words are in the sample, each once. */
const toolsOf = (own: Sample, events: readonly Value[], ids: ReadonlySet<string | undefined>): Built | undefined => {
  const tools = new Map<string, Built>();
  for (const event of events) {
    const isOwn = (event.get("output", "choices")?.items() ?? []).some((one) => ids.has(idOf(one.get("message"))));
    for (const tool of isOwn ? (event.get("tools")?.items() ?? []) : []) {
      const name = tool.get("name");
      if (name?.text === undefined || tools.has(name.text)) continue;
      const [description, parameters] = [tool.get("description"), tool.get("parameters")];
      const fn = object({
        name,
        description: description && resolved(own, description),
        parameters: parameters && resolved(own, parameters),
      });
      tools.set(name.text, object({ type: said("function"), function: fn }));
    }
  }
  return tools.size === 0 ? undefined : list([...tools.values()]);
};

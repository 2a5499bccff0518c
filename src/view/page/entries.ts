/** Messages and choices as the page shows them, whatever stands in them: read leniently, since nothing here is known to be valid. */

/** A value of JSON that is an object. */
type JsonObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A piece of what was said. */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly data: string }
  | { readonly kind: "other"; readonly text: string };

/** A token with how likely the model held it. */
export interface Token {
  readonly text: string;
  readonly logprob: number;
}

/** A call of a tool. */
export interface ToolCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly arguments: string;
}

/** An element of `messages_and_choices`. */
export interface Entry {
  /** Its position. */
  readonly at: number;
  readonly role: string;
  /** Whether it is a choice: what the model sampled. */
  readonly sampled: boolean;
  readonly finish: string | undefined;
  readonly pieces: readonly Piece[];
  readonly reasoning: string;
  readonly calls: readonly ToolCall[];
  /** The call that it answers. */
  readonly answers: string | undefined;
  readonly tokens: readonly Token[];
}

/** A trajectory, as far as it can be shown as a conversation. */
export interface Conversation {
  readonly entries: readonly Entry[];
  readonly reward: number | undefined;
  readonly others: readonly { readonly name: string; readonly json: string }[];
}

/** The conversation in the JSON of a trajectory; undefined where it is none. */
export const conversationIn = (json: string): Conversation | undefined => {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { messages_and_choices: messages, reward, ...others } = value;
  return {
    entries: Array.isArray(messages) ? messages.map(entryOf) : [],
    reward: typeof reward === "number" ? reward : undefined,
    others: othersOf(others),
  };
};

/** The conversation of a call: of the trajectory that it is, where it is one, else of what went in and came out. */
export const conversationOfCall = (json: string, trajectory: string | null): Conversation | undefined => {
  if (json === "") return undefined;
  const call: JsonObject = JSON.parse(json);
  const { inputs, output, attributes, summary } = call;
  const own = isObject(inputs) ? inputs : {};
  const messages = [own.messages, own.messages_and_choices].find((list) => Array.isArray(list)) ?? [];
  const choices = isObject(output) && Array.isArray(output.choices) ? output.choices : [output ?? []].flat();
  const spoken = trajectory === null ? undefined : conversationIn(trajectory)?.entries;
  return {
    entries: spoken ?? [messages, choices].flat().map(entryOf),
    reward: undefined,
    others: othersOf({ inputs, output, attributes, summary }),
  };
};

const othersOf = (others: JsonObject): Conversation["others"] =>
  Object.entries(others).map(([name, one]) => ({ name, json: JSON.stringify(one, null, 2) ?? "" }));

const entryOf = (value: unknown, at: number): Entry => {
  if (!isObject(value)) return { ...nothing, at, role: "?", pieces: [otherPiece(value)] };
  const sampled = value.role === undefined && isObject(value.message);
  const message: JsonObject = sampled && isObject(value.message) ? value.message : value;
  return {
    at,
    sampled,
    role: textOf(message.role) ?? (sampled ? "assistant" : "?"),
    finish: textOf(value.finish_reason),
    pieces: piecesOf(message.content),
    reasoning: reasoningOf(message),
    calls: Array.isArray(message.tool_calls) ? message.tool_calls.map(callOf) : [],
    answers: textOf(message.tool_call_id),
    tokens: tokensOf(value.logprobs),
  };
};

const nothing: Omit<Entry, "at" | "role" | "pieces"> = {
  sampled: false,
  finish: undefined,
  reasoning: "",
  calls: [],
  answers: undefined,
  tokens: [],
};

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

const otherPiece = (value: unknown): Piece => ({ kind: "other", text: JSON.stringify(value, null, 2) ?? "" });

const piecesOf = (content: unknown): readonly Piece[] => {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }];
  if (content === null || content === undefined) return [];
  if (!Array.isArray(content)) return [otherPiece(content)];
  return content.map((part: unknown): Piece => {
    if (typeof part === "string") return { kind: "text", text: part };
    if (!isObject(part)) return otherPiece(part);
    if (typeof part.text === "string") return { kind: "text", text: part.text };
    const url = isObject(part.image_url) ? part.image_url.url : part.image_url;
    // Pictures come from the data alone: an address is never asked.
    if (typeof url === "string" && /^data:image\/(?:png|jpeg|gif|webp);base64,/.test(url)) {
      return { kind: "image", data: url };
    }
    return otherPiece(part);
  });
};

const reasoningOf = (message: JsonObject): string => {
  for (const name of ["reasoning_content", "reasoning", "thinking"]) {
    const text = textOf(message[name]);
    if (text !== undefined) return text;
  }
  return "";
};

const callOf = (value: unknown): ToolCall => {
  const { id, function: called } = isObject(value) ? value : {};
  const { name, arguments: given } = isObject(called) ? called : {};
  return {
    id: textOf(id),
    name: textOf(name) ?? "?",
    arguments: typeof given === "string" ? laidOut(given) : JSON.stringify(given ?? {}, null, 2),
  };
};

/** Arguments of a call, laid out where they are JSON. */
const laidOut = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

const tokensOf = (logprobs: unknown): readonly Token[] => {
  if (!isObject(logprobs) || !Array.isArray(logprobs.content)) return [];
  return logprobs.content.flatMap((one: unknown) => {
    if (!isObject(one) || typeof one.token !== "string" || typeof one.logprob !== "number") return [];
    return [{ text: one.token, logprob: one.logprob }];
  });
};

/** Calls with what answered them; results that answer no call stay where they stand. */
export const resultsOf = (entries: readonly Entry[]): ReadonlyMap<ToolCall, Entry> => {
  const results = new Map<ToolCall, Entry>();
  const open = new Map<string, ToolCall>();
  for (const entry of entries) {
    for (const call of entry.calls) if (call.id !== undefined) open.set(call.id, call);
    const call = entry.answers === undefined ? undefined : open.get(entry.answers);
    if (call === undefined || entry.answers === undefined) continue;
    results.set(call, entry);
    open.delete(entry.answers);
  }
  return results;
};

/** Finds the prompt of a trajectory, and compares prompts as values. */

import { formatMessage } from "../../conversation/prompt.ts";
import type { Span } from "../../json/json-bytes.ts";
import { type JsonReader, nodeSize } from "../../json/reader.ts";
import { Kind, kindAt } from "../../json/shape.ts";
import * as json from "../../json/table.ts";
import { hash } from "../../system/hashes.ts";
import { digestBytes } from "../index/digests.ts";
import type { TrajectoryFacts } from "../index/fact-columns.ts";
import { MessageWalk } from "./message-walk.ts";
import { walkMessages } from "./messages.ts";

/** The node of a list of messages and choices, and what one walk over it finds. */
type Prompt = Readonly<{ list: number } & Pick<TrajectoryFacts, "promptEnd">>;

/** True if all trajectories of a task begin with this prompt. After a greeting, the user may be simulated. */
export const hasTaskPrompt = ({
  promptEnd,
  hasGreeting,
}: Pick<TrajectoryFacts, "promptEnd" | "hasGreeting">): boolean => promptEnd > 0 && !hasGreeting;

/** Returns undefined if the prompt is unknown. */
export const findPrompt = (table: json.JsonTable, { list, promptEnd }: Prompt): Span | undefined =>
  promptEnd > 0 ? { start: json.startOf(table, list + nodeSize), end: promptEnd } : undefined;

/** Finds the prompt of a trajectory of any shape. */
export const findPromptOf = (trajectory: json.JsonValue): MessageWalk => {
  const messages = json.memberAt(trajectory, "messages_and_choices");
  if (!messages || kindAt(messages.table, messages.node) !== Kind.array) return new MessageWalk();
  return walkMessages(messages.table, messages.node, () => undefined);
};

/** Returns a function that returns the start of the digest of a prompt in Latin-1; undefined if it is unknown. */
export const openPromptReader = () => {
  // Adjacent prompts are usually the same bytes, and a digest takes long.
  let last = Buffer.alloc(0);
  let [length, digest] = [0, ""];
  return (table: json.JsonTable, prompt: Prompt) => {
    const span = findPrompt(table, prompt);
    if (!span) return undefined;
    const { start, end } = span;
    if (end - start === length && table.bytes.compare(last, 0, length, start, end) === 0) return digest;
    length = end - start;
    if (last.length < length) last = Buffer.allocUnsafe(length);
    table.bytes.copy(last, 0, start, end);
    digest = digestPrompt(table, prompt);
    return digest;
  };
};

/** Returns a function that returns the key `prompt` of a trajectory; undefined if the prompt is unknown. */
export const openPromptKeyReader = () => {
  const readPrompt = openPromptReader();
  return (trajectory: json.JsonValue) => {
    const prompt = readPrompt(trajectory.table, findPromptOf(trajectory));
    return prompt && `sha256:${Buffer.from(prompt, "latin1").toString("hex")}`;
  };
};

/** White space, escapes, the order of keys and spellings of numbers do not change the digest. */
export const digestPrompt = (table: json.JsonTable, { list, promptEnd }: Prompt): string => {
  const messages: string[] = [];
  const end = json.nodeAfter(table, list);
  let node = list + nodeSize;
  // A list of a model that gave nothing ends with its prompt.
  for (; node < end && json.startOf(table, node) < promptEnd; node = json.nodeAfter(table, node))
    messages.push(formatMessage({ table, node }));
  return hash("sha256", `[${messages.join(",")}]`, "binary").slice(0, digestBytes);
};

type TextReader = Pick<JsonReader, "countEqual">;

/** True if all prompts of tasks in a table are the same bytes. */
export const haveEqualBytes = (table: json.JsonTable, facts: readonly TrajectoryFacts[], reader: TextReader) => {
  let start = 0;
  let length = 0;
  for (const prompt of facts) {
    if (!hasTaskPrompt(prompt)) continue;
    const own = json.startOf(table, prompt.list + nodeSize);
    if (length === 0) {
      start = own;
      length = prompt.promptEnd - own;
    } else if (prompt.promptEnd - own !== length || reader.countEqual(start, own, length) < length) return false;
  }
  return true;
};

/** Returns the rarest prompt of a task in a group; undefined if all are equal. */
export const findMixedPrompts = (table: json.JsonTable, all: readonly TrajectoryFacts[]) => {
  const readPrompt = openPromptReader();
  const mixed = findRarestPrompt(all.map((facts) => (hasTaskPrompt(facts) ? readPrompt(table, facts) : undefined)));
  return mixed && { ...mixed, subject: `trajectory ${mixed.first + 1}` };
};

/** Returns undefined if all known prompts are equal. */
export const findRarestPrompt = (digests: readonly (string | undefined)[]) => {
  const counts = new Map<string, { first: number; count: number }>();
  let of = 0;
  for (const [at, digest] of digests.entries()) {
    if (digest === undefined) continue;
    of++;
    const { first, count } = counts.get(digest) ?? { first: at, count: 0 };
    counts.set(digest, { first, count: count + 1 });
  }
  // Of two prompts that are as rare, the later differs from what the group began with.
  const [rarest] = [...counts.values()].sort((a, b) => a.count - b.count || b.first - a.first);
  return rarest && counts.size > 1 ? { prompts: counts.size, of, ...rarest } : undefined;
};

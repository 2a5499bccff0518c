/** Finds the prompt of a trajectory, and compares prompts as values. */
import { hash } from "node:crypto";
import { type Span, sliceText } from "../json/json-bytes.ts";
import { nodeSize } from "../json/reader.ts";
import * as json from "../json/table.ts";
import { readMessage } from "./messages.ts";
import { Kind, kindAt } from "./shape.ts";

/** A list of messages and choices, and the number of its choices. */
interface Conversation {
  readonly table: json.JsonTable;
  readonly list: number;
  readonly choices: number;
}

/**
 * Returns the byte range of the messages before the first choice or, without choices, before the first assistant turn.
 * Returns undefined if no user message precedes the first assistant turn, because such a prompt is unknown: a system
 * message or a greeting does not state a task.
 */
export const findPrompt = ({ table, list, choices }: Conversation): Span | undefined => {
  const after = json.nodeAfter(table, list);
  const first = list + nodeSize;
  let isKnown = false;
  let hasAnswer = false;
  let end = 0;
  for (let entry = first; entry < after; entry = json.nodeAfter(table, entry)) {
    if (kindAt(table, entry) === Kind.object) {
      const { isChoice, role } = readMessage(table, entry);
      hasAnswer ||= role === "assistant";
      if (isChoice || (choices === 0 && hasAnswer))
        return isKnown ? { start: json.startOf(table, first), end } : undefined;
      isKnown ||= role === "user" && !hasAnswer;
    }
    end = json.endOf(table, entry);
  }
  return undefined;
};

/** Finds the prompt of a trajectory of any shape. */
export const findPromptOf = (trajectory: json.JsonValue): Span | undefined => {
  const list = json.memberAt(trajectory, "messages_and_choices");
  if (!list || kindAt(list.table, list.node) !== Kind.array) return undefined;
  const { table, node } = list;
  const entries = json.elementsOf(list);
  const isChoice = (entry: json.JsonValue) =>
    kindAt(entry.table, entry.node) === Kind.object && readMessage(entry.table, entry.node).isChoice;
  return findPrompt({ table, list: node, choices: entries.filter(isChoice).length });
};

/** Equal values have equal digests: white space, escapes, the order of keys and spellings of numbers do not count. */
export const digestPrompt = (bytes: Uint8Array, { start, end }: Span): Buffer => {
  const messages = json.readRoot(Buffer.concat([opening, bytes.subarray(start, end), closing]));
  return hash("sha256", messages ? formatCanonically(messages) : "", "buffer");
};

const opening = Buffer.from("[");
const closing = Buffer.from("]");

const formatCanonically = (value: json.JsonValue): string => {
  const { table, node } = value;
  const kind = kindAt(table, node);
  if (kind === Kind.string) return JSON.stringify(json.readString(table, node));
  if (kind === Kind.array) return `[${json.elementsOf(value).map(formatCanonically).join(",")}]`;
  if (kind !== Kind.object) return formatScalar(sliceText(table.bytes, json.spanOf(value)));
  const members = [...new Map(json.childrenOf(value))].sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${formatCanonically(member)}`).join(",")}}`;
};

/** Longer numbers keep their spelling, because different numbers can have the same double. */
const maxExactLength = 15;

const formatScalar = (text: string) =>
  /^-?\d/.test(text) && text.length <= maxExactLength && hasExactDouble(text) ? String(Number(text)) : text;

/** False for numbers beyond the range of doubles, such as `1e400` and `1e-400`. */
const hasExactDouble = (text: string) => {
  const number = Number(text);
  return Number.isFinite(number) && (number !== 0 || !/[1-9]/.test(text.replace(/e.*/i, "")));
};

/** Compares the prompts of several trajectories in the same bytes. */
export const countPrompts = (bytes: Buffer, prompts: readonly Span[]): { count: number; other: number } => {
  const [first] = prompts;
  const hasFirstBytes = ({ start, end }: Span) =>
    first !== undefined && bytes.compare(bytes, first.start, first.end, start, end) === 0;
  if (prompts.every(hasFirstBytes)) return { count: Math.min(1, prompts.length), other: 0 };
  const digests = prompts.map((prompt) => digestPrompt(bytes, prompt).toString("latin1"));
  return { count: new Set(digests).size, other: digests.findIndex((digest) => digest !== digests[0]) };
};

/** Reads the start of a group: its prompt and its key. */
import { findGroupKey } from "../check/index.ts";
import { type Dataset, readGroupStart, readGroupTrajectories } from "../groups/index.ts";
import { isObject, listMemberSpans, parseJson, skipWhite, sliceText, walkElements } from "../json/walk.ts";

const maxFirstBytes = 2 ** 16;

/** Maximum bytes of a group that is read completely only to find its key. */
const maxKeyBytes = 2 ** 20;

const maxCharacters = 200;

const maxMemberBytes = 10_000;

/** @throws Failure `input-changed` */
export const readGroupHead = async (dataset: Dataset, group: number, groupBy?: string) => {
  const bytes = await readGroupStart(dataset, group, maxFirstBytes);
  let { words, key } = parseStart(bytes, groupBy);
  const isComplete = bytes.length < maxFirstBytes || !dataset.groups.isValid(group);
  const isEnough = words !== undefined && (key !== undefined || dataset.groups.bytesOf(group) > maxKeyBytes);
  if (!isComplete && !isEnough) {
    const [first] = await readGroupTrajectories(dataset, group);
    if (first !== undefined) ({ words, key } = parseStart(first.bytes, groupBy));
  }
  return { words: words ?? "", key: key ?? null };
};

/** Parses the start of a group or trajectory. A fact is undefined if the bytes end before it. */
const parseStart = (bytes: Buffer, groupBy: string | undefined) => {
  const own = listMemberSpans(bytes, { start: skipWhite(bytes, 0) });
  const all = own.get("trajectories");
  const [trajectory] = all === undefined ? [] : walkElements(bytes, all.start);
  const members = trajectory === undefined ? own : listMemberSpans(bytes, trajectory);
  const messages = members.get("messages_and_choices");
  const small = [...members].filter(([, { start, end }]) => end - start <= maxMemberBytes);
  const values = small.map(([name, span]) => [name, parseJson(sliceText(bytes, span))?.value] as const);
  return {
    words: messages === undefined ? undefined : parsePrompt(bytes, messages.start),
    key: findGroupKey(Object.fromEntries(values), groupBy),
  };
};

/** Returns the start of the first user message, or of the first message; undefined if the bytes end before its end. */
const parsePrompt = (bytes: Buffer, start: number): string | undefined => {
  let first = "";
  for (const span of walkElements(bytes, start)) {
    const message = parseJson(sliceText(bytes, span))?.value;
    if (message === undefined) return undefined;
    if (!isObject(message)) continue;
    const words = shorten(joinText(message.content));
    if (message.role === "user" && words !== "") return words;
    first ||= words;
  }
  return first;
};

const joinText = (content: unknown): string => {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join(" ");
};

/** Shortens a text to one line, without splitting a surrogate pair. */
const shorten = (text: string): string => {
  const start = text.slice(0, maxCharacters * 4).replaceAll(/\s+/g, " ");
  const line = [...start.trim()];
  if (line.length <= maxCharacters) return line.join("");
  const first = line.slice(0, maxCharacters - 1).join("");
  return `${first.trimEnd()}…`;
};

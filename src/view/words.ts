/** The first words of a group's prompt. */
import { beginningOf, type Reading, trajectoriesOf } from "../groups/index.ts";
import { elements, isObject, memberSpans, parsedJson, skipWhite, textOf } from "../json/walk.ts";

/** Bytes of a group in which its first words are searched for before all of it is read. */
const beginningBytes = 2 ** 16;

/** Characters of a prompt that a row shows. */
const maxCharacters = 200;

/** Returns the first words of a group's prompt. @throws Failure `input-changed` */
export const wordsOf = async (reading: Reading, group: number): Promise<string> => {
  const early = firstWords(await beginningOf(reading, group, beginningBytes));
  if (early !== undefined || !reading.groups.isValid(group)) return early ?? "";
  const [first] = await trajectoriesOf(reading, group);
  return first === undefined ? "" : (firstWords(first.bytes) ?? "");
};

/** The words of the first user's message, or of the first message; undefined if the bytes end before it does. */
const firstWords = (bytes: Buffer): string | undefined => {
  const own = memberSpans(bytes, { start: skipWhite(bytes, 0) });
  const all = own.get("trajectories");
  const [trajectory] = all === undefined ? [] : elements(bytes, all.start);
  const messages = (trajectory === undefined ? own : memberSpans(bytes, trajectory)).get("messages_and_choices");
  if (messages === undefined) return undefined;
  let first = "";
  for (const span of elements(bytes, messages.start)) {
    const message = parsedJson(textOf(bytes, span))?.value;
    if (message === undefined) return undefined;
    if (!isObject(message)) continue;
    const words = shorten(textIn(message.content));
    if (message.role === "user" && words !== "") return words;
    first ||= words;
  }
  return first;
};

const textIn = (content: unknown): string => {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join(" ");
};

/** A text on one line; a pair of UTF-16 units is not cut. */
const shorten = (text: string): string => {
  const line = text
    .slice(0, maxCharacters * 4)
    .replaceAll(/\s+/g, " ")
    .trim();
  return [...line].slice(0, maxCharacters).join("");
};

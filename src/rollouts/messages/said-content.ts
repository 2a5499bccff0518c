/** Finds what a message says, in which repetitions of a prompt do not differ. */
import { isObject } from "../../json/object.ts";

/** Members that recorders add to messages. */
export const recorderKey =
  /^(?:id|uid|uuid|(?:message|msg|turn|event|tool_call|call)_id|source|recorder|cache_control|date|time|created|turn_idx|timestamp|\w+_(?:at|time|timestamp))$/;

/** Returns the text of a list with only one text, which says the same as the text. */
export const readOnlyText = (content: unknown) => {
  const [part, ...more]: readonly unknown[] = Array.isArray(content) ? content : [];
  if (more.length > 0 || !isObject(part) || typeof part.text !== "string") return undefined;
  const hasOther = Object.entries(part).some(([key, value]) =>
    key === "type" ? !/^(?:input_)?text$/.test(`${value}`) : key !== "text" && value !== null && !recorderKey.test(key),
  );
  return hasOther ? undefined : part.text;
};

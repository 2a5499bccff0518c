/** Reads a system prompt that a row states next to its turns. */
import { unwrap } from "../messages/chat.ts";
import type { Json } from "../messages/output-json.ts";
import { Value } from "../messages/value.ts";

export const systemKeys = ["system", "system_prompt", "system_message"];

/** Returns the system prompt that a row states outside of its prompt, as rows of ms-swift do. */
export const findSystem = (row: Value, start: Json | undefined): readonly Value[] => {
  const prompt = start instanceof Value ? unwrap(start) : undefined;
  const first = prompt?.get(0) ?? prompt;
  const content = systemKeys.map((key) => row.get(key)).find((value) => value?.text?.trim());
  const isStated = (first?.textAt("role") ?? first?.textAt("from")) === "system";
  return !content || isStated || prompt?.text?.includes(content.text?.trim() ?? "") ? [] : [content];
};

export const toSystem = (content: Value) => ({ role: "system", content });

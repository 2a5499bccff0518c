/** Parses call ids from lines. */
import { Failure } from "../failure.ts";
import { isObject, parseJson } from "../json/walk.ts";

/** Lengths are in UTF-16 units. A line can be a whole call from `call read -o jsonl`. */
const maxIdLength = 1024;
const maxLineLength = 256 * 1024 * 1024;

/** A line begins with an id, or is an object with an id. @throws Failure `call-ids-missing`, `invalid-call-id` */
export async function* parseCallIds(chunks: AsyncIterable<Uint8Array>, canBeEmpty = false): AsyncIterable<string> {
  let isEmpty = true;
  for await (const { text, line } of splitLines(chunks)) {
    if (text === "") continue;
    isEmpty = false;
    yield parseLine(text, line);
  }
  if (isEmpty && !canBeEmpty) {
    const hint = "give one id per line, or the ids as arguments";
    throw new Failure("invalid_input", "call-ids-missing", "no call ids on standard input", { hint });
  }
}

/** @param why completes the sentence "it is …" */
const invalidCallId = (line: number, why: string) =>
  new Failure("invalid_input", "invalid-call-id", `line ${line} of standard input is not a call id: it is ${why}`, {
    hint: "give one id per line: plain, as the first tab-separated field, or as `id` in a JSON object",
  });

/** Yields trimmed lines. @throws Failure `invalid-call-id` if a line is too long */
async function* splitLines(chunks: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder();
  let line = 1;
  let rest = "";
  for await (const chunk of chunks) {
    const [first = "", ...lines] = decoder.decode(chunk, { stream: true }).split("\n");
    rest += first;
    for (const next of lines) {
      yield { text: rest.trim(), line: line++ };
      rest = next;
    }
    if (rest.length > maxLineLength) throw invalidCallId(line, "too long");
  }
  yield { text: rest.trim(), line };
}

const parseLine = (text: string, line: number) => {
  const field = text.startsWith("{") ? text : (text.split("\t", 1)[0] ?? "").trim();
  const value = /^["{]/.test(field) ? parseJson(field)?.value : field;
  const id = isObject(value) ? value.id : value;
  const trimmed = typeof id === "string" ? id.trim() : "";
  if (trimmed === "") throw invalidCallId(line, "JSON without an id");
  if (trimmed.length > maxIdLength) throw invalidCallId(line, "too long");
  if (trimmed.includes("\ufffd")) throw invalidCallId(line, "not UTF-8");
  return trimmed;
};

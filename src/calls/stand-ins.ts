/** Finds references and placeholders that a tracing client recorded in place of a message or its content. */
import { findMember, findValue, itemsOf, type RawJson, textAt, tryParseRawJson } from "../json/raw-json.ts";
import { cutText } from "../text/sentences.ts";
import { findMessage, thoughtKeys } from "./conversation.ts";

const maxLevels = 32;
const maxShown = 80;

/** Returns why the message or choice does not state what was said, such as `its message 2 is a placeholder`. */
export const findStandIn = (item: RawJson, at: number): string | undefined => {
  const message = findMessage(item) ?? item;
  const role = textAt(message, "role");
  const name = `message ${at + 1}`;
  // Other roles can say what an object prints.
  const canBePrinted = role !== "assistant" && message === item;
  const content = findValue(message, "content");
  if (Array.from(walkValues(item)).some(isPlaceholder)) return describePlaceholder(name);
  // A tool can return a path or a printed object, so its text can be the true result.
  if (role === "tool") return undefined;
  const parts = itemsOf(content).map((part) => findValue(part, "text") ?? part);
  const calls = itemsOf(findValue(message, "tool_calls"));
  const values = [
    ...[item, message, content, findValue(message, "tool_calls")],
    ...[...thoughtKeys, "refusal"].map((key) => findValue(message, key)),
    ...calls.flatMap((call) => [call, findValue(call, "function"), findValue(call, "function", "arguments")]),
    ...(parts.every((part) => describeStandIn(name, part, canBePrinted)) ? parts : []),
  ];
  const isUnknown = content && !canBePrinted && content.kind !== "text" && content.kind !== "list";
  return (
    values.map((value) => value && describeStandIn(name, value, canBePrinted)).find(Boolean) ??
    (isUnknown ? `the content of its ${name} is neither a text nor a list` : undefined)
  );
};

const describePlaceholder = (name: string) =>
  `its ${name} is a placeholder, because the client did not record the value`;

/** Returns why the value is not what was said. */
export const describeStandIn = (name: string, value: RawJson, canBePrinted = false): string | undefined => {
  if (isPlaceholder(value) || (!canBePrinted && isPlaceholderText(value))) return describePlaceholder(name);
  if (value.kind !== "text") return undefined;
  const text = value.text.trim();
  if (isReference(text)) return `its ${name} is a reference to another object (${cutText(text, maxShown)})`;
  if (!canBePrinted && isPrinted(text))
    return `its ${name} is the printed name of an object (${cutText(text, maxShown)})`;
  return undefined;
};

const isPlaceholder = (value: RawJson) =>
  findMember(value, "_weave") !== undefined || textAt(value, "_type") === "CustomWeaveType";

const isPlaceholderText = ({ kind, text }: RawJson) => {
  if (kind !== "text") return false;
  if (text.trim() === "<EXCEEDS_LIMITS>") return true;
  const parsed = /"(?:_weave|CustomWeaveType)"/.test(text) ? tryParseRawJson(text) : undefined;
  return parsed !== undefined && isPlaceholder(parsed);
};

/** Assumed: a reference is a URI without a host, or a token between `@@@`. */
const isReference = (text: string) => /^(?:[a-z][a-z\d+.-]*:\/\/\/\S+|@@@\w+:[^@\s]+@@@)$/i.test(text);

/** True for what Python and JavaScript print, such as `<a.Stream object at 0x7f1b>` and `Message(role='assistant')`. */
const isPrinted = (text: string) =>
  /^<[^\n]* at 0x[\da-f]+>+$/i.test(text) ||
  /^\[object \w+\]$/.test(text) ||
  (/^[A-Z]\w*\(\w+=.*\)$/s.test(text) && /\b(?:role=["']assistant["']|finish_reason=)/.test(text));

/** Lists the messages with a text that contains a reference, and the first reference of each. */
export const listReferences = (items: readonly RawJson[]) =>
  items.flatMap((item, at) => {
    const reference = Array.from(walkValues(item), findReference).find(Boolean);
    return reference === undefined ? [] : { message: at + 1, reference };
  });

/** Deeper values are not examined, because a call can have 100,000 levels. */
function* walkValues(value: RawJson, levels = maxLevels): Generator<RawJson> {
  yield value;
  if (levels === 0) return;
  for (const child of value.items) yield* walkValues(child, levels - 1);
  for (const { value: child } of value.members) yield* walkValues(child, levels - 1);
}

/** URIs with these schemes are addresses of this machine or of a database. */
const localSchemes: ReadonlySet<string> = new Set(
  "file unix sqlite sqlite3 duckdb postgres postgresql mysql mariadb oracle mssql redis jdbc data".split(" "),
);

const findReference = ({ kind, text }: RawJson) => {
  if (kind !== "text") return undefined;
  for (let at = text.indexOf(":///"); at !== -1; at = text.indexOf(":///", at + 1)) {
    const scheme = /[a-z][a-z\d+.-]{0,30}$/i.exec(text.slice(Math.max(0, at - 31), at))?.[0] ?? "";
    const path = /^\w[^\s"'<>)\]}]*/.exec(text.slice(at + 4, at + maxShown))?.[0];
    const isLocal = localSchemes.has(scheme.toLowerCase().replace(/\+.*/, ""));
    if (scheme !== "" && path !== undefined && !isLocal) return `${scheme}:///${path}`;
  }
  return /@@@\w{1,40}:[^@\s]{1,200}@@@/.exec(text)?.[0];
};

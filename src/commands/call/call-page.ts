/** Composes the page of a traced call (interface 2.4). */

import * as callFacts from "../../calls/call-facts.ts";
import { readConversation } from "../../calls/read-conversation.ts";
import { type ContentPart, type Media, type Turn, toTurns } from "../../conversation/turns.ts";
import * as raw from "../../json/raw-json.ts";
import { groupDigits } from "../../output/page.ts";
import type { Line, Section } from "../../output/views.ts";
import { formatRoundedSize, roundForDisplay } from "../../text/units.ts";

/** `vendorPrefix` replaces `vendor` in keys such as `vendor_user_id` (interface 2.4). */
export type CallViewOptions = Readonly<
  Record<"costs" | "storageSize" | "totalStorageSize", boolean> & { vendorPrefix: string }
>;

/** The texts of the sections are not safe to print. */
export function* callSections(call: raw.RawJson, options: CallViewOptions) {
  const prefix = options.vendorPrefix;
  const { inputs, output } = readConversation(call);
  const name = raw.textAt(call, "display_name") || callFacts.findOperation(call);
  yield { title: `Call ${name ?? "without a name"}`, lines: listFacts(call, options) };
  yield* toTreeSection("Exception", raw.findValue(call, "exception"), { maxBlockLines: maxExceptionLines });
  for (const [title, { items, rest }] of [["Inputs", inputs] as const, ["Output", output] as const]) {
    yield* items ? [{ title }] : toTreeSection(title, rest);
    for (const turn of toTurns(items ?? [])) yield* toTurnSections(turn, items?.length === 1);
  }
  if (inputs.items) yield* toTreeSection("Other inputs", inputs.rest);
  if (output.items) yield* toTreeSection("Other output", output.rest);
  const details = listFields(call, detailFields, prefix);
  if (details.length > 0) yield { title: "Details", lines: details };
  yield* toTreeSection("Attributes", raw.findValue(call, "attributes"));
  yield* toTreeSection("Summary", findSummary(call, options));
  const known = callFacts.listFieldNames(prefix);
  const others = raw.withoutAbsent(call.members).filter(({ key }) => !known.includes(key));
  if (others.length > 0) yield* toTreeSection("Other", raw.toRawObject(others));
}

const maxExceptionLines = 120;

const toTreeSection = (title: string, value: raw.RawJson | undefined, options: Section = {}) =>
  value ? [{ title, block: formatTree(value), isQuoted: true, ...options }] : [];

const tones: ReadonlyMap<string, Line["tone"]> = new Map([
  ["ok", "good"],
  ["failed", "bad"],
  ["deleted", "faint"],
]);

const listFacts = (call: raw.RawJson, options: CallViewOptions) => {
  const { vendorPrefix: prefix, costs, storageSize, totalStorageSize } = options;
  const state = callFacts.findState(call, prefix);
  const reward = raw.findValue(call, "attributes", "reward");
  const hasReward = reward?.kind === "number" || reward?.kind === "word";
  const facts: Readonly<Record<string, readonly string[]>> = {
    reward: hasReward ? [roundFraction(raw.formatInline(reward))] : [],
    duration: formatDuration(callFacts.findDurationMicros(call)),
    model: [callFacts.findModels(call, prefix).join(", ")].filter(Boolean),
    costs: costs && !callFacts.findCosts(call, prefix) ? [notProvided] : [],
    size: storageSize ? [formatStorageSize(call, "storage_size_bytes")] : [],
    "total size": totalStorageSize ? [formatStorageSize(call, "total_storage_size_bytes")] : [],
  };
  return [
    { label: "status", text: state, tone: tones.get(state) ?? "warning" },
    ...Object.entries(facts).flatMap(([label, texts]) => texts.map((text) => ({ label, text }))),
    ...listFields(call, ["id", "parent_id", "thread_id", "turn_id"], prefix),
  ];
};

const roundFraction = (text: string) => (/^-?\d+\.\d+$/.test(text) ? String(roundForDisplay(Number(text))) : text);

const formatDuration = (micros: number | undefined) => {
  if (micros === undefined) return [];
  if (micros < 0) return ["unknown (the call ended before it started)"];
  return [micros < 1e6 ? `${micros / 1000} ms` : `${micros / 1e6} s`];
};

const notProvided = "not provided by the service";

const formatStorageSize = (call: raw.RawJson, field: string) => {
  const size = raw.findValue(call, field);
  if (size?.kind === "number") return `${groupDigits(size.text)} ${size.text === "1" ? "byte" : "bytes"}`;
  return size ? raw.formatInline(size) : notProvided;
};

/** The fields of the section "Details". Their labels are their names without the prefix. */
const detailFields =
  `display_name op_name project_id trace_id started_at ended_at deleted_at vendor_user_id vendor_username vendor_run_id
  vendor_run_step vendor_run_step_end`.split(/\s+/);

const listFields = (call: raw.RawJson, fields: readonly string[], prefix: string) =>
  fields.flatMap((field) => {
    const label = field.replace(/^vendor_/, "").replaceAll("_", " ");
    return [...new Set([callFacts.withPrefix(field, prefix), field])].flatMap((name) => {
      const value = raw.findValue(call, name);
      return value ? [{ label, text: raw.formatInline(value) }] : [];
    });
  });

const findSummary = (call: raw.RawJson, { costs }: CallViewOptions) => {
  const summary = raw.findValue(call, "summary");
  if (costs || summary?.kind !== "object") return summary;
  const withoutCosts = ({ members }: raw.RawJson) => members.filter(({ key }) => key !== "costs");
  const members = withoutCosts(summary).map(({ key, value }) => {
    return { key, value: value.kind === "object" ? raw.toRawObject(withoutCosts(value)) : value };
  });
  return raw.toRawObject(members);
};

const toTurnSections = ({ role, choiceMembers, parts, ...turn }: Turn, isAlone: boolean) => {
  const others = choiceMembers.filter((member) => !isTitleMember(member));
  const titleMembers = choiceMembers.filter((member) => isTitleMember(member) && !(isAlone && member.key === "index"));
  const details = [
    ...[turn.name, turn.toolCallId].flatMap((text) => (text === undefined ? [] : quoteName(text))),
    ...titleMembers.map(({ key, value }) => `${key.replaceAll("_", " ")} ${quoteName(raw.formatInline(value))}`),
    ...(turn.isError ? ["error"] : []),
  ].join(", ");
  const allParts: readonly ContentPart[] = others.length === 0 ? parts : [...parts, { kind: "other", members: others }];
  const [first = {}, ...rest] = mergeTexts(allParts.flatMap(toPartSections));
  const title = role === undefined ? "not a message" : /^[a-z][\w-]{0,30}$/i.test(role) ? role : JSON.stringify(role);
  const heading: Section = { title: details === "" ? title : `${title} (${details})`, level: 2 };
  const [head, below] = first.title === undefined ? [{ ...first, ...heading }, rest] : [heading, [first, ...rest]];
  return [head, ...below.map((part) => ({ title: "text", ...part }))];
};

const isTitleMember = ({ key, value }: raw.RawMember) =>
  ["finish_reason", "index", "stop_reason"].includes(key) && value.kind !== "object" && value.kind !== "list";

/** Quotes an unusual name, because the name could imitate rollcall's own text. */
const quoteName = (name: string) => (/^[\p{L}\p{N}_.:/@+-]{1,120}$/u.test(name) ? name : JSON.stringify(name));
const formatId = (id: string | undefined) => (id === undefined ? "" : ` (${quoteName(id)})`);

const toTextSection = (text: string): Section =>
  text === "" ? { level: 3 } : { level: 3, block: text, isQuoted: true };

const mergeTexts = (parts: readonly Section[]) => {
  const merged: Section[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (last === undefined || last.title !== undefined || part.title !== undefined) merged.push(part);
    else merged.splice(-1, 1, toTextSection(`${last.block ?? ""}\n${part.block ?? ""}`));
  }
  return merged;
};

const toPartSections = (part: ContentPart): readonly Section[] => {
  const titled = (title: string, text = ""): Section => ({ title, ...toTextSection(text) });
  if (part.kind === "said") return [toTextSection(formatTree(part.value))];
  if (part.kind === "result")
    return [titled(`← result${formatId(part.id)}${part.isError ? ", error" : ""}`, flattenParts(part.parts))];
  if (part.kind === "media") return [titled(formatMedia(part))];
  if (part.kind === "other") return [titled("other fields", formatTree(raw.toRawObject(part.members)))];
  if (part.kind !== "call") return [titled(part.kind, part.text)];
  const { name, id, callArguments, result } = part;
  const isText = callArguments?.kind === "text";
  const parsed = (isText ? raw.tryParseRawJson(callArguments.text) : undefined) ?? callArguments;
  const text = raw.isAbsent(parsed) ? "{}" : formatTree(parsed);
  const heading = `→ ${name === undefined ? "not a call" : quoteName(name)}${formatId(id)}`;
  const call = titled(heading, text === "{}" ? "" : text);
  if (!result) return [call];
  const ofTool = result.name === undefined || result.name === name ? "" : ` of ${quoteName(result.name)}`;
  const mark = result.isError ? ", error" : "";
  return [call, { ...titled(`← result${ofTool}${mark}`), block: flattenParts(result.parts), isQuoted: true }];
};

const flattenParts = (parts: readonly ContentPart[]) =>
  parts
    .flatMap(toPartSections)
    .flatMap(({ title, block = "" }) => [title === undefined ? "" : `[${title}]`, block])
    .filter(Boolean)
    .join("\n");

const formatMedia = ({ category, url, data, name = "", format }: Media) => {
  const named = name === "" ? "" : `${quoteName(name)}, `;
  if (url !== undefined) return `${category}: ${named}${describeBinary(url)?.slice(1, -1) ?? quoteName(url)}`;
  if (data === undefined) return `${category}: ${quoteName(name)}`;
  const label = format ?? name;
  return `${category}: ${label === "" ? "" : `${quoteName(label)}, `}${formatRoundedSize(getDecodedSize(data))}`;
};

/** The widest list on one line of a tree. */
const maxListWidth = 72;
const indentStep = "  ";

/** Formats JSON as an indented tree, without the bytes of data URLs. */
const formatTree = (value: raw.RawJson) =>
  value.kind === "text"
    ? (describeBinary(value.text) ?? value.text)
    : (formatBeside(value, raw.maxIndentedLevels) ?? formatBelow(value));

const formatBelow = (value: raw.RawJson, indent = "", levels = raw.maxIndentedLevels): string => {
  if (!isTree(value)) return formatScalar(value).replace(/^(?=[^\n])/gm, indent);
  const [innerIndent, innerLevels] = [indent + indentStep, levels - 1];
  const members = value.members.map(({ key, value: member }) => {
    const beside = formatBeside(member, innerLevels);
    const text = beside === undefined ? `\n${formatBelow(member, innerIndent, innerLevels)}` : ` ${beside}`;
    return `${indent}${formatKey(key)}:${text}`;
  });
  const items = value.items.map((item) => {
    const text = formatBeside(item, innerLevels) ?? formatBelow(item, innerIndent, innerLevels);
    return `${indent}- ${text.startsWith(innerIndent) ? text.slice(innerIndent.length) : text}`;
  });
  return [...members, ...items].join("\n");
};

const isTree = ({ kind }: raw.RawJson) => kind === "object" || kind === "list";

const formatBeside = (value: raw.RawJson, levels: number) => {
  if (isTree(value) && levels === 0) return raw.compactJson(value.json);
  if (value.kind === "object") return value.members.length === 0 ? "{}" : undefined;
  const line = value.kind === "list" ? formatItems(value.items) : formatScalar(value);
  return line?.includes("\n") ? undefined : line;
};

const formatItems = (items: readonly raw.RawJson[]) => {
  if (items.some(isTree)) return undefined;
  const isSplit = ({ kind, text }: raw.RawJson) => kind === "text" && /[,\]]/.test(text);
  const texts = items.map((item) => (isSplit(item) ? JSON.stringify(item.text) : formatScalar(item)));
  const line = `[${texts.join(", ")}]`;
  return line.length > maxListWidth ? undefined : line;
};

const formatScalar = ({ kind, text }: raw.RawJson) => {
  if (kind !== "text") return text;
  return describeBinary(text) ?? (needsQuotes(text) ? JSON.stringify(text) : text);
};

const needsQuotes = (text: string) =>
  text === "" ||
  (text.trim() !== text && !text.includes("\n")) ||
  /^(true|false|null|-?\d+(\.\d+)?([eE][+-]?\d+)?|[[{"].*)$/.test(text);

const formatKey = (key: string) => (/^[^\s:][^\n\r:]*$/.test(key) ? key : JSON.stringify(key));

const minBinaryLength = 64;

const describeBinary = (text: string) => {
  if (!text.startsWith("data:") || text.length < minBinaryLength) return undefined;
  const head = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,200};base64,/.exec(text);
  return head ? `[${head[1] ?? "data"}, ${formatRoundedSize(getDecodedSize(text.slice(head[0].length)))}]` : undefined;
};

const getDecodedSize = (text: string) => {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
};

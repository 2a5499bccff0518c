/** The turns of a conversation on the page of a call: texts, media, and tool calls with their results. */
import { type Media, type Part, type Turn, toObject } from "../../calls/index.ts";
import { formatInline, isAbsent, type RawMember, tryParseRawJson } from "../../json/raw-json.ts";
import type { Section } from "../views.ts";
import { decodedSize, describeBinary, formatSize, formatTree } from "./tree.ts";

export const turnSections = ({ role, name, toolCallId, around, parts }: Turn, isAlone: boolean): readonly Section[] => {
  const also = around.filter((member) => !isTitleMember(member));
  const short = around.filter((member) => isTitleMember(member) && !(isAlone && member.key === "index"));
  const about = [
    ...[name, toolCallId].flatMap((text) => (text === undefined ? [] : [quoteName(text)])),
    ...short.map(({ key, value }) => `${key.replaceAll("_", " ")} ${quoteName(formatInline(value))}`),
  ].join(", ");
  const all: readonly Part[] = also.length === 0 ? parts : [...parts, { kind: "also", members: also }];
  const [first = {}, ...rest] = mergeTexts(all.flatMap(partSections));
  const title = role === undefined ? "not a message" : /^[a-z][\w-]{0,30}$/i.test(role) ? role : JSON.stringify(role);
  const heading: Section = { title: about === "" ? title : `${title} (${about})`, level: 2 };
  const [own, below] = first.title === undefined ? [{ ...first, ...heading }, rest] : [heading, [first, ...rest]];
  return [own, ...below.map((part) => ({ title: "text", ...part }))];
};

/** True if the title of a choice has the member. Other members, such as log probabilities, are below the message. */
const isTitleMember = ({ key, value }: RawMember): boolean =>
  ["finish_reason", "index", "stop_reason"].includes(key) && value.kind !== "object" && value.kind !== "list";

/** Quotes a name or id that could be mistaken for rollcall's own text. */
const quoteName = (name: string): string => (/^[\p{L}\p{N}_.:/@+-]{1,120}$/u.test(name) ? name : JSON.stringify(name));

const formatId = (id: string | undefined): string => (id === undefined ? "" : ` (${quoteName(id)})`);

const textSection = (text: string): Section => (text === "" ? { level: 3 } : { level: 3, block: text, isQuoted: true });

const mergeTexts = (parts: readonly Section[]): readonly Section[] => {
  const all: Section[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last === undefined || last.title !== undefined || part.title !== undefined) all.push(part);
    else all.splice(-1, 1, textSection(`${last.block ?? ""}\n${part.block ?? ""}`));
  }
  return all;
};

const partSections = (part: Part): readonly Section[] => {
  const titled = (title: string, text = ""): Section => ({ title, ...textSection(text) });
  if (part.kind === "said") return [textSection(formatTree(part.value))];
  if (part.kind === "result") return [titled(`← result${formatId(part.id)}`, flattenParts(part.parts))];
  if (part.kind === "media") return [titled(mediaText(part))];
  if (part.kind === "also") return [titled("other fields", formatTree(toObject(part.members)))];
  if (part.kind !== "call") return [titled(part.kind, part.text)];
  const { name, id, callArguments: given, result } = part;
  const parsed = given?.kind === "text" ? (tryParseRawJson(given.text) ?? given) : given;
  const text = isAbsent(parsed) ? "{}" : formatTree(parsed);
  const call = `→ ${name === undefined ? "not a call" : quoteName(name)}${formatId(id)}`;
  const of = result?.name === undefined || result.name === name ? "" : ` of ${quoteName(result.name)}`;
  const answer = result && { ...titled(`← result${of}`), block: flattenParts(result.parts), isQuoted: true };
  return [titled(call, text === "{}" ? "" : text), ...(answer === undefined ? [] : [answer])];
};

const flattenParts = (parts: readonly Part[]): string =>
  parts
    .flatMap(partSections)
    .flatMap(({ title, block = "" }) => [title === undefined ? "" : `[${title}]`, block])
    .filter(Boolean)
    .join("\n");

const mediaText = ({ mediaType, url, data, name = "", format }: Media): string => {
  if (url !== undefined) return `${mediaType}: ${describeBinary(url)?.slice(1, -1) ?? quoteName(url)}`;
  if (data === undefined) return `${mediaType}: ${quoteName(name)}`;
  return `${mediaType}: ${format === undefined ? "" : `${quoteName(format)}, `}${formatSize(decodedSize(data))}`;
};

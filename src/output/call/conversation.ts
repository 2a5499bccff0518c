/** A conversation as texts: the turns of a page, each with titles over what was not said. */
import { conversationOf, type Media, type Part as ReadPart, type Turn as ReadTurn } from "../../calls/index.ts";
import { readSpelledText } from "../../json/read-spelled.ts";
import { inline, isNothing, type Spelled, type SpelledMember } from "../../json/spelled.ts";
import { base64Bytes, binaryText, membersText, sizeText, treeText } from "./tree.ts";

/** One message of a conversation. */
export interface Turn {
  /** Its role; one that nobody knows in quotes. */
  readonly role: string;
  /** What else is known of it, such as the tool's name or why the model stopped; empty where nothing is. */
  readonly about: string;
  /** What was said and called, in its order; empty where nothing was. */
  readonly parts: readonly Part[];
}

/** A part of a message. */
export interface Part {
  /** What it is, where it is not what was said: a thought, an image, a call of a tool. */
  readonly title?: string;
  /** As it was, line by line; empty where the title says all. */
  readonly text: string;
  /** What the tool that it calls answered. */
  readonly result?: { readonly title: string; readonly text: string };
}

/** The turns that messages and choices are. */
export const turnsOf = (items: readonly Spelled[]): readonly Turn[] =>
  conversationOf(items).map((turn) => turnText(turn, items.length === 1));

const turnText = ({ role, name, answers, around, parts }: ReadTurn, isAlone: boolean): Turn => {
  const choice = around.filter(({ key }) => !(isAlone && key === "index"));
  const names = [name, answers].flatMap((text) => (text === undefined ? [] : [nameText(text)]));
  const rest = choice.filter((one) => !isShort(one));
  return {
    role: role === undefined ? "not a message" : roleText(role),
    about: [...names, ...choice.filter(isShort).map(aboutMember)].join(", "),
    parts: merged([...parts, ...(rest.length === 0 ? [] : [{ kind: "also", members: rest } as const])].map(partText)),
  };
};

const roleText = (role: string): string => (/^[a-z][\w-]{0,30}$/i.test(role) ? role : JSON.stringify(role));

/** A name, or an id, in the middle of rollcall's own words: what could be taken for more than one stands in quotes. */
const nameText = (name: string): string => (/^[\p{L}\p{N}_.:/@+-]{1,120}$/u.test(name) ? name : JSON.stringify(name));

const inBrackets = (id: string | undefined): string => (id === undefined ? "" : ` (${nameText(id)})`);

/** Texts that follow each other are one. */
const merged = (parts: readonly Part[]): readonly Part[] => {
  const all: Part[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last === undefined || last.title !== undefined || part.title !== undefined) all.push(part);
    else all.splice(-1, 1, { text: `${last.text}\n${part.text}` });
  }
  return all;
};

/** What of a choice stands in its title; the rest, such as token probabilities, is shown under its message. */
const isShort = ({ key, value }: SpelledMember): boolean =>
  (key === "finish_reason" || key === "index" || key === "stop_reason") &&
  value.kind !== "object" &&
  value.kind !== "list";

const aboutMember = ({ key, value }: SpelledMember): string => `${key.replaceAll("_", " ")} ${nameText(inline(value))}`;

const partText = (part: ReadPart): Part => {
  if (part.kind === "said") return { text: treeText(part.value) };
  if (part.kind === "result") return { title: `← result${inBrackets(part.id)}`, text: flatText(part.parts) };
  if (part.kind === "media") return { title: mediaText(part), text: "" };
  if (part.kind === "call") return callText(part);
  if (part.kind === "no call") return { title: "→ not a call", text: treeText(part.value) };
  if (part.kind === "also") return { title: "also", text: membersText(part.members) };
  return { title: part.kind, text: part.text };
};

/** Parts as one text, each that has a title under it. */
const flatText = (parts: readonly ReadPart[]): string =>
  parts
    .map(partText)
    .map(({ title, text }) =>
      [...(title === undefined ? [] : [`[${title}]`]), ...(text === "" ? [] : [text])].join("\n"),
    )
    .join("\n");

/** An image, a sound or a file: by its type and size, or its address. */
const mediaText = ({ what, address, data, name, format }: Media): string => {
  if (address !== undefined) return `${what}: ${inside(binaryText(address)) ?? nameText(address)}`;
  if (data === undefined) return `${what}: ${nameText(name ?? "")}`;
  return `${what}: ${format === undefined ? "" : `${nameText(format)}, `}${sizeText(base64Bytes(data))}`;
};

const inside = (bracketed: string | undefined): string | undefined => bracketed?.slice(1, -1);

/** A call of a tool: its name and id, its arguments, and what the tool answered, its name only where it is another. */
const callText = ({ name, id, given, result }: Extract<ReadPart, { kind: "call" }>): Part => {
  const parsed = given?.kind === "text" ? (readSpelledText(given.text) ?? given) : given;
  const text = isNothing(parsed) ? "" : treeText(parsed);
  const called = name === undefined ? "a tool without a name" : nameText(name);
  const part = { title: `→ ${called}${inBrackets(id)}`, text: text === "{}" ? "" : text };
  if (result === undefined) return part;
  const of = result.name === undefined || result.name === name ? "" : ` of ${nameText(result.name)}`;
  return { ...part, result: { title: `← result${of}`, text: flatText(result.parts) } };
};

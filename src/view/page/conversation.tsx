/** Draws conversations, and folds long texts. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { type ContentPart, type Media, type ToolCall, type Turn, toTurns } from "../../conversation/turns.ts";
import * as raw from "../../json/raw-json.ts";
import { isCutOff } from "../../rollouts/facts.ts";
import { countCharacters, cutText } from "../../text/sentences.ts";
import type { Finding } from "../answers.ts";
import { useLink, usePage, useSearchedPattern } from "./navigation.tsx";
import { formatCount } from "./numbers.tsx";
import { CopyButton, ProblemList } from "./problems.tsx";

export const useTrajectory = (json: string | undefined) => useMemo(() => parseTrajectory(json), [json]);

const parseTrajectory = (json = "") => {
  const value = raw.tryParseRawJson(json);
  if (value?.kind !== "object") return undefined;
  const items = raw.itemsOf(raw.findValue(value, "messages_and_choices"));
  return {
    turns: (from: number, to?: number) => toTurns(items.slice(0, to), from).map(foldThoughts),
    others: value.members.filter(({ key }) => key !== "messages_and_choices" && key !== "reward"),
    indented: () => raw.formatIndented(value),
  };
};

const linesBeforeFold = { prompt: 3, result: 10, thought: 12, text: 40 };
const charactersPerLine = 95;

const cutLines = (text: string, lines: number) => {
  const start = cutText(text.split("\n", lines).join("\n"), lines * charactersPerLine);
  return text.length <= start.length * 1.2 ? text : start;
};

const lastLines = (text: string, lines: number) => {
  const end = text.split("\n").slice(-lines).join("\n");
  return end.slice(-lines * charactersPerLine).replace(/^[\udc00-\udfff]/, "");
};

interface LongTextProps {
  text: string;
  kind?: "prose" | "raw";
  lines?: number | undefined;
  /** True if the fold shows the last lines. */
  isEnd?: boolean;
}

export const LongText = ({ text, kind, lines = linesBeforeFold.text, isEnd = false }: LongTextProps) => {
  const sought = useSearchedPattern();
  const { isUnfolded } = usePage();
  const part = (isEnd ? lastLines : cutLines)(text, lines);
  const isOpened = isUnfolded || (!sought.test(part) && sought.test(text));
  const [isWhole, setWhole] = useState(isOpened);
  useEffect(() => setWhole(isOpened), [isUnfolded]);
  const shown = isWhole ? text : part;
  return (
    <>
      <pre class={kind}>
        {shown !== text && isEnd && "… "}
        {kind === "prose" ? <Prose text={shown} /> : <MarkedText text={shown} />}
        {shown !== text && !isEnd && " …"}
      </pre>
      {part !== text && (
        <button type="button" class="more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "show less" : `show all ${formatCount(countCharacters(text))} characters`}
        </button>
      )}
    </>
  );
};

/** A code fence with its code, or the lines of a table. */
const aligned = /(^ {0,3}(`{3,}|~{3,})[\s\S]*?(?:^ {0,3}\2[`~]*[ \t]*$|(?![\s\S]))|(?:^ *[|+].*[|+] *(?:\n|$))+)/m;

/** Code and tables need a fixed-width font. */
const Prose = ({ text }: { text: string }) => {
  const sought = useSearchedPattern();
  const pieces = text.split(aligned);
  // A match can span several pieces.
  if (sought.test(text) && !pieces.some((piece) => piece && sought.test(piece))) return <MarkedText text={text} />;
  return pieces.map((piece, at) => {
    if (at % 3 === 2) return null;
    const marked = <MarkedText key={at} text={piece} />;
    return at % 3 === 1 ? <code key={at}>{marked}</code> : marked;
  });
};

const MarkedText = ({ text }: { text: string }) => {
  const { source, flags } = useSearchedPattern();
  const pieces = text.split(new RegExp(`(${source})`, flags));
  return pieces.map((piece, at) => (at % 2 === 1 ? <mark key={at}>{piece}</mark> : piece));
};

type FoldProps = { title: string; text: string; class?: string; isOpen?: boolean; children: ComponentChildren };

export const Fold = ({ title, text, isOpen = false, children, ...attributes }: FoldProps) => {
  const sought = useSearchedPattern();
  const { isUnfolded } = usePage();
  return (
    <details {...attributes} open={isOpen || isUnfolded || sought.test(text)}>
      <summary>{title}</summary>
      {children}
    </details>
  );
};

export const FoldedText = ({ title, ...shown }: { title: string } & LongTextProps) => (
  <Fold title={title} text={shown.text}>
    <LongText {...shown} />
  </Fold>
);

const contentOf = ({ callArguments: value, result }: ToolCall): readonly ContentPart[] => [
  ...(value ? [{ kind: "said" as const, value }] : []),
  ...(result ? [result] : []),
];

const textOfPart = (part: ContentPart): string => {
  switch (part.kind) {
    case "said":
      return raw.formatIndented(part.value);
    case "call":
      return `${part.name ?? "?"}\n${textOfParts(contentOf(part))}`;
    case "result":
      return textOfParts(part.parts);
    case "other":
      return part.members.map(({ key, value }) => `${key}: ${raw.formatIndented(value)}`).join("\n");
    case "media": {
      const { category, url, name, format } = part;
      const said = url?.startsWith("data:") ? (name ?? url) : (url ?? name);
      return `${category}: ${said ?? format ?? "unknown kind"}`;
    }
    default:
      return part.text;
  }
};

export const textOfParts = (parts: readonly ContentPart[] = []): string => parts.map(textOfPart).join("\n");

export const summarizeTurn = ({ parts }: Turn) => {
  const calls = parts.flatMap((part) => (part.kind === "call" ? (part.name ?? "?") : []));
  const textOf = (...hidden: readonly string[]) => textOfParts(parts.filter(({ kind }) => !hidden.includes(kind)));
  const words = cutText(textOf("call", "thought", "other").trim() || textOf("call", "other"), 200);
  return calls.length === 0 ? words : `calls ${calls.join(", ")}${words && `: ${words}`}`;
};

interface ConversationProps {
  /** The number of the trajectory, from 1. */
  trajectory: number;
  turns: readonly Turn[];
  findings?: readonly Finding[];
}

export const Conversation = ({ turns, ...shown }: ConversationProps) => (
  <ol class="conversation">
    {turns.map((turn) => (
      <Message key={turn.at} {...shown} turn={turn} />
    ))}
  </ol>
);

/** Returns the number of opened folds. */
export const openFolds = (entry: HTMLElement | undefined) => {
  const closed = entry?.querySelectorAll<HTMLElement>("details:not([open]) > summary, .more[aria-expanded=false]");
  for (const fold of closed ?? []) fold.click();
  return closed?.length;
};

const toggleFolds = ({ key, target, currentTarget: entry }: KeyboardEvent & { currentTarget: HTMLElement }) => {
  if (key !== "Enter" || target !== entry || openFolds(entry)) return;
  for (const fold of entry.querySelectorAll<HTMLElement>("summary, .more")) fold.click();
};

const Message = ({ trajectory, turn, findings = [] }: Omit<ConversationProps, "turns"> & { turn: Turn }) => {
  const { at: position, role = "?", name, isSampled, parts, choiceMembers } = turn;
  const link = useLink();
  const text = textOfParts(parts);
  const positions = [position, ...parts.flatMap((part) => (part.kind === "call" ? (part.result?.at ?? []) : []))];
  const finish = choiceMembers.find(({ key }) => key === "finish_reason")?.value;
  const members = choiceMembers.filter(({ key }) => !["finish_reason", "index", "logprobs"].includes(key));
  const isPrompt = role === "system" || role === "developer";
  const lines = isPrompt ? linesBeforeFold.prompt : role === "tool" ? linesBeforeFold.result : undefined;
  return (
    <li
      tabIndex={-1}
      onKeyDown={toggleFolds}
      class="entry"
      data-role={role}
      aria-label={`message ${position + 1}, ${role}`}
    >
      <h3 class="who">
        <b>{role}</b>
        {name !== undefined && <span>{name}</span>}
        {turn.isError && <b class="trouble">error</b>}
        {isSampled && <span>sampled{finish !== undefined && ` · ${raw.formatIndented(finish)}`}</span>}
        <a class="at" href={link({ trajectory, message: position + 1 })} aria-label={`to message ${position + 1}`}>
          {position + 1}
        </a>
        <CopyButton text={text} name="" />
      </h3>
      <Parts parts={parts} lines={lines} isMessage isAlone={parts.every(({ kind }) => kind === "thought")} />
      {text === "" && <p class="quiet">empty</p>}
      {isCutOff(finish?.text) && <p class="trouble">cut off here</p>}
      {members.length > 0 && <Parts parts={[{ kind: "other", members }]} />}
      <ProblemList findings={findings.filter(({ message_at: at }) => positions.includes(at ?? -1))} />
    </li>
  );
};

/** Some models write their reasoning into the content. The template can have written the first tag. */
const thought =
  /<(think|thinking|reasoning)>([\s\S]*?)(?:<\/\1>|$)|^((?:(?!<(?:think|thinking|reasoning)>)[\s\S])*?)<\/(?:think|thinking|reasoning)>/g;

const foldThoughts = (turn: Turn): Turn =>
  turn.role === "assistant" ? { ...turn, parts: turn.parts.flatMap(splitThoughts) } : turn;

const splitThoughts = (part: ContentPart): readonly ContentPart[] => {
  if (part.kind !== "said" || part.value.kind !== "text") return [part];
  const { text } = part.value;
  const parts: ContentPart[] = [];
  let end = 0;
  const addText = (said: string) => {
    if (said.trim() === "") return;
    parts.push({ kind: "said", value: raw.parseRawJson(JSON.stringify(said)) });
  };
  for (const { 0: whole, 2: inside, 3: before = "", index } of text.matchAll(thought)) {
    if (index > end) addText(text.slice(end, index));
    parts.push({ kind: "thought", text: (inside ?? before).trim() });
    end = index + whole.length;
  }
  if (end === 0) return [part];
  addText(text.slice(end).trimStart());
  return parts;
};

interface PartsProps {
  parts: readonly ContentPart[];
  lines?: number | undefined;
  /** True if the parts are those of a message, and not of a call or result. */
  isMessage?: boolean;
  /** True if a message has only reasoning. */
  isAlone?: boolean;
}

const Parts = ({ parts, ...shown }: PartsProps) =>
  parts.map((part, at) => <PartView key={at} {...shown} part={part} />);

const indentJson = (text: string) => {
  const json = /^\s*[{[]/.test(text) ? raw.tryParseRawJson(text) : undefined;
  return json && raw.formatIndented(json);
};

type PartProps = Omit<PartsProps, "parts"> & { part: ContentPart };

const PartView = ({ part, lines, isMessage = false, isAlone = false }: PartProps) => {
  const text = textOfPart(part);
  const sought = useSearchedPattern();
  const shown = { text, lines };
  switch (part.kind) {
    case "call":
      return <CallPart part={part} />;
    case "result":
      return (
        <div class={part.isError ? "result failed" : "result"}>
          <p class="who">{part.isError ? <b class="trouble">error</b> : "result"}</p>
          <Parts parts={part.parts} lines={linesBeforeFold.result} />
        </div>
      );
    case "said": {
      // The text of a message is shown as it was said. A match can be missing in indented JSON.
      const indented = isMessage ? undefined : indentJson(text);
      if (indented !== undefined && (sought.test(indented) || !sought.test(text)))
        return <LongText {...shown} text={indented} />;
      return <LongText {...shown} {...(part.value.kind === "text" && { kind: "prose" })} />;
    }
    case "other":
      return <FoldedText {...shown} title="other fields" />;
    case "thought": {
      const title = `reasoning, ${formatCount(countCharacters(text))} characters`;
      if (!isAlone) return <FoldedText title={title} text={text} kind="prose" />;
      return (
        <div class="quiet">
          <p class="who">{title}</p>
          <LongText text={text} kind="prose" lines={linesBeforeFold.thought} isEnd />
        </div>
      );
    }
    case "media": {
      const picture = imageSource(part);
      return picture === undefined ? <LongText {...shown} /> : <img src={picture} alt="in the message" />;
    }
    default:
      return (
        <div class="failed">
          <LongText {...shown} text={`refusal: ${text}`} kind="prose" />
        </div>
      );
  }
};

const CallPart = ({ part }: { part: ToolCall }) => (
  <div class="call">
    <p class="who">
      calls <b>{part.name ?? "?"}</b>
    </p>
    {part.callArguments && <Arguments value={part.callArguments} />}
    {part.result && <PartView part={part.result} />}
    {part.result === undefined && <p class="who">no result</p>}
  </div>
);

/** Shows a line for each member. A match can be missing in these lines. */
const Arguments = ({ value }: { value: raw.RawJson }) => {
  const sought = useSearchedPattern();
  const members = raw.membersOf(value.kind === "text" ? raw.tryParseRawJson(value.text) : value);
  const isAlone = members.length === 1 && members[0]?.value.kind === "text";
  const texts = members.map(({ key, value: member }) => {
    const text = raw.formatInline(member);
    return isAlone ? text : `${key}:${text.includes("\n") ? "\n" : " "}${text}`;
  });
  const isShown = texts.some((text) => sought.test(text)) || !sought.test(value.text);
  if (texts.length === 0 || !isShown) return <PartView part={{ kind: "said", value }} />;
  return texts.map((text, at) => <LongText key={at} text={text} />);
};

/** The page loads no images from the network. */
const imageSource = ({ url, data, format }: Media) => {
  const source = url ?? `data:${format};base64,${data}`;
  return /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp)(?:;charset=[\w-]+)?;base64,/i.test(source) ? source : undefined;
};

/** Draws conversations, folds long texts, and tints tokens by probability. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type ContentPart, type Media, type Turn, toTurns } from "../../calls/conversation.ts";
import { parseJson } from "../../json/object.ts";
import * as raw from "../../json/raw-json.ts";
import * as toolErrors from "../../rollouts/facts/tool-errors.ts";
import { countCharacters, cutText } from "../../text/sentences.ts";
import type { Finding } from "../answers.ts";
import { alignTurns, findDifferences } from "./differences.ts";
import { Markdown, MarkedText } from "./markdown.tsx";
import { usePage, useSearchedText } from "./navigation.tsx";
import { formatCount } from "./numbers.tsx";
import { ProblemList } from "./problems.tsx";

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

const linesBeforeFold = { prompt: 3, result: 10, text: 40 };
const charactersPerLine = 95;

const cutLines = (text: string, lines: number) => {
  const start = cutText(text.split("\n", lines).join("\n"), lines * charactersPerLine);
  return text.length <= start.length * 1.2 ? text : start;
};

interface LongTextProps {
  text: string;
  tokens?: readonly Token[];
  kind?: "prose" | "raw";
  lines?: number | undefined;
  other?: string | undefined;
}

export const LongText = ({ text, tokens = [], kind, lines = linesBeforeFold.text, other }: LongTextProps) => {
  const sought = useSearchedText();
  const isRendered = usePage().isMarkdownOn && kind === "prose";
  const start = cutLines(text, lines);
  const [isWhole, setWhole] = useState(!start.includes(sought) && text.includes(sought));
  const shown = isWhole ? text : start;
  const render = () => {
    // A match can span several pieces or tokens.
    if (sought !== "" && shown.includes(sought)) return <MarkedText text={shown} />;
    return other === undefined ? renderTints(shown, tokens) : <ComparedText text={shown} other={other} />;
  };
  return (
    <>
      {isRendered ? (
        <Markdown text={shown} />
      ) : (
        <pre class={`${kind ?? ""}${tokens.length > 0 ? " tokens" : ""}`}>
          {render()}
          {shown !== text && " …"}
        </pre>
      )}
      {start !== text && (
        <button type="button" class="more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "show less" : `show all ${formatCount(countCharacters(text))} characters`}
        </button>
      )}
    </>
  );
};

const ComparedText = ({ text, other }: { text: string; other: string }) => {
  const pieces = useMemo(() => findDifferences(text, other), [text, other]);
  return pieces.map(({ isNew, text: piece }, at) => {
    const words = piece.trimEnd();
    return isNew ? [<ins key={at}>{words}</ins>, piece.slice(words.length)] : piece;
  });
};

type FoldProps = { title: string; text: string; class?: string; children: ComponentChildren };

export const Fold = ({ title, text, children, ...attributes }: FoldProps) => {
  const sought = useSearchedText();
  return (
    <details {...attributes} open={sought !== "" && text.includes(sought)}>
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

const contentOf = (part: ContentPart) => {
  if (part.kind === "result") return part.parts;
  if (part.kind !== "call") return [];
  const { id, callArguments, result } = part;
  return [
    ...(callArguments ? [{ kind: "said" as const, value: callArguments }] : []),
    ...(result ? [{ kind: "result" as const, id, isError: isError(result.parts), parts: result.parts }] : []),
  ];
};

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
  if (calls.length > 0) return `calls ${calls.join(", ")}`;
  return cutText(textOfParts(parts.filter(({ kind }) => kind !== "thought" && kind !== "other")), 200);
};

/** Marks the results that count as errors of tools (metrics.md). */
const isError = (parts: readonly ContentPart[] = []) => {
  const members = parts.flatMap((part) => (part.kind === "other" ? part.members : []));
  const [text = ""] = parts.flatMap((part) => (part.kind === "said" ? part.value.text : []));
  return toolErrors.isErrorText(text) || members.some(({ key, value }) => isErrorMember(key, value));
};

const isErrorMember = (key: string, { json, text }: raw.RawJson) =>
  toolErrors.hasError({ [key]: parseJson(json)?.value }) || (key === "status" && toolErrors.errorStatus.test(text));

/** A result without a call is a turn. */
const isFailedResult = ({ role, parts }: Turn) => role === "tool" && isError(parts);

export const hasError = (turn: Turn) =>
  isFailedResult(turn) ||
  turn.parts.some((part) => (part.kind === "call" ? isError(part.result?.parts) : part.kind === "refusal"));

interface ConversationProps {
  turns: readonly Turn[];
  findings?: readonly Finding[];
  isTinted?: boolean;
  compared?: { turns: readonly Turn[]; name: string } | undefined;
}

export const Conversation = ({ turns, compared, ...shown }: ConversationProps) => {
  const others = compared?.turns;
  const pairs = useMemo(() => others && alignTurns(turns, others, identifyTurn), [turns, others]);
  const messages = turns.map((turn, position) => (
    <Message key={turn.at} {...shown} turn={turn} other={pairs?.[position]} otherName={compared?.name} />
  ));
  return <ol class="conversation">{messages}</ol>;
};

const identifyTurn = ({ role, parts }: Turn) =>
  JSON.stringify([role, ...parts.map((part) => [part.kind, textOfPart(part), part.kind === "media" && part.data])]);

const toggleFolds = ({ key, target, currentTarget: entry }: KeyboardEvent & { currentTarget: HTMLElement }) => {
  if (key !== "Enter" || target !== entry) return;
  const find = (selector: string) => [...entry.querySelectorAll<HTMLElement>(selector)];
  const closed = find("details:not([open]) > summary, .more[aria-expanded=false]");
  for (const fold of closed.length > 0 ? closed : find("summary, .more")) fold.click();
};

interface MessageProps extends Omit<ConversationProps, "turns" | "compared"> {
  turn: Turn;
  other: Turn | undefined;
  otherName: string | undefined;
}

const Message = ({ turn, findings = [], isTinted = false, other, otherName }: MessageProps) => {
  const { at: position, role = "?", name, isSampled, parts, choiceMembers } = turn;
  const positions = [position, ...parts.flatMap((part) => (part.kind === "call" ? (part.result?.at ?? []) : []))];
  const isEqual = other !== undefined && identifyTurn(other) === identifyTurn(turn);
  const isAlone = otherName !== undefined && other === undefined;
  const finish = choiceMembers.find(({ key }) => key === "finish_reason")?.value;
  const members = choiceMembers.filter(({ key }) => !["finish_reason", "index", "logprobs"].includes(key));
  const isPrompt = role === "system" || role === "developer";
  const lines = isPrompt ? linesBeforeFold.prompt : role === "tool" ? linesBeforeFold.result : undefined;
  return (
    <li
      tabIndex={-1}
      onKeyDown={toggleFolds}
      class={`entry${isEqual ? " equal" : isAlone ? " alone" : ""}`}
      data-role={role}
      aria-label={`message ${position + 1}, ${role}`}
    >
      <h3 class="who">
        <b>{role}</b>
        {name !== undefined && <span>{name}</span>}
        {isFailedResult(turn) && <b class="trouble">error</b>}
        {isSampled && <span>sampled{finish !== undefined && ` · ${raw.formatIndented(finish)}`}</span>}
        {isEqual && <span class="same">equal to {otherName}</span>}
        {isAlone && <span class="same">no counterpart in {otherName}</span>}
        <span class="at">{position + 1}</span>
      </h3>
      <Parts
        parts={parts}
        tokens={isTinted ? tokensOf(turn) : []}
        lines={lines}
        others={isEqual ? undefined : other?.parts}
      />
      {textOfParts(parts) === "" && <p class="quiet">empty</p>}
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
  tokens?: readonly Token[];
  lines?: number | undefined;
  others?: readonly ContentPart[] | undefined;
}

const noPart: ContentPart = { kind: "thought", text: "" };

/** Pairs parts by kind, and parts of one kind by order. */
const Parts = ({ parts, others, ...shown }: PartsProps) =>
  parts.map((part, at) => {
    const isSameKind = ({ kind }: ContentPart) => kind === part.kind;
    const nth = parts.slice(0, at).filter(isSameKind).length;
    const other = others && (others.filter(isSameKind)[nth] ?? noPart);
    return <PartView key={at} {...shown} part={part} other={other} />;
  });

const indentJson = (text: string) => {
  const json = /^\s*[{[]/.test(text) ? raw.tryParseRawJson(text) : undefined;
  return json && raw.formatIndented(json);
};

type PartProps = Omit<PartsProps, "parts" | "others"> & { part: ContentPart; other: ContentPart | undefined };

const PartView = ({ part, tokens: all, lines, other }: PartProps) => {
  const text = textOfPart(part);
  const sought = useSearchedText();
  const tokens = alignTokens(all ?? [], part);
  const shown = { text, lines, other: other && textOfPart(other) };
  switch (part.kind) {
    case "call":
      return <CallPart part={part} other={other} />;
    case "result":
      return (
        <div class={part.isError || isError(part.parts) ? "result failed" : "result"}>
          <p class="who">{part.isError || isError(part.parts) ? <b class="trouble">error</b> : "result"}</p>
          <Parts parts={part.parts} lines={linesBeforeFold.result} others={other && contentOf(other)} />
        </div>
      );
    case "said": {
      // The text of a message is shown as it was said. A match can be missing in indented JSON.
      const indented = all === undefined ? indentJson(text) : undefined;
      if (indented !== undefined && (indented.includes(sought) || !text.includes(sought)))
        return <LongText {...shown} text={indented} other={shown.other && (indentJson(shown.other) ?? shown.other)} />;
      return <LongText {...shown} tokens={tokens} {...(part.value.kind === "text" && { kind: "prose" })} />;
    }
    case "other":
      return <FoldedText {...shown} title="other fields" />;
    case "thought":
      return (
        <FoldedText title={`reasoning, ${formatCount(countCharacters(text))} characters`} text={text} kind="prose" />
      );
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

type CallProps = { part: Extract<ContentPart, { kind: "call" }>; other: ContentPart | undefined };

const CallPart = ({ part, other }: CallProps) => {
  const name = part.name ?? "?";
  const isNew = other !== undefined && (other.kind !== "call" || other.name !== part.name);
  return (
    <div class="call">
      <p class="who">
        calls <b>{isNew ? <ins>{name}</ins> : name}</b>
      </p>
      <Parts parts={contentOf(part)} others={other && contentOf(other)} />
      {part.result === undefined && <p class="who">no result</p>}
    </div>
  );
};

/** The page loads no images from the network. */
const imageSource = ({ url, data, format }: Media) => {
  const source = url ?? `data:${format};base64,${data}`;
  return /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp)(?:;charset=[\w-]+)?;base64,/i.test(source) ? source : undefined;
};

type Token = { text: string; logprob: number };

/** A character belongs to the token with the character's last byte. */
export const tokensOf = ({ choiceMembers }: Turn): readonly Token[] => {
  const logprobs = choiceMembers.find(({ key }) => key === "logprobs")?.value;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return raw.itemsOf(raw.findValue(logprobs, "content")).flatMap((token) => {
    const bytes = Uint8Array.from(raw.itemsOf(raw.findValue(token, "bytes")), (byte) => Number(byte.text));
    const text = bytes.length > 0 ? decoder.decode(bytes, { stream: true }) : raw.textAt(token, "token");
    const logprob = raw.digitsAt(token, "logprob");
    return !text || logprob === undefined ? [] : [{ text, logprob: Number(logprob) }];
  });
};

/** False if the log probabilities have ids instead of texts. */
export const hasTints = (turn: Turn) => turn.parts.some((part) => alignTokens(tokensOf(turn), part).length > 0);

/** Returns the tokens of the last text that is that of the part. */
const alignTokens = (tokens: readonly Token[], part: ContentPart) => {
  if (part.kind !== "said") return [];
  const text = tokens.map((token) => token.text).join("");
  const start = text.lastIndexOf(textOfPart(part));
  let [first, end] = [0, 0];
  while (end < start) end += tokens[first++]?.text.length ?? 0;
  return end === start ? tokens.slice(first) : [];
};

const renderTints = (text: string, tokens: readonly Token[]) => {
  let end = 0;
  const spans = [];
  for (const { text: tokenText, logprob } of tokens) {
    if (end + tokenText.length > text.length) break;
    // Depth 0 means a probability above 61%, and depth 5 means at most 1.1%.
    const depth = Math.min(5, Math.max(0, Math.round(-logprob)));
    const title = `${(Math.exp(logprob) * 100).toFixed(1)}%`;
    spans.push(
      <span key={end} class={`p${depth}`} style={{ "--depth": `${depth}` }} title={title}>
        {tokenText}
      </span>,
    );
    end += tokenText.length;
  }
  return [spans, text.slice(end)];
};

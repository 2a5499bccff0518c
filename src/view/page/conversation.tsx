/** A conversation. Tool results follow the calls, long texts are folded, and log probabilities tint sampled tokens. */
import { useMemo, useState } from "preact/hooks";
import { type Media, type Part, type Turn, toTurns } from "../../calls/conversation.ts";
import {
  digitsAt,
  findValue,
  formatIndented,
  isAbsent,
  itemsOf,
  type RawJson,
  textAt,
  tryParseRawJson,
} from "../../json/raw-json.ts";
import type { Finding } from "../answers.ts";
import { alignTurns, findDifferences } from "./differences.ts";
import { formatCount } from "./format.ts";
import { Markdown, MarkedText } from "./markdown.tsx";
import { usePage, useSearchedText } from "./page-context.ts";
import { ProblemList } from "./problems.tsx";

export const useTrajectory = (json: string | undefined) => useMemo(() => parseTrajectory(json), [json]);

const parseTrajectory = (json = "") => {
  const value = tryParseRawJson(json);
  if (value?.kind !== "object") return undefined;
  const items = itemsOf(findValue(value, "messages_and_choices"));
  const others = value.members.filter(({ key }) => key !== "messages_and_choices" && key !== "reward");
  return {
    turns: (from: number, to?: number): readonly Turn[] => toTurns(items.slice(0, to), from),
    others: others.map(({ key, value: field }) => ({ name: key, text: formatIndented(field) })),
    indented: () => formatIndented(value),
  };
};

const linesBeforeFold = { prompt: 3, result: 10, text: 40 };
const charactersPerLine = 95;

/** Returns the number of shown characters. A text that is at most 20% longer is not folded. */
const findFold = (text: string, lines: number): number => {
  let end = -1;
  for (let line = 0; line < lines && end < text.length; line++) {
    const next = text.indexOf("\n", end + 1);
    end = next < 0 ? text.length : next;
  }
  const fold = Math.min(end, lines * charactersPerLine);
  return text.length <= fold * 1.2 ? text.length : fold;
};

interface LongTextProps {
  readonly text: string;
  readonly tokens?: readonly Token[];
  /** `prose` can be Markdown. Other texts are JSON or code. */
  readonly kind?: "prose" | "raw";
  readonly lines?: number;
  /** A text of another trajectory. Words that `other` lacks are marked. */
  readonly other?: string | undefined;
}

export const LongText = ({ text, tokens = [], kind, lines = linesBeforeFold.text, other }: LongTextProps) => {
  const sought = useSearchedText();
  const isRendered = usePage().isMarkdownOn && kind === "prose";
  const fold = findFold(text, lines);
  const [isWhole, setWhole] = useState(sought !== "" && !text.slice(0, fold).includes(sought) && text.includes(sought));
  const shown = isWhole ? text : text.slice(0, fold);
  // A match can cross the edges of pieces or tokens, so a text with matches shows neither differences nor tints.
  const hasMatch = sought !== "" && shown.includes(sought);
  return (
    <>
      {isRendered ? (
        <Markdown text={shown} />
      ) : (
        <pre class={`${kind ?? ""}${tokens.length > 0 ? " tokens" : ""}`}>
          {hasMatch ? (
            <MarkedText text={shown} />
          ) : other === undefined ? (
            <TintedText text={shown} tokens={tokens} />
          ) : (
            <ComparedText text={shown} other={other} />
          )}
          {shown.length < text.length && " …"}
        </pre>
      )}
      {fold < text.length && (
        <button type="button" class="more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "show less" : `show all ${formatCount(text.length)} characters`}
        </button>
      )}
    </>
  );
};

const ComparedText = ({ text, other }: { readonly text: string; readonly other: string }) => {
  const pieces = useMemo(() => findDifferences(text, other), [text, other]);
  return (
    <>
      {pieces.map(({ isNew, text: piece }, at) => {
        const words = piece.trimEnd();
        return isNew ? [<ins key={at}>{words}</ins>, piece.slice(words.length)] : piece;
      })}
    </>
  );
};

export const FoldedText = ({ title, ...shown }: { readonly title: string } & LongTextProps) => {
  const sought = useSearchedText();
  return (
    <details open={sought !== "" && shown.text.includes(sought)}>
      <summary>{title}</summary>
      <LongText {...shown} />
    </details>
  );
};

const textOfPart = (part: Part): string => {
  switch (part.kind) {
    case "said":
      return formatIndented(part.value);
    case "call":
      return [part.name ?? "?", part.callArguments?.text ?? "", textOfParts(part.result?.parts)].join("\n");
    case "result":
      return textOfParts(part.parts);
    case "other":
      return part.members.map(({ key, value }) => `${key}: ${formatIndented(value)}`).join("\n");
    case "media":
      return `${part.category}: ${part.url ?? part.name ?? part.format ?? "unknown kind"}`;
    default:
      return part.text;
  }
};

const textOfParts = (parts: readonly Part[] = []): string => parts.map(textOfPart).join("\n");

export const summarizeTurn = ({ parts }: Turn): string => {
  const calls = parts.flatMap((part) => (part.kind === "call" ? (part.name ?? "?") : []));
  const said = parts.filter(({ kind }) => kind !== "thought" && kind !== "other");
  return calls.length > 0 ? `calls ${calls.join(", ")}` : textOfParts(said).slice(0, 200);
};

/** Assumed: the result of a call is an error if it begins with one of these words, or has one of these keys. */
const isError = (parts: readonly Part[] = []): boolean => {
  const text = textOfParts(parts).trimStart();
  if (/^(?:error|exception|traceback)\b/i.test(text)) return true;
  const value = text.startsWith("{") ? tryParseRawJson(text) : undefined;
  return ["error", "is_error", "isError"].some((key) => {
    const found = findValue(value, key);
    return !isAbsent(found) && !["false", ""].includes(found.text);
  });
};

export const hasError = ({ parts }: Turn): boolean =>
  parts.some((part) => (part.kind === "call" ? isError(part.result?.parts) : part.kind === "refusal"));

interface ConversationProps {
  readonly turns: readonly Turn[];
  readonly findings?: readonly Finding[];
  readonly isTinted?: boolean;
  readonly compared?: { readonly turns: readonly Turn[]; readonly name: string } | undefined;
}

export const Conversation = ({ turns, compared, ...shown }: ConversationProps) => {
  const others = compared?.turns;
  const pairs = useMemo(() => (others === undefined ? [] : alignTurns(turns, others, identifyTurn)), [turns, others]);
  const messages = turns.map((turn, position) => (
    <Message key={turn.at} {...shown} turn={turn} other={pairs[position]} otherName={compared?.name} />
  ));
  return <ol class="conversation">{messages}</ol>;
};

const identifyTurn = ({ role, parts }: Turn): string =>
  JSON.stringify([role, ...parts.map((part) => [part.kind, textOfPart(part), part.kind === "media" && part.data])]);

const roles: readonly string[] = ["system", "developer", "user", "assistant", "tool"];

const toggleFolds = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
  if (event.key !== "Enter" || event.target !== event.currentTarget) return;
  const folds = [...event.currentTarget.querySelectorAll<HTMLElement>("summary, .more")];
  const isOpen = (fold: HTMLElement) => fold.closest("details[open] > summary, .more[aria-expanded=true]") !== null;
  const closed = folds.filter((fold) => !isOpen(fold));
  for (const fold of closed.length > 0 ? closed : folds) fold.click();
};

interface MessageProps extends Omit<ConversationProps, "turns" | "compared"> {
  readonly turn: Turn;
  readonly other: Turn | undefined;
  readonly otherName: string | undefined;
}

const Message = ({ turn, findings = [], isTinted = false, other, otherName }: MessageProps) => {
  const { at: position, role = "?", name, isSampled, parts, choiceMembers } = turn;
  const positions = [position, ...parts.flatMap((part) => (part.kind === "call" ? (part.result?.at ?? []) : []))];
  const isEqual = other !== undefined && identifyTurn(other) === identifyTurn(turn);
  const isAlone = otherName !== undefined && other === undefined;
  const recorded = isTinted ? tokensOf(turn) : [];
  const said = parts.flatMap((part) => (part.kind === "said" ? formatIndented(part.value) : []));
  const tokens = recorded.length > 0 && said.length === 1 ? alignTokens(recorded, said.join("")) : [];
  const finish = choiceMembers.find(({ key }) => key === "finish_reason")?.value;
  const members = choiceMembers.filter(({ key }) => !["finish_reason", "index", "logprobs"].includes(key));
  const isPrompt = role === "system" || role === "developer";
  const lines = isPrompt ? linesBeforeFold.prompt : role === "tool" ? linesBeforeFold.result : linesBeforeFold.text;
  return (
    <li
      tabIndex={-1}
      onKeyDown={toggleFolds}
      class={`entry ${roles.includes(role) ? role : "other"}${isEqual ? " equal" : isAlone ? " alone" : ""}`}
      aria-label={`message ${position + 1}, ${role}`}
    >
      <h3 class="who">
        <b>{role}</b>
        {name !== undefined && <span>{name}</span>}
        {isSampled && <span>sampled{finish !== undefined && ` · ${formatIndented(finish)}`}</span>}
        {isEqual && <span class="same">equal to {otherName}</span>}
        {isAlone && <span class="same">no counterpart in {otherName}</span>}
        <span class="at">{position + 1}</span>
      </h3>
      <Parts parts={parts} tokens={tokens} lines={lines} others={isEqual ? undefined : other?.parts} />
      {textOfParts(parts) === "" && <p class="quiet">empty</p>}
      {tokens === undefined && <p class="quiet">not tinted, because the tokens do not match the text</p>}
      {members.length > 0 && <Parts parts={[{ kind: "other", members }]} />}
      <ProblemList findings={findings.filter(({ message_at: at }) => at !== null && positions.includes(at))} />
    </li>
  );
};

interface PartsProps {
  readonly parts: readonly Part[];
  readonly tokens?: readonly Token[] | undefined;
  readonly lines?: number;
  readonly others?: readonly Part[] | undefined;
}

const noPart: Part = { kind: "thought", text: "" };

const Parts = ({ parts, others, ...shown }: PartsProps) => (
  <>
    {parts.map((part, at) => {
      const nth = parts.slice(0, at).filter(({ kind }) => kind === part.kind).length;
      const other = others && (others.filter(({ kind }) => kind === part.kind)[nth] ?? noPart);
      return <PartView key={at} {...shown} part={part} other={other} />;
    })}
  </>
);

/** `other` is the counterpart in the other trajectory, or `noPart`; undefined without a comparison. */
type PartProps = Pick<PartsProps, "tokens" | "lines"> & { readonly part: Part; readonly other: Part | undefined };

const PartView = ({ part, tokens = [], lines = linesBeforeFold.text, other }: PartProps) => {
  const text = textOfPart(part);
  const shown = { text, lines, other: other && textOfPart(other) };
  switch (part.kind) {
    case "call":
      return <Call call={part} other={other} />;
    case "result":
      return <Result parts={part.parts} others={other && (other.kind === "result" ? other.parts : [])} />;
    case "said": {
      const json = tokens.length === 0 ? parseText(part.value) : undefined;
      const otherJson = other?.kind === "said" ? parseText(other.value) : undefined;
      if (json !== undefined) {
        const otherText = otherJson === undefined ? shown.other : formatIndented(otherJson);
        return <LongText {...shown} text={formatIndented(json)} other={otherText} />;
      }
      return <LongText {...shown} tokens={tokens} {...(part.value.kind === "text" && { kind: "prose" })} />;
    }
    case "other":
      return <FoldedText {...shown} title="other fields" />;
    case "thought":
      return <FoldedText title={`reasoning, ${formatCount(text.length)} characters`} {...shown} kind="prose" />;
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

const parseText = (value: RawJson): RawJson | undefined =>
  value.kind === "text" && /^\s*[{[]/.test(value.text) ? tryParseRawJson(value.text) : undefined;

/** The page loads only data URLs. */
const imageSource = ({ url, data, format }: Media): string | undefined => {
  const source = url ?? `data:${format};base64,${data}`;
  const isShown = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp)(?:;charset=[\w-]+)?;base64,/i.test(source);
  return isShown ? source : undefined;
};

type CallPart = Extract<Part, { kind: "call" }>;

const Call = ({ call, other }: { readonly call: CallPart; readonly other: Part | undefined }) => {
  const otherCall = other?.kind === "call" ? other : undefined;
  const [callText, otherText] = [call, otherCall].map((part) => {
    const value = part?.callArguments;
    return value && formatIndented((value.kind === "text" ? tryParseRawJson(value.text) : undefined) ?? value);
  });
  const name = call.name ?? "?";
  return (
    <div class="call">
      <p class="who">
        calls <b>{other && otherCall?.name !== call.name ? <ins>{name}</ins> : name}</b>
      </p>
      {callText !== undefined && <LongText text={callText} other={other && (otherText ?? "")} />}
      <Result parts={call.result?.parts} others={other && (otherCall?.result?.parts ?? [])} />
    </div>
  );
};

const Result = ({ parts, others }: { readonly [Name in "parts" | "others"]: readonly Part[] | undefined }) => {
  const hasFailed = isError(parts);
  return (
    <div class={hasFailed ? "result failed" : "result"}>
      <p class="who">{parts === undefined ? "no result" : hasFailed ? <b class="trouble">error</b> : "result"}</p>
      {parts !== undefined && <Parts parts={parts} lines={linesBeforeFold.result} others={others} />}
    </div>
  );
};

export type Token = { readonly text: string; readonly logprob: number };

/** A character belongs to the token that has the last byte of the character. */
export const tokensOf = ({ choiceMembers }: Turn): readonly Token[] => {
  const logprobs = choiceMembers.find(({ key }) => key === "logprobs")?.value;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return itemsOf(findValue(logprobs, "content")).flatMap((token) => {
    const bytes = Uint8Array.from(itemsOf(findValue(token, "bytes")), (byte) => Number(byte.text));
    const text = bytes.length > 0 ? decoder.decode(bytes, { stream: true }) : textAt(token, "token");
    const logprob = digitsAt(token, "logprob");
    return !text || logprob === undefined ? [] : [{ text, logprob: Number(logprob) }];
  });
};

/** Skips earlier tokens of reasoning. Returns undefined if the tokens do not spell the text. */
export const alignTokens = (tokens: readonly Token[], text: string): readonly Token[] | undefined => {
  const start = tokens
    .map((token) => token.text)
    .join("")
    .lastIndexOf(text);
  let [first, end] = [0, 0];
  while (end < start) end += tokens[first++]?.text.length ?? 0;
  return end === start ? tokens.slice(first) : undefined;
};

export const TintedText = ({ text, tokens }: { readonly text: string; readonly tokens: readonly Token[] }) => {
  let end = 0;
  const spans = [];
  for (const { text: tokenText, logprob } of tokens) {
    if (end + tokenText.length > text.length) break;
    // The depth is 0 for a probability above 60%, and 5 for at most 1.1%.
    const depth = Math.min(5, Math.max(0, Math.round(-logprob)));
    const title = `${(Math.exp(logprob) * 100).toFixed(1)}%`;
    spans.push(
      <span key={spans.length} class={`p${depth}`} style={{ "--depth": `${depth}` }} title={title}>
        {tokenText}
      </span>,
    );
    end += tokenText.length;
  }
  return (
    <>
      {spans}
      {text.slice(end)}
    </>
  );
};

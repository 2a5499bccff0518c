/** A conversation, with tool results next to their calls. Long texts and reasoning are folded. */
import { useState } from "preact/hooks";
import { type Media, type Part, type Turn, toTurns } from "../../calls/conversation.ts";
import { findValue, formatIndented, itemsOf, tryParseRawJson } from "../../json/raw-json.ts";
import type { Finding } from "../answers.ts";
import { formatCount } from "./format.ts";
import { useSearchedText } from "./match.tsx";
import { ProblemList } from "./problems.tsx";
import { maxTokens, TintedText, type Token, tokensByPart, tokensOf } from "./tokens.tsx";

interface ParsedTrajectory {
  /** The turns from one position up to another. */
  readonly turns: (from: number, to?: number) => readonly Turn[];
  readonly others: readonly { readonly name: string; readonly text: string }[];
}

/** Parses the JSON of a trajectory; undefined if it is not a JSON object. */
export const parseTrajectory = (json: string): ParsedTrajectory | undefined => {
  const value = tryParseRawJson(json);
  if (value?.kind !== "object") return undefined;
  const items = itemsOf(findValue(value, "messages_and_choices"));
  const others = value.members.filter(({ key }) => key !== "messages_and_choices" && key !== "reward");
  return {
    turns: (from, to) => toTurns(items.slice(0, to), from),
    others: others.map(({ key, value: own }) => ({ name: key, text: formatIndented(own) })),
  };
};

interface LongTextProps {
  readonly text: string;
  readonly tokens?: readonly Token[];
  readonly kind?: string;
  readonly maxCharacters?: number;
}

/** A text. A long text is truncated until the user expands it. */
export const LongText = ({ text, tokens = [], kind, maxCharacters = 2000 }: LongTextProps) => {
  const sought = useSearchedText();
  const isFoldedMatch = sought !== "" && !text.slice(0, maxCharacters).includes(sought) && text.includes(sought);
  const [isWhole, setWhole] = useState(isFoldedMatch);
  const isLong = text.length > maxCharacters * 1.2;
  const shown = isLong && !isWhole ? text.slice(0, maxCharacters) : text;
  return (
    <>
      <pre class={kind ?? (tokens.length > 0 ? "tokens" : "")}>
        <TintedText text={shown} tokens={tokens} />
        {shown.length < text.length && "…"}
      </pre>
      {tokens.length > maxTokens && (
        <p class="quiet">
          the first {formatCount(maxTokens)} of {formatCount(tokens.length)} tokens are tinted
        </p>
      )}
      {isLong && (
        <button type="button" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "show less" : `show all ${formatCount(text.length)} characters`}
        </button>
      )}
    </>
  );
};

export const Conversation = ({
  turns,
  findings = [],
  isTinted = false,
}: {
  readonly turns: readonly Turn[];
  readonly findings?: readonly Finding[];
  readonly isTinted?: boolean;
}) => (
  <ol class="conversation">
    {turns.map((turn) => {
      const about = [turn.at, ...turn.parts.flatMap((part) => (part.kind === "call" ? (part.result?.at ?? []) : []))];
      const { role = "?" } = turn;
      return (
        <li
          key={turn.at}
          tabIndex={-1}
          onKeyDown={toggleDetails}
          class={`entry ${roles.includes(role) ? role : "other"}`}
          aria-label={`message ${turn.at + 1}, ${role}`}
        >
          <Message turn={turn} role={role} isTinted={isTinted} />
          <ProblemList findings={findings.filter(({ message_at: at }) => at !== null && about.includes(at))} />
        </li>
      );
    })}
  </ol>
);

const roles: readonly string[] = ["system", "developer", "user", "assistant", "tool"];

/** Enter on a message unfolds or folds its details. */
const toggleDetails = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
  if (event.key !== "Enter" || event.target !== event.currentTarget) return;
  const folded = [...event.currentTarget.querySelectorAll("details")];
  const isAnyClosed = folded.some(({ open }) => !open);
  for (const one of folded) one.open = isAnyClosed;
};

const Message = ({ turn, role, isTinted }: { turn: Turn; role: string; isTinted: boolean }) => {
  const { parts, around } = turn;
  const tokens = isTinted ? tokensOf(turn) : [];
  const byPart = tokens.length === 0 ? undefined : tokensByPart(parts, tokens);
  const finish = around.find(({ key }) => key === "finish_reason")?.value;
  const others = around.filter(({ key }) => !["finish_reason", "index", "logprobs"].includes(key));
  return (
    <>
      <p class="who">
        <b>{role}</b>
        {turn.name !== undefined && <span class="quiet"> {turn.name}</span>}
        {turn.isSampled && <span class="quiet"> sampled</span>}
        {finish !== undefined && <span class="quiet"> · {formatIndented(finish)}</span>}
        <span class="at">{turn.at + 1}</span>
      </p>
      <Parts parts={parts} tokens={byPart} />
      {tokens.length > 0 && byPart === undefined && (
        <p class="quiet">not tinted, because the tokens do not match the text</p>
      )}
      {others.length > 0 && <Parts parts={[{ kind: "also", members: others }]} />}
    </>
  );
};

interface PartsProps {
  readonly parts: readonly Part[];
  readonly tokens?: ReadonlyMap<Part, readonly Token[]> | undefined;
}

const Parts = ({ parts, tokens }: PartsProps) => (
  <>
    {parts.map((part, at) => (
      <PartView key={at} part={part} tokens={tokens?.get(part) ?? []} />
    ))}
  </>
);

const PartView = ({ part, tokens }: { readonly part: Part; readonly tokens: readonly Token[] }) => {
  switch (part.kind) {
    case "said":
      return <LongText text={formatIndented(part.value)} tokens={tokens} />;
    case "call":
      return <Call call={part} />;
    case "result":
      return <Result parts={part.parts} />;
    case "also":
      return (
        <FoldedText
          title="other fields"
          text={part.members.map(({ key, value }) => `${key}: ${formatIndented(value)}`).join("\n")}
        />
      );
    case "media": {
      const picture = imageSource(part);
      if (picture !== undefined) return <img src={picture} alt="in the message" />;
      return <LongText text={`${part.mediaType}: ${part.url ?? part.name ?? part.format ?? "unknown kind"}`} />;
    }
    case "thought":
      return (
        <FoldedText title={`reasoning, ${formatCount(part.text.length)} characters`} text={part.text} tokens={tokens} />
      );
    default:
      return <LongText text={`refusal: ${part.text}`} />;
  }
};

/** The source of an image that the data contains. No URL is loaded. */
const imageSource = ({ url, data, format }: Media): string | undefined => {
  const source = url ?? `data:${format};base64,${data}`;
  const isShown = /^data:image\/(?:png|jpe?g|gif|webp|avif|bmp)(?:;charset=[\w-]+)?;base64,/i.test(source);
  return isShown ? source : undefined;
};

/** A folded text. If it contains the searched text, it is unfolded. */
export const FoldedText = ({ title, ...shown }: { title: string; text: string; tokens?: readonly Token[] }) => {
  const sought = useSearchedText();
  return (
    <details open={sought !== "" && shown.text.includes(sought)}>
      <summary>{title}</summary>
      <LongText {...shown} />
    </details>
  );
};

const Call = ({ call: { name, callArguments, result } }: { readonly call: Extract<Part, { kind: "call" }> }) => {
  const parsed =
    callArguments?.kind === "text" ? (tryParseRawJson(callArguments.text) ?? callArguments) : callArguments;
  return (
    <div class="call">
      <div>
        <p class="who">
          calls <b>{name ?? "?"}</b>
        </p>
        {parsed !== undefined && <LongText text={formatIndented(parsed)} />}
      </div>
      <Result parts={result?.parts} />
    </div>
  );
};

const Result = ({ parts }: { readonly parts: readonly Part[] | undefined }) => (
  <div>
    <p class="who">{parts === undefined ? "no result" : "result"}</p>
    {parts !== undefined && <Parts parts={parts} />}
  </div>
);

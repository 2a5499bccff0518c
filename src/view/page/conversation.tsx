/** A conversation: who said what, calls with their results beside them; what is long is folded. */
import { useState } from "preact/hooks";
import type { Part, Turn } from "../../calls/conversation.ts";
import { readSpelledText } from "../../json/read-spelled.ts";
import { laidOut } from "../../json/spelled.ts";
import type { Finding } from "../shapes.ts";
import { membersText, pictureOf } from "./entries.ts";
import { ProblemsOf } from "./problems.tsx";
import { number } from "./text.ts";
import { Tinted, TintedPart, type Token, tokensByPart, tokensOf } from "./tokens.tsx";

/** Characters of a text that are shown before it is opened. */
const mostCharacters = 2000;

/** A text; of a long one its beginning, until the rest is asked for. */
export const LongText = ({ text, tokens = [] }: { readonly text: string; readonly tokens?: readonly Token[] }) => {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > mostCharacters * 1.2;
  const shown = isLong && !isWhole ? text.slice(0, mostCharacters) : text;
  return (
    <>
      <pre class={tokens.length > 0 ? "tokens" : undefined}>
        <Tinted text={shown} tokens={tokens} />
        {shown.length < text.length && "…"}
      </pre>
      <TintedPart of={tokens.length} />
      {isLong && (
        <button type="button" class="more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "show less" : `show all ${number(text.length)} characters`}
        </button>
      )}
    </>
  );
};

/** A conversation, or a part of it. */
export const Conversation = ({
  turns,
  findings = [],
  tinted = false,
}: {
  readonly turns: readonly Turn[];
  readonly findings?: readonly Finding[];
  readonly tinted?: boolean;
}) => (
  <ol class="conversation">
    {turns.map((turn) => {
      const about = [turn.at, ...turn.parts.flatMap((part) => (part.kind === "call" ? (part.result?.at ?? []) : []))];
      const { role = "?" } = turn;
      return (
        <li
          key={turn.at}
          tabIndex={-1}
          onKeyDown={unfold}
          class={`entry ${roleClass(role)}`}
          aria-label={`message ${turn.at + 1}, ${role}`}
        >
          <TurnShown turn={turn} role={role} tinted={tinted} />
          <ProblemsOf findings={findings.filter(({ message_at: at }) => at !== null && about.includes(at))} />
        </li>
      );
    })}
  </ol>
);

/** Enter on a message opens what is folded in it, or folds it. */
const unfold = (event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void => {
  if (event.key !== "Enter" || event.target !== event.currentTarget) return;
  const folded = [...event.currentTarget.querySelectorAll("details")];
  const isAny = folded.some(({ open }) => !open);
  for (const one of folded) one.open = isAny;
};

const roleClass = (role: string): string =>
  ["system", "developer", "user", "assistant", "tool"].includes(role) ? role : "other";

const TurnShown = ({
  turn,
  role,
  tinted,
}: {
  readonly turn: Turn;
  readonly role: string;
  readonly tinted: boolean;
}) => {
  const tokens = tinted ? tokensOf(turn) : [];
  const byPart = tokens.length === 0 ? undefined : tokensByPart(turn.parts, tokens);
  const { parts, around } = turn;
  const finish = around.find(({ key }) => key === "finish_reason")?.value;
  const beside = around.filter(({ key }) => !["finish_reason", "index", "logprobs"].includes(key));
  return (
    <>
      <p class="who">
        <b>{role}</b>
        {turn.name !== undefined && <span class="quiet"> {turn.name}</span>}
        {turn.sampled && <span class="quiet"> sampled</span>}
        {finish !== undefined && <span class="quiet"> · {laidOut(finish)}</span>}
        <span class="at">{turn.at + 1}</span>
      </p>
      <Parts parts={parts} tokens={byPart} />
      {tokens.length > 0 && byPart === undefined && (
        <p class="quiet">its tokens don't spell the text, which has no tint for that</p>
      )}
      {beside.length > 0 && <Parts parts={[{ kind: "also", members: beside }]} />}
    </>
  );
};

const Parts = ({
  parts,
  tokens,
}: {
  readonly parts: readonly Part[];
  /** Those of each part, where they are known. */
  readonly tokens?: ReadonlyMap<Part, readonly Token[]> | undefined;
}) => (
  <>
    {parts.map((part, at) => (
      <PartShown key={at} part={part} tokens={tokens?.get(part)} />
    ))}
  </>
);

const PartShown = ({ part, tokens = [] }: { readonly part: Part; readonly tokens: readonly Token[] | undefined }) => {
  if (part.kind === "said" || part.kind === "no call") return <LongText text={laidOut(part.value)} tokens={tokens} />;
  if (part.kind === "call") return <Call call={part} />;
  if (part.kind === "result") return <Result parts={part.parts} />;
  if (part.kind === "also") return <Folded title="also" text={membersText(part.members)} />;
  if (part.kind === "media") {
    const picture = pictureOf(part);
    if (picture !== undefined) return <img src={picture} alt="of the message" />;
    return <LongText text={`${part.what}: ${part.address ?? part.name ?? part.format ?? "of no known kind"}`} />;
  }
  if (part.kind === "thought")
    return <Folded title={`reasoning, ${number(part.text.length)} characters`} text={part.text} tokens={tokens} />;
  return <LongText text={`refusal: ${part.text}`} />;
};

const Folded = ({
  title,
  text,
  tokens = [],
}: {
  readonly title: string;
  readonly text: string;
  readonly tokens?: readonly Token[];
}) => (
  <details>
    <summary>{title}</summary>
    <LongText text={text} tokens={tokens} />
  </details>
);

const Call = ({ call: { name, given, result } }: { readonly call: Extract<Part, { kind: "call" }> }) => {
  const parsed = given?.kind === "text" ? (readSpelledText(given.text) ?? given) : given;
  return (
    <div class="call">
      <div>
        <p class="who">
          calls <b>{name ?? "?"}</b>
        </p>
        {parsed !== undefined && <LongText text={laidOut(parsed)} />}
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

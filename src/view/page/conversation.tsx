/** A conversation: who said what, calls with their results beside them; what is long is folded. */
import { useState } from "preact/hooks";
import type { Part, Turn } from "../../calls/conversation.ts";
import { readSpelledText } from "../../json/read-spelled-text.ts";
import { laidOut } from "../../json/spelled.ts";
import type { Finding } from "../shapes.ts";
import { membersText, pictureOf, type Token, tokensOf } from "./entries.ts";
import { ProblemsOf } from "./problems.tsx";
import { number } from "./text.ts";

/** Characters of a text that are shown before it is opened, and tokens that are tinted. */
const mostCharacters = 2000;
const mostTokens = 4000;

/** A text; of a long one its beginning, until the rest is asked for. */
export const LongText = ({ text }: { readonly text: string }) => {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > mostCharacters * 1.2;
  return (
    <>
      <pre>{isLong && !isWhole ? `${text.slice(0, mostCharacters)}…` : text}</pre>
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
  const { parts, around } = turn;
  const finish = around.find(({ key }) => key === "finish_reason")?.value;
  const beside = around.filter(({ key }) => !["finish_reason", "index", "logprobs"].includes(key));
  const isSaid = ({ kind }: Part) => kind === "said";
  return (
    <>
      <p class="who">
        <b>{role}</b>
        {turn.name !== undefined && <span class="quiet"> {turn.name}</span>}
        {turn.sampled && <span class="quiet"> sampled</span>}
        {finish !== undefined && <span class="quiet"> · {laidOut(finish)}</span>}
        <span class="at">{turn.at + 1}</span>
      </p>
      <Parts parts={tokens.length === 0 ? parts : parts.filter(({ kind }) => kind === "thought")} />
      {tokens.length > 0 && <Tinted tokens={tokens} />}
      {tokens.length > 0 && <Parts parts={parts.filter((part) => part.kind !== "thought" && !isSaid(part))} />}
      {beside.length > 0 && <Parts parts={[{ kind: "also", members: beside }]} />}
    </>
  );
};

const Parts = ({ parts }: { readonly parts: readonly Part[] }) => (
  <>
    {parts.map((part, at) => (
      <PartShown key={at} part={part} />
    ))}
  </>
);

const PartShown = ({ part }: { readonly part: Part }) => {
  if (part.kind === "said" || part.kind === "no call") return <LongText text={laidOut(part.value)} />;
  if (part.kind === "call") return <Call call={part} />;
  if (part.kind === "result") return <Result parts={part.parts} />;
  if (part.kind === "also") return <Folded title="also" text={membersText(part.members)} />;
  if (part.kind === "media") {
    const picture = pictureOf(part);
    if (picture !== undefined) return <img src={picture} alt="of the message" />;
    return <LongText text={`${part.what}: ${part.address ?? part.name ?? part.format ?? "of no known kind"}`} />;
  }
  if (part.kind === "thought")
    return <Folded title={`reasoning, ${number(part.text.length)} characters`} text={part.text} />;
  return <LongText text={`refusal: ${part.text}`} />;
};

const Folded = ({ title, text }: { readonly title: string; readonly text: string }) => (
  <details>
    <summary>{title}</summary>
    <LongText text={text} />
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

/** Tokens, the less likely the darker. */
const Tinted = ({ tokens }: { readonly tokens: readonly Token[] }) => (
  <pre class="tokens">
    {tokens.slice(0, mostTokens).map(({ text, logprob }, at) => (
      <span key={at} class={`p${depthOf(logprob)}`} title={`${(Math.exp(logprob) * 100).toFixed(1)}%`}>
        {text}
      </span>
    ))}
    {tokens.length > mostTokens && `… and ${number(tokens.length - mostTokens)} more tokens`}
  </pre>
);

/** From 0, sure, to 5: less likely than one in a hundred. */
const depthOf = (logprob: number): number => Math.min(5, Math.max(0, Math.round(-logprob)));

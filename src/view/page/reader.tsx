/** A conversation, or the JSON that it stands in: whichever is wanted, with the keys that go through it. */
import { useRef, useState } from "preact/hooks";
import { conversationOf } from "../../calls/conversation.ts";
import type { Finding } from "../shapes.ts";
import { Conversation, LongText } from "./conversation.tsx";
import { CopyButton } from "./copy.tsx";
import type { Conversation as Talk } from "./entries.ts";
import { moveFocus, useKeys } from "./keys.tsx";
import { ProblemsOf } from "./problems.tsx";
import { size } from "./text.ts";
import { tokensOf } from "./tokens.tsx";
import { goBeside } from "./walk.ts";

/** Characters of raw JSON that are shown before all is asked for. */
const mostRaw = 100_000;

export const Reader = ({
  json,
  conversation,
  findings = [],
  next,
  previous,
}: {
  readonly json: string;
  /** Undefined where the JSON holds none. */
  readonly conversation: Talk | undefined;
  readonly findings?: readonly Finding[];
  /** What is before and behind it. */
  readonly next: string | undefined;
  readonly previous: string | undefined;
}) => {
  const [isRaw, setRaw] = useState(false);
  const [isTinted, setTinted] = useState(true);
  const list = useRef<HTMLDivElement>(null);
  useKeys({
    j: () => moveFocus(list.current, ".entry", 1),
    k: () => moveFocus(list.current, ".entry", -1),
    n: () => goBeside(1, next),
    p: () => goBeside(-1, previous),
    r: () => setRaw(!isRaw),
  });
  const turns = conversation === undefined ? [] : conversationOf(conversation.items);
  const hasTokens = turns.some((turn) => tokensOf(turn).length > 0);
  return (
    <>
      <p class="tools">
        <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          raw JSON <kbd>r</kbd>
        </button>{" "}
        <CopyButton text={json} name="the JSON" />{" "}
        {hasTokens && (
          <button type="button" aria-pressed={isTinted} onClick={() => setTinted(!isTinted)}>
            tint by log probability
          </button>
        )}
      </p>
      <ProblemsOf findings={findings.filter((finding) => finding.message_at === null)} />
      <div ref={list}>
        {isRaw || conversation === undefined ? (
          <Raw json={json} />
        ) : (
          <Conversation turns={turns} findings={findings} tinted={isTinted} />
        )}
      </div>
      {!isRaw &&
        conversation?.others.map(({ name, json: text }) => (
          <details key={name}>
            <summary>{name}</summary>
            <LongText text={text} />
          </details>
        ))}
    </>
  );
};

const Raw = ({ json }: { readonly json: string }) => {
  const [isWhole, setWhole] = useState(false);
  const isLong = json.length > mostRaw;
  return (
    <section aria-label="raw JSON">
      <pre class="raw">{isLong && !isWhole ? json.slice(0, mostRaw) : json}</pre>
      {isLong && !isWhole && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          show all {size(json.length)}
        </button>
      )}
    </section>
  );
};

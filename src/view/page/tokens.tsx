/** Tints sampled tokens by their log probabilities. */
import type { Part, Turn } from "../../calls/conversation.ts";
import { digitsAt, findValue, formatIndented, itemsOf, textAt } from "../../json/raw-json.ts";
import { findStarts, MarkedText, useSearchedText } from "./match.tsx";

export type Token = { readonly text: string; readonly logprob: number };

/** A recorded token. If it is a part of a character, only its bytes are exact. */
interface RecordedToken extends Token {
  readonly bytes: readonly number[];
}

type PartText = { readonly part: Part; readonly text: string };

/** Maximum tinted tokens of a text. */
export const maxTokens = 4000;

/** Returns the tokens of a turn with log probabilities. */
export const tokensOf = ({ around }: Pick<Turn, "around">): readonly RecordedToken[] => {
  const logprobs = around.find(({ key }) => key === "logprobs")?.value;
  return itemsOf(findValue(logprobs, "content")).flatMap((one) => {
    const [text, logprob] = [textAt(one, "token"), digitsAt(one, "logprob")];
    const bytes = itemsOf(findValue(one, "bytes")).map((byte) => (byte.kind === "number" ? Number(byte.text) : -1));
    return text === undefined || logprob === undefined ? [] : [{ text, logprob: Number(logprob), bytes }];
  });
};

/** Returns the tokens of each text of a turn; undefined if they match neither the content nor all texts. */
export const tokensByPart = (
  parts: readonly Part[],
  tokens: readonly RecordedToken[],
): ReadonlyMap<Part, readonly Token[]> | undefined => {
  const texts = parts.flatMap((part): readonly PartText[] => {
    if (part.kind === "thought") return [{ part, text: part.text }];
    return part.kind === "said" ? [{ part, text: formatIndented(part.value) }] : [];
  });
  const content = texts.filter(({ part }) => part.kind === "said");
  for (const shown of [content, texts]) {
    const spelled = alignTokens(tokens, shown.map(({ text }) => text).join(""));
    if (spelled !== undefined) return divideTokens(shown, spelled);
  }
  return undefined;
};

/** Returns tokens with their parts of a text; undefined if neither their texts nor their bytes match it. */
const alignTokens = (tokens: readonly RecordedToken[], text: string): readonly Token[] | undefined => {
  if (tokens.map((token) => token.text).join("") === text) return tokens;
  if (tokens.some(({ bytes }) => bytes.length === 0 || bytes.some((byte) => !(byte >= 0 && byte <= 255)))) {
    return undefined;
  }
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // A character belongs to the token with its last byte.
  const decoded = tokens.map(({ logprob, bytes }) => ({
    logprob,
    text: decoder.decode(Uint8Array.from(bytes), { stream: true }),
  }));
  return decoded.map((token) => token.text).join("") + decoder.decode() === text ? decoded : undefined;
};

/** Divides tokens among adjacent texts; undefined if a token crosses the end of a text. */
const divideTokens = (
  texts: readonly PartText[],
  tokens: readonly Token[],
): ReadonlyMap<Part, readonly Token[]> | undefined => {
  const byPart = new Map<Part, readonly Token[]>();
  let next = 0;
  for (const { part, text } of texts) {
    const first = next;
    let length = 0;
    while (length < text.length) length += tokens[next++]?.text.length ?? text.length;
    if (length !== text.length) return undefined;
    byPart.set(part, tokens.slice(first, next));
  }
  return byPart;
};

/** A text or its start, with tinted tokens. Less likely tokens are darker. */
export const TintedText = ({ text, tokens }: { readonly text: string; readonly tokens: readonly Token[] }) => {
  const sought = useSearchedText();
  const starts = findStarts(text, sought);
  const isFound = (from: number, to: number) => starts.some((start) => start < to && start + sought.length > from);
  let end = 0;
  const spans: (Token & { readonly from: number })[] = [];
  for (const token of tokens.slice(0, maxTokens)) {
    if (end + token.text.length > text.length) break;
    if (token.text !== "") spans.push({ ...token, from: end });
    end += token.text.length;
  }
  return (
    <>
      {spans.map(({ from, text: own, logprob }) => {
        const depth = depthOf(logprob);
        return (
          <span
            key={from}
            class={`p${depth}${isFound(from, from + own.length) ? " found" : ""}`}
            style={{ "--depth": `${depth}` }}
            title={`${(Math.exp(logprob) * 100).toFixed(1)}%`}
          >
            {own}
          </span>
        );
      })}
      <MarkedText text={text.slice(end)} />
    </>
  );
};

/** From 0 (certain) to 5 (a probability below 1.2%). */
const depthOf = (logprob: number): number => Math.min(5, Math.max(0, Math.round(-logprob)));

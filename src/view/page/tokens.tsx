/** Tints the sampled tokens of a text by their log probabilities. */
import type { Turn } from "../../calls/conversation.ts";
import { digitsAt, findValue, itemsOf, textAt } from "../../json/raw-json.ts";

export type Token = { readonly text: string; readonly logprob: number };

/** Returns the tokens of a turn with log probabilities. A character belongs to the token with its last byte. */
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

/** Returns the tokens from the start of a text, which can follow reasoning; undefined if they do not spell it. */
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
    // From 0 (a probability above 60%) to 5 (at most 1.1%).
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

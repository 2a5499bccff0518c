/** Tokens of what was sampled: which text they spell, and how likely the model held each. */
import type { Part, Turn } from "../../calls/conversation.ts";
import { itemsOf, laidOut, numberFrom, textFrom, valueAt } from "../../json/spelled.ts";
import { number } from "./text.ts";

/** A token with how likely the model held it. */
export interface Token {
  readonly text: string;
  readonly logprob: number;
}

/** A token as it was recorded: some are a part of a character, which only their bytes say. */
interface RecordedToken extends Token {
  readonly bytes: readonly number[];
}

interface PartText {
  readonly part: Part;
  readonly text: string;
}

/** Tokens that are tinted of a text. */
const mostTokens = 4000;

/** The tokens of a turn, where their log probabilities are recorded. */
export const tokensOf = ({ around }: Pick<Turn, "around">): readonly RecordedToken[] => {
  const logprobs = around.find(({ key }) => key === "logprobs")?.value;
  return itemsOf(valueAt(logprobs, "content")).flatMap((one) => {
    const [text, logprob] = [textFrom(one, "token"), numberFrom(one, "logprob")];
    const bytes = itemsOf(valueAt(one, "bytes")).map((byte) => (byte.kind === "number" ? Number(byte.text) : -1));
    return text === undefined || logprob === undefined ? [] : [{ text, logprob: Number(logprob), bytes }];
  });
};

/** The tokens of each text of a turn; undefined where they don't spell what was said, alone or behind the reasoning. */
export const tokensByPart = (
  parts: readonly Part[],
  tokens: readonly RecordedToken[],
): ReadonlyMap<Part, readonly Token[]> | undefined => {
  const texts = parts.flatMap((part): readonly PartText[] => {
    if (part.kind === "thought") return [{ part, text: part.text }];
    return part.kind === "said" ? [{ part, text: laidOut(part.value) }] : [];
  });
  const said = texts.filter(({ part }) => part.kind === "said");
  for (const shown of [said, texts]) {
    const spelled = spelledBy(tokens, shown.map(({ text }) => text).join(""));
    if (spelled !== undefined) return dealt(shown, spelled);
  }
  return undefined;
};

/** Tokens with what each adds to a text; undefined where neither their texts nor their bytes are that text. */
const spelledBy = (tokens: readonly RecordedToken[], text: string): readonly Token[] | undefined => {
  if (tokens.map((token) => token.text).join("") === text) return tokens;
  if (tokens.some(({ bytes }) => bytes.length === 0 || bytes.some((byte) => !(byte >= 0 && byte <= 255)))) {
    return undefined;
  }
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  // A character is of the token that ends it.
  const decoded = tokens.map(({ logprob, bytes }) => ({
    logprob,
    text: decoder.decode(Uint8Array.from(bytes), { stream: true }),
  }));
  return decoded.map((token) => token.text).join("") + decoder.decode() === text ? decoded : undefined;
};

/** Tokens dealt to the texts that they spell; undefined where one goes over the end of a text. */
const dealt = (
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

/** A text, or its beginning, with its first tokens tinted: the less likely the darker. */
export const Tinted = ({ text, tokens }: { readonly text: string; readonly tokens: readonly Token[] }) => {
  const tinted: (Token & { readonly from: number })[] = [];
  let from = 0;
  for (const token of tokens.slice(0, mostTokens)) {
    if (from + token.text.length > text.length) break;
    tinted.push({ ...token, from });
    from += token.text.length;
  }
  return (
    <>
      {tinted.map(({ from: key, text: own, logprob }) =>
        own === "" ? null : (
          <span key={key} class={`p${depthOf(logprob)}`} title={`${(Math.exp(logprob) * 100).toFixed(1)}%`}>
            {own}
          </span>
        ),
      )}
      {text.slice(from)}
    </>
  );
};

/** Says of a text whose tokens are too many that not all of them are tinted. */
export const TintedPart = ({ of }: { readonly of: number }) =>
  of > mostTokens ? (
    <p class="quiet">
      of its {number(of)} tokens, the first {number(mostTokens)} are tinted
    </p>
  ) : null;

/** From 0, sure, to 5: less likely than one in a hundred. */
const depthOf = (logprob: number): number => Math.min(5, Math.max(0, Math.round(-logprob)));

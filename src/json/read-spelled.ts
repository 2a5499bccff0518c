/** Reads JSON as it was spelled, out of its bytes. */
import { deepestSpelled, type Spelled, type SpelledMember } from "./spelled.ts";
import { closeBrace, closeBracket, openBrace, openBracket, quote, type Span, textOf, Walker } from "./walk.ts";

/** Reads valid JSON. */
export const readSpelled = (bytes: Uint8Array): Spelled => spelledAt(new Walker(bytes), deepestSpelled);

/** Reads the value of valid JSON that stands at a span. */
export const readSpelledAt = (bytes: Uint8Array, { start }: Span): Spelled =>
  spelledAt(new Walker(bytes, start), deepestSpelled);

const spelledAt = (walker: Walker, levels: number): Spelled => {
  const first = walker.bytes[walker.at];
  const isTree = first === openBrace || first === openBracket;
  if (!isTree || levels === 0) {
    const text = textOf(walker.bytes, walker.skip());
    if (isTree) return { kind: "deep", text: text.replaceAll(/\s+/g, " ") };
    if (first === quote) return { kind: "text", text: String(JSON.parse(text)) };
    return { kind: /^[tfn]/.test(text) ? "word" : "number", text };
  }
  if (first === openBracket) {
    const items: Spelled[] = [];
    for (let more = walker.enter(openBracket); more; more = walker.next(closeBracket)) {
      items.push(spelledAt(walker, levels - 1));
    }
    return { kind: "list", items };
  }
  const members: SpelledMember[] = [];
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    members.push({ key: walker.key(), value: spelledAt(walker, levels - 1) });
  }
  return { kind: "object", members };
};

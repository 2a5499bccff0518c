/** Which message of a conversation answers which call of a tool. */
import { type Spelled, textFrom } from "../../json/spelled.ts";

/** What tools answered, to be shown where they were called. */
export interface Results {
  /** The first answer to a call that comes behind it and stands nowhere else yet. */
  take(id: string | undefined, behind: number): Spelled | undefined;
  isTaken(at: number): boolean;
}

/** Looks through the messages of a conversation once. */
export const openResults = (items: readonly Spelled[]): Results => {
  const waiting = new Map<
    string,
    { readonly answers: { readonly at: number; readonly message: Spelled }[]; next: number }
  >();
  for (const [at, message] of items.entries()) {
    const id = textFrom(message, "role") === "tool" ? textFrom(message, "tool_call_id") : undefined;
    if (id === undefined) continue;
    const known = waiting.get(id);
    if (known === undefined) waiting.set(id, { answers: [{ at, message }], next: 0 });
    else known.answers.push({ at, message });
  }
  const taken = new Set<number>();
  return {
    take(id, behind) {
      const own = id === undefined ? undefined : waiting.get(id);
      if (own === undefined) return undefined;
      // Calls are looked at in their order: what stands before one of them answers none of the next.
      while ((own.answers[own.next]?.at ?? behind + 1) <= behind) own.next++;
      const answer = own.answers[own.next++];
      if (answer !== undefined) taken.add(answer.at);
      return answer?.message;
    },
    isTaken: (at) => taken.has(at),
  };
};

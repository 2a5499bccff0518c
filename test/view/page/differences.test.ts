import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Turn } from "../../../src/calls/conversation.ts";
import { alignTurns, findDifferences } from "../../../src/view/page/differences.ts";
import { itHolds } from "../../support/property.ts";

/** The length of the longest common subsequence. */
const countShared = ([one, ...ones]: readonly string[], others: readonly string[]): number => {
  if (one === undefined || others.length === 0) return 0;
  if (one === others[0]) return 1 + countShared(ones, others.slice(1));
  return Math.max(countShared(ones, others), countShared([one, ...ones], others.slice(1)));
};

const words = fc.array(fc.constantFrom("a", "bc", "é", "(", "1"), { maxLength: 7 });

describe("the differences of two trajectories", () => {
  itHolds(
    "mark the fewest words of a text",
    fc.property(words, words, (own, others) => {
      const pieces = findDifferences(own.join(" "), others.join("\n"));
      expect(pieces.map(({ text }) => text).join("")).toBe(own.join(" "));
      const shared = pieces.flatMap(({ isNew, text }) => (isNew ? [] : text.trim().split(" ")));
      expect(shared).toHaveLength(countShared(own, others));
    }),
  );

  it("mark, in long texts and conversations, what the other lacks anywhere", () => {
    const numbers = Array.from({ length: 1000 }, (_, at) => `${at}`);
    const pieces = findDifferences(`same one ${numbers.join(" ")} two`, `same ${numbers.toReversed().join(" ")}`);
    expect(pieces.flatMap(({ text, isNew }) => (isNew ? [text] : []))).toEqual(["one ", "two"]);
    const [mine, theirs] = ["one", "two"].map((name) => [name, ...numbers].map((each) => toTurn(["user", each], 0)));
    const pairs = alignTurns(mine ?? [], theirs ?? [], identify);
    expect(pairs.map((other) => other?.name)).toEqual(["two", ...numbers]);
  });

  const turns = fc.array(fc.tuple(fc.constantFrom("user", "tool"), fc.constantFrom("x", "y", "z")), { maxLength: 6 });
  const toTurn = ([role, name]: readonly [string, string], at: number): Turn => {
    return { at, role, name, isSampled: false, toolCallId: undefined, parts: [], choiceMembers: [] };
  };
  const identify = ({ role, name }: Turn) => `${role} ${name}`;

  itHolds(
    "pair each turn with a later turn of the same role, and as many equal turns as possible",
    fc.property(turns, turns, (own, others) => {
      const [mine, theirs] = [own.map(toTurn), others.map(toTurn)];
      const pairs = alignTurns(mine, theirs, identify);
      const found = pairs.flatMap((other) => other?.at ?? []);
      expect(found).toEqual([...new Set(found)].sort((a, b) => a - b));
      for (const [at, other] of pairs.entries()) if (other) expect(other.role).toBe(mine[at]?.role);
      const equal = pairs.filter((other, at) => other && mine[at] && identify(other) === identify(mine[at]));
      expect(equal.length).toBeGreaterThanOrEqual(countShared(mine.map(identify), theirs.map(identify)));
    }),
  );
});

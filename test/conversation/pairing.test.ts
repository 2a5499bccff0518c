import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OpenCalls } from "../../src/conversation/message.ts";
import { itHolds } from "../support/property.ts";

/** Undefined: without an id. */
const id = fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined });
const kind = fc.constantFrom("call", "result");
const events = fc.array(fc.record({ kind, id }));

describe("the open calls", () => {
  itHolds(
    "give each result the first open call with its id or, without an id, the first open call",
    fc.property(events, (given) => {
      const calls = new OpenCalls<{ id: string | undefined }>();
      const waiting: { id: string | undefined }[] = [];
      for (const { kind, id } of given) {
        const call = { id };
        if (kind === "call") {
          calls.add(call, id);
          waiting.push(call);
          continue;
        }
        const at = waiting.findIndex((open) => id === undefined || open.id === id);
        const [wanted] = at < 0 ? [] : waiting.splice(at, 1);
        expect(calls.take(id)).toBe(wanted);
      }
      expect(calls.open()).toEqual(waiting);
    }),
  );

  // With quadratic time, these calls would take minutes.
  it("give results in reverse order their calls in linear time", { tags: "slow" }, () => {
    const calls = new OpenCalls<number>();
    const count = 500_000;
    for (let call = 0; call < count; call++) calls.add(call, `${call}`);
    for (let call = count - 1; call >= 0; call--) if (calls.take(`${call}`) !== call) expect.fail(`${call}`);
    expect(calls.open()).toEqual([]);
  });
});

import fc from "fast-check";
import { describe, expect } from "vitest";
import { OpenCalls } from "../../../src/rollouts/messages/open-calls.ts";
import { itHolds } from "../../support/property.ts";

/** Undefined: without an id. */
const id = fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined });
const events = fc.array(fc.record({ isCall: fc.boolean(), id }));

describe("the open calls", () => {
  itHolds(
    "give each result the first open call with its id or, without an id, the first open call",
    fc.property(events, (given) => {
      const calls = new OpenCalls<{ id: string | undefined }>((call) => call.id);
      const waiting: { id: string | undefined }[] = [];
      for (const { isCall, id } of given) {
        const call = { id };
        if (isCall) {
          calls.add(call);
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
});

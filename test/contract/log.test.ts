import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDateTime } from "../../src/contract/date-time.ts";
import { findFirstIssues, Trajectory } from "../../src/contract/log.ts";

const odd = fc.oneof(
  fc.constantFrom(null, undefined, 0, 1.5, -0, "text", true, [], {}, Number.POSITIVE_INFINITY, 2 ** 60),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Usually a value of its type, otherwise any value. */
const mostly = (own: fc.Arbitrary<unknown>) => fc.oneof({ weight: 30, arbitrary: own }, odd);

const object = fc.dictionary(fc.string(), odd);

const tool = fc.record(
  {
    type: mostly(fc.constant("function")),
    function: mostly(
      fc.record(
        {
          name: mostly(fc.string()),
          description: mostly(fc.string()),
          parameters: mostly(object),
          strict: mostly(fc.boolean()),
        },
        { requiredKeys: ["name"] },
      ),
    ),
    other: odd,
  },
  { requiredKeys: ["type", "function"] },
);

const trajectory = fc.record(
  {
    messages_and_choices: mostly(fc.array(odd)),
    reward: mostly(fc.double({ noNaN: true })),
    tools: mostly(fc.array(tool)),
    additional_histories: mostly(fc.array(odd)),
    initial_policy_version: mostly(fc.integer()),
    final_policy_version: mostly(fc.constant(null)),
    metrics: mostly(object),
    metadata: mostly(object),
    logs: mostly(fc.array(odd)),
    start_time: mostly(
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((at) => at.toISOString()),
    ),
    other: odd,
  },
  { requiredKeys: ["messages_and_choices", "reward"] },
);

describe("firstIssues of a trajectory (interface 2.1)", () => {
  const compare = (numRuns: number, parameters: { readonly seed?: number } = {}): void => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: trajectory }, odd), (value) => {
        const outcome = Trajectory.safeParse(value);
        if (outcome.success) accepted++;
        expect(findFirstIssues(Trajectory, value, 100).length === 0).toBe(outcome.success);
      }),
      { numRuns, ...parameters },
    );
    expect(accepted).toBeGreaterThan(numRuns / 10);
  };

  it("are none exactly for the values that the schema accepts", () => {
    compare(100, { seed: 9 });
  });

  it("are none exactly for the values that the schema accepts, for 3000 values", { tags: "slow" }, () => {
    compare(3000);
  });
});

describe("a date and time", () => {
  it.each([
    "2024-02-29T23:59:60.5Z",
    "2025-11-01t09:30:00z",
    "2025-11-01 09:30",
    "2025-11-01T09:30:00,25+01:00",
    "2025-11-01T09:30:00-0830",
    "2025-11-01T09:30:00+01",
  ])("can be %s", (text) => expect(isDateTime(text)).toBe(true));

  it.each([
    "2025-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2025-11-31T00:00:00Z",
    "2025-11-01T24:00:00Z",
    "2025-11-01T09:30:61Z",
    "2025-11-01T09:30:00+24:00",
    "2025-11-01",
    "2025-13-01T00:00:00Z",
    "yesterday",
    "",
  ])("cannot be %s", (text) => expect(isDateTime(text)).toBe(false));
});

import { expect, it } from "vitest";
import { inputChanged, invalidInput, missingSplit } from "../../../src/rollouts/rules/failures.ts";
import { Problems } from "../../../src/rollouts/rules/problems.ts";

const skip = (groups: string) =>
  `pass --on-invalid skip to continue with ${groups} and write the invalid groups to the rejects file`;

const comment = { fault: "comment", word: "", character: "/", isDocument: false, isFormatGiven: false } as const;

it.each<[options: Parameters<typeof invalidInput>[1], errors: number, message: string, hint: string | undefined]>([
  [{}, 1, "a:2:3: JSON has no comments [json-syntax]", undefined],
  [{ valid: 1 }, 1, "a:2:3: JSON has no comments [json-syntax]", skip("1 valid group")],
  [{ valid: "some" }, 1, "a:2:3: JSON has no comments [json-syntax]", skip("valid groups")],
  [{ valid: 2 }, 2, "the input has 2 errors (2 json-syntax)", skip("2 valid groups")],
  [
    { valid: 2, isSending: true },
    2,
    "the input has 2 errors (2 json-syntax), so nothing was sent",
    skip("2 valid groups"),
  ],
  [
    { valid: 0, isSending: true },
    2,
    "the input has 2 errors (2 json-syntax), and no group is valid, so nothing was sent",
    undefined,
  ],
])(
  "the failure for invalid input names its only error, or counts errors by rule (row %$)",
  (options, errors, ...rest) => {
    const [message, hint] = rest;
    const problems = new Problems();
    problems.report("unknown-role", { role: "x" });
    for (let at = 0; at < errors; at++) problems.report("json-syntax", comment, { file: "a", line: 2 + at, column: 3 });
    const failure = invalidInput(problems, options);
    const { advice } = failure.details.problems?.[0] ?? {};
    const expected = errors === 1 ? [advice, hint].filter(Boolean).join(", or ") : hint;
    expect([failure.details.problems?.length, failure.details.hint]).toEqual([errors, expected]);
    expect(failure.message).toBe(message);
  },
);

it("the failure for a changed input is retryable, with the fix of a file or of a followed file", () => {
  const [changed, followed] = [false, true].map((isFollowed) => inputChanged("a", isFollowed).details);
  expect(changed).toMatchObject({ retryable: true, subject: "a", problems: [{ rule: "input-changed", file: "a" }] });
  expect([changed?.hint, followed?.hint]).toEqual([
    expect.stringMatching(/, then rerun the command$/),
    expect.stringMatching(/\. Then rerun the command$/),
  ]);
});

it("the failure for a missing split lists the different splits of the input", () => {
  const messages = [[], ["x"], ["x", "y"]].map((splits) => missingSplit(splits).message.split(" (")[0]);
  const different = "the request bodies in the input have different splits: x, y";
  expect(messages).toEqual(["missing --split", "missing --split", different]);
});

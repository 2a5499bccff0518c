import { describe, expect, it } from "vitest";
import { filesOf, read } from "../support/inputs.ts";

describe("the reader of datasets", () => {
  it("reports more scattered groups than a call can have arguments", { tags: "slow" }, async () => {
    const count = 150_000;
    const lines = Array.from(
      { length: count },
      (_, at) => `{"group_id":"${at % 2}","messages_and_choices":[],"reward":1}\n`,
    );
    const { problems } = await read(filesOf(lines.join("")));
    expect(problems.counts).toContainEqual({ rule: "group-scattered", severity: "error", count: count - 2 });
  });
});

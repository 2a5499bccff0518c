import { describe, expect, it } from "vitest";
import { searchGroups } from "../../src/rollouts/dataset/select/filter-groups.ts";
import { filesOf, read } from "../support/inputs.ts";

/** The bytes that are read at once. */
const windowBytes = 2 ** 20;

describe("the search of groups", () => {
  it("finds a text that begins in one window and ends in the next", async () => {
    const opening = '{"trajectories":[{"messages_and_choices":[{"role":"user","content":"';
    const padding = "x".repeat(windowBytes - opening.length - 3);
    const line = `${opening}${padding}needle"}],"reward":1}]}`;
    const found: number[] = [];
    await searchGroups(
      await read(filesOf(`${line}\n${opening}"}],"reward":1}]}\n`)),
      { text: "needle" },
      {
        onFound: (group) => void found.push(group),
        onProgress: () => undefined,
        signal: new AbortController().signal,
      },
    );
    expect(found).toEqual([0]);
  });
});

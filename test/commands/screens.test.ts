/** Complete sessions. To change one, edit its `$` and `<` lines, run this test with `--update`, and read the diff. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { replay } from "../support/transcript.ts";

const folder = "test/commands/golden/screens";

describe("a session", () => {
  it.each(readdirSync(folder))("has the output, requests, files and exit codes in %s", async (name) => {
    const { text, unmet } = await replay(readFileSync(`${folder}/${name}`, "utf8"));
    await expect(text).toMatchFileSnapshot(`golden/screens/${name}`);
    expect(unmet).toEqual([]);
  });

  it("needs a line below each title, and its text in a result", async () => {
    const run = "$ rollcall --version\n";
    const { unmet } = await replay(
      `\n# a\n${run}\n# b\n#= 0\n#> rollcall\n${run}\n# c\n#>\n${run}\n# d\n#> .\n#@\n${run}`,
    );
    expect(unmet).toEqual([
      "# a: no line states what the title claims",
      "# b: expected > rollcall",
      "# c: expected no line >",
    ]);
  });
});

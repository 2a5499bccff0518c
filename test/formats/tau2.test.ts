import { truncateSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { convertFile, fileOf } from "./converting.ts";

describe("results of tau2-bench", () => {
  it("are refused by name if they are too long to be read", { tags: "slow" }, async () => {
    const file = fileOf(['{"info":\n'], "results.json");
    // A sparse file needs no space on the disk.
    truncateSync(file, 2 ** 29);
    for (const words of [[], ["--from", "tau2"]]) {
      const { code, stderr } = await convertFile(file, words);
      expect({ code, told: stderr.replaceAll(/\s+/g, " ") }).toEqual({
        code: 3,
        told: expect.stringContaining(
          "results.json:1:1: cannot convert this tau2 record: it is over the limit of 536869888 bytes for a document [record-invalid] hint: write the document as several files",
        ),
      });
    }
  });
});

import { execFile } from "node:child_process";
import { describe, expect, it } from "vitest";

/** Rounds of the short form; `node bench/kill.js` has 200. */
const rounds = "5";

describe("a run that is killed", () => {
  it("logs no group twice and loses none, whenever it is killed", { tags: "slow" }, async () => {
    const [code, said] = await new Promise<readonly [unknown, string]>((resolve) =>
      execFile(process.execPath, ["bench/kill.js", rounds], (error, stdout, stderr) =>
        resolve([error?.code ?? 0, `${stdout}${stderr}`]),
      ),
    );
    expect([code, said]).toEqual([0, expect.stringContaining('"twice":0,"lost":0,"unnamed":0,"wrong":0')]);
  });
});

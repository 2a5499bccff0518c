import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";

const samples = "test/samples/formats";

/** The format of each sample, by what its name begins with. */
const formats: Readonly<Record<string, string>> = {
  art: "art",
  atif: "atif",
  inspect: "inspect",
  "mini-swe": "mini-swe-agent-messages",
  "nemo-gym": "nemo-gym",
  tau2: "tau2",
  "verifiers-v0": "verifiers-v0",
  "verifiers-v1": "verifiers-v1",
};

/** Files and folders beside which stands what belongs to them. */
const names = readdirSync(samples).filter((name) => name !== "README.md" && !name.endsWith("metadata.json"));

describe("a file of another tool", () => {
  it.each(names)("like %s is recognized by exactly one format", async (name) => {
    const { stderr } = await runRollcall(["check", join(samples, name), "--lossy"]);
    const expected = Object.keys(formats).find((start) => name.startsWith(start)) ?? "";
    expect({ stderr, format: /\(--from ([\w-]+)\)/.exec(stderr)?.[1] }).toEqual({ stderr, format: formats[expected] });
  });

  it("is not recognized if it is in rollcall's format", async () => {
    for (const name of ["airline.groups.jsonl", "airline.trajectories.jsonl", "wordle.trajectories.jsonl"]) {
      expect((await runRollcall(["check", join("test/samples", name)])).stderr).not.toContain("--from");
    }
  });
});

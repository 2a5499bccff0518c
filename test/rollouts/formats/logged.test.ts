import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { newHome } from "../../support/run.ts";
import { notRollouts, samples, wordsOf } from "./samples.ts";

/** Samples without the files next to them, and without a stream of two kinds, of which a split selects one. */
const names = readdirSync(samples).filter((name) => !/^README|^prime-rl-0\.9\.1/.test(name) && !notRollouts.test(name));

/** The format of each sample by the start of its name. */
const formats: Readonly<Record<string, string>> = {
  areal: "trl",
  art: "art",
  atif: "atif",
  harbor: "harbor",
  inspect: "inspect",
  "lm-eval": "lm-eval",
  "mini-swe": "mini-swe-agent",
  "ms-swift-4.5.2.ray": "trl",
  "ms-swift": "openai-chat",
  "nemo-gym": "nemo-gym",
  "prime-rl": "verifiers-v1",
  roll: "trl",
  tau2: "tau2",
  trl: "trl",
  "verifiers-v0": "verifiers-v0",
  "verifiers-v1": "verifiers-v1",
  verl: "verl",
};

interface Trajectory {
  readonly messages_and_choices?: readonly { readonly message?: object }[];
  readonly tools?: unknown;
  readonly additional_histories?: unknown;
}

describe("a sample of another tool", () => {
  it.each(names)(
    "is recognized in %s, logged like its conversion, and read back as the same trajectory",
    async (name) => {
      const env = newHome();
      const file = join(samples, name);
      const words = wordsOf(name);
      const run = async (...args: readonly string[]) => await runHere(args, { env });
      const converted = await run("convert", file, ...words);
      const start = Object.keys(formats).find((own) => name.startsWith(own)) ?? "";
      expect(converted).toMatchObject({ code: 0, stderr: expect.stringContaining(`(--from ${formats[start]})`) });
      const own = converted.stdout.trimEnd().split("\n");
      const trajectories = own.flatMap((line): readonly Trajectory[] => JSON.parse(line).trajectories);

      const logged = await run("log", "m", file, ...words, "--split", "train", "--local", "--json");
      const { responses }: { responses: readonly { body: { call_ids: readonly string[] } }[] } = JSON.parse(
        logged.stdout,
      );
      const ids = responses.flatMap(({ body }) => body.call_ids);
      expect(ids).toHaveLength(trajectories.length);
      const read = await run("call", "read", ids[0] ?? "", "--json", "--local");
      const { inputs, output, attributes } = JSON.parse(read.stdout).call;
      const [{ messages_and_choices: turns = [], tools, additional_histories: _, ...facts } = {}] = trajectories;
      const said = [...inputs.messages, ...(output === null ? [] : [output.choices?.[0].message ?? output])];
      expect(said).toEqual(turns.map((turn) => turn.message ?? turn));
      expect(inputs.tools).toEqual(tools);
      expect(attributes).toMatchObject(facts);
    },
  );

  it("is not recognized if it is in rollcall's format", async () => {
    for (const name of ["airline.groups.jsonl", "airline.trajectories.jsonl", "wordle.trajectories.jsonl"]) {
      expect((await runHere(["check", join("test/samples", name)])).stderr).not.toContain("--from");
    }
  });
});

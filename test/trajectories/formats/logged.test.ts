import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { samples, wordsOf } from "./samples.ts";

/** Samples, but for what stands beside one of them. */
const names = readdirSync(samples).filter((name) => name !== "README.md" && !name.endsWith("metadata.json"));

describe("a sample of another tool", () => {
  it.each(names)(
    "%s is checked and logged as it is converted, and reads back as the same trajectories",
    async (name) => {
      const env = newHome();
      const [file, folder] = [join(samples, name), mkdtempSync(join(tmpdir(), "logged-"))];
      const words = wordsOf(name);
      const run = async (...args: readonly string[]) => await runRollcall(args, { env });
      const [out, exact, receipt] = ["out", "exact", "receipt"].map((one) => join(folder, `${one}.json`));
      expect(await run("convert", file, ...words, "--out", `${out}`, "--receipt", `${receipt}`)).toMatchObject({
        code: 0,
      });
      const own = readFileSync(`${out}`, "utf8").trimEnd().split("\n");
      const trajectories = own.flatMap((line): readonly object[] => JSON.parse(line).trajectories);

      const { left_out }: { left_out: readonly { path: string }[] } = JSON.parse(readFileSync(`${receipt}`, "utf8"));
      const { code, stderr } = await run("convert", file, ...words, "--exact", "--out", `${exact}`);
      expect({ stderr, code }).toEqual({ stderr, code: left_out.length === 0 ? 0 : 3 });
      expect(left_out.slice(0, 3).filter(({ path }) => !stderr.includes(path))).toEqual([]);

      const checked = JSON.parse((await run("check", file, ...words, "--json")).stdout);
      expect(checked).toMatchObject({ status: "valid", trajectories: { read: trajectories.length } });
      const logged = await run("log", "m", file, ...words, "--split", "train", "--local", "--json");
      const { responses }: { responses: readonly { body: { call_ids: readonly string[] } }[] } = JSON.parse(
        logged.stdout,
      );
      const ids = responses.flatMap(({ body }) => body.call_ids);
      expect(ids).toHaveLength(trajectories.length);
      for (const at of new Set([0, trajectories.length - 1])) {
        const read = await run("call", "read", ids[at] ?? "", "--as", "trajectory", "--local");
        // One sample holds nothing that an assistant said: there is no output to read.
        const hasOutput = JSON.stringify(trajectories[at]).includes('"role":"assistant"');
        if (hasOutput) expect(JSON.parse(read.stdout)).toMatchObject(trajectories[at] ?? {});
        else expect(read).toMatchObject({ stdout: "", stderr: expect.stringContaining("it has no output") });
      }
    },
  );
});

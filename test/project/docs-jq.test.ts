/** Runs the shell blocks of the guides that use jq. They need jq 1.7, because older versions change large integers. */
import { execFile } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { faultyService } from "../support/raw-server.ts";
import { newHome } from "../support/run.ts";
import { hasJq } from "../support/shell.ts";
import { checkoutToWriteIn, pathWithRollcall } from "./docs/blocks.ts";

/** The blocks of a guide that use jq. */
const blocksOf = (guide: string): readonly string[] =>
  Array.from(readFileSync(guide, "utf8").matchAll(/^```sh\n(.*?)^```$/gms), ([, block = ""]) => block).filter((block) =>
    /\bjq\b|catalog-guard/.test(block),
  );

/** A folder with the files that the blocks name. */
const folderOfGuides = (): string => {
  const folder = checkoutToWriteIn();
  symlinkSync(resolve("examples"), join(folder, "examples"));
  const lines = ["gpt-4.1-mini", "gpt-5-mini"].flatMap((model, at) => {
    const groups = readFileSync(`test/samples/wordle.${model}.groups.jsonl`, "utf8");
    return groups.replaceAll('"metadata":{', `"metadata":{"step":${at + 2},`);
  });
  writeFileSync(join(folder, "run.jsonl"), lines.join(""));
  writeFileSync(join(folder, "logged.json"), '{"responses":[{"status":200,"body":{"call_ids":["c1","c2"]}}]}');
  return folder;
};

const run = async (block: string, env: Readonly<Record<string, string>>) =>
  await new Promise<string>((done, fail) => {
    const all = { ...newHome(), PATH: pathWithRollcall(), ...env };
    execFile("bash", ["-euo", "pipefail", "-c", block], { cwd: folderOfGuides(), env: all }, (error, stdout, stderr) =>
      error === null ? done(stdout) : fail(new Error(`${error.message}\n${stderr}`)),
    );
  });

describe.skipIf(!hasJq)("the blocks of the guides with jq (skipped without jq 1.7)", { tags: "slow" }, () => {
  const local = { ROLLCALL_PROFILE: "local" };

  it.each<[guide: string, outputs: readonly RegExp[]]>([
    ["docs/guide/logging.md", [/^c1\nc2\n$/]],
    [
      "docs/guide/checking.md",
      [
        /^groups\s+12\n.*^groups\s+20\n.*^groups\s+20\ntrajectories\s+40\n.*^groups\s+10\n.*^groups\s+[1-4]\n/ms,
        /^rollouts.jsonl\t1\t0\n/,
      ],
    ],
    ["docs/guide/judging.md", [/^reward\t5\t1\.199\d+\t1\.380\d+\t0\.181/]],
    ["docs/guide/model-catalogs.md", [/^$/]],
  ])("print what the text of %s says", async (guide, outputs) => {
    const blocks = blocksOf(guide);
    expect(blocks).toHaveLength(outputs.length);
    for (const [at, output] of outputs.entries()) expect(await run(blocks[at] ?? "", local)).toMatch(output);
  });

  it("make a valid trajectory of a call of OpenAI, and none of a failed call", async (context) => {
    const [block = ""] = blocksOf("docs/guide/traced-calls.md");
    const service = await faultyService(context);
    for (const name of ["call", "call.exception"]) {
      const body = readFileSync(`test/samples/${name}.json`, "utf8");
      service.next((asked) => asked.answer(200, { body }));
    }
    const env = {
      id: "call",
      ROLLCALL_BASE_URL: service.url,
      ROLLCALL_API_KEY: "key",
      ROLLCALL_PROJECT: "team/project",
    };
    expect(await run(block, env)).toMatch(/^status\s+valid\ngroups.read\s+1\n/);
    await expect(run(block, env)).rejects.toThrow("the call has no choice");
  });
});

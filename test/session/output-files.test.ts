import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkOutputFiles, checkReportFiles } from "../../src/session/output-files.ts";
import { screenOn } from "../output/printed-text.ts";
import { testHost } from "../support/host.ts";

type OutputOptions = Parameters<typeof checkOutputFiles>[0];

const messageOf = (work: () => unknown) => {
  try {
    work();
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : "";
  }
  return undefined;
};

const same = (first: string, second: string) => `cannot combine ${first} and ${second}: both are the same file`;

describe("the output files of a command", () => {
  const input = join(mkdtempSync(join(tmpdir(), "outputs-")), "in.jsonl");
  writeFileSync(input, "{}\n");
  const stop: OutputOptions = { file: [input], onInvalid: "stop", receipt: undefined, rejects: undefined };
  const skip: OutputOptions = { ...stop, onInvalid: "skip" };
  const rejects = "standard input and URLs have no default rejects file";
  const [rejected, reasons] = [`${input}.rejected`, `${input}.rejected.reasons`];

  it.each<[message: string | undefined, typed: OutputOptions, out?: string]>([
    [undefined, stop],
    [undefined, skip, "-"],
    [undefined, { ...stop, file: [], receipt: "-" }, "-"],
    [rejects, { ...skip, file: [] }],
    [rejects, { ...skip, file: ["-"] }],
    [rejects, { ...stop, file: ["https://a.example/b"], onRefused: "skip" }],
    [undefined, { ...skip, file: [], rejects: rejected }],
    [undefined, { ...stop, file: [] }],
    [same(`the input ${input}`, `--rejects ${input}`), { ...stop, rejects: input }],
    [same(`the input ${input}`, `--out ${input}`), stop, input],
    [same(`the input ${rejected}`, `--rejects ${rejected}`), { ...skip, file: [input, rejected] }],
    [same(`--receipt ${rejected}`, `--rejects ${rejected}`), { ...skip, receipt: rejected }],
    [same(`--receipt ${reasons}`, `the reasons file ${reasons}`), { ...skip, receipt: reasons }],
    [same(`--out ${rejected}`, `--rejects ${rejected}`), { ...stop, rejects: rejected }, rejected],
    [undefined, { ...stop, receipt: reasons }, rejected],
    [`${input} already exists`, { ...stop, file: ["-"], receipt: input }],
  ])("are separate, and different from the input: %s", (message, typed, out) => {
    expect(messageOf(() => checkOutputFiles(typed, ["--out ", out]))).toBe(message);
  });

  it("are reports, of which one at most goes to standard output", () => {
    const check = (files: Readonly<Partial<Record<"github" | "junit" | "markdown", string>>>, json = false) => {
      const report = (["github", "junit", "markdown"] as const).flatMap((form) => {
        const file = files[form];
        return file === undefined ? [] : [{ form, file: file === "" ? undefined : file }];
      });
      return messageOf(() => checkReportFiles(screenOn(testHost(), { json }), { report, inputs: [input] }));
    };
    const stdout = (second: string) => `cannot combine --report github and ${second}: both go to standard output`;
    expect([check({ github: "" }), check({ github: rejected, junit: "" })]).toEqual([undefined, undefined]);
    expect([check({ github: "", junit: "" }), check({ github: "" }, true)]).toEqual(
      ["--report junit", "--json"].map(stdout),
    );
    expect(check({ junit: rejected, markdown: rejected })).toBe(
      same(`--report junit=${rejected}`, `--report markdown=${rejected}`),
    );
    expect([check({ junit: input }), check({ junit: join(rejected, "b") })]).toEqual([
      same(`the input ${input}`, `--report junit=${input}`),
      `cannot write ${join(rejected, "b")}: its folder does not exist`,
    ]);
  });
});

/** Files with several documents of a format whose files usually have one document. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";
import { folderOf } from "./converting.ts";
import { samples } from "./samples.ts";

const read = (name: string) => JSON.stringify(JSON.parse(readFileSync(`${samples}/${name}`, "utf8")));
const harbor = "harbor-2026-02/2026-02-10__10-00-00";

const formats: readonly (readonly [name: string, documents: readonly string[], args: readonly string[]])[] = [
  ["ATIF", ["atif-1.7.trajectory.json", "atif.simple_trajectory.json"].map(read), ["--rewards", "rewards"]],
  ["tau2", ["tau2.results.json", "tau2-1.0.1.results.json"].map(read), []],
  ["Inspect", ["inspect-0.3.260.json", "inspect-0.3.8.json"].map(read), ["--reward-from", "scores.match.value"]],
  [
    "mini-swe-agent",
    ["mini-swe-2.4.6.acme__readme-1.traj.json", "mini-swe-1.17.5.acme__readme-1.traj.json"].map(read),
    ["--rewards", "rewards"],
  ],
  [
    "Harbor",
    ["hello-world__aaaaaaa", "hello-world__bbbbbbb"].map((trial) => read(`${harbor}/${trial}/result.json`)),
    [],
  ],
];

const rewards = ["00000000-0000-4000-8000-000000000170", "sess-abc123-simple", "acme__readme-1", "a", "b"]
  .map((id) => JSON.stringify({ id, reward: 1 }))
  .join("\n");

describe("lists of documents", () => {
  it.each(formats)("are converted like a file for each document: %s", async (_, documents, args) => {
    const [first = "", second = ""] = documents;
    const trajectory = (trial: string) => read(`${harbor}/${trial}/agent/trajectory.json`);
    const folder = folderOf({
      rewards,
      "one/result.json": first,
      "two/result.json": second,
      ...Object.fromEntries(
        ["one", "two"].map((name, at) => [
          `${name}/agent/trajectory.json`,
          trajectory(`hello-world__${at === 0 ? "aaaaaaa" : "bbbbbbb"}`),
        ]),
      ),
      ...Object.fromEntries(
        ["hello-world__aaaaaaa", "hello-world__bbbbbbb"].map((trial) => [
          `${trial}/agent/trajectory.json`,
          trajectory(trial),
        ]),
      ),
      "lines.jsonl": `${first}\n\n${second}\n`,
      "array.json": `[${first},\n${second}]`,
    });
    writeFileSync(join(folder, "lines.jsonl.gz"), gzipSync(`${first}\n${second}`));
    const convert = async (...files: readonly string[]) =>
      (await runRollcall(["convert", ...files, ...args, "-q"], { cwd: folder })).stdout;
    const expected = await convert("one/result.json", "two/result.json");
    expect(expected).not.toBe("");
    for (const file of ["lines.jsonl", "array.json", "lines.jsonl.gz"]) expect(await convert(file)).toBe(expected);
  });

  it("have positions of lines, and a broken line rejects no other document", async () => {
    const document = (id: string) =>
      JSON.stringify({ ...JSON.parse(read("atif.simple_trajectory.json")), session_id: id });
    const [a, b] = [document("a"), document("b")];
    const cwd = folderOf({ rewards, "docs.jsonl": [a, b.slice(0, 80), b].join("\n") });
    const words = ["convert", "docs.jsonl", "--rewards", "rewards", "--on-invalid", "skip", "--rejects", "rejects"];
    const { stdout, stderr } = await runRollcall([...words, "-q"], { cwd });
    expect(stdout.split("\n").map((line) => /"session_id":"(.)"/.exec(line)?.[1])).toEqual(["a", "b", undefined]);
    expect(stderr).toContain("docs.jsonl:2:81: error: the line is truncated [json-truncated]");
  });

  it("and arrays of rows have positions with indexes if they are on one line", async () => {
    const rowOf = (reward: number) => ({
      messages: ["user", "assistant"].map((role) => ({ role, content: "a" })),
      reward,
    });
    const cwd = folderOf({ "a.json": `[${read("tau2.results.json")}]`, "b.json": JSON.stringify([0, 1].map(rowOf)) });
    const words = ["--each", "trajectory", "--fields", "file", "-o", "tsv", "-q"];
    const filesOf = async (file: string) => (await runRollcall(["stats", file, ...words], { cwd })).stdout.trim();
    expect(await filesOf("a.json")).toBe([0, 1, 2].map((at) => `a.json#0.simulations.${at}`).join("\n"));
    expect(await filesOf("b.json")).toBe("b.json#0\nb.json#1");
  });

  it("refer to other documents of the list by their ids", async () => {
    const steps = (message: string, more: object = {}) => [
      { source: "user", message },
      { source: "agent", message, ...more },
    ];
    const reference = { results: [{ subagent_trajectory_ref: [{ trajectory_id: "b" }] }] };
    const documents = [
      { schema_version: "ATIF-v1.7", trajectory_id: "a", steps: steps("main", { observation: reference }) },
      { schema_version: "ATIF-v1.7", trajectory_id: "b", steps: steps("sub") },
    ];
    const cwd = folderOf({ rewards, "docs.jsonl": documents });
    const { stdout } = await runRollcall(["convert", "docs.jsonl", "--rewards", "rewards", "-q"], { cwd });
    const [group, ...more] = stdout.split("\n");
    expect(more).toEqual([""]);
    expect(JSON.parse(group ?? "").trajectories[0].additional_histories).toHaveLength(1);
  });
});

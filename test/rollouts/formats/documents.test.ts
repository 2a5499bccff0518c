/** Documents that belong together, and files and lists of documents. */
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { runRollcall } from "../../support/run.ts";
import { convertFile, fileOf, folderOf, itTells, tell } from "./converting.ts";
import { agent, asks, atif, chat, miniSwe, said, simulation, user } from "./records.ts";
import { samples } from "./samples.ts";

const own = [asks("q"), agent("a")];
const document = (steps: readonly object[] = own, more: object = {}) => JSON.stringify(atif(steps, more));
/** A document that is continued in another one. */
const begun = (steps: readonly object[] = own, ref = "b.json") => document(steps, { continued_trajectory_ref: ref });
const rest = [asks("r"), agent("b")];
/** A step with results that refer to subagents. */
const delegating = (...refs: readonly object[]) => {
  const ids = refs.map((_, at) => (refs.length > 1 ? { source_call_id: `${at}` } : {}));
  const results = refs.map((subagent_trajectory_ref, at) => ({ ...ids[at], subagent_trajectory_ref }));
  return agent("b", { observation: { results } });
};
const byId = delegating({ trajectory_id: "c" });
const byPath = { trajectory_path: "c.json" };
const c = document(own, { session_id: "c" });
const named = document(own, { trajectory_id: "c" });
const bySession = { "m.json": document([delegating([{ session_id: "t" }])]) };
const part = document([agent("a")], { session_id: "t" });
const tool_definitions = [{ type: "function", function: { name: "f" } }];
const copied = [asks("brief"), ...own].map((one) => ({ ...one, is_copied_context: true }));
const late = agent("c", { llm_call_count: 0 });
const called = (more: object = {}) =>
  agent("a", {
    tool_calls: [{ tool_call_id: "c", function_name: "f", arguments: {} }],
    observation: { results: [{ source_call_id: "c", content: "1" }] },
    ...more,
  });
const callOf = (name: string, args: object) => [{ tool_call_id: "c", function_name: name, arguments: args }];
const continued = (more: object) => ({
  "a.json": begun([asks("q"), called()]),
  "b.json": document([asks("q"), called(more), called()]),
});

itTells("a document of ATIF %s", [
  ["is continued", { "a.json": begun(), "b.json": document(rest) }, "(u:q A:a u:r A:b) =1\n"],
  ["repeats its steps", { "a.json": begun(), "b.json": document() }, "(u:q A:a) =1\n"],
  [
    "is continued by files with other paths",
    {
      "a.json": begun(own, "/x/b.json"),
      "b.json": begun([asks("q"), agent("b")], "../c.json"),
      "c.json": document([asks("q"), agent("c")]),
    },
    "(u:q A:a A:b A:c) =1\n",
  ],
  [
    "is continued after copied steps",
    { "a.json": begun(), "b.json": document([...copied, asks("q"), agent("b"), late]) },
    "(u:q A:a u:q A:b a:c) =1\n",
  ],
  ["repeats no step with another message", continued({ message: "b" }), "(u:q A:a→f t:1 A:b→f t:1 A:a→f t:1) =1"],
  ["repeats no other call", continued({ tool_calls: callOf("b", {}) }), "(u:q A:a→f t:1 A:a→b t:1 A:a→f t:1) =1"],
  [
    "repeats no step with other arguments",
    continued({ tool_calls: callOf("f", { a: 2 }) }),
    '(u:q A:a→f t:1 A:a→f t:1 A:a→f t:1) =1 & {\\"a\\"',
  ],
  [
    "repeats no step with another result",
    continued({ observation: { results: [{ source_call_id: "c", content: "b" }] } }),
    "(u:q A:a→f t:1 A:a→f t:b A:a→f t:1) =1",
  ],
  [
    "has the tools of its first part",
    {
      "a.json": document(own, { agent: { tool_definitions }, continued_trajectory_ref: "b.json" }),
      "b.json": document(rest),
    },
    '(u:q A:a u:r A:b) =1 & "tools":[{"type":"function","function":{"name":"f"}}]',
  ],
  [
    "contains a subagent that a file has, too",
    {
      "a.json": document([...own, byId], { subagent_trajectories: [{ trajectory_id: "c", ...atif() }] }),
      "x/c.json": document([...own, ...own], { trajectory_id: "c" }),
    },
    "(u:q A:a A:b / u:q A:a) =1\n & (u:q A:a u:q A:a) =1\n",
  ],
  ["has no subagent above its folder", { "x/a.json": document([...own, byId]), "c.json": named }, "(u:q A:a A:b) =1\n"],
  [
    "has no subagent of two files",
    { "a.json": document([...own, byId]), "x/c.json": named, "y/c.json": named },
    "(u:q A:a A:b) =1\n",
  ],
  [
    "has a subagent of two results once",
    { "a.json": document([delegating([byPath], [byPath])]), "c.json": c },
    "(A:b t t / u:q A:a) =1\n",
  ],
  [
    "has a subagent by its id although its file moved",
    { "a.json": document([delegating([{ trajectory_path: "moved.json", session_id: "c" }])]), "c.json": c },
    "(A:b / u:q A:a) =1\n",
  ],
  [
    "has no subagent that is itself",
    { "a.json": document([delegating([{ trajectory_path: "m.json", session_id: "s" }])]), "b.json": document() },
    "(A:b) =1\n & (u:q A:a) =1\n",
  ],
  ["has the subagent of a session", { ...bySession, "s/a.json": part }, "(A:b / A:a) =1\n"],
  ["has no subagent of two sessions", { ...bySession, "s/a.json": part, "s/b.json": part }, "(A:b) =1\n & (A:a) =1\n"],
]);

it("a continuation of ATIF is rejected with each of its documents once", async () => {
  const calling = agent("", { tool_calls: callOf("f", {}) });
  const parts = [begun([calling, ...own]), document()];
  const folder = folderOf({
    "a.json": parts[0] ?? "",
    "b.json": parts[1] ?? "",
    "c.json": document(),
    r: '{"id":"s","reward":1}',
  });
  const files = ["a", "b", "c"].map((name) => join(folder, `${name}.json`));
  const rejects = join(folder, "rejects");
  const args = ["--rewards", join(folder, "r"), "--strict", "--on-invalid", "skip", "--rejects", rejects, "-q"];
  const { stdout } = await runHere(["convert", ...files, ...args]);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  expect(readFileSync(rejects, "utf8")).toBe(`${parts.join("\n")}\n`);
});

const result = { trial_name: "t", task_name: "x", agent_info: {}, verifier_result: { rewards: { reward: 1 } } };

it("a trial of Harbor from standard input, or with a file as its folder, has no trajectory", async () => {
  const missing = "the trajectory agent/trajectory.json is missing";
  const cwd = folderOf({ "agent/trajectory.json": document(), "t/result.json": [result], "t/agent": "" });
  const piped = await runRollcall(["check", "-"], { cwd, stdin: JSON.stringify(result) });
  expect(piped.stderr).toContain(missing);
  expect((await runHere(["check", join(cwd, "t/result.json")])).stderr).toContain(missing);
});

it("a trial of Harbor is rejected for a NaN in its trajectory", async () => {
  const text = document([asks("q"), agent("a", { metrics: { cost_usd: "NaN" } })]).replace('"NaN"', "NaN");
  const folder = folderOf({ "t/result.json": [result], "t/agent/trajectory.json": text });
  const { stderr } = await runHere(["check", join(folder, "t/result.json")]);
  expect(stderr).toContain(`trajectory.json:1:${text.indexOf("NaN") + 1}: NaN is not JSON`);
});

it("a truncated file of mini-swe-agent can belong to the group of a later file", async () => {
  const info = { exit_status: "Submitted", model_stats: { api_calls: 1 } };
  const text = JSON.stringify(miniSwe([user("q"), said("a")], { info, instance_id: "s", r: undefined }));
  const files = { "a.traj.json": text.slice(0, -9), "b.traj.json": text };
  expect(await tell(files, "--rewards s=1 --on-invalid skip")).not.toMatch(/^\(/m);
});

describe("results of tau2-bench", () => {
  it("are refused by name if they are too long to be read", { tags: "slow" }, async () => {
    const file = fileOf(['{"info":\n'], "results.json");
    // A sparse file needs no space on the disk.
    truncateSync(file, 2 ** 29);
    for (const words of [[], ["--from", "tau2"]]) {
      const { code, stderr } = await convertFile(file, words);
      const fault = "results.json:1:1: cannot convert this tau2 record: it is over the limit of 536869888 bytes";
      expect([code, stderr]).toEqual([3, expect.stringContaining(fault)]);
    }
  });

  it("miss only a simulation without a file, also if others are compressed", async () => {
    const results = { info: { agent_info: {} }, tasks: [], simulation_index: [{ id: "a" }, { id: "b" }] };
    const text = JSON.stringify(simulation([user("q")], { id: "a" }));
    const folder = folderOf({ "results.json": [results], "simulations/c": "", "e/simulations/b.json": text });
    writeFileSync(join(folder, "simulations/a.json.gz"), gzipSync(text));
    const missing = "the results.json that tau2-bench writes is missing, so the domain is unknown";
    const { stdout } = await runHere(["check", folder, "--json"]);
    expect(stdout.match(/the simulation has no file/g)).toHaveLength(1);
    expect(stdout).toContain(`${missing}"`);
    rmSync(join(folder, "e"), { recursive: true });
    expect((await runHere(["check", folder, "--json"])).stdout).not.toContain(missing);
  });

  it("reject each group of a simulation with NaN, and no other", async () => {
    const withNaN = (...ids: readonly string[]) => {
      const all = ["a", "b", "c"].map((id) => {
        return simulation([user("q"), said(id)], {
          task_id: id,
          reward_info: { reward: ids.includes(id) ? "NaN" : 1 },
        });
      });
      return { "results.json": JSON.stringify({ simulations: all }).replaceAll('"NaN"', "NaN") };
    };
    const told = await tell(withNaN("b"), "--on-invalid skip");
    expect(told.match(/^\(.*|\S+: error: NaN is not JSON/gm)).toEqual([
      ...["(u:q A:a) =1", "(u:q A:c) =1"],
      expect.stringMatching(/^results\.json:1:\d+: error: NaN is not JSON/),
    ]);
    const files = withNaN("a", "b", "c");
    const { stderr } = await runHere(["check", join(folderOf(files), "results.json"), "--json"]);
    const problems = JSON.parse(stderr).error.problems.map(({ column }: { column: number }) => column);
    expect(problems).toEqual(Array.from(files["results.json"].matchAll(/NaN/g), ({ index }) => index + 1));
  });
});

const read = (name: string) => JSON.stringify(JSON.parse(readFileSync(`${samples}/${name}`, "utf8")));
const harbor = "harbor-2026-02/2026-02-10__10-00-00";
const rewards = "00000000-0000-4000-8000-000000000170 sess-abc123-simple acme__readme-1 a b".split(" ");
const rewardsText = rewards.map((id) => JSON.stringify({ id, reward: 1 })).join("\n");

describe("lists of documents", () => {
  const trials = ["hello-world__aaaaaaa", "hello-world__bbbbbbb"];
  it.each<[format: string, names: readonly string[], ...args: readonly string[]]>([
    ["ATIF", ["atif-1.7.trajectory.json", "atif.simple_trajectory.json"], "--rewards", "rewards"],
    ["tau2", ["tau2.results.json", "tau2-1.0.1.results.json"]],
    ["Inspect", ["inspect-0.3.260.json", "inspect-0.3.8.json"], "--reward-from", "scores.match.value"],
    [
      "mini-swe-agent",
      ["2.4.6", "1.17.5"].map((own) => `mini-swe-${own}.acme__readme-1.traj.json`),
      "--rewards",
      "rewards",
    ],
    ["Harbor", trials.map((trial) => `${harbor}/${trial}/result.json`)],
  ])("are converted like a file for each document: %s", async (_, names, ...args) => {
    const [first = "", second = ""] = names.map(read);
    const trajectories = trials.flatMap((trial, at) =>
      [["one", "two"][at], trial].map((folder) => [
        `${folder}/agent/trajectory.json`,
        read(`${harbor}/${trial}/agent/trajectory.json`),
      ]),
    );
    const cwd = folderOf({
      ...{ rewards: rewardsText, "one/result.json": first, "two/result.json": second },
      ...Object.fromEntries(trajectories),
      ...{ "lines.jsonl": `${first}\n\n${second}\n`, "array.json": `[${first},\n${second}]` },
    });
    writeFileSync(join(cwd, "lines.jsonl.gz"), gzipSync(`${first}\n${second}`));
    const convert = async (...files: readonly string[]) =>
      (await runRollcall(["convert", ...files, ...args, "-q"], { cwd })).stdout;
    const expected = await convert("one/result.json", "two/result.json");
    expect(expected).not.toBe("");
    for (const file of ["lines.jsonl", "array.json", "lines.jsonl.gz"]) expect(await convert(file)).toBe(expected);
  });

  it("have positions of lines, and a broken line rejects no other document", async () => {
    const [a, b] = ["a", "b"].map((session_id) => document(own, { session_id }));
    const told = await tell(
      { "docs.jsonl": [a ?? "", b?.slice(0, 80) ?? "", b ?? ""].join("\n") },
      "--rewards a=1,b=1 --on-invalid skip",
    );
    expect(told.match(/"session_id":"."/g)).toEqual(['"session_id":"a"', '"session_id":"b"']);
    expect(told).toContain("docs.jsonl:2:81: error: the line is truncated [json-truncated]");
  });

  it("and arrays of rows have positions with indexes if they are on one line", async () => {
    const cwd = folderOf({ "a.json": `[${read("tau2.results.json")}]`, "b.json": JSON.stringify([chat(), chat()]) });
    const words = ["--each", "trajectory", "--fields", "file", "-o", "tsv", "-q"];
    const filesOf = async (file: string) => (await runRollcall(["stats", file, ...words], { cwd })).stdout.trim();
    expect(await filesOf("a.json")).toBe([0, 1, 2].map((at) => `a.json#0.simulations.${at}`).join("\n"));
    expect(await filesOf("b.json")).toBe("b.json#0\nb.json#1");
  });

  it("refer to other documents of the list by their ids", async () => {
    const list = [atif([...own, byId]), atif(own, { trajectory_id: "c" })];
    expect(await tell(list)).toMatch(/^\(u:q A:a A:b \/ u:q A:a\) =1\n\{.*\nnote/);
  });
});

import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { expect, it } from "vitest";
import { openMeasurer } from "../../../src/rollouts/check/measure.ts";
import { Scanner } from "../../../src/rollouts/dataset/scan.ts";
import { ScanResult } from "../../../src/rollouts/index/scan-result.ts";
import { TrajectoryFacts } from "../../../src/rollouts/index/trajectory-facts.ts";
import { openMemoryBytes } from "../../../src/rollouts/input/source.ts";
import { Problems } from "../../../src/rollouts/rules/problems.ts";

const result = { role: "tool", tool_call_id: "c", content: "Error: no" };
const rollout = (at: number, tool: string, more: object = {}) => ({
  messages_and_choices: [
    { role: at === 3 ? "assistant" : "user", content: `q${at % 2}` },
    { role: "user", content: "r" },
    ...[{ id: "c", function: { name: tool, arguments: "{}" } }].flatMap((call) => [
      { finish_reason: "tool_calls", index: 0, message: { role: "assistant", content: null, tool_calls: [call] } },
      ...(at % 2 === 0 ? [result] : []),
    ]),
    { finish_reason: at === 2 ? "length" : "stop", index: 0, message: { role: "assistant", content: `a${at}` } },
  ],
  reward: at / 2,
  final_policy_version: at,
  metrics: at % 3 === 0 ? { m: at } : { m: at, [`n${at}`]: at / 4 },
  metadata: { task_id: at % 2, model: "x", seed: at },
  ...more,
});
const lines = [
  { ...rollout(0, "f"), group_id: "a" },
  { trajectories: [rollout(1, "g"), rollout(2, "f"), rollout(5, "h")], exceptions: [{ message: "e" }] },
  { ...rollout(3, "g"), group_id: "b", tools: null },
  { reward: 1, messages_and_choices: [], group_id: "b" },
  { trajectories: [{ reward: "1" }] },
  { ...rollout(4, "h"), group_id: "a", metadata: { task_id: 0, model: "x" } },
  { split: "s", run: 1, trajectory_groups: [{ trajectories: [rollout(6, "f")] }] },
  { trajectories: [rollout(7, "f"), rollout(7, "f")] },
].map((line) => JSON.stringify(line));

/** Scans lines, with all that a caller can ask for. */
const scan = (from: number, to: number) => {
  const options = { hasDigests: true, hasChecksums: true, canCopyParts: true, hasFacts: true };
  const found = new ScanResult(new Problems(), options);
  const bytes = Buffer.from(
    lines.map((line, at) => (at >= from && at < to ? line : " ".repeat(line.length))).join("\n"),
  );
  const measure = openMeasurer({ by: "seed", key: ["task_id"], hasPrompts: true, hasTasks: true });
  const source = { name: "a.jsonl", bytes: openMemoryBytes(bytes) };
  const scanner = new Scanner(source, { index: 0, groupBy: undefined, result: found, measure });
  scanner.scanLines({ kind: "lines", bytes, start: 0, isLast: true });
  return found;
};

/** Everything in a result, by parts and rows. */
const listAll = ({ parts, tally, problems, requests, shapes, training, rewards }: ScanResult) => {
  const { facts, columns } = parts;
  const { walked } = facts;
  const rows = Array.from({ length: facts.rows }, (_, row) => {
    const uses: unknown[] = [];
    walked?.forEachUse(row, (tool, use) => uses.push([walked.toolNames.at(tool), use]));
    const keys = [walked?.by, walked?.key, walked?.prompt, ...(walked?.tasks.values() ?? [])].map((own) =>
      own?.at(row),
    );
    const { metrics, metricNames, ...own } = facts.read(row, new TrajectoryFacts());
    const named = metricNames.map((name, at) => [name, metrics[at], facts.metricAt(row, at)]);
    return [own, named, walked?.at(row), walked?.isGreeted(row), keys, uses];
  });
  const all = Object.entries(columns).flatMap(([name, column]) => (name === "key" ? [] : [[name, column.values()]]));
  const positions = Array.from({ length: parts.count }, (_, at) => at);
  return {
    ...{ rows, all, settings: walked?.settings, tasks: [...(walked?.tasks.keys() ?? [])] },
    parts: positions.map((at) => [parts.keyOf(at), facts.rowsOf([at])]),
    ...{ metrics: tally.metrics("train"), names: [...facts.listMetricNames()].sort(), counts: problems.counts },
    ...{ requests: requests.distinct, shapes, training, rewards: [rewards.count, rewards.min, rewards.max] },
  };
};

it.each([0, 1, 2, 3, 5, 6])("a result that is merged after %i lines is that of all lines", (cut) => {
  const [merged, later] = [scan(0, cut), scan(cut, lines.length)];
  merged.merge(later);
  const whole = listAll(scan(0, lines.length));
  expect(whole.rows).toHaveLength(10);
  expect(listAll(merged)).toEqual(whole);
});

it("the index of a part has its bytes, and what its trajectories have", () => {
  const { parts, shapes } = scan(0, lines.length);
  expect([...shapes]).toEqual(["trajectories", "groups", "requests"]);
  const { columns, facts } = parts;
  const text = lines.join("\n");
  const found = Array.from({ length: parts.count }, (_, at) => {
    const { start, length, line, kind, valid, trajectories } = parts.at(at);
    const bytes = text.slice(start, start + length);
    const rows = facts.rowsOf([at]).map((row) => {
      const span = facts.spanOf(row);
      return JSON.parse(bytes.slice(span.start, span.end)).reward;
    });
    const own = ["exceptions", "equal", "warned", "reward", "version", "training"] as const;
    const numbers = own.map((name) => columns[name].at(at));
    expect([lines[line - 1]?.includes(bytes), columns.checksum.at(at)]).toEqual([true, crc32(bytes)]);
    const digest = createHash("sha256").update(bytes).digest().subarray(0, 16);
    expect(Buffer.from(parts.digests.at(at))).toEqual(digest);
    const hasPrompt = columns.prompt.at(at) > 0 ? "prompt" : "";
    return [`${line} ${kind} ${valid}`, trajectories, rows.join(), ...numbers, hasPrompt].join(" ").trim();
  });
  // The last numbers: exceptions, equal rewards, a warning, the reward of a line, the version, and what is trained.
  expect(found).toEqual([
    "1 trajectory true 1 0 0 0 0 0 0 41 prompt",
    "2 group true 3 0.5,1,2.5 1 0 1 0 5 41",
    "3 trajectory true 1 1.5 0 0 1 1.5 3 41",
    "4 trajectory true 1 1 0 0 1 1 NaN 0",
    "5 group false 1  0 0 0 0 NaN 0",
    "6 trajectory true 1 2 0 0 0 2 4 41 prompt",
    "7 group true 1 3 0 0 0 0 6 41",
    "8 group true 2 3.5,3.5 0 1 1 0 7 41",
  ]);
});

import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openMeasurer } from "../../../src/rollouts/check/measure.ts";
import { Scanner } from "../../../src/rollouts/dataset/scan.ts";
import { FactColumns } from "../../../src/rollouts/index/fact-columns.ts";
import { trainingBits } from "../../../src/rollouts/index/metrics.ts";
import { Parts } from "../../../src/rollouts/index/parts.ts";
import { ScanResult } from "../../../src/rollouts/index/scan-result.ts";
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

const openParts = () => new Parts({ hasDigests: true, hasFacts: true });

/** Scans lines, with all that a caller can ask for. */
const scan = (from: number, to: number, { parts = openParts(), all = lines } = {}) => {
  const found = new ScanResult(new Problems(), parts);
  const bytes = Buffer.from(all.map((line, at) => (at >= from && at < to ? line : " ".repeat(line.length))).join("\n"));
  const measure = openMeasurer({ by: "seed", hasTasks: true });
  const source = { name: "a.jsonl", bytes: openMemoryBytes(bytes) };
  const scanner = new Scanner(source, { index: 1, groupBy: undefined, result: found, measure });
  scanner.scanLines({ kind: "lines", bytes, start: 0, isLast: true });
  return found;
};

/** Everything in a result, by parts and rows. */
const listAll = ({ parts, tally, problems, requests, shapes, training }: ScanResult) => {
  const { facts = new FactColumns(), columns } = parts;
  const { tasks } = facts;
  const rows = Array.from({ length: facts.rows }, (_, row) => {
    const uses: unknown[] = [];
    facts.forEachUse(row, (tool, use) => uses.push([facts.toolNames.at(tool), use]));
    const keys = [facts.by, facts.prompt, ...tasks.values()].map((own) => own.at(row));
    const metrics = facts.metricNamesOf(row).map((name, at) => [name, facts.metricAt(row, at)]);
    return [facts.reward.at(row), metrics, facts.at(row), facts.isGreeted(row), keys, uses];
  });
  const all = Object.entries(columns).flatMap(([name, column]) =>
    name === "key" ? [] : [[name, column.values(0, parts.count)]],
  );
  const positions = Array.from({ length: parts.count }, (_, at) => at);
  return {
    ...{ rows, all, tasks: Array.from(tasks, ([name, { names }]) => [name, names.list]) },
    ...{
      parts: positions.map((at) => [parts.keyOf(at), parts.rowsOf(at)]),
      fingerprints: parts.fingerprints.values(),
    },
    ...{ metrics: tally.metrics("train"), names: [...facts.listMetricNames()].sort(), counts: problems.counts },
    ...{ requests: requests.distinct, shapes, training },
  };
};

it.each([0, 1, 2, 3, 5, 6])(
  "a result without removed parts, and merged after %i lines, is that of all lines",
  (cut) => {
    const merged = scan(0, cut);
    const { parts } = merged;
    const removeParts = parts.mark();
    const others = lines.map((line) => line.replace('"f"', '"i"').replace('"model":"x"', '"model":"y"')).toReversed();
    scan(0, lines.length, { parts, all: others });
    removeParts();
    merged.merge(scan(cut, lines.length, { parts }));
    const whole = listAll(scan(0, lines.length));
    expect(whole.rows).toHaveLength(10);
    expect(listAll(merged)).toEqual(whole);
  },
);

describe("the index of parts", () => {
  const scanAll = () => {
    const { parts, shapes } = scan(0, lines.length);
    return { parts, shapes, positions: Array.from({ length: parts.count }, (_, at) => at) };
  };

  it("fills each column", () => {
    const empty = Object.entries(scanAll().parts.columns).filter(([, column]) => column.hasOnlyDefaults);
    expect(empty.map(([name]) => name)).toEqual([]);
  });

  it("has the shapes, and the line and the kind of each part", () => {
    const { parts, shapes, positions } = scanAll();
    expect([...shapes]).toEqual(["trajectories", "groups", "requests"]);
    const found = positions.map((at) => parts.at(at));
    expect(found.map(({ line, kind, valid }) => `${line} ${kind}${valid ? "" : " invalid"}`)).toEqual([
      ...["1 trajectory", "2 group", "3 trajectory", "4 trajectory", "5 group invalid", "6 trajectory"],
      ...["7 group", "8 group"],
    ]);
  });

  it("has the range, the checksum and the digest of the bytes of each part", () => {
    const { parts } = scanAll();
    // The part of a request is its group.
    const texts = lines.with(6, JSON.stringify({ trajectories: [rollout(6, "f")] }));
    for (const [at, text] of texts.entries()) {
      const { start, length } = parts.at(at);
      expect(lines.join("\n").slice(start, start + length)).toBe(text);
      expect(parts.columns.checksum.at(at)).toBe(crc32(text));
      expect(Buffer.from(parts.digests.at(at))).toEqual(createHash("sha256").update(text).digest().subarray(0, 16));
    }
  });

  const trained = trainingBits.choice | (2 * trainingBits.logprobs) | (2 * trainingBits.tools);
  it.each<[column: keyof ScanResult["parts"]["columns"], values: readonly number[]]>([
    ["trajectories", [1, 3, 1, 1, 1, 1, 1, 2]],
    ["exceptions", [0, 1, 0, 0, 0, 0, 0, 0]],
    ["equal", [0, 0, 0, 0, 0, 0, 0, 1]],
    ["warned", [0, 1, 1, 1, 0, 0, 0, 1]],
    ["reward", [0, 0, 1.5, 1, 0, 2, 0, 0]],
    ["training", [trained, trained, trained, 0, 0, trained, trained, trained]],
  ])("has the column %s", (column, values) => {
    const { parts, positions } = scanAll();
    expect(positions.map((at) => parts.columns[column].at(at))).toEqual(values);
  });

  it("has the prompts of trajectories with a group key, unless they begin with a greeting", () => {
    const { parts, positions } = scanAll();
    const lineNumbers = positions.flatMap((at) => (parts.columns.prompt.at(at) > 0 ? parts.at(at).line : []));
    expect(lineNumbers).toEqual([1, 6]);
  });
});

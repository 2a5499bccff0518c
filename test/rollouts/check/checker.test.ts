import { isUtf8 } from "node:buffer";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isObject, parseJson } from "../../../src/json/json-bytes.ts";
import { Scanner } from "../../../src/rollouts/dataset/scan.ts";
import { Tally } from "../../../src/rollouts/index/metrics.ts";
import { ScanResult } from "../../../src/rollouts/index/scan-result.ts";
import { openMemoryBytes } from "../../../src/rollouts/input/source.ts";
import { Problems } from "../../../src/rollouts/rules/problems.ts";
import { damaged, itHolds, type Json } from "../../support/property.ts";
import { addTrajectory } from "../../support/tally.ts";
import { Trajectory, TrajectoryGroup } from "../../support/trajectory-schema.ts";

/** All findings in a block of lines. */
const foundIn = (bytes: Buffer, groupBy?: readonly string[]) => {
  const source = { name: "a.jsonl", bytes: openMemoryBytes(bytes) };
  const scan = new Scanner(source, { index: 0, groupBy, result: new ScanResult(new Problems()) });
  scan.scanLines({ kind: "lines", bytes, start: 0, isLast: true });
  const { parts, tally, problems } = scan.result;
  const counts = Object.fromEntries(problems.counts.map(({ rule, count }) => [rule, count]));
  return {
    parts: Array.from({ length: parts.count }, (_, at) => ({ ...parts.at(at), reward: parts.columns.reward.at(at) })),
    metrics: tally.metrics("train"),
    problems: problems.sorted(),
    counts,
    total: tally.trajectories,
  };
};

/** The values of the lines that are JSON. */
const valuesIn = (bytes: Buffer): readonly unknown[] =>
  linesOf(bytes)
    .map((line) => Buffer.from(line, "latin1"))
    .flatMap((line) => (isUtf8(line) ? (parseJson(line.toString().replace(/^\ufeff/, ""))?.value ?? []) : []));

const call = { id: "call_1", type: "function", function: { name: "find", arguments: "{}" } };
const said = { role: "assistant", content: [{ type: "text", text: "naïve 😀\u2028" }] };
const conversation = [
  { role: "system", content: "a longer text, which goes on for more than sixteen" },
  { role: "user", content: "q" },
  ...[
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "call_1", content: "4" },
  ],
  { finish_reason: "stop", index: 0, message: said, logprobs: { content: [] } },
];
const whole = {
  ...{ messages_and_choices: conversation, reward: 0.5, initial_policy_version: 3, final_policy_version: 4 },
  ...{ metrics: { turns: 2, score: 1e-7, right: true }, metadata: { task: "a", level: 1, seed: null }, logs: ["a\n"] },
  tools: [{ type: "function", function: { name: "find", description: "", parameters: { type: "object" } } }],
  ...{ start_time: "2024-05-15T15:00:00Z", additional_histories: [{ messages_and_choices: conversation }] },
  ...{ group_id: "g-1", seed: "s-1" },
};
const plain = { messages_and_choices: [{ role: "user", content: "q" }, said], reward: 1 };
const samples: readonly Json[] = [
  ...[whole, { ...plain, group_id: 1 }, { trajectories: [whole, plain] }],
  [{ trajectories: [plain, plain], exceptions: ["e"], metadata: {} }, plain],
  { split: "train", trajectory_groups: [{ trajectories: [whole] }, { trajectories: [plain] }] },
];

/** Parts in place of others. What is written after `@` is not JSON of JavaScript. */
const spelled = `1e400 -0 1e-400 1E+2 -1.5e-3 9007199254740993 123456789012345678901234567890 1.0 10.50 00 1. .5 +1 - 1e
  NaN 0x1 tru "\\ud83d" "\\u0041\\/" "\\x" "\\u12g4" "c\\u0061ll_1" "sk-0123abcd4567efgh89ij" {"a":1,"a":2}
  {"n\\u0061me":1,"__proto__":{},"7":2} {"\\u0072ole":"user","content":""} {"message":{"role":"assistant"},"index":1}`;
const parts: fc.Arbitrary<Json | undefined> = fc.oneof(
  fc.constantFrom<Json | undefined>(
    undefined,
    null,
    true,
    0,
    -1,
    1.5,
    "",
    "tool",
    "human",
    "noon",
    "2024-05-15",
    [],
    {},
  ),
  fc.constantFrom(...spelled.split(/\s+/)).map((text) => `@${text}`),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.jsonValue({ maxDepth: 2 }).map((value): Json => JSON.parse(JSON.stringify(value))),
);

/** A line with any white space, in which a key can be escaped. */
const line = fc
  .tuple(
    damaged(samples, parts),
    fc.constantFrom("", "", " ", "\t "),
    fc.constantFrom("", "", "reward", "role", "trajectories", "metrics"),
  )
  .map(([value, space, key]) =>
    JSON.stringify(value)
      .replaceAll(/"@(?:[^"\\]|\\.)*"/g, (text) => JSON.parse(text).slice(1))
      .replaceAll(/(?<=[{[,:])|(?=[\]}])/g, space)
      .replaceAll(`"${key || "none"}"`, `"\\u00${key.charCodeAt(0).toString(16)}${key.slice(1)}"`),
  );

const file = fc
  .tuple(
    fc.array(fc.oneof({ weight: 20, arbitrary: line }, fc.constantFrom("", "\r", "\ufeff{}", "no", "{} {}", "[[]]")), {
      minLength: 1,
      maxLength: 6,
    }),
    fc.constantFrom("\n", "\r\n", "\n\n"),
    fc.boolean(),
  )
  .map(([lines, end, last]) => Buffer.from(lines.join(end) + (last ? end : "")));

const sample = (name: string): Buffer => readFileSync(`test/samples/${name}`);

const linesOf = (bytes: Buffer): readonly string[] => bytes.toString("latin1").split("\n");

/** A line of the samples with a changed byte. */
const changedLine = fc
  .tuple(
    fc.constantFrom(
      ...linesOf(sample("wordle.trajectories.jsonl")).slice(0, 20),
      ...linesOf(sample("airline.trajectories.jsonl")).slice(0, 8),
    ),
    fc.nat(),
    fc.nat({ max: 255 }),
    fc.constantFrom(0, 1, 2),
  )
  .map(([text, place, byte, how]) => {
    const bytes = Buffer.from(text, "latin1");
    const at = place % (bytes.length + 1);
    return Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from(how === 0 ? [] : [byte]),
      bytes.subarray(at + (how === 2 ? 0 : 1)),
    ]);
  });

describe("the checker", () => {
  itHolds(
    "takes the groups and trajectories that the schemas take, and measures them as parsed JSON",
    fc.property(fc.oneof(file, changedLine), (bytes) => {
      const { parts, metrics, counts, ...found } = foundIn(bytes);
      fc.pre(counts["duplicate-structural-key"] === undefined);
      const tally = new Tally();
      const valid: boolean[] = [];
      const takeGroup = (value: unknown): void => {
        // The schema's copy lacks a key that is called __proto__.
        const isGroup = (own: unknown): own is TrajectoryGroup => TrajectoryGroup.safeParse(own).success;
        valid.push(isGroup(value));
        if (!isGroup(value)) return;
        for (const one of value.trajectories) addTrajectory(tally, one);
        const { trajectories, exceptions } = value;
        const rewards = trajectories.map(({ reward }) => reward);
        tally.addGroup({ rewards, exceptions: Array.isArray(exceptions) ? exceptions.length : 0 });
      };
      const take = (value: unknown): void => {
        if (!isObject(value)) return;
        if (Array.isArray(value.trajectory_groups)) value.trajectory_groups.forEach(takeGroup);
        else if (Object.hasOwn(value, "trajectories")) takeGroup(value);
        else if (!Object.hasOwn(value, "trajectory_groups") && !Object.hasOwn(value, "split")) {
          const isTrajectory = (own: unknown): own is Trajectory => Trajectory.safeParse(own).success;
          valid.push(isTrajectory(value));
          if (!isTrajectory(value)) return;
          addTrajectory(tally, value);
        }
      };
      for (const value of valuesIn(bytes)) (Array.isArray(value) ? value : [value]).forEach(take);
      expect(parts.filter((part) => part.valid).length).toBe(valid.filter(Boolean).length);
      expect(metrics).toEqual(tally.metrics("train"));
      expect(found.total).toBe(tally.trajectories);
    }),
    { quick: 40, slow: 400 },
  );

  it("measures trajectories with more keys and shapes than it remembers", { tags: "slow" }, () => {
    const lines = Array.from({ length: 12_000 }, (_, at) => ({
      messages_and_choices: [
        { role: "user", content: "é" },
        { role: "assistant", content: "4", [`own${at}`]: at % 7 },
      ],
      reward: at,
      metrics: { ["m".repeat(1 + (at % 50))]: at, score: at / 8 },
      metadata: { [`key${at}`]: at % 3 === 0 ? null : "text" },
    }));
    const half = lines.length / 2;
    for (const some of [lines.slice(0, half), lines.slice(half), lines.slice(0, half)]) {
      const { metrics, counts } = foundIn(Buffer.from(some.map((own) => `${JSON.stringify(own)}\n`).join("")));
      const tally = new Tally();
      for (const one of some) addTrajectory(tally, one);
      expect(metrics).toEqual(tally.metrics("train"));
      expect(counts).toEqual({});
    }
  });

  // The checker finds many calls in a map. A result without an id is `-`.
  describe.each([0, 100])("after %i other tool calls", (others) => {
    it.each<[what: string, calls: string, results: string, count: number, inHistory?: boolean]>([
      ["a result without an id for the oldest call", "a b", "- b", 0],
      ["one result for one of two calls of one id", "a a", "a", 1],
      ["two results for two calls of one id", "a a", "a a", 0],
      ["a result without an id for one of several calls of one id", "a a", "-", 1],
      ["results without an id for the calls that have waited longest", "a b a", "a - a", 0],
      ["no result for the calls of its own message", "a b", "c", 3],
      ["no calls of histories", "a b", "a b", 0, true],
    ])("counts %s", (_, calls, results, count, inHistory = false) => {
      const callOf = (id: string, at: number) => ({
        id,
        type: "function",
        function: { name: `f${at}`, arguments: "" },
      });
      const other = Array.from({ length: others }, (_, at) => `other-${at}`);
      const calling = { role: "assistant", tool_calls: [...calls.split(" "), ...other].map(callOf) };
      const answers = [...results.split(" "), ...other].map((id) => ({
        ...{ role: "tool", content: "", tool_call_id: id === "-" ? undefined : id },
        ...(id === "c" ? { tool_calls: [callOf("c", 9)] } : {}),
      }));
      const messages_and_choices = [calling, ...answers, { role: "assistant", content: "a" }];
      const additional_histories = inHistory ? [{ messages_and_choices: [calling] }] : [];
      const line = JSON.stringify({ messages_and_choices, reward: 1, additional_histories });
      // Ids are equal in any spelling.
      for (const text of [line, line.replace('"tool_call_id":"a"', String.raw`"tool_call_id":"\u0061"`)])
        expect(foundIn(Buffer.from(text)).counts["missing-tool-result"] ?? 0).toBe(count);
    });
  });

  it("reports the line and column of the value with a secret, and the byte of the secret in the file", () => {
    const content = 'é "p" ghp_bIJgCDdqpnffFICvUYT0PqNHDWfKFQao4RFs';
    const line = JSON.stringify({ messages_and_choices: [{ role: "user", content }], reward: 1 });
    const bytes = Buffer.from(`{}\n${line}\n`);
    const before = Buffer.from("x".repeat(100));
    const source = { name: "a.jsonl", bytes: openMemoryBytes(Buffer.concat([before, bytes])) };
    const scan = new Scanner(source, { index: 0, groupBy: undefined, result: new ScanResult(new Problems()) });
    scan.scanLines({ kind: "lines", bytes, start: 100, isLast: true });
    const secrets = scan.result.problems.sorted().filter(({ rule }) => rule === "secret-in-content");
    const path = ["messages_and_choices", 0, "content"];
    const column = line.indexOf('"é') + 1;
    expect(secrets).toMatchObject([{ line: 2, column, offset: 100 + bytes.indexOf("ghp_"), path }]);
  });

  it.each(["u123g", "u12g4", "u1g34", "ug234", "u123", "u12 4", "u", "x41", "0", "u00e9", "uABCD", "uabcF", "ud83d"])(
    "reads each escape like JSON.parse, in values and in keys (row %$)",
    (spelled) => {
      for (const [role, content, key] of [
        ["assistant", `a\\${spelled}`, "a"],
        [`user\\${spelled}`, "a", "a"],
        ["assistant", "a", `a\\${spelled}`],
      ]) {
        const message = `{"role":"${role}","content":"${content}","${key}":1}`;
        const text = `{"trajectories":[{"messages_and_choices":[${message}],"reward":1,"metadata":{"${key}":1}}]}\n`;
        expect(foundIn(Buffer.from(text.repeat(2))).parts[0]?.valid).toBe(parseJson(text) !== undefined);
      }
    },
  );

  describe("for a number", () => {
    const spelled = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.double({ noNaN: true, min: -100, max: 100 }).map(String),
      fc
        .tuple(fc.bigInt({ min: 0n, max: 10n ** 21n }), fc.integer({ min: -30, max: 30 }))
        .map(([digits, power]) => `${digits}e${power}`),
      fc
        .tuple(fc.nat(), fc.stringMatching(/^[0-9]{1,22}$/), fc.integer({ min: -9, max: 9 }))
        .map(([a, b, c]) => `-${a}.${b}E${c}`),
    );
    itHolds(
      "reads the same value as JavaScript",
      fc.property(spelled, (number) => {
        const { parts } = foundIn(Buffer.from(`{"messages_and_choices":[{"role":"assistant"}],"reward":${number}}`));
        expect(parts[0]?.reward).toBe(Number(number));
      }),
      { quick: 60, slow: 500 },
    );
  });

  // Node 24 needs no reservation.
  it.skipIf(process.platform !== "linux" || Number.parseInt(process.versions.node, 10) >= 24)(
    "names the limit on memory if V8 cannot reserve the addresses for reading JSON",
    () => {
      const limited = `ulimit -v 4000000; exec "$0" bin/rollcall.js check "$1" --json`;
      const file = "test/samples/airline.groups.jsonl";
      const { status, stderr } = spawnSync("bash", ["-c", limited, process.execPath, file], { encoding: "utf8" });
      expect(status).toBe(1);
      expect(stderr).toContain("cannot reserve virtual memory");
      expect(stderr).toContain("ulimit -v unlimited");
    },
  );
});

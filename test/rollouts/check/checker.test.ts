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
import { itHolds } from "../../support/property.ts";
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

/** JSON of a value in which objects are lists of members, so that a key can occur twice. */
type JsonInput = string | number | boolean | null | RawJson | JsonMembers | readonly JsonInput[];
interface RawJson {
  readonly raw: string;
}
interface JsonMembers {
  readonly members: readonly (readonly [string, JsonInput])[];
}

const written = (value: JsonInput, space: string): string => {
  if (Array.isArray(value)) return `[${space}${value.map((one) => written(one, space)).join(`,${space}`)}${space}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("raw" in value) return value.raw;
  if (!("members" in value)) throw new Error("not a value");
  const members = value.members.map(([key, own]) => `${key}${space}:${space}${written(own, space)}`);
  return `{${space}${members.join(`${space},${space}`)}${space}}`;
};

const raw = (text: string): RawJson => ({ raw: text });

const object = (members: Readonly<Record<string, JsonInput>>): JsonMembers => ({
  members: Object.entries(members).map(([key, value]) => [JSON.stringify(key), value]),
});

const words = ["", "a", "naïve", "\u2028", "😀", "\n", '"', "\\", "a longer text, which goes on for more than sixteen"];

/** Mostly usual values, and a few odd ones. */
const mostly = <Value>(usual: fc.Arbitrary<Value>, odd: fc.Arbitrary<Value>): fc.Arbitrary<Value> =>
  fc.oneof({ weight: 40, arbitrary: usual }, { weight: 1, arbitrary: odd });

const texts: fc.Arbitrary<JsonInput> = mostly(
  fc.oneof(
    fc.constantFrom<JsonInput>(...words, raw('"\\ud83d"'), raw('"\\u0041\\/\\b\\f\\r\\t"')),
    fc.string({ unit: "grapheme", maxLength: 40 }),
  ),
  fc.constantFrom(...["\\x", "\\u12g4", "\t", "sk-0123abcd4567efgh89ij"].map((text) => raw(`"${text}"`))),
);

const numbers: fc.Arbitrary<JsonInput> = mostly(
  fc.oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(
      ...["-0", "0", "1e-400", "0.1e1", "1E+2", "-1.5e-3", "9007199254740993", "0.30000000000000004", "1e22"].map(raw),
      ...["1.7976931348623157e308", "5e-324", "123456789012345678901234567890", "1e23", "-1e5", "1.0", "10.50"].map(
        raw,
      ),
    ),
  ),
  fc.constantFrom(
    ...["1e400", "00", "1.", ".5", "+1", "-", "1e", "NaN", "Infinity", "0x1", "1_0", "tru", "-01"].map(raw),
  ),
);

const scalars: fc.Arbitrary<JsonInput> = fc.oneof(texts, numbers, fc.boolean(), fc.constant(null));

const anything: fc.Arbitrary<JsonInput> = fc.oneof(
  { weight: 3, arbitrary: scalars },
  {
    weight: 1,
    arbitrary: fc.constantFrom<JsonInput>(
      [],
      object({}),
      [1, [2, "x"]],
      object({ a: object({ b: [null] }) }),
      raw("tru"),
    ),
  },
);

/** An object with most of its usual members. A few objects have an additional, repeated or misplaced member. */
const objectOf = (fields: Readonly<Record<string, fc.Arbitrary<JsonInput>>>): fc.Arbitrary<JsonMembers> => {
  const names = Object.keys(fields);
  const member = (name: string) =>
    (fields[name] ?? anything).map((value): readonly [string, JsonInput] => [JSON.stringify(name), value]);
  const odd = fc.oneof(
    fc.constantFrom(...names).chain(member),
    fc.tuple(fc.constantFrom(...names.map((name) => JSON.stringify(name))), anything),
    fc.tuple(
      fc.constantFrom('"other"', '"n\\u0061me"', '"rol\\u0065"', '"naïve"', '"__proto__"', '"7"', "1"),
      anything,
    ),
  );
  const usual = fc.tuple(...names.map(member));
  const changed = fc
    .tuple(fc.subarray(names, { minLength: Math.max(0, names.length - 1) }), fc.array(odd, { maxLength: 1 }))
    .chain(([kept, more]) => fc.tuple(...kept.map(member)).map((own) => [...own, ...more]));
  return fc.oneof({ weight: 25, arbitrary: usual }, { weight: 1, arbitrary: changed }).chain((members) =>
    mostly(
      fc.constant({ members }),
      fc.shuffledSubarray(members, { minLength: members.length }).map((own) => ({ members: own })),
    ),
  );
};

const listOf = (element: fc.Arbitrary<JsonInput>, maxLength = 4): fc.Arbitrary<JsonInput> =>
  mostly<JsonInput>(
    fc.array(element, { maxLength }),
    fc.tuple(fc.array(element, { maxLength: 2 }), anything).map(([own, odd]) => [...own, odd]),
  );

const ids = mostly(
  fc.constantFrom<JsonInput>("call_1", "call_2"),
  fc.constantFrom<JsonInput>("", 1, raw('"c\\u0061ll_1"')),
);
const toolNames = mostly(
  fc.constantFrom<JsonInput>("find", "naïve"),
  fc.constantFrom<JsonInput>("", 1, raw('"f\\u0069nd"')),
);
const roles = fc.constantFrom<JsonInput>(
  "system",
  "user",
  "assistant",
  "assistant",
  "tool",
  "developer",
  "function",
  "human",
);

const called = objectOf({ name: toolNames, arguments: texts });

const call = objectOf({ id: ids, type: fc.constant("function"), function: called });

const content = fc.oneof(
  { weight: 5, arbitrary: texts },
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: listOf(objectOf({ type: fc.constant("text"), text: texts })) },
);

const message = fc.oneof(
  { weight: 4, arbitrary: objectOf({ role: fc.constantFrom<JsonInput>("system", "user", "assistant"), content }) },
  { weight: 1, arbitrary: objectOf({ role: roles, content, tool_calls: listOf(call, 2) }) },
  { weight: 1, arbitrary: objectOf({ role: fc.constant("tool"), tool_call_id: ids, content }) },
  { weight: 1, arbitrary: objectOf({ role: fc.constant("assistant"), content, tool_calls: fc.constant(null) }) },
);

const choice = objectOf({
  finish_reason: fc.constant("stop"),
  index: fc.constant(0),
  message: fc.oneof(message, objectOf({ role: roles, content, tool_calls: fc.constant(null) })),
  logprobs: anything,
});

const assistant = objectOf({ role: fc.constant("assistant"), content });

/** A call and its result. */
const answered = ids.chain((id) =>
  fc.tuple(
    objectOf({
      role: fc.constant("assistant"),
      content,
      tool_calls: listOf(objectOf({ id: fc.constant(id), function: called }), 1),
    }),
    objectOf({ role: fc.constant("tool"), tool_call_id: fc.constant(id), content }),
  ),
);

const conversation = fc
  .tuple(
    listOf(fc.oneof({ weight: 4, arbitrary: message }, { weight: 1, arbitrary: choice })),
    fc.oneof(fc.constant<readonly JsonInput[]>([]), answered),
    assistant,
  )
  .map(([own, more, last]): JsonInput => (Array.isArray(own) ? [...own, ...more, last] : own));

const rewards = fc.oneof(
  { weight: 9, arbitrary: fc.double({ min: -1, max: 1, noNaN: true }) },
  { weight: 1, arbitrary: numbers },
);

const versions = mostly<JsonInput>(fc.integer({ min: 3, max: 4 }), anything);

const optional: Readonly<Record<string, fc.Arbitrary<JsonInput>>> = {
  metrics: objectOf({ turns: fc.nat(), score: numbers, right: fc.boolean() }),
  metadata: objectOf({
    task: scalars,
    level: scalars,
    seed: mostly(fc.constantFrom<JsonInput>("s-1", 7, null), fc.constantFrom<JsonInput>(raw("7.0"), { members: [] })),
  }),
  logs: listOf(texts),
  tools: listOf(
    objectOf({
      type: fc.constant("function"),
      function: objectOf({ name: toolNames, description: texts, parameters: fc.constant(object({ type: "object" })) }),
    }),
  ),
  start_time: mostly(
    fc.constantFrom<JsonInput>("2024-05-15T15:00:00Z", "2024-05-15T15:00+02:00", "2024-05-15 15:00 -0500", "noon"),
    fc.constantFrom<JsonInput>("2024-05-15 15:00:00", "2024-05-15", "2024-05-15T15:00:0z ", 5),
  ),
  initial_policy_version: versions,
  final_policy_version: versions,
  additional_histories: listOf(objectOf({ messages_and_choices: conversation })),
  group_id: mostly(
    fc.constantFrom<JsonInput>("g-1", 1, null, true),
    fc.constantFrom<JsonInput>("naïve", 10 ** 16, [], raw("1.0"), raw("-0"), raw('"g\\u002d1"')),
  ),
  seed: mostly(fc.constantFrom<JsonInput>("s-1", 7, null), fc.constantFrom<JsonInput>([], raw("-0"))),
};

const sometimesNull = (value: fc.Arbitrary<JsonInput>): fc.Arbitrary<JsonInput> =>
  fc.oneof({ weight: 9, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) });

const trajectory = fc.subarray(Object.keys(optional), { maxLength: 4 }).chain((names) =>
  objectOf({
    messages_and_choices: conversation,
    reward: rewards,
    ...Object.fromEntries(names.map((name) => [name, sometimesNull(optional[name] ?? anything)])),
  }),
);

const group = objectOf({ trajectories: listOf(trajectory) });

const values: fc.Arbitrary<JsonInput> = fc.oneof(
  { weight: 6, arbitrary: group },
  { weight: 6, arbitrary: trajectory },
  {
    weight: 1,
    arbitrary: objectOf({ trajectories: listOf(trajectory), exceptions: listOf(texts), metadata: anything }),
  },
  { weight: 1, arbitrary: objectOf({ split: fc.constant("train"), trajectory_groups: listOf(group) }) },
  { weight: 1, arbitrary: anything },
);

const spaces = fc.constantFrom("", "", " ", "\t ", "  ");

const line = fc.oneof(
  {
    weight: 20,
    arbitrary: fc
      .tuple(values, spaces, spaces)
      .map(([value, space, around]) => around + written(value, space) + around),
  },
  { weight: 1, arbitrary: fc.constantFrom("", " ", "\r", "\ufeff{}", "nonsense", '{"trajectories":[', "{} {}") },
);

const file = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 6 }), fc.constantFrom("\n", "\r\n", "\n\n"), fc.boolean())
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
      fc.pre(counts["duplicate-key"] === undefined);
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

  for (const { what, answers, ids = ["a", "b"], count, inHistory = false } of [
    { what: "counts a result without an id for the oldest call", answers: [undefined, "b"], count: 0 },
    { what: "counts one result for one of two calls of one id", answers: ["a"], ids: ["a", "a"], count: 1 },
    { what: "counts two results for two calls of one id", answers: ["a", "a"], ids: ["a", "a"], count: 0 },
    {
      what: "counts a result without an id for one of several calls of one id",
      answers: [undefined],
      ids: ["a", "a"],
      count: 1,
    },
    {
      what: "counts results without an id for the calls that have waited longest",
      answers: ["a", undefined, "a"],
      ids: ["a", "b", "a"],
      count: 0,
    },
    { what: "counts no result for the calls of its own message", answers: ["c"], count: 3 },
    { what: "counts no calls of histories", answers: ["a", "b"], count: 0, inHistory: true },
  ]) {
    // The checker finds many calls in a map.
    it.each([0, 100])(`${what}, after %i other tool calls`, (others) => {
      const callOf = (id: string, at: number) => ({
        id,
        type: "function",
        function: { name: `f${at}`, arguments: "" },
      });
      const other = Array.from({ length: others }, (_, at) => `other-${at}`);
      const calling = { role: "assistant", tool_calls: [...ids, ...other].map(callOf) };
      const results = [...answers, ...other].map((id) => ({
        role: "tool",
        content: "",
        tool_call_id: id,
        ...(id === "c" ? { tool_calls: [callOf("c", 9)] } : {}),
      }));
      const messages_and_choices = [calling, ...results, { role: "assistant", content: "a" }];
      const additional_histories = inHistory ? [{ messages_and_choices: [calling] }] : [];
      const line = JSON.stringify({ messages_and_choices, reward: 1, additional_histories });
      // Ids are equal in any spelling.
      for (const text of [line, line.replace('"tool_call_id":"a"', String.raw`"tool_call_id":"\u0061"`)]) {
        expect(foundIn(Buffer.from(text)).counts["missing-tool-result"] ?? 0).toBe(count);
      }
    });
  }

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

import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { lenient } from "../../src/check/rules/rules.ts";
import { readRules } from "../project/docs/rule-page.ts";
import { damages, type Members, textOf } from "../support/damage.ts";
import { type Asked, allOf, filesOf, read } from "../support/inputs.ts";

/** A line that breaks no rule: it has escapes, calls, tools, metrics and whatever else is usual; a filler makes it longer. */
const ordinary = (at: number, filler = ""): string => {
  const call = { id: `c${at}`, type: "function", function: { name: "find", arguments: '{"a": 1}' } };
  const messages = [
    { role: "user", content: `Line ${at}: "naïve"\n` },
    { finish_reason: "tool_calls", index: 0, message: { role: "assistant", content: null, tool_calls: [call] } },
    { role: "tool", tool_call_id: `c${at}`, content: [{ type: "text", text: "é" }] },
    { role: "assistant", content: "done" },
  ];
  const trajectory = (reward: number) => ({
    messages_and_choices: messages,
    reward,
    metrics: { turns: at % 5, right: at % 2 === 0 },
    metadata: { prompt_id: at, task: "a" },
    logs: [`${at}${filler}`],
  });
  return JSON.stringify(
    at % 2 === 0
      ? { trajectories: [trajectory(at / 7), trajectory(at % 3)] }
      : { ...trajectory(at / 3), prompt_id: at },
  );
};

/** Bytes as a text, one character each: a file may hold what is not UTF-8. */
const bytesOf = (content: string | Uint8Array): string => Buffer.from(content).toString("latin1");

/** Lines as they are, with escapes in their texts, and with nulls in their trajectories. */
const dressings: readonly ((lines: string) => string)[] = [
  (lines) => lines,
  (lines) => lines.replaceAll('"content":"', String.raw`"content":"\u00e9\"\\\n`),
  (lines) => lines.replaceAll('{"messages_and_choices":', '{"logs":null,"messages_and_choices":'),
];

/** The examples that are lines of a file. */
const examples = readRules.flatMap(({ example: { files, split, groupBy } }) =>
  Object.values(files)
    .map((content = "\0") => bytesOf(content).trim())
    .filter((lines) => !/^\x1f|\0/.test(lines))
    .map((lines) => ({ lines, asked: JSON.stringify({ split, groupBy }) })),
);

/** The options that they are read with. */
const waysToRead = [...new Set(examples.map(({ asked }) => asked))];

const message: Members = {
  role: '"assistant"',
  content: '"yes"',
  tool_calls: '[{"id":"a","type":"function","function":{"name":"find","arguments":"{}"}}]',
  tool_call_id: '"a"',
};
const tool: Members = { type: '"function"', function: '{"name":"find","description":"d","parameters":{}}' };
const trajectory: Members = {
  messages_and_choices: `[${textOf(message)}]`,
  reward: "0.5",
  metrics: '{"turns":2}',
  metadata: '{"task":"a"}',
  logs: '["a"]',
  tools: `[${textOf(tool)}]`,
  start_time: '"2025-11-01T09:30:00Z"',
  initial_policy_version: "7",
  final_policy_version: "8",
  additional_histories: `[{"messages_and_choices":[${textOf(message)}]}]`,
  group_id: '"a"',
};
const group: Members = { trajectories: `[${textOf(trajectory)}]`, exceptions: '["e"]', metadata: "{}" };

/** An object in every degree of damage, wherever it stands. */
const damaged = (whole: Members, around: (text: string) => string): readonly string[] =>
  Object.keys(whole).flatMap((field) => damages.map((value) => around(textOf({ ...whole, [field]: value }))));

const inTrajectory = (members: Members): string => textOf({ ...trajectory, ...members });

const withStart = (text: string): string => inTrajectory({ start_time: JSON.stringify(text) });
const withMetrics = (text: string): string => inTrajectory({ metrics: text });
const ofReward = (reward: string): string => inTrajectory({ reward });
const withContent = (text: string): string =>
  inTrajectory({ messages_and_choices: `[${textOf({ ...message, tool_calls: undefined, content: text })}]` });

/** Values that one reader may take for what they nearly are, each on a line. */
const edges: readonly string[] = [
  ...["\\u00e9", "\\u00eg", "\\u00ge", "\\u0gee", "\\ugeee", "\\u00e", "\\ud83d", "\\uD83D\\uDE00", "\\x41", "\\"].map(
    (text) => withContent(`"${text}"`),
  ),
  // What stands beside a choice's message is not said in it.
  ...Object.entries({ ...message, tool_calls: "null", other: '"a"' }).map(([key, value = ""]) =>
    inTrajectory({ messages_and_choices: `[{"message":${textOf({ role: '"assistant"' })},"${key}":${value}}]` }),
  ),
  ...[
    "999999999999999",
    "9007199254740993",
    "99999999999999999",
    "12345678901234567890",
    "-0",
    "007",
    "1e3",
    "1.0",
  ].map((key) => inTrajectory({ group_id: key })),
  // 2^53 and around, 2^63, 2^64 and around, and more digits than either has.
  ...[
    "9007199254740993",
    "9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551626",
    "99999999999999999999",
    "123456789012345678901234567890",
  ].flatMap((digits) => [digits, `-${digits}`, `${digits}e-19`, `0.${digits}`, `1.${digits}`].map(ofReward)),
  ...["Z", "z", "", "+01:00", "-0100", "+01", "+1:00", "+24:00", "+23:60", "+01:00:00", " Z", "Z "].map((zone) =>
    withStart(`2025-11-01T09:30:00${zone}`),
  ),
  ...[
    "2025-11-01T09:30Z",
    "2025-11-01 09:30:00Z",
    "2025-11-01T09:30:60Z",
    "2025-11-01T24:00:00Z",
    "2025-11-01T09:30:00.5Z",
    "2025-11-01T09:30:00.Z",
    "2025-11-01T09:30:00,5Z",
  ].map(withStart),
  ...[
    "2025-02-29",
    "2024-02-29",
    "1900-02-29",
    "2000-02-29",
    "2025-04-31",
    "2025-00-01",
    "2025-13-01",
    "2025-08-00",
  ].map((day) => withStart(`${day}T09:30:00Z`)),
  ...[
    '{"a":1,"a":2}',
    '{"a":1,"b":2,"a":3}',
    '{"a":1,"\\u0061":2}',
    '{"reward":1}',
    '{"7":1}',
    '{"a":1e400}',
    '{"":1}',
  ].map(withMetrics),
  // Rewards that are equal, and hardly are not.
  ...["1e-12", "1.0000000000000001e-12", "1.1e-12", "9.9e-13", "2e-12", "-1e-12", "0", "-0"].map((reward) =>
    textOf({ trajectories: `[${ofReward("0")},${ofReward(reward)}]` }),
  ),
  ...["9.999999999999998e200", "1e-140", "1e150"].map((reward) =>
    textOf({ trajectories: `[${ofReward(reward)},${ofReward("1")},${ofReward("0.1")}]` }),
  ),
].map(bytesOf);

/** Trajectories and groups with one value that is damaged. */
const damagedLines: readonly string[] = [
  ...damaged(trajectory, (text) => text),
  ...damaged(group, (text) => text),
  ...damaged(message, (text) => inTrajectory({ messages_and_choices: `[${text},${textOf(message)}]` })),
  ...damaged({ message: textOf(message), index: "0", logprobs: '{"content":[]}' }, (text) =>
    inTrajectory({ messages_and_choices: `[${text}]` }),
  ),
  ...damaged(tool, (text) => inTrajectory({ tools: `[${text}]` })),
  ...damaged({ turns: "1" }, (text) => inTrajectory({ metrics: text })),
  ...damaged({ task: "1" }, (text) => inTrajectory({ metadata: text })),
  ...damages.map((value = "") => value),
].map(bytesOf);

/** A file of this length has hundreds of ranges. */
const fileBytes = 2_000_000;

/** How long the ranges are that several threads read: each of them has the lines that begin in it. */
const rangeBytes = 2 ** 13;

/** Where a line of a length begins, from the edge of a range on: at it, so that it ends at it, and so that it lies across it. */
const places: readonly ((length: number) => number)[] = [
  () => 0,
  (length) => -length,
  (length) => -Math.ceil(length / 2),
];

/** The lines among ordinary ones: one at the start and at the end, and each at the edge of a range, in each dressing and place. */
const amongOrdinary = (odd: readonly string[]): Buffer => {
  const lines: string[] = [];
  let length = 0;
  const add = (line: string): void => {
    lines.push(line);
    length += line.length + 1;
  };
  add(odd[0] ?? "");
  for (let round = 0, at = 0; round < places.length; round++) {
    for (const [index, plain] of odd.entries()) {
      const line = dressings[(round + index) % dressings.length]?.(plain) ?? plain;
      const start = places[(round + Math.floor(index / dressings.length)) % places.length]?.(line.length + 1) ?? 0;
      add(bytesOf(ordinary(at)));
      const shortest = bytesOf(ordinary(at + 1)).length + 1;
      const behind = (length + shortest - start) % rangeBytes;
      add(bytesOf(ordinary(at + 1, "x".repeat((rangeBytes - behind) % rangeBytes))));
      at += 2;
      add(line);
    }
  }
  return Buffer.from([...lines, odd[0]].join("\n"), "latin1");
};

const sharing = (leastBytes: number) => ({
  program: resolve("dist/range-reader.cjs"),
  threads: 2,
  leastBytes,
  stepBytes: rangeBytes,
});
const alone = sharing(Number.POSITIVE_INFINITY);

const expectSameResult = async (odd: readonly string[], asked: Asked): Promise<void> => {
  const file = amongOrdinary(odd);
  expect(file.length).toBeGreaterThan(fileBytes);
  const files = filesOf(file);
  const how = { judgement: lenient, ...asked };
  const own = await read(files, { ...how, sharing: alone });
  const shared = await read(files, { ...how, sharing: sharing(0) });
  expect(allOf(shared, files)).toEqual(allOf(own, files));
};

describe("several threads and one thread", () => {
  it("find the same in a sample of odd lines among ordinary lines", async () => {
    const lines = examples.filter(({ asked }) => asked === waysToRead[0]).map((example) => example.lines);
    const odd = [...lines, ...damagedLines, ...edges];
    const step = Math.floor((odd.length * places.length * rangeBytes) / (1.1 * fileBytes));
    await expectSameResult(
      odd.filter((_, at) => at % step === 0),
      JSON.parse(waysToRead[0] ?? ""),
    );
  });

  it.each(waysToRead)("find the same in the examples of the rules with %s", { tags: "slow" }, async (asked) => {
    const own = examples.filter((example) => example.asked === asked);
    const odd = own.map(({ lines }) => lines);
    const times = Math.ceil(fileBytes / (odd.length * places.length * rangeBytes));
    await expectSameResult(Array<readonly string[]>(times).fill(odd).flat(), JSON.parse(asked));
  });

  it.each([
    ["damaged lines", damagedLines],
    ["lines with values at the edge of what is valid", edges],
  ] as const)("find the same in %s", { tags: "slow" }, async (_, odd) => {
    await expectSameResult(odd, {});
  });
});

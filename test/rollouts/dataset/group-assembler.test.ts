import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GroupAssembler } from "../../../src/rollouts/dataset/group-assembler.ts";
import { Scanner } from "../../../src/rollouts/dataset/scan.ts";
import { DedupKeys } from "../../../src/rollouts/index/dedup-keys.ts";
import { Groups, openGrouping } from "../../../src/rollouts/index/groups.ts";
import { ScanResult } from "../../../src/rollouts/index/scan-result.ts";
import { openMemoryBytes } from "../../../src/rollouts/input/source.ts";
import { Problems } from "../../../src/rollouts/rules/problems.ts";

/** A line: a trajectory with or without a key, or an unreadable line. */
const anyLine = fc.oneof(
  { weight: 6, arbitrary: fc.record({ id: fc.constantFrom("a", "b", "c"), reward: fc.integer({ min: 0, max: 2 }) }) },
  { weight: 1, arbitrary: fc.constant("alone") },
  { weight: 1, arbitrary: fc.constant("broken") },
);

type Line = { readonly id: string; readonly reward: number } | string;

const textOf = (line: Line): string => {
  if (line === "broken") return "{\n";
  if (typeof line === "string") return '{"messages_and_choices":[],"reward":7}\n';
  return `{"messages_and_choices":[],"reward":${line.reward},"group_id":"${line.id}"}\n`;
};

/** Makes a line unique, because equal lines of a group cannot be distinguished. */
const numbered = (line: Line, at: number): Line => (typeof line === "string" ? line : { ...line, reward: at });

interface GatherOptions {
  readonly isGroupedByKey?: boolean;
  readonly size?: number;
  /** The time after which a group without a new trajectory is complete. Blocks come at the times 0, 1, 2 and so on. */
  readonly idle?: number;
  /** Dedup keys of groups that earlier runs sent, in hex. */
  readonly sent?: ReadonlySet<string>;
  /** Called after a block is taken. */
  readonly onTaken?: (block: number) => void;
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

const openScanner = (isGroupedByKey: boolean): Scanner => {
  const source = { name: "run.jsonl", bytes: openMemoryBytes(Buffer.alloc(0)) };
  return new Scanner(source, {
    index: 0,
    groupBy: isGroupedByKey ? ["group_id"] : undefined,
    result: new ScanResult(new Problems()),
  });
};

const takeLines = (scan: Scanner, lines: readonly Line[]): void =>
  scan.scanLines({ kind: "lines", bytes: Buffer.from(lines.map(textOf).join("")), start: 0, isLast: false });

/** Gathers blocks of lines. */
const gather = (
  all: readonly (readonly Line[])[],
  { isGroupedByKey = false, size, idle, sent = new Set(), onTaken }: GatherOptions = {},
) => {
  const scan = openScanner(isGroupedByKey);
  const groups = new Groups(scan.result.parts);
  const keys = new DedupKeys();
  const complete: { readonly group: number; readonly key: string }[] = [];
  let now = 0;
  let invalid = 0;
  const growing = new GroupAssembler({
    file: "run.jsonl",
    scan: scan.result,
    groups,
    keys: keys.addInput(),
    isGroupedByKey,
    size,
    elapsed: () => now,
    wasSent: (key) => sent.has(hexOf(key)),
    onInvalid: () => void invalid++,
    onComplete: (group) => void complete.push({ group, key: hexOf(keys.pick([group])) }),
  });
  for (const [at, lines] of all.entries()) {
    now = at;
    const first = scan.result.parts.count;
    takeLines(scan, lines);
    growing.take(first);
    onTaken?.(at);
    growing.completeSent();
    if (idle !== undefined) growing.completeIdle(now - idle);
  }
  const open = growing.incomplete.length;
  growing.completeAll();
  return { found: scan.result, groups, keys, complete, open, invalid };
};

/** Groups the same lines of a complete file. */
const groupWhole = (all: readonly (readonly Line[])[], isGroupedByKey: boolean) => {
  const scan = openScanner(isGroupedByKey);
  takeLines(scan, all.flat());
  const groups = new Groups(scan.result.parts);
  const grouping = openGrouping({ parts: scan.result.parts, groups, isGroupedByKey });
  grouping.groupParts(0);
  return { groups, scattered: grouping.scattered };
};

const digestsOf = (groups: Groups): readonly string[] =>
  Array.from({ length: groups.count }, (_, group) => hexOf(groups.digestOf(group)));

const blocks = fc.array(fc.array(anyLine, { maxLength: 8 }), { maxLength: 8 });

describe("the groups of a growing file", () => {
  it("are complete when another run has sent them", () => {
    const lines = [[{ id: "a", reward: 0 }], [{ id: "b", reward: 1 }], [{ id: "c", reward: 2 }]];
    const [, second] = gather(lines, { isGroupedByKey: true }).complete;
    const sent = new Set<string>();
    const onTaken = (block: number) => void (block === 2 && sent.add(second?.key ?? ""));
    const { complete, open } = gather(lines, { isGroupedByKey: true, sent, onTaken });
    expect([complete.map(({ group }) => group), open]).toEqual([[1, 0, 2], 2]);
  });

  it("equal the groups of the whole file, grouped by key, for any growth", { tags: "slow" }, () => {
    fc.assert(
      fc.property(blocks, (lines) => {
        const isDamaged = lines.flat().includes("broken");
        const { groups, keys, complete } = gather(lines, { isGroupedByKey: true });
        const { groups: whole } = groupWhole(lines, true);
        expect(groups.count).toBe(whole.count);
        expect(complete.length).toBe(whole.count);
        for (let group = 0; group < whole.count; group++) {
          expect(groups.partsOf(group)).toEqual(whole.partsOf(group));
          // Groups next to an unreadable line are invalid. In a complete file they are checked later.
          if (!isDamaged || groups.isValid(group)) expect(groups.isValid(group)).toBe(whole.isValid(group));
          expect(groups.bytesOf(group)).toBe(whole.bytesOf(group));
          expect(groups.trajectoriesOf(group)).toBe(whole.trajectoriesOf(group));
        }
        expect(digestsOf(groups)).toEqual(digestsOf(whole));
        // Only the order of equal groups may differ.
        const before = digestsOf(whole);
        const wholeKeys = new DedupKeys();
        const input = wholeKeys.addInput();
        for (let group = 0; group < whole.count; group++) input.add(group, whole.digestOf(group));
        expect(digestsOf(whole)).toEqual(before);
        const positions = Array.from({ length: whole.count }, (_, at) => at);
        const sorted = (bytes: Uint8Array) =>
          positions.map((at) => hexOf(bytes.subarray(at * 16, at * 16 + 16))).sort();
        const bytes = keys.pick(positions);
        expect(sorted(bytes)).toEqual(sorted(wholeKeys.pick(positions)));
        for (let group = 0; group < whole.count; group++) expect(keys.find(bytes, group * 16)).toBe(group);
      }),
    );
  });

  it("equal the groups of the whole file, grouped by adjacency, if no key appears again", () => {
    fc.assert(
      fc.property(blocks, (lines) => {
        const { found, groups } = gather(lines);
        const { groups: whole, scattered } = groupWhole(lines, false);
        const said = found.problems.counts.find(({ rule }) => rule === "group-scattered")?.count ?? 0;
        expect(said > 0).toBe(scattered.length > 0);
        if (scattered.length === 0) expect(digestsOf(groups)).toEqual(digestsOf(whole));
      }),
      { numRuns: 40 },
    );
  });

  it("have the lines of the groups that an earlier run sent", () => {
    fc.assert(
      fc.property(blocks, fc.integer({ min: 0, max: 7 }), fc.boolean(), (lines, cut, isGroupedByKey) => {
        // An earlier run read less of the file, and sent its groups.
        const told = lines.map((own, block) => own.map((line, at) => numbered(line, block * 8 + at)));
        const before = gather(told.slice(0, cut), { isGroupedByKey });
        const sent = before.complete.filter(({ group }) => before.groups.isValid(group)).map(({ key }) => key);
        const keys = gather(told, { isGroupedByKey, sent: new Set(sent) }).complete.map(({ key }) => key);
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys).toEqual(expect.arrayContaining(sent));
      }),
      { numRuns: 40 },
    );
  });

  it("have the lines of the groups that an earlier run sent, also if the groups are equal", () => {
    const a = { id: "a", reward: 1 };
    const sent = gather([[a, a, a]], { size: 1 }).complete.map(({ key }) => key);
    const { complete, groups, open } = gather([[a, a, a, a, a]], { sent: new Set(sent) });
    expect(complete.slice(0, 3).map(({ key }) => key)).toEqual(sent);
    expect(complete.map(({ group }) => groups.trajectoriesOf(group))).toEqual([1, 1, 1, 2]);
    expect(open).toBe(1);
  });

  it("are complete with the given number of trajectories", () => {
    const { complete, groups, open } = gather([Array.from({ length: 7 }, () => ({ id: "a", reward: 1 }))], { size: 3 });
    expect(complete.map(({ group }) => groups.trajectoriesOf(group))).toEqual([3, 3, 1]);
    expect(open).toBe(1);
  });

  it("are complete if no trajectory came for the given time", () => {
    const a = { id: "a", reward: 1 };
    const { complete, groups } = gather([[a], [a], [a], [a], [], [], [a]], { isGroupedByKey: true, idle: 2 });
    expect(complete.map(({ group }) => groups.trajectoriesOf(group))).toEqual([4, 1]);
  });

  it.each([
    [0, [0, 1, 2, 3, 4], 0],
    [1, [1, 2, 0, 3], 0],
    [2, [1, 2], 2],
    [3, [], 4],
  ])("are all complete if no trajectory came for the time %d, and no others are", (idle, expected, incomplete) => {
    const lines = ["abc", "ad", ""].map((ids) => Array.from(ids, (id) => ({ id, reward: 1 })));
    const { complete, open } = gather(lines, { isGroupedByKey: true, idle });
    expect(complete.slice(0, complete.length - open).map(({ group }) => group)).toEqual(expected);
    expect(open).toBe(incomplete);
  });
});

it.each<[lines: string, valid: string, invalid: number, options?: GatherOptions]>([
  ["a broken a|b a", "-- + -", 3],
  ["a a|a", "+++", 0, { size: 1 }],
  ["a|b|a", "+++", 0, { isGroupedByKey: true, size: 1 }],
])(
  "a growing file rejects unreadable, ambiguous and scattered groups, but not changed ones: %s",
  (text, ...expected) => {
    const [valid, invalid, options] = expected;
    const toLine = (id: string) => (id === "broken" ? id : { id, reward: 1 });
    const found = gather(
      text.split("|").map((block) => block.split(" ").map(toLine)),
      options,
    );
    const marks = Array.from({ length: found.groups.count }, (_, group) => (found.groups.isValid(group) ? "+" : "-"));
    expect([marks.join(""), found.invalid]).toEqual([valid.replaceAll(" ", ""), invalid]);
  },
);

it("a growing file has problems that name the lines of earlier groups and of unreadable lines", () => {
  const [a, b] = [
    { id: "a", reward: 1 },
    { id: "b", reward: 1 },
  ];
  const reportsOf = (blocks: readonly (readonly Line[])[], options?: GatherOptions) =>
    gather(blocks, options)
      .found.problems.sorted()
      .flatMap(({ rule, line, message }) => (rule.includes("group") ? `${line}: ${message}` : []));
  expect(
    reportsOf([
      [a, "broken", a],
      [b, a],
    ]),
  ).toEqual([
    "1: line 2 is unreadable and may belong to this group",
    '5: group_id "a" appears again after its group ended (the group began on line 1)',
  ]);
  expect(reportsOf([[a, a], [a]], { size: 1 })).toEqual(
    [2, 3].map(
      (line) =>
        `${line}: the group "a" (from line ${line - 1}) was already complete, so this line starts another group`,
    ),
  );
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lenient } from "../../src/check/rules/judgement.ts";
import { Scan } from "../../src/check/scan/scan.ts";
import type { Digests } from "../../src/groups/parts/digests.ts";
import { groupParts } from "../../src/groups/parts/group.ts";
import { GroupKeys } from "../../src/groups/parts/group-keys.ts";
import { marksOf } from "../../src/groups/parts/marks.ts";
import { memoryBytes } from "../../src/input/source.ts";
import { GroupsUnderWay } from "../../src/send/follow/groups-under-way.ts";
import { GrowingGroups } from "../../src/send/follow/growing-groups.ts";
import { EarlierMarks, GrowingMarks, MarkTable } from "../../src/send/follow/growing-marks.ts";

/** A line: a trajectory with a key, one without, or what can't be read. */
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

/** The same line as no other: equal ones in one group can't be told apart. */
const numbered = (line: Line, at: number): Line => (typeof line === "string" ? line : { ...line, reward: at });

const newEarlier = () => new EarlierMarks({ input: "run.jsonl", resendLogged: false });

/** Gathers lines, handed over in blocks; the options say what earlier runs sent and how large groups are. */
const gather = (
  blocks: readonly (readonly Line[])[],
  { byKey = false, size, earlier = newEarlier() }: { byKey?: boolean; size?: number; earlier?: EarlierMarks } = {},
) => {
  const source = { name: "run.jsonl", bytes: memoryBytes([]), touched: async () => false };
  const scan = new Scan(source, { index: 0, groupBy: byKey ? "group_id" : undefined, judgement: lenient });
  const groups = new GrowingGroups(scan.found.parts);
  const marks = new GrowingMarks();
  const complete: { readonly group: number; readonly mark: string }[] = [];
  const gathering = new GroupsUnderWay({
    file: "run.jsonl",
    found: scan.found,
    groups,
    marks,
    earlier,
    byKey,
    size,
    elapsed: () => 0,
    onInvalid: () => undefined,
    onComplete: (group) => void complete.push({ group, mark: Buffer.from(marks.slice(group, 1)).toString("hex") }),
  });
  const keys = new GroupKeys();
  let seen = 0;
  for (const lines of blocks) {
    const first = scan.found.parts.count;
    scan.takeLines({ kind: "lines", bytes: Buffer.from(lines.map(textOf).join("")), start: 0, last: false });
    // GroupsUnderWay forgets the keys of what it took.
    for (; seen < scan.found.parts.count; seen++) {
      const key = scan.found.keys.at(seen);
      if (key !== undefined) keys.set(seen, key);
    }
    gathering.take({ first });
  }
  const open = gathering.open.length;
  gathering.completeAll();
  return { scan, groups, marks, complete, keys, open };
};

const bytesOf = (digests: Digests) => digests.slice(0, digests.count);

const blocks = fc.array(fc.array(anyLine, { maxLength: 8 }), { maxLength: 8 });

describe("the groups of a growing file", () => {
  it("equal those of the whole file, grouped by key, however it grew", () => {
    fc.assert(
      fc.property(blocks, (lines) => {
        const isDamaged = lines.flat().includes("broken");
        const { scan, groups, marks, keys, complete } = gather(lines, { byKey: true });
        const { groups: whole } = groupParts({ parts: scan.found.parts, keys, byKey: true });
        expect(groups.count).toBe(whole.count);
        expect(complete.length).toBe(whole.count);
        for (let group = 0; group < whole.count; group++) {
          expect(groups.partsOf(group)).toEqual(whole.partsOf(group));
          // What stands beside a line that can't be read is kept back: of a whole file that is looked at later.
          if (!isDamaged || groups.isValid(group)) expect(groups.isValid(group)).toBe(whole.isValid(group));
          expect(groups.bytesOf(group)).toBe(whole.bytesOf(group));
          expect(groups.trajectoriesOf(group)).toBe(whole.trajectoriesOf(group));
        }
        expect(bytesOf(groups.digests())).toEqual(bytesOf(whole.digests()));
        // Equal groups may change their places, and nothing else.
        const wholeMarks = marksOf(whole.digests());
        const sorted = (bytes: Uint8Array) =>
          Array.from({ length: whole.count }, (_, at) =>
            Buffer.from(bytes.subarray(at * 16, at * 16 + 16)).toString("hex"),
          ).sort();
        const bytes = marks.slice(0, whole.count);
        expect(sorted(bytes)).toEqual(sorted(wholeMarks.slice(0, whole.count)));
        for (let group = 0; group < whole.count; group++) expect(marks.find(bytes, group * 16)).toBe(group);
      }),
    );
  });

  it("equal those of the whole file, grouped by adjacency, if no key appears again", () => {
    fc.assert(
      fc.property(blocks, (lines) => {
        const { scan, groups, keys } = gather(lines);
        const { groups: whole, scattered } = groupParts({ parts: scan.found.parts, keys, byKey: false });
        const said = scan.found.problems.counts.find(({ rule }) => rule === "group-scattered")?.count ?? 0;
        expect(said > 0).toBe(scattered.length > 0);
        if (scattered.length === 0) expect(bytesOf(groups.digests())).toEqual(bytesOf(whole.digests()));
      }),
    );
  });

  it("end where they ended when they were sent before", () => {
    fc.assert(
      fc.property(blocks, fc.integer({ min: 0, max: 7 }), fc.boolean(), (lines, cut, byKey) => {
        // The run before read less of the file, and sent its groups as they stood.
        const told = lines.map((own, block) => own.map((line, at) => numbered(line, block * 8 + at)));
        const before = gather(told.slice(0, cut), { byKey });
        const sent = before.complete.filter(({ group }) => before.groups.isValid(group)).map(({ mark }) => mark);
        const earlier = newEarlier();
        for (const mark of sent) earlier.settle(Buffer.from(mark, "hex"), "logged");
        const marks = gather(told, { byKey, earlier }).complete.map(({ mark }) => mark);
        expect(new Set(marks).size).toBe(marks.length);
        expect(marks).toEqual(expect.arrayContaining(sent));
      }),
    );
  });

  it("are complete with the given number of trajectories", () => {
    const { complete, groups, open } = gather([Array.from({ length: 7 }, () => ({ id: "a", reward: 1 }))], { size: 3 });
    expect(complete.map(({ group }) => groups.trajectoriesOf(group))).toEqual([3, 3, 1]);
    expect(open).toBe(1);
  });
});

describe("the table of dedup keys", () => {
  it("keeps the numbers of its keys while it grows", () => {
    const table = new MarkTable();
    const marks = Array.from({ length: 5000 }, (_, at) => {
      const mark = new Uint8Array(16);
      new DataView(mark.buffer).setUint32(at % 50 === 0 ? 12 : 0, (at + 1) * 2 ** 10);
      return mark;
    });
    for (const [at, mark] of marks.entries()) table.set(mark, at);
    expect(marks.flatMap((mark, at) => (table.get(mark) === at ? [] : [at]))).toEqual([]);
    expect(table.get(new Uint8Array(16).fill(255))).toBeUndefined();
  });
});

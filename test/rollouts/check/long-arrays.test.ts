import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSources } from "../../../src/rollouts/dataset/read-dataset.ts";
import { openMemoryBytes } from "../../../src/rollouts/input/source.ts";
import { defaultStrictness } from "../../../src/rollouts/rules/rules.ts";
import { allOf, filesOf, read } from "../../support/inputs.ts";

const plain = { messages_and_choices: [{ role: "user", content: "hi" }], reward: 1 };
const group = (...rewards: readonly number[]) => ({ trajectories: rewards.map((reward) => ({ ...plain, reward })) });

/** More bytes than one read of a file returns. */
const block = 2 ** 20;

const usual = fc
  .array(fc.double({ noNaN: true, min: -1, max: 1 }), { minLength: 2, maxLength: 4 })
  .map((rewards) => group(...rewards));

/** Usual elements and other JSON values. */
const element = fc.oneof(
  { weight: 8, arbitrary: usual },
  {
    weight: 4,
    arbitrary: fc.constantFrom<unknown[]>(
      { ...plain, group_id: 1 },
      { ...plain, group_id: 2 },
      { ...plain, logs: ["é😀", '{"a":[1,"\\"]}'], tools: null },
      { trajectories: [{ ...plain, reward: "1" }] },
      { trajectories: [{ ...plain, logs: ["é😀\\"], metadata: { key: `sk-proj-${"a1B2".repeat(12)}` } }] },
      { trajectories: [{ ...plain, messages_and_choices: [{ role: "usr" }] }] },
      { split: "train", trajectory_groups: [group(1, 2)] },
      { trajectories: [] },
      [[]],
      "text",
      7,
      null,
    ),
  },
);

const seldom = <Value>(arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

/** A text with an array, in three parts: to the white space after the bracket, the rest, and the line end. */
const text = fc
  .record({
    elements: fc.array(element, { minLength: 1, maxLength: 8 }),
    /** White space between elements. */
    space: fc.constantFrom("", "\n", "\r\n", "\n \t"),
    indent: fc.constantFrom(0, 2),
    /** Lines before and after an array on one line. */
    neighbors: fc.constantFrom(["", ""], [`${JSON.stringify(group(1, 2))}\n`, `\n${JSON.stringify(group(3, 4))}`]),
    damaged: seldom(fc.tuple(fc.nat(), fc.constantFrom(...'{}[],:"\\x0 \u0001\r\u00ff'))),
    cut: seldom(fc.nat()),
  })
  .map(({ elements, space, indent, neighbors: [above, below], damaged, cut }) => {
    const isOneLine = space === "";
    const list = elements.map((one) => JSON.stringify(one, undefined, isOneLine ? 0 : indent)).join(`,${space}`);
    const rest = Buffer.from(`${list}${space}]`.replaceAll("\n", space === "\r\n" ? "\r\n" : "\n"));
    // If the second line begins with a value that is not JSON, the first may be a line that was cut off. A fault
    // is described by the 256 bytes before it, so the first byte after the blanks is not damaged.
    const first = isOneLine ? 1 : Buffer.byteLength(list.split(`,${space}`, 1)[0] ?? "");
    if (damaged !== null) rest[first + (damaged[0] % (rest.length - first))] = damaged[1].charCodeAt(0);
    return {
      before: `${isOneLine ? above : ""}[${space}`,
      rest: cut === null ? rest : rest.subarray(0, cut % rest.length),
      behind: isOneLine ? below : "",
    };
  });

interface Position {
  readonly line?: number;
  readonly column?: number;
  readonly offset?: number;
}

describe("an array that is longer than a block", () => {
  /** Returns the number of arrays with only valid elements. */
  const checkLists = async (numRuns: number, seed?: number): Promise<number> => {
    const [file = ""] = filesOf("");
    let whole = 0;
    await fc.assert(
      fc.asyncProperty(text, fc.double({ noNaN: true, min: 0, max: 1 }), async ({ before, rest, behind }, share) => {
        const at = Buffer.byteLength(before);
        const line = before.split("\n").length;
        const blanks = block - Math.floor(share * rest.length);
        /** Reads an array with blanks after its bracket. Returns the positions without the blanks. */
        const seen = async (count: number) => {
          writeFileSync(
            file,
            Buffer.concat([Buffer.from(before), Buffer.alloc(count, " "), rest, Buffer.from(behind)]),
          );
          const placed = <Located extends Position>({ offset = 0, column, ...where }: Located) => ({
            ...where,
            offset: offset > at ? offset - count : offset,
            column: where.line === line && offset > at ? (column ?? 0) - count : column,
          });
          const { parts, problems, counts, requests, digests, ...all } = allOf(
            await read([file], { strictness: defaultStrictness }),
          );
          return {
            ...all,
            parts: parts.map(({ start, length, checksum, ...part }) =>
              part.trajectories === 0 ? part : { ...part, length, checksum, start: start > at ? start - count : start },
            ),
            problems: problems.map((problem) => JSON.stringify(placed(problem))).sort(),
            counts: counts.map((one) => JSON.stringify(one)).sort(),
            requests: requests.map(({ location, keyLocations, ...own }) => ({
              ...own,
              spots: [location, ...keyLocations.values()].map(placed),
            })),
          };
        };
        const short = await seen(0);
        if (short.parts.length > 2 && short.parts.every(({ kind }) => kind !== "unreadable")) whole++;
        expect(await seen(blanks)).toEqual(short);
      }),
      { numRuns, ...(seed === undefined ? {} : { seed }) },
    );
    return whole;
  };

  it("is read like a short array for three arrays", async () => {
    expect(await checkLists(3, 9)).toBeGreaterThan(0);
  });

  it("has columns without the byte order mark if it is on one line", async () => {
    const long = `{"messages_and_choices":[],"reward":1,"logs":["${"x".repeat(2 ** 19)}"]}`;
    const elements = [long, long, long].join(",");
    const [file = ""] = filesOf(`\ufeff[${elements},{"messages_and_choices":[],"reward":"1"}]`);
    const { problems } = (await read([file], { strictness: defaultStrictness })).scan;
    const [problem] = problems.sorted().filter(({ severity }) => severity === "error");
    const reward = `[${elements},{"messages_and_choices":[],"reward":`.length + 1;
    expect([problem?.line, problem?.column]).toEqual([1, reward]);
  });

  it.each([
    ["other text", " x"],
    ["much white space", `\n${" ".repeat(2 ** 17)}`],
    ["a line end", "\n"],
  ])("is read like a short array before %s", async (_, after) => {
    const seen = async (count: number) => {
      const list = JSON.stringify([group(1, 2), { ...group(3), exceptions: [{ type: "E", message: "e" }] }]);
      const file = filesOf(`[${" ".repeat(count)}${list.slice(1)}${after}`);
      const { scan, groups } = await read(file, { strictness: defaultStrictness });
      return [
        groups.count,
        scan.tally.metrics(),
        scan.problems.sorted().map(({ rule, line, column }) => [rule, line, (column ?? 0) - count]),
      ];
    };
    expect(await seen(2 * block)).toEqual(await seen(0));
  });

  it.each([0, 1, 2, 3])("names bytes that are not UTF-8 in element %i", async (damaged) => {
    const element = `{"messages_and_choices":[],"reward":1,"logs":["${"x".repeat(block / 2)}y"]}`;
    const elements = Array.from({ length: 4 }, (_, at) => (at === damaged ? element.replace("y", "\xff") : element));
    const file = filesOf(Buffer.from(`[${elements.join(",")}]`, "latin1"));
    const { problems } = (await read(file, { strictness: defaultStrictness })).scan;
    const found = problems.sorted().filter(({ rule }) => rule === "not-utf-8");
    expect(found).toMatchObject([{ line: 1, column: 2 + damaged * (element.length + 1) + element.indexOf("y") }]);
  });

  it("has the lines of its elements if line ends precede its bracket", async () => {
    const before = "\n [";
    const broken = { trajectories: [{ ...plain, reward: "1" }] };
    const text = `${before}${" ".repeat(block)}${JSON.stringify(group(1, 2))},\n${JSON.stringify(broken)}]`;
    const { problems } = (await read(filesOf(text), { strictness: defaultStrictness })).scan;
    const errors = problems.sorted().filter(({ severity }) => severity === "error");
    expect(errors).toMatchObject([{ rule: "wrong-type", line: 3 }]);
  });

  it("is read like a short array, for any content and any end of a block", { tags: "slow" }, async () => {
    expect(await checkLists(80)).toBeGreaterThan(5);
  });

  it("is read in blocks, twice as many for twice the elements", { tags: "slow" }, async () => {
    const elements = (count: number) => Array.from({ length: count }, (_, at) => group(at, -at));
    const pretty = (count: number) => JSON.stringify(elements(count), undefined, 2);
    const oneLine = (count: number) => JSON.stringify(elements(count));
    for (const textOf of [pretty, oneLine]) {
      const read = async (count: number) => {
        const bytes = Buffer.from(textOf(count));
        const [{ size, ...own }, asked] = [openMemoryBytes(bytes), [] as number[]];
        const counted = (into: Buffer, at: number) => {
          asked.push(into.length);
          return own.read(into, at);
        };
        const source = { name: "a", bytes: { ...own, size, read: counted } };
        const reading = await readSources([source], { host: new AbortController() });
        expect([reading.groups.count, reading.scan.problems.errors]).toEqual([count, 0]);
        expect(Math.max(...asked)).toBeLessThanOrEqual(2 * block);
        return asked.reduce((sum, length) => sum + length, 0) / size;
      };
      const [once, twice] = [await read(8000), await read(16_000)];
      expect(twice).toBeLessThan(1.2 * once);
    }
  });
});

it("a line that is longer than a block has the columns of a short line, also after a byte order mark", async () => {
  const seen = async (mark: string, count: number) => {
    const line = `${mark}{"messages_and_choices":[],${" ".repeat(count)}"reward":"é","logs":[1]} `;
    const { scan } = await read(filesOf([line, line, "{"].join("\n")), { strictness: defaultStrictness });
    const of = (rule: string) => scan.problems.sorted().filter((problem) => problem.rule === rule);
    return [...of("wrong-type"), ...of("element-type")].map(({ line = 0, column = 0, offset = 0 }) => [
      line,
      column - count,
      offset - line * count,
    ]);
  };
  for (const mark of ["", "\ufeff"]) expect(await seen(mark, 2 * block)).toEqual(await seen(mark, 0));
});

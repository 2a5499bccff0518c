import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ThreadSharing } from "../../src/check/index.ts";
import { minSharedBytes } from "../../src/check/threads.ts";
import { Failure } from "../../src/failure.ts";
import { type Dataset, readDataset } from "../../src/groups/index.ts";
import { testHost } from "../support/host.ts";
import { allOf, filesOf, newFolder } from "../support/inputs.ts";
import { itHolds } from "../support/property.ts";
import { runRollcall } from "../support/run.ts";

const shared = (wishes: Partial<ThreadSharing> = {}): ThreadSharing => ({
  program: resolve("dist/range-reader.cjs"),
  threads: 2,
  minBytes: 0,
  rangeBytes: 2 ** 12,
  ...wishes,
});

/** Nothing is shared. */
const alone = shared({ minBytes: Number.POSITIVE_INFINITY });

/** This thread dawdles, so that its helpers find something to do. */
const dawdle = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);

const read = async (files: readonly string[], sharing: ThreadSharing, groupBy?: string): Promise<Dataset> =>
  await readDataset({
    host: testHost(),
    files,
    split: "train",
    splitNeeded: false,
    maxUnpackedBytes: 2 ** 36,
    groupBy,
    sharing,
    onOpened: () => undefined,
    onProgress: sharing === alone ? () => undefined : dawdle,
  });

/** All that a reading finds. */
const seen = async (files: readonly string[], sharing: ThreadSharing, groupBy?: string) => {
  const reading = await read(files, sharing, groupBy);
  try {
    return allOf(reading, files);
  } finally {
    await reading.close();
  }
};

const message = { role: "user", content: "hé\u2028" };

const trajectory = fc.record({
  messages_and_choices: fc.constantFrom([message], [], [{ role: "human", content: "hi" }], "none"),
  reward: fc.oneof(fc.double({ noNaN: true }), fc.constant("1")),
  metrics: fc.dictionary(fc.constantFrom("turns", "naïve", "reward"), fc.oneof(fc.double(), fc.boolean())),
});

const line = fc.oneof(
  { weight: 5, arbitrary: fc.array(trajectory, { maxLength: 3 }).map((trajectories) => ({ trajectories })) },
  {
    weight: 5,
    arbitrary: fc.tuple(trajectory, fc.integer({ min: 0, max: 9 })).map(([own, id]) => ({ ...own, group_id: id })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      split: fc.constantFrom("train", "test"),
      trajectory_groups: fc.array(
        trajectory.map((own) => ({ trajectories: [own] })),
        { maxLength: 2 },
      ),
      extra: fc.constantFrom(1, 2),
    }),
  },
);

/** Two trajectories that come again wherever else they do: what they look alike by is joined the parts over ranges. */
const twins = ["a", "b"].map((content) => ({ messages_and_choices: [{ role: "assistant", content }], reward: 0.5 }));

const text = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...twins, { trajectories: twins }).map((value) => JSON.stringify(value)) },
  { weight: 8, arbitrary: line.map((value) => JSON.stringify(value)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("", "  ", "{", '{"reward":NaN}', "[]", "nonsense", '{"split":"train"}', "\ufeff"),
  },
  { weight: 1, arbitrary: fc.array(line, { maxLength: 3 }).map((values) => JSON.stringify(values)) },
);

const groups = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) =>
    JSON.stringify({ trajectories: [{ messages_and_choices: [message], reward: at, metrics: { turns: at / 3 } }] }),
  );

describe("a large file that several threads read", () => {
  itHolds(
    "gives the same result as one thread, wherever it is cut",
    fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 60 }),
      fc.constantFrom("\n", "\r\n"),
      fc.integer({ min: 50, max: 4000 }),
      fc.constantFrom(undefined, "group_id"),
      async (lines, end, stepBytes, groupBy) => {
        const files = filesOf(lines.join(end));
        // A file without any value is refused.
        const outcome = (sharing: ThreadSharing) =>
          seen(files, sharing, groupBy).catch((thrown: unknown) => {
            if (thrown instanceof Failure) return { kind: thrown.kind, message: thrown.message, about: thrown.details };
            throw thrown;
          });
        expect(await outcome(shared({ rangeBytes: stepBytes }))).toEqual(await outcome(alone));
      },
    ),
    { quick: 4, slow: 40 },
  );

  it("has the first problems of each rule, whichever thread finds them", async () => {
    const nulls = (line: string) => line.replace('"reward"', '"tools":null,"reward"');
    const files = filesOf([...groups(100), ...groups(1200).map(nulls), ...groups(100)].join("\n"));
    const found = await seen(files, shared({ rangeBytes: 2 ** 14 }));
    expect(found).toEqual(await seen(files, alone));
    expect(found.counts).toContainEqual({ rule: "null-field", severity: "warning", count: 1200 });
  });

  it("has outlying rewards reported at their position, and choices counted, whichever thread reads them", async () => {
    const far = new Map([
      [700, 1e9],
      [1500, -1e9],
      [1900, 1e8],
    ]);
    const choice = { finish_reason: "stop", index: 0, message: { role: "assistant", content: "a" } };
    const lines = Array.from({ length: 2000 }, (_, at) =>
      JSON.stringify({
        trajectories: [{ messages_and_choices: [message, choice], reward: far.get(at + 1) ?? (at % 10) / 10 }],
      }),
    );
    const files = filesOf(lines.join("\n"));
    const found = await seen(files, shared());
    const outside = found.problems.filter(({ rule }) => rule === "reward-outlier");
    expect(outside.map(({ line }) => line)).toEqual([...far.keys()]);
    expect(found.sampled).toEqual({ choices: 2000, choicesWithLogprobs: 0, trajectories: 2000 });
    expect(found).toEqual(await seen(files, alone));
  });

  it("is read to its end if a line is too long for a range", async () => {
    const long = JSON.stringify({
      trajectories: [{ messages_and_choices: [{ role: "user", content: "y".repeat(3e6) }], reward: 0 }],
    });
    const files = filesOf([...groups(50), long, ...groups(50), "{"].join("\n"));
    expect(await seen(files, shared())).toEqual(await seen(files, alone));
  });

  it("counts each line once if its range is given up for a line that is too long", async () => {
    const line = (bytes: number) =>
      JSON.stringify({
        trajectories: [{ messages_and_choices: [{ role: "assistant", content: "y".repeat(bytes) }], reward: 0 }],
      });
    // Preceded by blocks that the kernel reads.
    const files = filesOf([...Array<string>(500).fill(line(4000)), line(2 ** 21)].join("\n"));
    // Nobody helps: the range is this thread's.
    const found = await seen(files, shared({ threads: 1, rangeBytes: 2 ** 25 }));
    expect(found.metrics).toMatchObject({ "data/step_num_scenarios": 501 });
    expect(found).toEqual(await seen(files, alone));
  });

  it("is read to its end if a helper thread dies, whatever it had taken", async () => {
    const files = filesOf([...groups(200)].join("\n"));
    for (const death of ["throw new Error('gone')", "process.exit(3)", "require('node:fs').closeSync(-1)"]) {
      const program = join(newFolder(), "dies.cjs");
      const dies = `({ next }) => { Atomics.add(next, 0, 1); ${death}; }`;
      writeFileSync(program, `require("node:worker_threads").parentPort.once("message", ${dies});`);
      expect(await seen(files, shared({ program }))).toEqual(await seen(files, alone));
    }
  });

  it("is one document if it begins as one", async () => {
    const files = filesOf(
      JSON.stringify(
        groups(500).map((group) => JSON.parse(group)),
        undefined,
        2,
      ),
    );
    const found = await seen(files, shared());
    expect(found).toEqual(await seen(files, alone));
    expect(found.parts.length).toBe(500);
  });

  it("is left immediately when the run is told to stop", async () => {
    const files = filesOf([...groups(2000)].join("\n"));
    const stop = new AbortController();
    const reason = new Error("told to stop");
    let told = 0;
    const reading = readDataset({
      host: { ...testHost(), signal: stop.signal },
      files,
      split: "train",
      splitNeeded: false,
      maxUnpackedBytes: 2 ** 36,
      groupBy: undefined,
      sharing: shared({ rangeBytes: 64 }),
      onOpened: () => undefined,
      onProgress: () => {
        if (++told === 5) stop.abort(reason);
      },
    });
    await expect(reading).rejects.toBe(reason);
  });

  it("is not read again for duplicates when the run is told to stop", async () => {
    const stop = new AbortController();
    const reason = new Error("told to stop");
    const [group = ""] = groups(1);
    const reading = readDataset({
      host: { ...testHost(), signal: stop.signal },
      files: filesOf([group, group].join("\n")),
      split: "train",
      splitNeeded: false,
      maxUnpackedBytes: 2 ** 36,
      groupBy: undefined,
      onOpened: () => undefined,
      // The file is one block, which was read before this call.
      onProgress: () => stop.abort(reason),
    });
    await expect(reading).rejects.toBe(reason);
  });

  it("gives the same result in the built program", { tags: "slow" }, async () => {
    const message = { role: "assistant", content: "é".repeat(20_000) };
    const trajectory = (reward: number) => ({
      messages_and_choices: [{ finish_reason: "stop", index: 0, message, logprobs: { content: [] } }],
      reward,
    });
    const line = (at: number) => JSON.stringify({ trajectories: [trajectory(at), trajectory(at + 0.5)] });
    const count = Math.ceil(minSharedBytes / Buffer.byteLength(line(0)));
    const files = filesOf(Array.from({ length: count }, (_, at) => line(at)).join("\n"));
    const { trajectories, metrics, problems } = JSON.parse((await runRollcall(["check", ...files, "--json"])).stdout);
    expect(trajectories).toEqual({ read: 2 * count, rejected: 0 });
    expect(metrics.reward).toBe(count / 2 - 0.25);
    expect(problems).toEqual([]);
  });
});

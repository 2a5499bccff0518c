import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { formatJsonPieces, toRawJson } from "../../src/json/raw-json.ts";
import { joinPieces, Sink, writePieces } from "../../src/output/sink.ts";
import { sortRows } from "../../src/output/sort-rows.ts";
import { computeMetrics } from "../../src/rollouts/dataset/check-result.ts";
import type { Dataset } from "../../src/rollouts/dataset/read-dataset.ts";
import { assignDedupKeys } from "../../src/rollouts/index/dedup-keys.ts";
import { compareDatasets } from "../../src/rollouts/stats/compare.ts";
import { getFacts, listGroupRows, listTrajectoryRows } from "../../src/rollouts/stats/fact-rows.ts";
import { computeStats } from "../../src/rollouts/stats/stats-slices.ts";
import { runCommandLine } from "../../src/run.ts";
import { Breaks, sortWithBreaks } from "../../src/system/breaks.ts";
import { interrupted } from "../../src/system/failures.ts";
import { saveOutput } from "../../src/system/files.ts";
import { openCharts } from "../../src/view/charts.ts";
import { testHost } from "../support/host.ts";
import { filesOf, read as readInputs } from "../support/inputs.ts";
import { itHolds } from "../support/property.ts";

const statsOptions = { pass: 1, tries: [1] };

const abortSoon = () => {
  const abort = new AbortController();
  setImmediate(() => abort.abort(new Error("stop")));
  return abort.signal;
};

describe("sortWithBreaks", () => {
  itHolds(
    "sorts like toSorted, and keeps equal items in their order",
    fc.asyncProperty(fc.nat({ max: 40_000 }), fc.integer({ min: 1, max: 1000 }), async (count, step) => {
      const items = Array.from({ length: count }, (_, at) => ({ at, key: (at * step) % 97 }));
      const compare = (a: (typeof items)[number], b: typeof a) => a.key - b.key;
      const sorted = await sortWithBreaks(items, compare, new Breaks(new AbortController().signal));
      expect(sorted.map(({ at }) => at)).toEqual(items.toSorted(compare).map(({ at }) => at));
    }),
    { quick: 5, slow: 80 },
  );
});

describe("a long loop", () => {
  it("of a sort ends with the reason of a signal", async () => {
    const rows = Array.from({ length: 50_000 }, (_, at) => ({ at: (at * 7919) % 50_000 }));
    const order = [
      { column: { name: "at", rank: 0, align: "right", value: ({ at }: { at: number }) => at }, descending: false },
    ] as const;
    await expect(sortRows(rows, order, abortSoon())).rejects.toThrow("stop");
  });

  it.each<[string, (dataset: Dataset, signal: AbortSignal) => Promise<unknown>]>([
    ["metrics", async (dataset, signal) => await computeMetrics(dataset, "train", signal)],
    ["dedup keys", async ({ groups }, signal) => await assignDedupKeys(groups, signal)],
    ["statistics", async (dataset, signal) => await computeStats(dataset, { ...statsOptions, by: undefined, signal })],
    ["a comparison", async (a, signal) => await compareDatasets(a, a, { ...statsOptions, pairBy: undefined, signal })],
  ])("of %s ends with the reason of a signal", async (_, work) => {
    const lines = Array.from({ length: 3000 }, (_, at) => {
      const said = `[{"role":"user","content":"${at}"},{"role":"assistant","content":"a"}]`;
      return `{"trajectories":[{"messages_and_choices":${said},"reward":${at},"metrics":{"m${at}":1}}]}\n`;
    });
    const dataset = await readInputs(filesOf(lines.join("")), { measures: {} });
    await expect(work(dataset, abortSoon())).rejects.toThrow("stop");
  });

  it.each(["verify", "status"])("of ledger %s ends with the reason of a signal", async (verb) => {
    const [file = ""] = filesOf('{"trajectories":[{"messages_and_choices":[],"reward":1}]}\n'.repeat(3000));
    const host = testHost({ env: { ROLLCALL_LEDGER: join(dirname(file), "none.sqlite") } });
    const abort = new AbortController();
    // The loops follow the note that the ledger does not exist.
    host.stderr.on("data", (said) => /no ledger/.test(said) && abort.abort(interrupted({ signal: "SIGINT" })));
    const run = { ...host, signal: abort.signal, argv: ["ledger", verb, file] };
    expect(await runCommandLine(run)).toBe(130);
  });

  it("of the charts of a page ends with the reason of a signal", async () => {
    const facts = { file: "", rules: [], mean: 1, spread: 0, failures: 0, truncated: 0, untrainable: null };
    const unknown = { step: null, parts: null, finish: null, toolErrors: null };
    const groups = Array.from({ length: 3000 }, (_, group) => ({ ...facts, ...unknown, group, size: 1, rewards: [1] }));
    await expect(openCharts(groups, { scale: [0, 1], series: [] }, new Breaks(abortSoon()))).rejects.toThrow("stop");
  });

  it("of pieces of an output ends with the reason of a signal", async () => {
    const sink = new Sink(new Writable({ write: (_, __, done) => done() }), abortSoon());
    const document = toRawJson(Array.from({ length: 50_000 }, (_, at) => ({ at })));
    await expect(writePieces(sink, joinPieces(formatJsonPieces(document, "")))).rejects.toThrow("stop");
  });

  it("of an output file ends with the reason of a signal, and leaves no file", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "breaks-")), "rows.jsonl");
    const host = { signal: abortSoon(), sleep: async () => undefined };
    const pieces = Array.from({ length: 5000 }, () => Buffer.from("row\n"));
    await expect(saveOutput({ file, pieces, mode: 0o600 }, host)).rejects.toThrow("stop");
    expect(readdirSync(dirname(file))).toEqual([]);
  });

  it.each([
    ["groups", listGroupRows],
    ["trajectories", listTrajectoryRows],
  ])("of rows of %s ends with the reason of a signal", async (_, list) => {
    const line = '{"trajectories":[{"messages_and_choices":[],"reward":1}]}\n';
    const dataset = await readInputs(filesOf(line.repeat(3000)), { measures: {} });
    const read = async () => {
      const options = { pass: 1, groupBy: undefined, names: [], signal: abortSoon() };
      for await (const _row of list(dataset, options));
    };
    await expect(read()).rejects.toThrow("stop");
  });

  it("of a comparison reads each metric of a pair only a few times", async () => {
    const [groups, names] = [100, 20];
    const lines = Array.from({ length: groups }, (_, at) => {
      const metrics = Object.fromEntries(Array.from({ length: names }, (_, metric) => [`m${at}_${metric}`, 1]));
      const said = `[{"role":"user","content":"${at}"},{"role":"assistant","content":"a"}]`;
      return `{"messages_and_choices":${said},"reward":1,"metrics":${JSON.stringify(metrics)}}\n`;
    });
    const dataset = await readInputs(filesOf(lines.join("")), { measures: { hasTasks: true } });
    const reads = vi.spyOn(getFacts(dataset), "metricNamesOf");
    const { signal } = new AbortController();
    const { compared } = await compareDatasets(dataset, dataset, { ...statsOptions, pairBy: undefined, signal });
    expect(compared.paired).toBe(groups);
    expect(reads.mock.calls.length).toBeLessThan(10 * groups * names);
  });
});

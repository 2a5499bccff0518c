/** Finds the groups whose prompts another dataset also has. */

import { NumberColumn } from "../index/column.ts";
import { Digests, DigestTable } from "../index/digests.ts";
import { locateLine } from "../input/source.ts";
import { toFileLine } from "../rules/positions.ts";
import { ReadWindow } from "./group-bytes.ts";
import { subtractFromMetrics } from "./group-metrics.ts";
import { getPart, type IndexedGroups, mapProblemsToRecords, reportGroup } from "./locate.ts";
import { readPrompts } from "./prompts.ts";

/** @throws the signal's reason */
export const reportSplitLeaks = async (dataset: IndexedGroups, other: IndexedGroups, signal?: AbortSignal) => {
  const { table, parts } = await collectPrompts(other, signal);
  const { groups } = dataset;
  const window = new ReadWindow();
  for (let group = 0; group < groups.count; group++) {
    signal?.throwIfAborted();
    let same: number | undefined;
    for (const part of groups.partsOf(group))
      for (const digest of same === undefined ? await readPrompts(dataset, part, window) : [])
        same ??= table.find(digest);
    if (same === undefined) continue;
    const { source, part } = getPart(other, parts.at(same));
    const wasValid = groups.isValid(group);
    reportGroup(dataset, "split-leak", { data: { position: toFileLine(locateLine(source, part.line)) }, group });
    if (wasValid && !groups.isValid(group)) await subtractFromMetrics(dataset, [group]);
  }
  await mapProblemsToRecords(dataset.sources, dataset.scan.problems);
};

/** For each prompt, `parts` has the first part with the prompt. */
const collectPrompts = async (dataset: IndexedGroups, signal?: AbortSignal) => {
  const digests = new Digests();
  const table = new DigestTable(digests);
  const parts = new NumberColumn("u32");
  const window = new ReadWindow();
  for (let part = 0; part < dataset.scan.parts.count; part++) {
    signal?.throwIfAborted();
    for (const digest of await readPrompts(dataset, part, window)) {
      if (table.find(digest) !== undefined) continue;
      digests.append(digest);
      table.add(parts.length);
      parts.push(part);
    }
  }
  return { table, parts };
};

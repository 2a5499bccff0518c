/** Reports groups with several prompts or steps. */
import type { Breaks } from "../../system/breaks.ts";
import { openStepComparison } from "../check/policy-steps.ts";
import { findPromptOf, findRarestPrompt, openPromptReader } from "../check/trajectory-prompt.ts";
import type { NumberColumn } from "../index/column.ts";
import { toFileLine } from "../rules/positions.ts";
import { ReadWindow } from "./group-bytes.ts";
import { getPart, type IndexedGroups, locatePart, reportGroup } from "./locate.ts";

/** The checker has compared the trajectories of a group that is one part. @throws the signal's reason */
export const reportMixedGroups = async (dataset: IndexedGroups, breaks: Breaks) => {
  const { prompt, steps } = dataset.scan.parts.columns;
  const window = new ReadWindow();
  for await (const { group, parts } of findDifferingParts(dataset, prompt, breaks)) {
    const digests: (string | undefined)[] = [];
    for (const part of parts) digests.push((await readPrompts(dataset, part, window))[0]?.toString("latin1"));
    const mixed = findRarestPrompt(digests);
    const subject = `the trajectory at ${toFileLine(locatePart(dataset, parts[mixed?.first ?? 0] ?? 0))}`;
    if (mixed) reportGroup(dataset, "mixed-prompts", { data: { ...mixed, subject }, group });
  }
  for await (const { group, parts } of findDifferingParts(dataset, steps, breaks)) {
    const comparison = openStepComparison();
    for (const part of parts)
      for (const one of await window.readUnchangedTrajectories(getPart(dataset, part))) comparison.add(one);
    const data = comparison.findMixed();
    if (data) reportGroup(dataset, "mixed-steps", { data, group });
  }
};

/** Yields the groups of several parts, with the parts that have a number, if these numbers differ. */
async function* findDifferingParts({ groups }: IndexedGroups, column: NumberColumn, breaks: Breaks) {
  if (column.hasOnlyDefaults) return;
  for (const group of groups.valid()) {
    if (breaks.isDue()) await breaks.take();
    if (!groups.isBare(group) || groups.trajectoriesOf(group) < 2) continue;
    const parts = groups.partsOf(group).filter((part) => column.at(part) !== 0);
    if (parts.every((part) => column.at(part) === column.at(parts[0] ?? 0))) continue;
    await breaks.take();
    yield { group, parts };
  }
}

/** Returns the digests of the known prompts, without repetition. */
const readPrompts = async (dataset: IndexedGroups, at: number, window: ReadWindow): Promise<Buffer[]> => {
  const readPrompt = openPromptReader();
  const trajectories = await window.readUnchangedTrajectories(getPart(dataset, at));
  const digests = trajectories.flatMap((one) => readPrompt(one.table, findPromptOf(one)) ?? []);
  return Array.from(new Set(digests), (digest) => Buffer.from(digest, "latin1"));
};

/** Reports groups with several prompts. */
import { setImmediate } from "node:timers/promises";
import { findPromptOf, openPromptReader } from "../check/index.ts";
import { listTrajectories, ReadWindow } from "./group-bytes.ts";
import { getPart, type IndexedGroups, reportGroup } from "./locate.ts";

/** The checker has compared the prompts of a group that is one part. @throws the signal's reason */
export const reportMixedPrompts = async (dataset: IndexedGroups, signal?: AbortSignal) => {
  const { scan, groups } = dataset;
  const { prompt } = scan.parts.columns;
  if (prompt.hasOnlyDefaults) return;
  const window = new ReadWindow();
  for (let group = 0; group < groups.count; group++) {
    if (!groups.isValid(group) || !groups.isBare(group) || groups.trajectoriesOf(group) < 2) continue;
    const parts = groups.partsOf(group).filter((part) => prompt.at(part) !== 0);
    if (parts.every((part) => prompt.at(part) === prompt.at(parts[0] ?? 0))) continue;
    await setImmediate();
    signal?.throwIfAborted();
    const digests = new Set<string>();
    for (const part of parts)
      for (const digest of await readPrompts(dataset, part, window)) digests.add(digest.toString("latin1"));
    if (digests.size > 1) reportGroup(dataset, "mixed-prompts", { data: { prompts: digests.size }, group });
  }
};

/** Returns the digests of the known prompts, without repetition. */
export const readPrompts = async (dataset: IndexedGroups, at: number, window: ReadWindow): Promise<Buffer[]> => {
  const { source, part } = getPart(dataset, at);
  const bytes = await window.read(source, part.start, part.length);
  const readPrompt = openPromptReader();
  const digests = listTrajectories(bytes, part).flatMap((one) => readPrompt(one.table, findPromptOf(one)) ?? []);
  return Array.from(new Set(digests), (digest) => Buffer.from(digest, "latin1"));
};

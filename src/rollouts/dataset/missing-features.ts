/** Notes what the trajectories of an input lack, and reports trajectories without sampled turns. */

import { type JsonValue, readRoot } from "../../json/table.ts";
import type { Breaks } from "../../system/breaks.ts";
import { formatInputName, formatList } from "../../text/sentences.ts";
import { inspectTrajectory } from "../check/trajectory.ts";
import { TrajectoryFacts } from "../index/fact-columns.ts";
import { trainingBits } from "../index/metrics.ts";
import { filesOf } from "../input/source.ts";
import type { Path } from "../rules/positions.ts";
import * as positions from "./locate.ts";
import { getPart, type IndexedGroups } from "./locate.ts";
import { tryReadTrajectories } from "./shared-key.ts";

/** What all rollouts of a file lack is true of its format, so it is a note, also with `--strict`. */
const noted = {
  logprobs: "no log probabilities",
  tools: "no definitions of the called tools",
  "single-trajectory-group": "one trajectory in each group",
  "empty-group": "only failures",
  "zero-variance-group": "equal rewards in each group",
  offset: "times without a UTC offset",
};

/** What all rollouts in the files with these indexes lack, and the number of parts of other files that lack it. */
export type NotedLacks = readonly {
  readonly lack: keyof typeof noted;
  readonly files: ReadonlySet<number>;
  readonly otherParts?: number;
}[];

/** Returns undefined if nothing is noted. */
export const formatLacks = ({ sources, scan, groups }: IndexedGroups, lacks: NotedLacks): string | undefined => {
  const bySubject = new Map<string, string[]>();
  const add = (subject: string, text: string) => bySubject.set(subject, [...(bySubject.get(subject) ?? []), text]);
  const { parts } = scan;
  const countFiles = () => new Set(parts.columns.source.values(0, scan.parts.count)).size;
  for (const { lack, files, otherParts = 0 } of lacks) {
    if (scan.problems.strictness.allowed.has(lack)) continue;
    const names = [...files].flatMap((file) => (sources[file] ? filesOf(sources[file]) : [])).map(formatInputName);
    const isInput = files.size === countFiles();
    if (names.length > 0)
      add(isInput ? "the input has" : `${formatList(names, 3)} ${names.length > 1 ? "have" : "has"}`, noted[lack]);
    const isOfGroups = lack === "zero-variance-group";
    const unit = isOfGroups || parts.kindOf(0) === "group" ? "groups" : "trajectories";
    const total = names.length > 0 ? "the other" : isOfGroups ? groups.count : parts.count;
    const lacked = isOfGroups ? "equal rewards" : noted[lack];
    if (otherParts > 0) add(`${otherParts} of ${total} ${unit} have`, lacked);
  }
  const texts = Array.from(
    bySubject,
    ([subject, list]) => `${subject} ${list.join(", ").replace(/, (?=[^,]*$)/, " and ")}`,
  );
  return texts.length === 0 ? undefined : texts.join(", and ");
};

const notedFeatures = ["logprobs", "tools", "offset"] as const;

const lacks = (training: number, has: number) => (training & (has << 1)) !== 0;

/** Reports the trajectories without sampled turns. Returns what else trajectories lack. */
export const reportMissingFeatures = async (dataset: IndexedGroups, breaks: Breaks): Promise<NotedLacks> => {
  const { groups, sources, scan } = dataset;
  const { columns, count } = scan.parts;
  const bitsOfFiles = new Uint8Array(sources.length);
  for (let at = 0; at < count; at++) {
    if (breaks.isDue()) await breaks.take();
    const file = columns.source.at(at);
    bitsOfFiles[file] = (bitsOfFiles[file] ?? 0) | columns.training.at(at);
  }
  const isWhole = (bits: number, has: number) => lacks(bits, has) && (bits & has) === 0;
  const listFiles = (has: number) =>
    new Set([...bitsOfFiles.keys()].filter((file) => isWhole(bitsOfFiles[file] ?? 0, has)));
  const found = notedFeatures.map((lack) => {
    const has = trainingBits[lack];
    return { lack, has, files: listFiles(has), otherParts: 0 };
  });
  const isMixed = bitsOfFiles.some((bits, file) =>
    found.some(({ has, files }) => lacks(bits, has) && !files.has(file)),
  );
  for (let at = 0; at < count && isMixed; at++) {
    if (breaks.isDue()) await breaks.take();
    if (!groups.isValid(groups.groupOf(at))) continue;
    for (const feature of found)
      if (lacks(columns.training.at(at), feature.has) && !feature.files.has(columns.source.at(at)))
        feature.otherParts++;
  }
  await reportUnsampled(dataset, listFiles(trainingBits.choice), breaks);
  return found;
};

/** Reports each part without sampled turns. If all of a file lack them, reports the first part. */
const reportUnsampled = async (dataset: IndexedGroups, wholeFiles: ReadonlySet<number>, breaks: Breaks) => {
  const { groups, scan } = dataset;
  const { parts, problems } = scan;
  const reported = new Set<number>();
  const isAllowed = problems.strictness.allowed.has("no-sampled-turns");
  for (let at = 0; at < parts.count && !isAllowed; at++) {
    if (breaks.isDue()) await breaks.take();
    const file = parts.columns.source.at(at);
    if (!lacks(parts.columns.training.at(at), trainingBits.choice) || !groups.isValid(groups.groupOf(at))) continue;
    const all = wholeFiles.has(file);
    if (!all || !reported.has(file))
      positions.reportPart(dataset, "no-sampled-turns", {
        data: { all },
        part: at,
        path: () => findUnsampled(dataset, at),
      });
    if (all) reported.add(file);
    // If no group has the feature, rollcall rejects no group.
    if ((scan.training & trainingBits.choice) === 0) problems.addInputRule("no-sampled-turns");
    else groups.warn(groups.groupOf(at));
  }
};

const maxSearchedBytes = 2 ** 20;

const findUnsampled = (dataset: IndexedGroups, part: number): Path => {
  const { parts } = dataset.scan;
  const isShort = parts.columns.length.at(part) <= maxSearchedBytes;
  const trajectories = isShort ? tryReadTrajectories(getPart(dataset, part)).flatMap((one) => readRoot(one) ?? []) : [];
  const facts = new TrajectoryFacts();
  const isUnsampled = ({ table, node }: JsonValue) =>
    inspectTrajectory(table, node, facts, () => undefined) !== undefined && lacks(facts.training, trainingBits.choice);
  const at = trajectories.length === 1 ? 0 : trajectories.findIndex(isUnsampled);
  return trajectories[at] ? [...positions.pathInPart(parts, part, at), "messages_and_choices"] : [];
};

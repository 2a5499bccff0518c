/** Notes what the trajectories of an input lack, and reports trajectories without sampled turns. */

import { type JsonValue, readRoot } from "../../json/table.ts";
import type { Breaks } from "../../system/breaks.ts";
import { inspectTrajectory } from "../check/trajectory.ts";
import { TrajectoryFacts } from "../index/fact-columns.ts";
import { trainingBits } from "../index/metrics.ts";
import type { Path } from "../rules/positions.ts";
import * as positions from "./locate.ts";
import { getPart, type IndexedGroups } from "./locate.ts";
import { tryReadTrajectories } from "./shared-key.ts";

/** What all rollouts of an input lack is true of its format, so it is a note, also with `--strict`. */
const noted = {
  logprobs: "no log probabilities",
  tools: "no definitions of the called tools",
  offset: "times without a UTC offset",
  "empty-group": "only failures",
  "single-trajectory-group": "one trajectory in each group",
  "zero-variance-group": "equal rewards in each group",
};

/** `count` is the number of parts or groups that lack it. `files` are the files of which it is true; default: all. */
export type NotedLacks = readonly Readonly<{
  lack: keyof typeof noted;
  isWhole: boolean;
  count: number;
  files?: ReadonlySet<number>;
}>[];

/** Returns undefined if nothing is noted. */
export const formatLacks = ({ scan, groups }: IndexedGroups, lacks: NotedLacks): string | undefined => {
  const whole: string[] = [];
  const others: string[] = [];
  for (const { lack, isWhole, count } of lacks) {
    if (scan.problems.strictness.allowed.has(lack)) continue;
    const isOfGroups = lack.endsWith("-group");
    const unit = isOfGroups || scan.parts.kindOf(0) === "group" ? "groups" : "trajectories";
    const total = isOfGroups ? groups.count : scan.parts.count;
    if (isWhole) whole.push(noted[lack]);
    else if (count > 0) others.push(`${count} of ${total} ${unit} have ${toPart(noted[lack])}`);
  }
  const ofInput = whole.length === 0 ? [] : `the input has ${joinWords(whole)}`;
  return [ofInput, others].flat().join(", and ") || undefined;
};

/** A part that lacks something in one choice can have it in others. */
const toPart = (words: string) => words.replace(" in each group", "").replace(/^no /, "choices without ");

const joinWords = (words: readonly string[]) => words.join(", ").replace(/, (?=[^,]*$)/, " and ");

const notedFeatures = ["logprobs", "tools", "offset"] as const;

const lacks = (training: number, has: number) => (training & (has << 1)) !== 0;

/** Reports the trajectories without sampled turns. Returns what else trajectories lack. */
export const reportMissingFeatures = async (dataset: IndexedGroups, breaks: Breaks): Promise<NotedLacks> => {
  const { groups, scan } = dataset;
  const { columns, count } = scan.parts;
  const found = notedFeatures
    .filter((lack) => lacks(scan.training, trainingBits[lack]))
    .map((lack) => ({ lack, isWhole: (scan.training & trainingBits[lack]) === 0, count: 0 }));
  const isMixed = found.some(({ isWhole }) => !isWhole);
  for (let at = 0; at < count && isMixed; at++) {
    if (breaks.isDue()) await breaks.take();
    if (!groups.isValid(groups.groupOf(at))) continue;
    for (const feature of found) if (lacks(columns.training.at(at), trainingBits[feature.lack])) feature.count++;
  }
  await reportUnsampled(dataset, breaks);
  return found;
};

/** Reports each part without sampled turns. If all lack them, reports the first part. */
const reportUnsampled = async (dataset: IndexedGroups, breaks: Breaks) => {
  const { groups, scan } = dataset;
  const { parts, problems } = scan;
  const all = (scan.training & trainingBits.choice) === 0;
  const isAllowed = problems.strictness.allowed.has("no-sampled-turns");
  const count = isAllowed || !lacks(scan.training, trainingBits.choice) ? 0 : parts.count;
  for (let at = 0; at < count; at++) {
    if (breaks.isDue()) await breaks.take();
    if (!lacks(parts.columns.training.at(at), trainingBits.choice) || !groups.isValid(groups.groupOf(at))) continue;
    const path = () => findUnsampled(dataset, at);
    positions.reportPart(dataset, "no-sampled-turns", { data: { all }, part: at, path });
    // If no group has the feature, rollcall rejects no group.
    if (all) return problems.addInputRule("no-sampled-turns");
    groups.warn(groups.groupOf(at));
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

/** Reports trajectories that lack log probabilities or tools, and notes the files without any. */

import { elementsOf, type JsonValue, memberAt, readRoot } from "../../json/table.ts";
import type { Breaks } from "../../system/breaks.ts";
import { formatInputName, formatList } from "../../text/sentences.ts";
import { findChoiceMessage, hasTokens } from "../check/messages.ts";
import { inspectTrajectory } from "../check/trajectory.ts";
import { trainingBits } from "../index/metrics.ts";
import { TrajectoryFacts } from "../index/trajectory-facts.ts";
import { filesOf } from "../input/source.ts";
import type { Path } from "../rules/positions.ts";
import * as positions from "./locate.ts";
import { getPart, type IndexedGroups } from "./locate.ts";
import { tryReadTrajectories } from "./shared-key.ts";

/** What all rollouts of a file lack is true of its format, so it is a note, also with `--strict`. */
const notes = {
  "missing-logprobs": "no log probabilities",
  "missing-tools": "no definitions of the called tools",
  "single-trajectory-group": "one trajectory in each group",
  "empty-group": "only failures",
  "missing-utc-offset": "times without a UTC offset",
};

type NotedRule = keyof typeof notes;

/** For each rule, the indexes of the files in which all rollouts break it. */
export type BrokenRules = readonly { readonly rule: NotedRule; readonly files: ReadonlySet<number> }[];

/** Returns undefined if no rule is noted. */
export const formatBrokenRules = ({ sources, scan }: IndexedGroups, broken: BrokenRules): string | undefined => {
  const bySubject = new Map<string, string[]>();
  const countFiles = () => new Set(scan.parts.columns.source.values()).size;
  for (const { rule, files } of broken) {
    if (files.size === 0 || scan.problems.strictness.allowed.has(rule)) continue;
    const names = [...files].flatMap((file) => (sources[file] ? filesOf(sources[file]) : [])).map(formatInputName);
    const isInput = names.length > 1 && files.size === countFiles();
    const subject = isInput ? "the input has" : `${formatList(names, 3)} ${names.length > 1 ? "have" : "has"}`;
    bySubject.set(subject, [...(bySubject.get(subject) ?? []), notes[rule]]);
  }
  const parts = Array.from(
    bySubject,
    ([subject, texts]) => `${subject} ${texts.join(", ").replace(/, (?=[^,]*$)/, " and ")}`,
  );
  return parts.length === 0 ? undefined : parts.join(", and ");
};

const findMissingLogprobs = (trajectory: JsonValue): Path => {
  const turns = elementsOf(memberAt(trajectory, "messages_and_choices"));
  const isUnscored = (turn: JsonValue) => {
    const scores = memberAt(turn, "logprobs");
    return findChoiceMessage(turn) !== undefined && (!scores || !hasTokens(scores));
  };
  return ["messages_and_choices", turns.findIndex(isUnscored), "logprobs"];
};

const missingFeatures = [
  { rule: "no-sampled-turns", has: trainingBits.choice, pathIn: () => ["messages_and_choices"] },
  { rule: "missing-logprobs", has: trainingBits.logprobs, pathIn: findMissingLogprobs },
  { rule: "missing-tools", has: trainingBits.tools, pathIn: () => ["tools"] },
  { rule: "missing-utc-offset", has: trainingBits.offset, pathIn: () => ["start_time"] },
] as const;

type MissingFeature = (typeof missingFeatures)[number];

const isNoted = ({ rule }: MissingFeature) => rule in notes;

const lacks = (training: number, { has }: MissingFeature) => (training & (has << 1)) !== 0;

/** Returns the rules that all trajectories of some files break, which are not reported. */
export const reportMissingFeatures = async (dataset: IndexedGroups, breaks: Breaks): Promise<BrokenRules> => {
  const { sources, scan } = dataset;
  const { columns, count } = scan.parts;
  const bitsOfFiles = new Uint8Array(sources.length);
  for (let at = 0; at < count; at++) {
    if (breaks.isDue()) await breaks.take();
    const file = columns.source.at(at);
    bitsOfFiles[file] = (bitsOfFiles[file] ?? 0) | columns.training.at(at);
  }
  const isWhole = (feature: MissingFeature, bits: number) => lacks(bits, feature) && (bits & feature.has) === 0;
  const broken = missingFeatures.map((feature) => ({
    feature,
    rule: feature.rule,
    files: new Set([...bitsOfFiles.keys()].filter((file) => isWhole(feature, bitsOfFiles[file] ?? 0))),
  }));
  const isReported = ({ feature, files }: (typeof broken)[number]) =>
    bitsOfFiles.some((bits, file) => lacks(bits, feature) && !(isNoted(feature) && files.has(file)));
  const reported = broken.filter((one) => !scan.problems.strictness.allowed.has(one.rule) && isReported(one));
  await reportFeatures(dataset, reported, breaks);
  return broken.flatMap(({ rule, files }) => (rule === "no-sampled-turns" ? [] : { rule, files }));
};

/** The indexes of the files in which all trajectories lack the feature. */
type LackingFiles = Readonly<{ feature: MissingFeature; files: ReadonlySet<number> }>;

/** Reports each part that lacks a feature. If all of a file lack it, reports the first part, or none. */
const reportFeatures = async (dataset: IndexedGroups, features: readonly LackingFiles[], breaks: Breaks) => {
  const { groups, scan } = dataset;
  const { parts, problems } = scan;
  const wholeFiles = new Set<number>();
  for (let at = 0; at < parts.count && features.length > 0; at++) {
    if (breaks.isDue()) await breaks.take();
    if (!groups.isValid(groups.groupOf(at))) continue;
    const file = parts.columns.source.at(at);
    for (const { feature, files } of features) {
      const all = files.has(file);
      if (!lacks(parts.columns.training.at(at), feature) || (all && isNoted(feature))) continue;
      if (!all || !wholeFiles.has(file)) {
        const place = { part: at, path: () => findMissingFeature(dataset, at, feature) };
        if (feature.rule !== "no-sampled-turns")
          positions.reportPart(dataset, feature.rule, { data: undefined, ...place });
        else positions.reportPart(dataset, feature.rule, { data: { all }, ...place });
      }
      if (all) wholeFiles.add(file);
      // If no group has the feature, rollcall rejects no group.
      if ((scan.training & feature.has) === 0) problems.addInputRule(feature.rule);
      else groups.warn(groups.groupOf(at));
    }
  }
};

const maxSearchedBytes = 2 ** 20;

const findMissingFeature = (dataset: IndexedGroups, part: number, feature: MissingFeature): Path => {
  const { parts } = dataset.scan;
  const isShort = parts.columns.length.at(part) <= maxSearchedBytes;
  const trajectories = isShort ? tryReadTrajectories(getPart(dataset, part)).flatMap((one) => readRoot(one) ?? []) : [];
  const facts = new TrajectoryFacts();
  const isLacking = ({ table, node }: JsonValue) =>
    inspectTrajectory(table, node, facts, () => undefined) && lacks(facts.training, feature);
  const at = trajectories.length === 1 ? 0 : trajectories.findIndex(isLacking);
  const trajectory = trajectories[at];
  return trajectory ? [...positions.pathInPart(parts, part, at), ...feature.pathIn(trajectory)] : [];
};

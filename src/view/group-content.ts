/** Reads a group. */

import { type PairedCall, pairCalls } from "../conversation/message.ts";
import { toTurns } from "../conversation/turns.ts";
import { isObject, sliceText } from "../json/json-bytes.ts";
import { formatIndented, parseRawJson } from "../json/raw-json.ts";
import * as table from "../json/table.ts";
import { readGroupTrajectories, type SourceTrajectory } from "../rollouts/dataset/group-bytes.ts";
import { getPart, type IndexedGroups, locateTrajectory, readPartStart } from "../rollouts/dataset/locate.ts";
import type { Dataset } from "../rollouts/dataset/read-dataset.ts";
import { readFacts } from "../rollouts/facts.ts";
import { formatKeyText } from "../rollouts/index/group-key.ts";
import { type RolloutFact, readGroupFacts } from "../rollouts/stats/fact-rows.ts";
import { Breaks } from "../system/breaks.ts";
import { sanitizeText } from "../text/sanitize.ts";
import type { GroupContent, GroupData, TrajectorySummary } from "./answers.ts";

export type ViewInput = Readonly<{
  dataset: Dataset;
  notes: readonly string[];
  groupBy: readonly string[] | undefined;
  hasChanged: () => boolean;
}>;

export type ReadInput = () => Promise<ViewInput>;

/** A trajectory of a group. `messages` are JSON. */
type ReadTrajectory = Readonly<{ json: string; messages: readonly string[]; member: TrajectorySummary }>;

/** @throws Failure `input-changed` */
const readTrajectories = async (dataset: IndexedGroups, group: number) => {
  const breaks = new Breaks();
  const facts = readGroupFacts(dataset, group);
  const trajectories: ReadTrajectory[] = [];
  for (const [at, trajectory] of (await readGroupTrajectories(dataset, group)).entries()) {
    if (breaks.isDue(4 * trajectory.bytes.length)) await breaks.take();
    trajectories.push(parseTrajectory(trajectory, at, facts[at]));
  }
  return trajectories;
};

/** @throws Failure `input-changed` */
export const readGroup = async (
  dataset: IndexedGroups,
  group: number,
  findings: GroupContent["findings"],
): Promise<GroupData> => {
  const { exceptions, rest } = readRest(dataset, group);
  const trajectories = await readTrajectories(dataset, group);
  return {
    content: {
      position: await locateTrajectory(dataset, dataset.groups.firstOf(group), 0),
      isReadable: dataset.scan.parts.kindOf(dataset.groups.firstOf(group)) !== "unreadable",
      exceptions,
      findings,
      members: trajectories.map(({ member }) => member),
      common: await countCommonMessages(trajectories),
    },
    trajectories: trajectories.map(({ json }) => json),
    rest,
  };
};

export const sanitizePrompt = ({ prompt, key }: Readonly<{ prompt: string; key: string | null }>) => ({
  prompt: sanitizeText(prompt),
  key: key && sanitizeText(key),
});

/** The page has no `--pass`. */
const toPageFacts = (fact: RolloutFact) => {
  const { solved: _, ...others } = readFacts(fact);
  return others;
};

const readRestOfGroup = table.openRootReader(["trajectories"]);

const readRest = (dataset: IndexedGroups, group: number) => {
  const { groups, scan } = dataset;
  if (scan.parts.kindOf(groups.firstOf(group)) !== "group") return { exceptions: [], rest: "" };
  const bytes = readPartStart(getPart(dataset, groups.firstOf(group)));
  const root = readRestOfGroup(bytes);
  const list = table.memberAt(root, "trajectories");
  const { start, end } = list ? table.spanOf(list) : { start: bytes.length, end: bytes.length };
  const texts = table.elementsOf(table.memberAt(root, "exceptions")).map((exception) => {
    const value = parseRawJson(sliceText(bytes, table.spanOf(exception)));
    if (value.kind !== "object") return formatIndented(value);
    return value.members.map(({ key, value: member }) => `${key}: ${formatIndented(member)}`).join("\n");
  });
  return {
    exceptions: texts.map(sanitizeText),
    rest: `${bytes.toString("utf8", 0, start)}${bytes.toString("utf8", end)}`,
  };
};

const isNumber = (value: unknown): value is number => Number.isFinite(value);

const parseTrajectory = ({ bytes, position }: SourceTrajectory, at: number, fact?: RolloutFact): ReadTrajectory => {
  const root = table.readRoot(bytes);
  const [reward, metrics] = ["reward", "metrics"].map((key) => {
    const value = table.memberAt(root, key);
    return value && table.parseValue(value);
  });
  const measures = Object.entries(isObject(metrics) ? metrics : {}).flatMap(([name, value]) =>
    isNumber(value) || typeof value === "boolean" ? [[sanitizeText(name), value] as const] : [],
  );
  const messages = table.elementsOf(table.memberAt(root, "messages_and_choices"));
  return {
    json: bytes.toString("utf8"),
    messages: messages.map((message) => sliceText(bytes, table.spanOf(message))),
    member: {
      at,
      position,
      bytes: bytes.length,
      reward: isNumber(reward) ? reward : null,
      metrics: Object.fromEntries(measures),
      messages: messages.length,
      step: formatKeyText(fact?.by),
      facts: fact ? toPageFacts(fact) : null,
    },
  };
};

/** Counts the messages at the start that read alike in all trajectories, with the results of their calls. */
const countCommonMessages = async (all: readonly ReadTrajectory[]) => {
  const [first, ...others] = all;
  if (!first || others.length === 0) return 0;
  const breaks = new Breaks();
  let end = 0;
  for (const message of first.messages) {
    if (breaks.isDue(message.length * all.length)) await breaks.take();
    if (!others.every(({ messages }) => readsAlike(message, messages[end]))) break;
    end++;
  }
  const parseCalls = (messages: readonly string[]) => pairCalls(messages.map(parseRawJson));
  // Parsing all takes long, and most calls of the common start have their results in it.
  const isAnswered = parseCalls(first.messages.slice(0, end)).every(({ result }) => result !== undefined);
  let common = end;
  for (const { json, messages } of isAnswered ? [] : all) {
    if (breaks.isDue(json.length)) await breaks.take();
    common = endBeforeOpenCall(parseCalls(messages), common);
  }
  return common;
};

/** Equal answers differ by the ids of their calls, their log probabilities, and what a server adds to a choice. */
const readsAlike = (message: string, other = "") =>
  message === other || (other !== "" && formatReading(message) === formatReading(other));

const formatReading = (message: string) =>
  JSON.stringify(
    toTurns([parseRawJson(message)]).map(({ role, name, isSampled, choiceMembers, parts }) => ({
      said: [role, name, isSampled, choiceMembers.find(({ key }) => key === "finish_reason")?.value.json],
      parts: parts.filter(({ kind }) => kind !== "other"),
    })),
    (key, value) => (key === "id" ? undefined : (value?.json ?? value)),
  );

/** A call and its result are shown as one, so both are common, or neither. The calls are in their order. */
const endBeforeOpenCall = (calls: readonly PairedCall[], end: number) =>
  calls.reduceRight((first, { at, result = 0 }) => (at < first && result >= first ? at : first), end);

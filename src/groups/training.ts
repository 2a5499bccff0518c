/** Reports what a trainer finds nothing to learn from: what all trajectories lack is said once, what some lack of each. */
import type { Path } from "../check/rules/places.ts";
import { checkGroup, checkTrajectory } from "../check/scan/type-checks.ts";
import {
  withChoice,
  withLogprobs,
  withoutChoice,
  withoutLogprobs,
  withoutTools,
  withTools,
} from "./metrics/constants.ts";
import { factsOf, hasLogprobs, isChoice } from "./metrics/facts.ts";
import { type GroupsRead, partValue, spotToKeep } from "./whole.ts";

/** A rule, what it looks for in bits, and the path in a trajectory of what lacks it. */
interface Lack {
  readonly rule: "nothing-trainable" | "choice-without-logprobs" | "tools-missing";
  readonly has: number;
  readonly lacks: number;
  readonly pathIn: (messages: readonly unknown[]) => Path;
}

const lacks: readonly Lack[] = [
  { rule: "nothing-trainable", has: withChoice, lacks: withoutChoice, pathIn: () => ["messages_and_choices"] },
  {
    rule: "choice-without-logprobs",
    has: withLogprobs,
    lacks: withoutLogprobs,
    pathIn: (messages) => ["messages_and_choices", messages.findIndex(isUnscored), "logprobs"],
  },
  { rule: "tools-missing", has: withTools, lacks: withoutTools, pathIn: () => ["tools"] },
];

const isUnscored = (entry: unknown): boolean => isChoice(entry) && !hasLogprobs(entry);

/** Reports trajectories without a choice, choices without logprobs, and calls of tools that are not given. */
export const reportTraining = async (whole: GroupsRead): Promise<void> => {
  const { parts, problems } = whole.found;
  let all = 0;
  for (const bits of parts.columns.training.pieces()) for (const own of bits) all |= own;
  const bySource = trainingBySource(whole, all);
  for (const lack of lacks) {
    if ((all & lack.lacks) !== 0 && !problems.judgement.allowed.has(lack.rule)) {
      await reportLack(whole, { lack, all, bySource });
    }
  }
};

/** What the trajectories of each source have to train on, and what they lack. */
const trainingBySource = ({ sources, found: { parts } }: GroupsRead, all: number): Uint8Array => {
  if (sources.length === 1) return Uint8Array.of(all);
  const bySource = new Uint8Array(sources.length);
  for (let at = 0; at < parts.count; at++) {
    const source = parts.columns.source.at(at);
    bySource[source] = (bySource[source] ?? 0) | parts.columns.training.at(at);
  }
  return bySource;
};

const reportLack = async (
  whole: GroupsRead,
  { lack, all, bySource }: { readonly lack: Lack; readonly all: number; readonly bySource: Uint8Array },
): Promise<void> => {
  const { found, groups } = whole;
  const { parts, problems } = found;
  const hasNone = (bits: number): boolean => (bits & lack.has) === 0;
  let told: number | undefined;
  for (let at = 0; at < parts.count; at++) {
    if ((parts.columns.training.at(at) & lack.lacks) === 0 || !groups.isValid(groups.groupOf(at))) continue;
    const source = parts.columns.source.at(at);
    const isOfAll = hasNone(all);
    const isOfFile = isOfAll || hasNone(bySource[source] ?? 0);
    // As errors they are told of each file: a report calls none valid that has one.
    const isToldOnce = isOfAll && !problems.judgement.strict;
    if (!isOfFile || told === undefined || (!isToldOnce && told !== source)) {
      const { rule } = lack;
      const spot = await spotToKeep(whole, { rule, part: at, path: () => pathOf(whole, at, lack) });
      problems.report(rule, { all: isOfFile }, () => spot);
    }
    told = source;
    if (isOfAll) {
      // As an error it is no group's own: leaving some out helps nothing.
      problems.breakInput(lack.rule);
      if (isToldOnce) return;
    } else if (problems.judgement.strict) groups.reject(groups.groupOf(at));
  }
};

/** Path in a part of what lacks something; that of the part itself where it is too long to be looked for again. */
const pathOf = async ({ sources, found }: GroupsRead, position: number, lack: Lack): Promise<Path> => {
  const part = found.parts.at(position);
  const source = sources[part.source];
  if (source === undefined || part.length > longestLookedAt) return [];
  try {
    const value = await partValue(source, part);
    const isGroup = part.kind === "group";
    const trajectories = isGroup ? checkGroup(value, silent)?.trajectories : [checkTrajectory(value, silent)];
    for (const [at, trajectory] of trajectories?.entries() ?? []) {
      if (trajectory === undefined || (factsOf(trajectory, 0).training & lack.lacks) === 0) continue;
      return [...(isGroup ? ["trajectories", at] : []), ...lack.pathIn(trajectory.messages_and_choices)];
    }
  } catch {
    // The file changed meanwhile: what can no longer be found is not looked at.
  }
  return [];
};

/** A thousand parts may be looked at: longer ones would take minutes. */
const longestLookedAt = 2 ** 20;

const silent = (): void => undefined;

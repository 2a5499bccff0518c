/** Reports what a trainer can't learn from: what all trajectories lack is reported once, what some lack for each. */
import type { Path } from "../check/rules/places.ts";
import { readRange } from "../input/index.ts";
import { isObject, parsedJson } from "../json/walk.ts";
import { checkAgain, partOf, trajectorySpans } from "./contents.ts";
import {
  withChoice,
  withLogprobs,
  withoutChoice,
  withoutLogprobs,
  withoutTools,
  withTools,
} from "./metrics/constants.ts";
import { fileNumberOf, type GroupsRead, spotToKeep } from "./positions.ts";

/** A rule, what it looks for in bits, and the path in a trajectory of what lacks it. */
interface Lack {
  readonly rule: "nothing-trainable" | "choice-without-logprobs" | "tools-missing";
  readonly has: number;
  readonly lacks: number;
  readonly pathIn: (trajectory: Buffer) => Path;
}

/** The path of the first choice without logprobs. */
const findUnscored = (trajectory: Buffer): Path => {
  const value = parsedJson(trajectory.toString("utf8"))?.value;
  const turns = isObject(value) && Array.isArray(value.messages_and_choices) ? value.messages_and_choices : [];
  const isUnscored = (entry: unknown): boolean =>
    isObject(entry) && entry.role === undefined && isObject(entry.message) && !isObject(entry.logprobs);
  return ["messages_and_choices", turns.findIndex(isUnscored), "logprobs"];
};

const lacks: readonly Lack[] = [
  { rule: "nothing-trainable", has: withChoice, lacks: withoutChoice, pathIn: () => ["messages_and_choices"] },
  { rule: "choice-without-logprobs", has: withLogprobs, lacks: withoutLogprobs, pathIn: findUnscored },
  { rule: "tools-missing", has: withTools, lacks: withoutTools, pathIn: () => ["tools"] },
];

/** Reports trajectories without a choice, choices without logprobs, and calls of tools that are not given. */
export const reportTraining = async (read: GroupsRead): Promise<void> => {
  const { training } = read.found.parts.columns;
  // What the trajectories of all files, and of each, have to train on, and what they lack.
  let all = 0;
  const byFile = new Uint8Array(read.sources.length);
  for (let at = 0; at < training.length; at++) {
    const file = fileNumberOf(read, at);
    all |= training.at(at);
    byFile[file] = (byFile[file] ?? 0) | training.at(at);
  }
  for (const lack of lacks) if ((all & lack.lacks) !== 0) await reportLack(read, lack, { all, byFile });
};

const reportLack = async (
  read: GroupsRead,
  lack: Lack,
  { all, byFile }: { readonly all: number; readonly byFile: Uint8Array },
): Promise<void> => {
  const { found, groups } = read;
  const { parts, problems } = found;
  const { strict, allowed } = problems.judgement;
  const { rule } = lack;
  if (allowed.has(rule)) return;
  const hasNone = (bits: number): boolean => (bits & lack.has) === 0;
  const isOfAll = hasNone(all);
  let told: number | undefined;
  for (let at = 0; at < parts.count; at++) {
    if ((parts.columns.training.at(at) & lack.lacks) === 0 || !groups.isValid(groups.groupOf(at))) continue;
    const file = fileNumberOf(read, at);
    const isOfFile = isOfAll || hasNone(byFile[file] ?? 0);
    // As errors they are told of each file: a report calls none valid that has one.
    if (!isOfFile || told === undefined || ((strict || !isOfAll) && told !== file)) {
      const spot = await spotToKeep(read, { rule, part: at, path: () => findLack(read, at, lack) });
      problems.report(rule, { all: isOfFile }, () => spot);
    }
    told = file;
    if (isOfAll) {
      // As an error it is no group's own: to leave some out helps nothing.
      problems.breakInput(rule);
      if (!strict) return;
    } else if (strict) groups.reject(groups.groupOf(at));
  }
};

/** A thousand parts may be looked at: longer ones would take minutes. */
const maxBytesLookedAt = 2 ** 20;

/** Path in a part of what lacks something; that of the part itself if it is too long to be looked for again. */
const findLack = async (read: GroupsRead, position: number, lack: Lack): Promise<Path> => {
  const own = partOf(read, position);
  if (own === undefined || own.part.length > maxBytesLookedAt) return [];
  try {
    const bytes = await readRange(own.source.bytes, own.part);
    for (const [at, { start, end }] of trajectorySpans(bytes, own.part).entries()) {
      const trajectory = bytes.subarray(start, end);
      const { parts } = checkAgain(trajectory, read.found);
      if ((parts.columns.training.at(0) & lack.lacks) === 0) continue;
      return [...(own.part.kind === "group" ? ["trajectories", at] : []), ...lack.pathIn(trajectory)];
    }
  } catch {
    // The file changed meanwhile: what can no longer be found is not looked at.
  }
  return [];
};

/** Finds a key of `--group-by` for trajectories without a group, and tries it before rollcall proposes it. */
import { hash } from "node:crypto";
import { getValue, isObject, parseJson } from "../../json/json-bytes.ts";
import { readRoot } from "../../json/table.ts";
import type { Breaks } from "../../system/breaks.ts";
import { toSnakeCase } from "../../text/nearest.ts";
import { findPromptOf, openPromptReader } from "../check/trajectory-prompt.ts";
import { findGroupKeys, rankGroupKey } from "../index/group-key.ts";
import { stepHolders } from "../rules/names.ts";
import { sliceTrajectories } from "./group-bytes.ts";
import { type GroupPart, getPart, type IndexedGroups, readPartStart } from "./locate.ts";

export const canRegroupPart = ({ part, source }: GroupPart) =>
  part.kind === "trajectory" || source.originals?.canRegroup === true;

const maxSampledGroups = 64;

/** rollcall reads each trajectory again to try a key, so it proposes none for a longer input. */
const maxTriedBytes = 2 ** 24;

/** Returns a key whose groups each have one prompt, one step, one run and one model. @throws the signal's reason */
export const findSharedKey = async (dataset: IndexedGroups, breaks: Breaks): Promise<string | undefined> => {
  const trial = openTrial(findCandidates(dataset));
  return await tryKeys(dataset, trial, breaks);
};

/** Returns where lines with one `group_id` can be one group; undefined if unknown. @throws the signal's reason */
export const findGroupIdScope = async (dataset: IndexedGroups, breaks: Breaks) => {
  const { groups, sources } = dataset;
  const hasId = (part: number) => groups.isKeyed(groups.groupOf(part));
  for (const scope of ["input", "file"] as const) {
    const trial = openTrial(["group_id"], scope === "file");
    const tried = { isTried: hasId, maxParts: maxTriedParts };
    if ((await tryKeys(dataset, trial, breaks, tried)) !== undefined) return scope;
    if (sources.length === 1) break;
  }
  return undefined;
};

/** An error has its advice within about a second. */
const maxTriedParts = 2 ** 14;

type TriedParts = Readonly<{ isTried?: (part: number) => boolean; maxParts?: number }>;

const tryKeys = async (
  dataset: IndexedGroups,
  trial: ReturnType<typeof openTrial>,
  breaks: Breaks,
  { isTried = () => true, maxParts = Number.POSITIVE_INFINITY }: TriedParts = {},
) => {
  const { parts } = dataset.scan;
  if (parts.count > maxParts) return undefined;
  for (let at = 0, bytes = 0; at < parts.count && trial.isOpen(); at++) {
    const groupPart = getPart(dataset, at);
    const { length, source } = groupPart.part;
    bytes += length;
    if (bytes > maxTriedBytes) return undefined;
    if (breaks.isDue(length)) await breaks.take();
    if (!canRegroupPart(groupPart) || !isTried(at)) continue;
    for (const one of tryReadTrajectories(groupPart)) trial.add(one, source);
  }
  return trial.findBest();
};

/** Returns the keys that some of the first trajectories have in common. The best is first. */
const findCandidates = (dataset: IndexedGroups) => {
  const { groups } = dataset;
  const values = new Map<string, string[]>();
  for (let group = 0, sampled = 0; group < groups.count && sampled < maxSampledGroups; group++) {
    if (groups.trajectoriesOf(group) !== 1) continue;
    sampled++;
    const groupPart = getPart(dataset, groups.firstOf(group));
    if (!canRegroupPart(groupPart) || !groupPart.part.valid) continue;
    const [trajectory] = tryReadTrajectories(groupPart);
    const value = trajectory && parseJson(trajectory.toString("utf8"))?.value;
    for (const { name, text } of findGroupKeys(value)) values.set(name, [...(values.get(name) ?? []), text]);
  }
  // A value that all trajectories share cannot distinguish prompts.
  const isRepeated = (texts: readonly string[]) => new Set(texts).size > 1 && new Set(texts).size < texts.length;
  const names = [...values].flatMap(([name, texts]) => (isRepeated(texts) ? [name] : []));
  return names.sort((a, b) => rankGroupKey(a) - rankGroupKey(b));
};

/** Returns an empty list if the file has changed. */
export const tryReadTrajectories = (groupPart: GroupPart) => {
  try {
    return sliceTrajectories(readPartStart(groupPart), groupPart.part);
  } catch {
    return [];
  }
};

/** A column with one of these words states what sampled the trajectory. */
const samplerWords =
  /(?:^|_)(?:run|model|experiment|job|policy|checkpoint|version|agent|epoch|iteration|step)s?(?:_|$)/;
const isSamplerName = (name: string) => samplerWords.test(toSnakeCase(name));

const maxColumnValues = 1000;

const openColumns = () => {
  const columns = new Map<string, { values: Set<string>; last: string; blocks: number }>();
  return {
    add(traits: ReadonlyMap<string, string>) {
      for (const [name, text] of traits) {
        const column = columns.get(name) ?? { values: new Set(), last: "", blocks: 0 };
        if (column.last !== text) column.blocks++;
        column.last = text;
        if (column.values.size < maxColumnValues) column.values.add(text);
        columns.set(name, column);
      }
    },
    /** Files of several runs are often joined, so values of an unknown column of runs come in blocks. */
    comesInBlocks(name: string, count: number) {
      const { values, blocks } = columns.get(name) ?? { values: new Set(), blocks: 0 };
      return values.size > 1 && values.size === blocks && 2 * blocks <= count;
    },
  };
};

/** @param isByFile true if equal values in different files are different groups */
const openTrial = (names: readonly string[], isByFile = false) => {
  const open = new Map(names.map((name) => [name, new Map<string, ReadonlyMap<string, string>>()]));
  const differing = new Map<string, Set<string>>();
  const columns = openColumns();
  const readPrompt = openPromptReader();
  let count = 0;
  return {
    isOpen: () => open.size > 0,
    add(trajectory: Buffer, source: number) {
      const value = parseJson(trajectory.toString("utf8"))?.value;
      const root = readRoot(trajectory);
      const prompt = root && readPrompt(root.table, findPromptOf(root));
      const traits = new Map([["", `${source}`], ...listScalars(value)]);
      const file = isByFile ? ` ${source}` : "";
      const keys = new Map(findGroupKeys(value).map(({ name, text }) => [name, `${shorten(text)}${file}`]));
      count++;
      columns.add(traits);
      for (const [name, groups] of open) {
        const key = keys.get(name);
        const first = key === undefined ? undefined : groups.get(key);
        const others = first && findDifferences(first, traits);
        const isOther = prompt !== undefined && first?.has(promptTrait) && first.get(promptTrait) !== prompt;
        if (key === undefined || isOther || others?.some(isSamplerName)) open.delete(name);
        else if (others) differing.set(name, new Set([...(differing.get(name) ?? []), ...others]));
        else groups.set(key, prompt === undefined ? traits : new Map([...traits, [promptTrait, prompt]]));
      }
    },
    findBest: () =>
      [...open].find(
        ([name]) => ![...(differing.get(name) ?? [])].some((other) => columns.comesInBlocks(other, count)),
      )?.[0],
  };
};

/** No column of a trajectory has this name. */
const promptTrait = "\0prompt";

const findDifferences = (first: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>) =>
  [...new Set([...first.keys(), ...other.keys()])].filter(
    (name) => name !== promptTrait && first.get(name) !== other.get(name),
  );

const listScalars = (value: unknown): [string, string][] =>
  [value, ...stepHolders.map((holder) => getValue(value, [holder]))].flatMap((holder) =>
    !isObject(holder)
      ? []
      : Object.entries(holder).flatMap(([name, one]): [string, string][] =>
          name === "reward" || (typeof one === "object" && one !== null) ? [] : [[name, shorten(JSON.stringify(one))]],
        ),
  );

const maxKeptLength = 64;
const shorten = (text: string) => (text.length > maxKeptLength ? hash("sha256", text) : text);

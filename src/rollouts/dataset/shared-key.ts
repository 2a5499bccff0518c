/** Finds a key of `--group-by` for trajectories without a group, and tries it before rollcall proposes it. */

import { getValue, isObject, parseJson } from "../../json/json-bytes.ts";
import { readRoot } from "../../json/table.ts";
import type { Breaks } from "../../system/breaks.ts";
import { hash } from "../../system/hashes.ts";
import { compareTexts } from "../../text/sentences.ts";
import { findPromptOf, openPromptReader } from "../check/trajectory-prompt.ts";
import { findGroupKeys, rankGroupKey } from "../index/group-key.ts";
import { canNamePolicy, groupKeyNames, idWords, isStep, rolloutWords, stepHolders } from "../rules/names.ts";
import { sliceTrajectories } from "./group-bytes.ts";
import { type GroupPart, getPart, type IndexedGroups, readPartStart } from "./locate.ts";

export const canRegroupPart = ({ part, source }: GroupPart) =>
  part.kind === "trajectory" || source.originals?.canRegroup === true;

/** rollcall reads each trajectory again to try a key, so it proposes none for a longer input. */
const maxTriedBytes = 2 ** 24;

/**
 * Returns a key whose groups each have one task, one step and one policy, or `prompt` if prompts are equal.
 * @throws the signal's reason
 */
export const findSharedKey = async (dataset: IndexedGroups, breaks: Breaks): Promise<string | undefined> => {
  const { groups, scan } = dataset;
  const { parts } = scan;
  const trial = openTrial();
  for (let at = 0, bytes = 0; at < parts.count && trial.isOpen(); at++) {
    const groupPart = getPart(dataset, at);
    const { length, source } = groupPart.part;
    bytes += length;
    if (bytes > maxTriedBytes) break;
    if (breaks.isDue(length)) await breaks.take();
    if (!canRegroupPart(groupPart)) continue;
    const isSingle = groups.trajectoriesOf(groups.groupOf(at)) === 1;
    for (const one of tryReadTrajectories(groupPart)) trial.add(one, source, isSingle);
  }
  return trial.findBest();
};

/** Lists known keys, and other columns with texts or integers that `--group-by` accepts. */
const listKeys = (value: unknown) => {
  const known = findGroupKeys(value);
  const others = [value, getValue(value, ["metadata"])].flatMap((holder) =>
    Object.entries(isObject(holder) ? holder : {}).flatMap(([name, one]) => {
      const canBeKey = name !== "reward" && !rolloutWords.test(name) && !isSampler(name);
      if (!canBeKey || known.some((key) => key.name === name)) return [];
      return typeof one === "string" || Number.isInteger(one) ? { name, text: JSON.stringify(one) } : [];
    }),
  );
  return [...known, ...others];
};

/** Returns an empty list if the file has changed. */
export const tryReadTrajectories = (groupPart: GroupPart) => {
  try {
    return sliceTrajectories(readPartStart(groupPart), groupPart.part);
  } catch {
    return [];
  }
};

/** The key of `--group-by` for trajectories with equal prompts, unless a column has this name. It is tried last. */
const promptKey = "prompt";

const byRank = (a: string, b: string) =>
  Number(a === promptKey) - Number(b === promptKey) || rankGroupKey(a) - rankGroupKey(b);

interface TriedGroup {
  readonly sampler: string;
  readonly task: string | undefined;
  size: number;
  /** The number of its trajectories that now are groups of their own. */
  single: number;
  isMixed: boolean;
}

/** Tries the keys of the first trajectory, because all must have the key. */
const openTrial = () => {
  let open: Map<string, Map<string, TriedGroup>> | undefined;
  const readPrompt = openPromptReader();
  const tasks = new Set<string | undefined>();
  let count = 0;
  const fits = (name: string, groups: readonly TriedGroup[]) => {
    const [first] = groups;
    const isKnown = name === promptKey || groupKeyNames.includes(name.split(".").at(-1) ?? "");
    // If each task contains a session or a time, so that none repeats, an id with groups of equal size names the group.
    const isEven = tasks.size === count && groups.length > 1 && groups.every(({ size }) => size === first?.size);
    // A key must join groups of one trajectory, and a value that all trajectories share cannot distinguish prompts.
    if (!groups.some(({ single }) => single > 1) || (groups.length === 1 && name !== promptKey)) return false;
    if (groups.some(({ isMixed }) => isMixed)) return !isKnown && isEven && idWords.test(name);
    return isKnown || groups.some(({ task }) => task !== first?.task);
  };
  return {
    isOpen: () => open?.size !== 0,
    add(trajectory: Buffer, source: number, isSingle: boolean) {
      const value = parseJson(trajectory.toString("utf8"))?.value;
      const root = readRoot(trajectory);
      const prompt = root && readPrompt(root.table, findPromptOf(root));
      const sampler = JSON.stringify([source, listSamplers(value)]);
      const keys = new Map(listKeys(value).map(({ name, text }) => [name, shorten(text)]));
      if (prompt !== undefined && !keys.has(promptKey)) keys.set(promptKey, prompt);
      const task = prompt === undefined ? undefined : readTask(value);
      tasks.add(task);
      count++;
      open ??= new Map([...keys.keys()].sort(byRank).map((name) => [name, new Map()]));
      for (const [name, groups] of open) {
        const key = keys.get(name);
        const group = key === undefined ? undefined : groups.get(key);
        if (key === undefined || (group && group.sampler !== sampler)) open.delete(name);
        else if (!group) groups.set(key, { sampler, task, size: 1, single: Number(isSingle), isMixed: false });
        else {
          group.size++;
          group.single += Number(isSingle);
          group.isMixed ||= task !== undefined && group.task !== undefined && group.task !== task;
        }
      }
    },
    findBest: () => [...(open ?? [])].find(([name, groups]) => fits(name, [...groups.values()]))?.[0],
  };
};

/** Returns what the users of a prompt say, because a system prompt can contain a session or a time. */
const readTask = (trajectory: unknown) => {
  const items = getValue(trajectory, ["messages_and_choices"]);
  const messages = Array.isArray(items) ? items.filter(isObject) : [];
  const end = messages.findIndex(({ role }) => role === undefined || role === "assistant");
  const prompt = messages.slice(0, end < 0 ? undefined : end);
  return shorten(JSON.stringify(prompt.flatMap(({ role, content }) => (role === "user" ? [content] : []))));
};

const isSampler = (name: string) => isStep(name) || canNamePolicy(name);

/** Lists the columns that state what sampled a trajectory: a step or a policy. */
const listSamplers = (value: unknown) =>
  [value, ...stepHolders.map((holder) => getValue(value, [holder]))].map((holder) =>
    Object.entries(isObject(holder) ? holder : {})
      .filter(([name, one]) => isSampler(name) && !isObject(one) && !Array.isArray(one))
      .sort(([a], [b]) => compareTexts(a, b)),
  );

const maxKeptLength = 64;
const shorten = (text: string) => (text.length > maxKeptLength ? hash("sha256", text) : text);

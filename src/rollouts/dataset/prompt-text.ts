/** Reads the text of a group's prompt, and its key. */

import { textsOf } from "../../conversation/message.ts";
import { isObject, parseWithDigits } from "../../json/json-bytes.ts";
import { requireFault } from "../../json/reader.ts";
import { Kind, kindAt } from "../../json/shape.ts";
import * as table from "../../json/table.ts";
import { appendTo } from "../../text/lists.ts";
import { cutText } from "../../text/sentences.ts";
import { listCustomKeys } from "../check/trajectory.ts";
import { findPromptOf } from "../check/trajectory-prompt.ts";
import { findGroupKey, openGroupKeyReader, parseKeyText } from "../index/group-key.ts";
import {
  answerColumns,
  divisionNames,
  findRewardColumns,
  groupWords,
  idWords,
  isComparedStep,
  otherColumn,
  rolloutWords,
} from "../rules/names.ts";
import { getPart, type IndexedGroups, readPartStart, type TrajectoryPosition } from "./locate.ts";

const unreadableStartBytes = 2 ** 18;
const maxPromptLength = 200;
const maxMemberBytes = 10_000;

const readPartRoot = (dataset: IndexedGroups, at: number) => {
  const part = getPart(dataset, at);
  const bytes = readPartStart(part, part.part.kind === "unreadable" ? unreadableStartBytes : undefined);
  return table.readRoot(bytes) ?? parseTruncated(bytes);
};

/** Reads the prompt and key that two inputs share. @throws Failure `input-changed` */
export const readPairPromptAndKey = (
  [a, b]: readonly [IndexedGroups, IndexedGroups],
  pair: Readonly<Record<"a" | "b", { readonly first: TrajectoryPosition }>>,
  groupBy: readonly string[] | undefined,
) => {
  const read = (dataset: IndexedGroups, { part, trajectory }: TrajectoryPosition) =>
    openRowReader(dataset, { groupBy })(part, trajectory);
  const { prompt, key } = read(a, pair.a.first);
  // A group without trajectories has no prompt.
  return { prompt: prompt || read(b, pair.b.first).prompt, key };
};

export interface WantedKeys {
  /** Default: a key that groups usually have. */
  readonly groupBy: readonly string[] | undefined;
  /** Other keys whose values are wanted. */
  readonly names?: readonly string[];
}

/** Reads each part once, in the order of its trajectories. The returned function throws Failure `input-changed`. */
export const openRowReader = (dataset: IndexedGroups, { groupBy, names = [] }: WantedKeys) => {
  const readers = names.map((name) => ({ name, read: openGroupKeyReader([name]) }));
  let open: { part: number; root: table.JsonValue | undefined; trajectories: readonly table.JsonValue[] } | undefined;
  return (part: number, at: number) => {
    if (open?.part !== part) {
      const root = readPartRoot(dataset, part);
      open = { part, root, trajectories: table.elementsOf(root && table.memberAt(root, "trajectories")) };
    }
    const { root, trajectories } = open;
    const trajectory = trajectories[at] ?? root;
    const keys = new Map<string, unknown>();
    for (const { name, read } of readers) {
      const key = [trajectory, root].map((value) => value && read(value, () => undefined)).find((text) => text);
      if (key !== undefined) keys.set(name, parseKeyText(key));
    }
    // A trajectory without the key has that of its group.
    const ownKey = findGroupKey(parseSmallMembers(trajectory), groupBy);
    const key = ownKey ?? findGroupKey(parseSmallMembers(root), groupBy) ?? null;
    return { prompt: trajectory ? parsePrompt(trajectory) : "", key, keys };
  };
};

const [maxComparedGroups, maxComparedBytes, maxScalarLength] = [64, 2 ** 24, 256];

/** Returns at most a step and another key whose values divide the groups, by the first trajectories of some groups. */
export const findDivisions = (dataset: IndexedGroups): readonly string[] => {
  const { groups, scan } = dataset;
  const columns = new Map<string, string[]>();
  let compared = 0;
  const stride = Math.ceil(groups.count / maxComparedGroups);
  for (let group = 0, bytes = 0; group < groups.count && bytes < maxComparedBytes; group += stride) {
    if (!groups.isValid(group) || groups.trajectoriesOf(group) === 0) continue;
    bytes += scan.parts.columns.length.at(groups.firstOf(group));
    compared++;
    for (const [name, text] of readScalars(readPartRoot(dataset, groups.firstOf(group)))) appendTo(columns, name, text);
  }
  const whole = [...columns].filter(([, values]) => values.length === compared);
  const find = (divides: (name: string, values: readonly string[]) => boolean) =>
    whole.find(([name, values]) => new Set(values).size > 1 && divides(name, values))?.[0] ?? [];
  const other = [find(isNamedDivision), find(isInBlocks)].flat().slice(0, 1);
  return [find(isComparedStep), other].flat();
};

/** Returns the texts, numbers and booleans of a group or a trajectory, its first trajectory and their metadata. */
const readScalars = (root: table.JsonValue | undefined) => {
  const [trajectory] = table.elementsOf(root && table.memberAt(root, "trajectories"));
  const metadata = [trajectory ?? root].map((one) => one && table.memberAt(one, "metadata"));
  const members = [root, trajectory, ...metadata].flatMap((holder) => (holder ? [...table.childrenOf(holder)] : []));
  return new Map(
    members.flatMap(([name, value]) => {
      const isScalar = (kindAt(value.table, value.node) & (Kind.string | Kind.number | Kind.boolean)) !== 0;
      const text = isScalar ? table.textOf(value) : "";
      return isScalar && text.length <= maxScalarLength ? [[String(name), text]] : [];
    }),
  );
};

/** A column with more values describes single tasks. */
const maxDivisions = 20;

const isNamedDivision = (name: string, values: readonly string[]) =>
  new Set(values).size <= maxDivisions && name.split(/[./]/).some((step) => divisionNames.includes(step));

/** True for a column of any name that has each value in adjacent groups, as a file of several environments does. */
const isInBlocks = (name: string, values: readonly string[]) => {
  const { size } = new Set(values);
  const blocks = values.filter((value, at) => value !== values[at - 1]).length;
  const isOther =
    answerColumns.includes(name) ||
    [otherColumn, rolloutWords, groupWords, idWords].some((pattern) => pattern.test(name));
  return blocks === size && 2 * size <= values.length && !isOther && findRewardColumns([name]).length === 0;
};

/** Lists the keys of the first trajectory that the interface does not define, and those of its metadata. */
export const listKeys = (dataset: IndexedGroups) => {
  const [group = 0] = dataset.groups.valid();
  const root = readPartRoot(dataset, dataset.groups.firstOf(group));
  const [first = root] = table.elementsOf(root && table.memberAt(root, "trajectories"));
  return listCustomKeys(first && parseSmallMembers(first));
};

/** Reads the key of a group without trajectories, in its line or first record. @throws Failure `input-changed` */
export const readFailedKey = async (dataset: IndexedGroups, group: number, name: string) => {
  const groupPart = getPart(dataset, dataset.groups.firstOf(group));
  const [record] = (await groupPart.source.originals?.recordsOf(groupPart.part.line)) ?? [];
  const root = table.readRoot(record?.bytes ?? readPartStart(groupPart));
  return root && openGroupKeyReader([name])(root, () => undefined);
};

/** Reads the key of each exception: its own, or that of its record or its group. @throws Failure `input-changed` */
export const readExceptionKeys = async (dataset: IndexedGroups, group: number, name: string) => {
  const readKey = openGroupKeyReader([name]);
  const keys: (string | undefined)[] = [];
  for (const at of dataset.groups.partsOf(group)) {
    const { source, part } = getPart(dataset, at);
    const root = table.readRoot(readPartStart({ source, part }));
    const records = (await source.originals?.failedRecordsOf(part.line)) ?? [];
    for (const [index, exception] of table.elementsOf(root && table.memberAt(root, "exceptions")).entries()) {
      const record = records[index] && table.readRoot(records[index]);
      const found = [exception, record, root].map((value) => value && readKey(value, () => undefined));
      keys.push(found.find((key) => key !== undefined));
    }
  }
  return keys;
};

const parseSmallMembers = (value: table.JsonValue | undefined) => {
  const members = value ? [...table.childrenOf(value)] : [];
  const small = members.filter(([, member]) => table.spanOf(member).end - table.spanOf(member).start <= maxMemberBytes);
  return Object.fromEntries(small.map(([name, member]) => [name, parseWithDigits(table.textOf(member))?.value]));
};

/** The JSON depth of a message: group, `trajectories`, trajectory, `messages_and_choices`. */
const messageDepth = 4;

const parseTruncated = (bytes: Buffer) => {
  const start = table.closeTruncated(bytes.subarray(0, requireFault(bytes).at), messageDepth);
  return start && table.readRoot(start);
};

/** Returns the first line of the user, or else of another message; empty if nothing precedes the first turn. */
const parsePrompt = (trajectory: table.JsonValue) => {
  const { firstTurn } = findPromptOf(trajectory);
  let first = "";
  for (const value of table.elementsOf(table.memberAt(trajectory, "messages_and_choices"))) {
    if (value.node === firstTurn) break;
    const message = table.parseValue(value);
    if (!isObject(message)) continue;
    const line = shorten(textsOf(message.content).join(" "));
    if (message.role === "user" && line !== "") return line;
    first ||= line;
  }
  return first;
};

const shorten = (text: string) => {
  const line = cutText(text, maxPromptLength * 4).replaceAll(/\s+/g, " ");
  const characters = [...line.trim()];
  if (characters.length <= maxPromptLength) return characters.join("");
  const start = characters.slice(0, maxPromptLength - 1).join("");
  return `${start.trimEnd()}…`;
};

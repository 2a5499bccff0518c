/** Reads and suggests group keys, and finds groups to which an unreadable record may belong. */

import { formatCanonically } from "../../conversation/prompt.ts";
import { getValue, isObject } from "../../json/json-bytes.ts";
import { tryStringify } from "../../json/raw-json.ts";
import { Kind, kindAt } from "../../json/shape.ts";
import * as json from "../../json/table.ts";
import { hash } from "../../system/hashes.ts";
import { groupKeyNames, groupWords, idWords, toKeyPaths } from "../rules/names.ts";
import type { RuleReporter } from "../rules/rules.ts";

/** Keys of prompts are last, because two groups can have the same prompt. */
const groupKeyCandidates: readonly string[] = [...groupKeyNames, "prompt", "question", "task"];

const maxSearchedObjects = 16;

const readKeyValue = (trajectory: unknown, name: string) =>
  toKeyPaths(name)
    .map((path) => getValue(trajectory, path))
    .find((value) => value !== undefined && value !== null);

/** Returns names that `--group-by` accepts, with their values as JSON. */
export const findGroupKeys = (value: unknown): readonly { name: string; text: string }[] => {
  if (!isObject(value)) return [];
  const metadata = isObject(value.metadata) ? value.metadata : {};
  const holders = [...Object.entries(value), ...Object.entries(metadata)].flatMap(([name, inner]) =>
    inner !== metadata && isObject(inner) && /^[\w-]+$/.test(name) ? [`${name}.`] : [],
  );
  return ["", ...new Set(holders.slice(0, maxSearchedObjects))].flatMap((holder) =>
    groupKeyCandidates.flatMap((key) => {
      const name = `${holder}${key}`;
      const text = tryStringify(readKeyValue(value, name));
      return text === undefined ? [] : [{ name, text }];
    }),
  );
};

/** @param names keys of `--group-by` */
export const findGroupKey = (trajectory: unknown, names: readonly string[] = []) => {
  const values = names.map((name) => readKeyValue(trajectory, name)).filter((value) => value !== undefined);
  const isCertain = ({ name }: { name: string }) => groupKeyNames.includes(name.split(".").at(-1) ?? "");
  const isKnown = values.length > 0 && values.length === names.length;
  const value: unknown = values.length === 1 ? values[0] : values;
  const text = isKnown ? tryStringify(value) : findGroupKeys(trajectory).find(isCertain)?.text;
  return text?.startsWith('"') === true ? String(JSON.parse(text)) : text;
};

/** The best group key has the lowest rank. */
export const rankGroupKey = (name: string) => {
  const steps = name.split(".");
  const rank = groupKeyCandidates.indexOf(steps.at(-1) ?? "");
  const unknownRank = groupKeyCandidates.length + (groupWords.test(name) ? 0 : idWords.test(name) ? 1 : 2);
  return 2 * (rank < 0 ? unknownRank : rank) + steps.length - 1;
};

/**
 * @param groupBy the keys of which a trajectory needs all; default: the group id at the top level
 * @param readPrompt returns the key `prompt` of a trajectory without a member of this name
 */
export const openGroupKeyReader = (
  groupBy: readonly string[] | undefined,
  readPrompt: (trajectory: json.JsonValue) => string | undefined = () => undefined,
) => {
  const keyPaths = groupBy?.map(toKeyPaths) ?? [[["group_id"]]];
  const readKey = (trajectory: json.JsonValue, paths: readonly (readonly string[])[]) => {
    for (const path of paths) {
      const key = path.reduce<json.JsonValue | undefined>(enterStep, trajectory);
      if (key && kindAt(key.table, key.node) !== Kind.null) return formatKey(key);
    }
    return undefined;
  };
  return (trajectory: json.JsonValue, report: RuleReporter) => {
    const keys = keyPaths.map(
      (paths, at) => readKey(trajectory, paths) ?? (groupBy?.[at] === "prompt" ? readPrompt(trajectory) : undefined),
    );
    const missing = groupBy?.filter((_, at) => keys[at] === undefined) ?? [];
    if (missing.length === 0) return keys.length === 1 ? keys[0] : `[${keys.map(quoteDigest).join()}]`;
    report("group-key-missing", { key: missing.join() }, trajectory.node);
    return undefined;
  };
};

const quoteDigest = (key = "") => (key.startsWith("sha256:") ? JSON.stringify(key) : key);

const enterStep = (value: json.JsonValue | undefined, step: string) => {
  const holder = value && json.expandLeaf(value);
  if (!holder || kindAt(holder.table, holder.node) !== Kind.array) return json.memberAt(holder, step);
  return /^(?:0|[1-9]\d*)$/.test(step) ? json.findChild(holder, Number(step)) : undefined;
};

const digestDigits = 16;

/** Fractions of 15 digits have different doubles. */
const exactFractionLength = 16;

/** Values of different types have different texts. */
export const formatKey = (key: json.JsonValue) => {
  const { table, node } = key;
  const { start, end } = json.spanOf(key);
  const kind = kindAt(table, node);
  const isUnescapedAscii = json.detailOf(table, node) === end - start - 2;
  if (kind === Kind.string && !isUnescapedAscii) return JSON.stringify(json.readString(table, node));
  // Long numbers keep their digits, because different ones can have the same double.
  const value = kind === Kind.number ? json.readNumber(table, node) : Number.NaN;
  const isExact = Number.isSafeInteger(value) || (!Number.isInteger(value) && end - start <= exactFractionLength);
  if (isExact && Number.isFinite(value)) return JSON.stringify(value);
  if (kind !== Kind.object && kind !== Kind.array) return table.bytes.toString("latin1", start, end);
  return `sha256:${hash("sha256", formatCanonically(key)).slice(0, digestDigits)}`;
};

/** Returns the value of a key from the reader; null without a key. Arrays and objects are their text. */
export const parseKeyText = (key: string | undefined): string | number | boolean | null => {
  if (key === undefined || key.startsWith("sha256:")) return key ?? null;
  const value: unknown = JSON.parse(key);
  // Another number can have the same double.
  const isExact = Number.isSafeInteger(value) || (!Number.isInteger(value) && JSON.stringify(value) === key);
  if (typeof value === "number") return isExact ? value : key;
  return typeof value === "string" || typeof value === "boolean" ? value : key;
};

/** Returns the text of a key that the reader returned; null without a key. */
export const formatKeyText = (key: string | undefined) => (key === undefined ? null : String(parseKeyText(key)));

interface Membership {
  /** Records of different file sets cannot share a group. */
  fileSet: number;
  /** Undefined if the record has no group key. */
  group: number | undefined;
  isUnknown: boolean;
}

/**
 * Maps each ambiguous group to the index of the first unknown record that may belong to the group. If the members of
 * groups are adjacent, an unknown record affects only its neighbors. Otherwise, it affects all groups of its file set.
 */
export const findAmbiguousGroups = (memberships: readonly Membership[], needsProof: boolean) => {
  const areApart = !areMembersAdjacent(memberships, needsProof);
  const ambiguous = new Map<number, number>();
  const addAmbiguous = (member: Membership | undefined, unknownAt: number) => {
    if (member?.group === undefined || member.isUnknown || member.fileSet !== memberships[unknownAt]?.fileSet) return;
    if (!ambiguous.has(member.group)) ambiguous.set(member.group, unknownAt);
  };
  const firstUnknowns = new Map<number, number>();
  for (const [at, { fileSet, isUnknown }] of memberships.entries()) {
    if (!isUnknown) continue;
    if (!firstUnknowns.has(fileSet)) firstUnknowns.set(fileSet, at);
    if (!areApart) for (const next of [at - 1, at + 1]) addAmbiguous(memberships[next], at);
  }
  if (areApart) for (const member of memberships) addAmbiguous(member, firstUnknowns.get(member.fileSet) ?? -1);
  return ambiguous;
};

/** True if no group continues after another group. `needsProof` also requires a group with two adjacent records. */
const areMembersAdjacent = (memberships: readonly Membership[], needsProof: boolean) => {
  const seen = new Set<number>();
  let previous: number | undefined;
  let hasAdjacentMembers = false;
  for (const { group, isUnknown } of memberships) {
    if (isUnknown) continue;
    if (group !== undefined && group === previous) hasAdjacentMembers = true;
    else if (group !== undefined && seen.has(group)) return false;
    if (group !== undefined) seen.add(group);
    previous = group;
  }
  return hasAdjacentMembers || !needsProof;
};

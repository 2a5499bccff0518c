/** What rows of chat messages have in common, whoever wrote them: their group's key, and what goes along with the turns. */
import { groupKeyNames } from "../check/rules/values.ts";
import { type Built, type Composed, list, object, objectOf, said } from "./built.ts";
import { type FormatRun, type GroupKey, type GroupPart, type Rollout, type rewardOf, Unfit } from "./format.ts";
import { functionTools } from "./tool-calls.ts";
import { choice, derivedFinish } from "./turns.ts";
import type { Value } from "./value.ts";

/** A text that was given. */
export const userTurn = (content: Value): Built => object({ role: said("user"), content });

/** A text that was sampled. */
export const sampledText = (run: FormatRun, content: Value, finish?: Built): Built =>
  choice(object({ role: said("assistant"), content }), finish ?? derivedFinish(run, false));

/**
 * What tells a row's group from others: the key that it has, at the top or in its metadata, else a digest of the prompt.
 * The same prompt at another step was answered by another policy.
 */
export const groupOf = (row: Value, prompt: readonly Value[], key = groupKeyOf(row)): GroupKey =>
  key ?? [...stepOf(row), " prompt ", { saying: prompt }];

/** The group of a row that has a key for it, whatever else it has. */
export const groupKeyOf = (row: Value): GroupKey | undefined => {
  const holder = row.get("metadata");
  for (const name of groupKeyNames) {
    const key = row.get(name) ?? holder?.get(name);
    if (key !== undefined) return [...stepOf(row), ` ${name} `, { spelled: key }];
  }
  return undefined;
};

const stepOf = (row: Value): readonly GroupPart[] => {
  const step = row.get("step");
  return step === undefined ? [] : [{ spelled: step }];
};

/** How a group's key is found, for people. */
export const groupKeyFound = "group_id, prompt_id, …, else the same prompt; of the same step";

/** A row's number of a key; undefined where there is none. @throws Unfit */
export const numberOf = (row: Value, key: string, group: GroupKey): Value | undefined => {
  const value = row.get(key);
  if (value !== undefined && !value.isNumber) throw new Unfit(notNumber(key, value), value, group);
  return value;
};

const notNumber = (key: string, value: Value): string => {
  if (value.isList) return `${key} is a list: a row of several completions has \`completions\` and \`rewards\``;
  if (value.text === undefined) return `${key} is no number`;
  return `${key} is text, no number${/\d/.test(value.text) ? ": it stands without quotes" : ""}`;
};

/** The rollout of a row: its turns, and what else it says under the names that such rows have in common. */
export const rolloutOf = (
  row: Value,
  {
    group,
    judged: { reward, identity },
    turns,
    placed,
    more = [],
  }: {
    readonly group: GroupKey;
    readonly judged: ReturnType<typeof rewardOf>;
    readonly turns: readonly Built[];
    /** Its keys that have a place. */
    readonly placed: ReadonlySet<string>;
    /** What goes into its metadata beside its own. */
    readonly more?: readonly (readonly [string, Value])[];
  },
): Rollout => ({
  group,
  identity,
  trajectory: object({
    messages_and_choices: list(turns),
    tools: toolsOf(row),
    reward,
    metrics: metricsOf(row),
    metadata: metadataOf(row, placed, more),
  }),
});

/** The tools of a row; undefined where it has none. */
const toolsOf = (row: Value): Built | undefined => {
  const tools = row.get("tools");
  return functionTools(tools?.inner ?? tools);
};

/** Numbers and truth values of a row's `metrics`; undefined where there are none. */
const metricsOf = (row: Value): Composed | undefined => {
  const own = (row.get("metrics")?.members() ?? []).filter(([, { isMeasured }]) => isMeasured);
  return own.length === 0 ? undefined : objectOf(own);
};

/** Scalars of a row that have no other place, and those of its `metadata`; undefined where there are none. */
export const metadataOf = (
  row: Value,
  placed: ReadonlySet<string>,
  more: readonly (readonly [string, Value])[] = [],
): Composed | undefined => {
  const top = row.members().filter(([key]) => !placed.has(key));
  const within = row.get("metadata")?.members() ?? [];
  const own = new Map([...top, ...more, ...within].filter(([, value]) => value.isFlat));
  return own.size === 0 ? undefined : objectOf(own);
};

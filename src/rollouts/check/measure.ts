/** Adds facts and keys of valid trajectories to columns, and recognizes errors of tools (metrics.md). */

import { hasError, hasErrorMark, isErrorText, maxExceptionLength } from "../../conversation/message.ts";
import { Kind, kindAt, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { derivedFinishesKey } from "../facts.ts";
import { addUse, type FactColumns, noUse, type ToolUse, type TrajectoryFacts } from "../index/fact-columns.ts";
import { formatKey, openGroupKeyReader } from "../index/group-key.ts";
import { comparedStepNames, divisionNames, groupKeyNames, isMediaColumn } from "../rules/names.ts";
import { workOf } from "./block.ts";
import { countScores, listTexts, type MessageWalk } from "./message-walk.ts";
import { listSteps } from "./policy-steps.ts";
import { makers } from "./tool-calls.ts";
import { digestPrompt, hasTaskPrompt, openPromptReader } from "./trajectory-prompt.ts";

/** The keys that are stored for each trajectory, in the notation of --group-by. */
export type MeasuredKeys = Readonly<{
  by?: string | undefined;
  /** True if the value of `by` is that of the first step column. */
  hasSteps?: boolean;
  /** True if rows have the digests of prompts, and the keys of tasks that all have. */
  hasTasks?: boolean;
}>;

/** What one event adds to the uses of a tool. */
const [answeredCall, unansweredCall, errorResult] = [
  { calls: 1, errors: 0, unanswered: 0 },
  { calls: 1, errors: 0, unanswered: 1 },
  { calls: 0, errors: 1, unanswered: 0 },
];

const readToolName = json.openRepeatReader();

const noUses: ReadonlyMap<number, ToolUse> = new Map();

const sumToolUses = (table: JsonTable, { events, choices }: MessageWalk, toolNames: FactColumns["toolNames"]) => {
  if (events.length === 0) return noUses;
  const sampled = choices > 0 ? makers.choice : makers.assistant;
  const uses = new Map<number, ToolUse>();
  const addTo = (node: number, use: ToolUse) =>
    addUse(uses, node > 0 ? toolNames.numberOf(readToolName(table, node)) : 0, use);
  for (const { node, name, maker, isLast, partner } of events) {
    if (maker === sampled) {
      addTo(name, partner || isLast ? answeredCall : unansweredCall);
    } else if (maker === makers.result && (!partner || partner.maker === sampled) && isErrorResult(table, node))
      addTo(partner ? partner.name : findToolName(table, node), errorResult);
  }
  return uses;
};

const unknownCounts = { turns: -1, characters: -1, tokens: -1, tool_calls: -1, tool_errors: -1, unanswered: -1 };

const addRow = (table: JsonTable, facts: TrajectoryFacts, walk: MessageWalk, into: FactColumns) => {
  const { count: turns, characters, scores } = walk.turns;
  const uses = sumToolUses(table, walk, into.toolNames);
  let { calls: tool_calls, errors: tool_errors, unanswered } = noUse;
  for (const use of uses.values()) {
    tool_calls += use.calls;
    tool_errors += use.errors;
    unanswered += use.unanswered;
  }
  const tokens = countTokens(table, scores, facts.node);
  const known = { turns, characters, tokens, tool_calls, tool_errors, unanswered };
  // A trajectory with exchanges has no list of messages, and -1 is an unknown count.
  const counts = facts.list > 0 ? known : unknownCounts;
  const media = walk.media + countMediaColumns({ table, node: facts.node });
  return into.addRow(facts, { counts, media, finishReason: walk.finishReason, uses });
};

const mediaShape = new Shape<never, boolean>([], (members) => members.list().some(({ key }) => isMediaColumn(key)));

/** Counts the media in columns of converted rows. */
const countMediaColumns = (trajectory: json.JsonValue) => {
  let count = 0;
  if (!mediaShape.read(trajectory.table, trajectory.node)) return count;
  for (const [key, value] of json.childrenOf(trajectory)) {
    const kind = kindAt(value.table, value.node);
    if (kind === Kind.null || !isMediaColumn(String(key))) continue;
    count += kind === Kind.array ? json.elementsOf(value).length : 1;
  }
  return count;
};

export type Measurer = ReturnType<typeof openMeasurer>;

export const openMeasurer = (keys: MeasuredKeys) => {
  const readBy = keys.by === undefined ? undefined : openKeyReader([keys.by]);
  const readPrompt = openPromptReader();
  const readTasks = openTaskReader();
  return {
    /**
     * Yields the work of each valid trajectory before its row (`workOf`).
     * @param holder the group of the trajectories, or the trajectory
     * @param hasOnePrompt true if the prompts of tasks are the same bytes
     */
    *addRows(
      holder: json.JsonValue,
      all: readonly TrajectoryFacts[],
      walks: readonly MessageWalk[],
      into: FactColumns,
      hasOnePrompt: boolean,
    ) {
      // Adjacent trajectories outside groups often have the same prompt, which `readPrompt` knows.
      const isShared = hasOnePrompt && all.length > 1;
      let task: string | undefined;
      const derived = listDerived(holder);
      for (let at = 0; at < all.length; at++) {
        const [facts, walk] = [all[at], walks[at]];
        if (!facts || !walk) return;
        const { node } = facts;
        yield workOf(json.endOf(holder.table, node) - json.startOf(holder.table, node));
        const row = addRow(holder.table, facts, walk, into);
        if (derived.has(at)) into.finishReason.set(row, undefined);
        if (keys.hasSteps) into.by.set(row, readStep(holder, node, into));
        else if (readBy) into.by.set(row, readBy(holder, node));
        if (!keys.hasTasks) continue;
        const isKnown = isShared && hasTaskPrompt(facts);
        if (isKnown) task ??= digestPrompt(holder.table, facts);
        into.prompt.set(row, isKnown ? task : readPrompt(holder.table, facts));
        if (row === 0 || into.tasks.size > 0) into.setTasks(row, readTasks(holder, node, row, into.tasks));
      }
    },
  };
};

/** Returns the indexes of the trajectories whose finish reason `convert` derived, so that it is not a fact. */
const listDerived = (group: json.JsonValue): ReadonlySet<number> => {
  const list = json.memberAt(group, derivedFinishesKey);
  return new Set(list ? json.elementsOf(list).map(({ table, node }) => json.readNumber(table, node)) : []);
};

const openTaskReader = () => {
  const names = [...new Set([...groupKeyNames, ...comparedStepNames, ...divisionNames])];
  const readers = new Map(names.map((name) => [name, openKeyReader([name])]));
  return (holder: json.JsonValue, node: number, row: number, known: FactColumns["tasks"]) => {
    const values = new Map<string, string>();
    for (const name of row === 0 ? names : known.keys()) {
      const value = readers.get(name)?.(holder, node);
      if (value !== undefined) values.set(name, value);
    }
    return values;
  };
};

/** A trajectory without the key has that of its group. */
const openKeyReader = (names: readonly string[]) => {
  const read = openGroupKeyReader(names);
  return (holder: json.JsonValue, node: number) => read({ table: holder.table, node }, ignore) ?? read(holder, ignore);
};

/** Reads the first step column that an input has. A trajectory with another column has no step. */
const readStep = (holder: json.JsonValue, node: number, into: FactColumns) => {
  const steps = [...listSteps({ table: holder.table, node }), ...listSteps(holder)];
  const hasName = (name: string | undefined) => steps.some((step) => step.name === name);
  into.stepName ??= comparedStepNames.find(hasName) ?? steps[0]?.name;
  const step = steps.find(({ name }) => name === into.stepName);
  return step && formatKey(step.value);
};

const ignore = () => undefined;

/** Returns the number of sampled tokens; -1 if it is unknown. */
const countTokens = (table: JsonTable, scores: readonly number[], node: number) => {
  const count = scores.reduce((sum, score) => sum + countScores(table, score), 0);
  return count > 0 ? count : findStatedTokens(table, node);
};

const tokenCounts = ["completion_tokens", "output_tokens", "n_output_tokens", "token_usage.output_tokens"] as const;
const tokenHolders = ["usage", "token_usage", "metadata", "metrics"] as const;

/** The members of a record, and of its usage, that state the number of sampled tokens. */
const tokensShape = new Shape([...tokenCounts, ...tokenHolders], ({ kinds }) => ({
  count: tokenCounts.find((name) => kinds[name] === Kind.number),
  holderSlots: tokenHolders.flatMap((name, at) => (kinds[name] === Kind.object ? tokenCounts.length + at + 1 : [])),
}));

/** Returns -1 if the trajectory does not state the number of sampled tokens. */
const findStatedTokens = (table: JsonTable, object: number, depth = 0): number => {
  const { count, holderSlots } = tokensShape.read(table, object);
  const stated = count === undefined ? -1 : json.readNumber(table, tokensShape.at(table, tokensShape.slots[count]));
  if (Number.isInteger(stated) && stated >= 0) return stated;
  if (depth === 2) return -1;
  for (let at = 0; at < holderSlots.length; at++) {
    tokensShape.read(table, object);
    const found = findStatedTokens(table, tokensShape.at(table, holderSlots[at] ?? 0), depth + 1);
    if (found >= 0) return found;
  }
  return -1;
};

const marks = ["status", "error", "is_error", "isError"] as const;
const resultShape = new Shape(["name", "content", ...marks], ({ kinds }) => ({
  ...kinds,
  hasMark: marks.some((name) => kinds[name] !== Kind.absent),
}));

/** Returns the node of the name in a result; 0 without one. */
const findToolName = (table: JsonTable, message: number) =>
  resultShape.read(table, message).name === Kind.string ? resultShape.at(table, resultShape.slots.name) : 0;

const isErrorResult = (table: JsonTable, message: number) => {
  const kinds = resultShape.read(table, message);
  if (kinds.hasMark && hasErrorMark(readMarks(table, kinds))) return true;
  const content = resultShape.at(table, resultShape.slots.content);
  if (kinds.content === Kind.object) return hasError(json.parseNode(table, content));
  if (kinds.content === Kind.string) return isErrorString(table, content);
  const [first] = kinds.content === Kind.array ? listTexts(table, content) : [];
  return first !== undefined && isErrorString(table, first);
};

/** Returns the marks of the result that `resultShape` has read. */
const readMarks = (table: JsonTable, kinds: ReturnType<typeof resultShape.read>) => {
  const { slots } = resultShape;
  const stated = marks.filter((name) => kinds[name] !== Kind.absent);
  return Object.fromEntries(stated.map((name) => [name, json.parseNode(table, resultShape.at(table, slots[name]))]));
};

const isErrorString = (table: JsonTable, node: number) => {
  const [start, end] = [json.startOf(table, node) + 1, json.endOf(table, node) - 1];
  const head = table.bytes.toString("utf8", start, Math.min(end, start + maxExceptionLength));
  if (!/^(?: |\\.)*\{/s.test(head)) return isErrorText(head);
  return table.bytes.subarray(start, end).includes("rror") && isErrorText(json.readString(table, node));
};

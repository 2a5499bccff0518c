/** Reads the facts of a valid trajectory from its table (metrics.md). */

import { backslash, colon, openBrace, quote } from "../../json/json-bytes.ts";
import { cacheReader, nodeSize } from "../../json/reader.ts";
import { Kind, kindAt, kindOf, kindsAsFacts, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import { divisionNames, groupKeyNames } from "../index/ambiguous-groups.ts";
import { openGroupKeyReader } from "../index/group-key.ts";
import { comparedStepNames } from "../index/step-columns.ts";
import { errorStatus, hasError, isErrorText, maxExceptionLength } from "../index/tool-errors.ts";
import { createTrajectoryFacts, type TrajectoryFacts } from "../index/trajectory-facts.ts";
import { WalkedColumns, type WalkedFacts } from "../index/walked-columns.ts";
import { OpenCalls } from "../messages/open-calls.ts";
import { nonEmptyNode } from "./messages.ts";
import { inspectTrajectory } from "./trajectory.ts";
import { openPromptReader } from "./trajectory-prompt.ts";

/** The role and the finish reason are part of the shape of a message (`keyUses`). */
const turnShape = new Shape(
  ["role", "content", "message", "logprobs", "finish_reason", "tool_calls", "reasoning_content", "reasoning"],
  (kinds, table, object) => ({
    isChoice: kinds.role === Kind.absent && kinds.message === Kind.object,
    role: readText(table, json.findMemberNode(table, object, "role")),
    finishReason: readText(table, json.findMemberNode(table, object, "finish_reason")),
    hasReasoning: ((kinds.reasoning_content | kinds.reasoning) & Kind.string) !== 0,
    hasLogprobs: kinds.logprobs === Kind.object,
    hasCalls: kinds.tool_calls === Kind.array,
    content: kinds.content,
  }),
);
const resultShape = new Shape(["tool_call_id", "name", "content", "is_error", "status"], kindsAsFacts);
const callShape = new Shape(["id", "function"], kindsAsFacts);
const functionShape = new Shape(["name", "arguments"], kindsAsFacts);
const partShape = new Shape(["text"], kindsAsFacts);

type TurnFacts = ReturnType<typeof turnShape.read>;

/** Nodes of a call that waits for its result. */
type OpenCall = Readonly<{ id: number; name: string | undefined; isSampled: boolean }>;

/** Adds the facts of a trajectory to the columns. @param holder the group of the trajectory, or the trajectory */
export type RolloutMeasurer = (holder: json.JsonValue, facts: TrajectoryFacts, into: WalkedColumns) => void;

/** The keys whose values each fact has, in the notation of --group-by. */
export type MeasuredKeys = Readonly<{
  by?: string | undefined;
  /** Default: no key, because a million keys take much memory. */
  key?: readonly string[] | undefined;
  /** True if each fact has the digest of its prompt, and the keys of tasks that all facts have. */
  hasPrompts?: boolean;
  /** True if the caller wants no turns, characters, tokens and tools, which a walk over all messages finds. */
  isShort?: boolean;
}>;

export const openRolloutMeasurer = (keys: MeasuredKeys): RolloutMeasurer => {
  const [readBy, readKey] = [openKeyReader(keys.by === undefined ? undefined : [keys.by]), openKeyReader(keys.key)];
  const readPrompt = openPromptReader();
  const taskNames = [...new Set([...groupKeyNames, ...comparedStepNames, ...divisionNames])];
  const taskReaders = new Map(taskNames.map((name) => [name, openKeyReader([name])]));
  const readTasks = (holder: json.JsonValue, node: number, { rows, tasks }: WalkedColumns) => {
    if (rows > 0 && tasks.size === 0) return undefined;
    const values = new Map<string, string>();
    for (const name of rows === 0 ? taskNames : tasks.keys()) {
      const value = taskReaders.get(name)?.(holder, node);
      if (value !== undefined) values.set(name, value);
    }
    return values;
  };
  const walk = new RolloutWalk(keys.isShort);
  return (holder, facts, into) => {
    const { table } = holder;
    walk.run(table, facts, into);
    const [by, key] = [readBy(holder, facts.node), readKey(holder, facts.node)];
    if (!keys.hasPrompts) return into.addRow(walk, { by, key });
    const tasks = readTasks(holder, facts.node, into);
    into.addRow(walk, { by, key, prompt: readPrompt(table, facts), isGreeted: facts.hasGreeting, tasks });
  };
};

/** A trajectory without the key has that of its group. */
const openKeyReader = (names: readonly string[] | undefined) => {
  if (names === undefined) return () => undefined;
  const read = openGroupKeyReader(names);
  return (holder: json.JsonValue, node: number) => read({ table: holder.table, node }, ignore) ?? read(holder, ignore);
};

const ignore = () => undefined;

/** Returns the walked facts of a valid trajectory, without its keys. */
export const measureTrajectory = ({ table, node }: json.JsonValue) => {
  const [facts, into] = [createTrajectoryFacts(), new WalkedColumns()];
  inspectTrajectory(table, node, facts, ignore);
  openRolloutMeasurer({})({ table, node }, facts, into);
  return into.at(0);
};

/** One walk serves all trajectories, because an object for each costs as much time as the walk. */
class RolloutWalk implements WalkedFacts {
  turns = 0;
  characters = 0;
  tokens = -1;
  finishReason: string | undefined;
  #table: JsonTable = json.emptyTable;
  #hasChoices = false;
  #into = new WalkedColumns();
  readonly #open = new OpenCalls<OpenCall>(({ id }) => readText(this.#table, id));
  readonly #names = new ToolNames();
  readonly #isShort: boolean;

  constructor(isShort = false) {
    this.#isShort = isShort;
  }

  run(table: JsonTable, { node, list, choices, lastChoice }: TrajectoryFacts, into: WalkedColumns) {
    this.turns = 0;
    this.characters = 0;
    this.tokens = -1;
    this.finishReason = lastChoice > 0 ? turnShape.read(table, lastChoice).finishReason : undefined;
    this.#table = table;
    this.#hasChoices = choices > 0;
    this.#into = into;
    this.#open.reset();
    if (this.#isShort) return;
    const end = json.nodeAfter(table, list);
    for (let entry = list + nodeSize; entry < end; ) {
      const next = json.nodeAfter(table, entry);
      if (kindAt(table, entry) === Kind.object) this.#addEntry(entry, next === end);
      entry = next;
    }
    if (this.tokens < 0) this.tokens = findStatedTokens(table, node);
    for (const { name, isSampled } of this.#open.open()) if (isSampled) this.#into.countUse("unanswered", name);
  }

  /** A call in the last message needs no result. */
  #addEntry(entry: number, isLast: boolean) {
    const table = this.#table;
    const { slots } = turnShape;
    const facts = turnShape.read(table, entry);
    const { isChoice, role } = facts;
    if (isChoice) {
      if (facts.hasLogprobs) this.#addTokens(turnShape.at(table, slots.logprobs));
      this.#addTurn(turnShape.read(table, turnShape.at(table, slots.message)), true, isLast);
    } else if (role === "tool") this.#addResult(entry);
    else if (role === "assistant") {
      if (facts.hasLogprobs && !this.#hasChoices) this.#addTokens(turnShape.at(table, slots.logprobs));
      this.#addTurn(facts, !this.#hasChoices, isLast);
    }
  }

  /** Adds the message that `turnShape` has read. */
  #addTurn({ content, hasReasoning, hasCalls }: TurnFacts, isSampled: boolean, isLast: boolean) {
    const table = this.#table;
    const { slots } = turnShape;
    if (isSampled) this.turns++;
    // Some services send the reasoning under both names.
    if (isSampled && hasReasoning)
      this.characters += Math.max(
        countCharacters(table, turnShape.at(table, slots.reasoning_content)),
        countCharacters(table, turnShape.at(table, slots.reasoning)),
      );
    if (isSampled && (content & (Kind.string | Kind.array)) !== 0)
      this.characters += countContent(table, turnShape.at(table, slots.content));
    if (!hasCalls) return;
    const calls = turnShape.at(table, slots.tool_calls);
    const end = json.nodeAfter(table, calls);
    for (let call = calls + nodeSize; call < end; call = json.nodeAfter(table, call))
      if (kindAt(table, call) === Kind.object) this.#addCall(call, isSampled, isLast);
  }

  #addCall(call: number, isSampled: boolean, isLast: boolean) {
    const table = this.#table;
    const kinds = callShape.read(table, call);
    const id = kinds.id === Kind.string ? nonEmptyNode(table, callShape.at(table, callShape.slots.id)) : 0;
    let name: string | undefined;
    if (kinds.function === Kind.object) {
      functionShape.read(table, callShape.at(table, callShape.slots.function));
      name = this.#names.read(table, functionShape.at(table, functionShape.slots.name));
      if (isSampled) this.characters += countCharacters(table, functionShape.at(table, functionShape.slots.arguments));
    }
    if (isSampled) this.#into.countUse("calls", name);
    if (!isLast) this.#open.add({ id, name, isSampled });
  }

  #addResult(message: number) {
    const table = this.#table;
    const { slots } = resultShape;
    const kinds = resultShape.read(table, message);
    const id = kinds.tool_call_id === Kind.string ? nonEmptyNode(table, resultShape.at(table, slots.tool_call_id)) : 0;
    const nameNode = kinds.name === Kind.string ? resultShape.at(table, slots.name) : 0;
    const isError = isErrorResult(table, kinds);
    const call = this.#takeCall(id);
    if (isError && call?.isSampled !== false)
      this.#into.countUse("errors", call ? call.name : readText(table, nameNode));
  }

  /** Comparing the bytes of ids in their order is faster than decoding them. @param id a node; 0 without an id */
  #takeCall(id: number) {
    const { oldest } = this.#open;
    if (id === 0 || (oldest && oldest.id > 0 && haveSameText(this.#table, oldest.id, id)))
      return this.#open.takeOldest();
    return this.#open.take(json.readString(this.#table, id));
  }

  #addTokens(node: number) {
    const table = this.#table;
    const count = countTokens(table.bytes.subarray(json.startOf(table, node), json.endOf(table, node)));
    if (count !== undefined) this.tokens = Math.max(0, this.tokens) + count;
  }
}

const tokenCounts = ["completion_tokens", "output_tokens", "n_output_tokens", "token_usage.output_tokens"] as const;
const tokenHolders = ["usage", "token_usage", "metadata", "metrics"] as const;

/** The members of a record, and of its usage, that state the number of sampled tokens. */
const tokensShape = new Shape([...tokenCounts, ...tokenHolders], (kinds) => ({
  count: tokenCounts.find((name) => kinds[name] === Kind.number),
  holders: tokenHolders.filter((name) => kinds[name] === Kind.object),
}));

/** Returns -1 if the trajectory does not state the number of sampled tokens. */
const findStatedTokens = (table: JsonTable, object: number, depth = 0): number => {
  const { count, holders } = tokensShape.read(table, object);
  const stated = count === undefined ? -1 : json.readNumber(table, tokensShape.at(table, tokensShape.slots[count]));
  if (Number.isInteger(stated) && stated >= 0) return stated;
  if (depth === 2) return -1;
  for (const name of holders) {
    tokensShape.read(table, object);
    const found = findStatedTokens(table, tokensShape.at(table, tokensShape.slots[name]), depth + 1);
    if (found >= 0) return found;
  }
  return -1;
};

/** Finds names of tools, because decoding a name takes longer than comparing it with those of earlier calls. */
class ToolNames {
  readonly #known: { readonly spelling: Buffer; readonly name: string }[] = [];

  read(table: JsonTable, node: number) {
    if (kindOf(table, node) !== Kind.string) return undefined;
    const [start, end] = [json.startOf(table, node), json.endOf(table, node)];
    const known = this.#known.find(({ spelling }) => isTextAt(table, start, end, spelling));
    if (known) return known.name;
    const name = json.readString(table, node);
    if (this.#known.length < maxKnownNames)
      this.#known.push({ spelling: Buffer.from(table.bytes.subarray(start, end)), name });
    return name;
  }
}

const maxKnownNames = 32;

const isTextAt = ({ bytes }: JsonTable, start: number, end: number, text: Buffer) => {
  if (end - start !== text.length) return false;
  let at = 0;
  while (at < text.length && bytes[start + at] === text[at]) at++;
  return at === text.length;
};

const readText = (table: JsonTable, node = 0) =>
  kindOf(table, node) === Kind.string ? json.readString(table, node) : undefined;

const haveSameText = (table: JsonTable, a: number, b: number) => {
  const { bytes } = table;
  const [from, end, other] = [json.startOf(table, a), json.endOf(table, a), json.startOf(table, b)];
  if (json.detailOf(table, a) !== json.detailOf(table, b)) return false;
  let at = from;
  while (at < end && bytes[at] === bytes[at - from + other]) at++;
  return at === end || json.readString(table, a) === json.readString(table, b);
};

const countContent = (table: JsonTable, node: number) => {
  if (kindOf(table, node) !== Kind.array) return countCharacters(table, node);
  return listTexts(table, node).reduce((sum, part) => sum + countCharacters(table, part), 0);
};

const listTexts = (table: JsonTable, list: number) => {
  const texts: number[] = [];
  const end = json.nodeAfter(table, list);
  for (let part = list + nodeSize; part < end; part = json.nodeAfter(table, part)) {
    if (kindAt(table, part) !== Kind.object) continue;
    if (partShape.read(table, part).text === Kind.string) texts.push(partShape.at(table, partShape.slots.text));
  }
  return texts;
};

/** Counts the code points of a string; 0 for another value. */
const countCharacters = (table: JsonTable, node: number) =>
  kindOf(table, node) === Kind.string ? json.detailOf(table, node) : 0;

/** Examines the message that `resultShape` has read. */
const isErrorResult = (table: JsonTable, kinds: ReturnType<typeof resultShape.read>) => {
  const { slots } = resultShape;
  if (kinds.is_error === Kind.boolean && json.firstByteAt(table, resultShape.at(table, slots.is_error)) === letterT)
    return true;
  if (kinds.status === Kind.string && errorStatus.test(json.readString(table, resultShape.at(table, slots.status))))
    return true;
  const content = resultShape.at(table, slots.content);
  if (kinds.content === Kind.object) return hasError(json.parseNode(table, content));
  if (kinds.content === Kind.string) return isErrorString(table, content);
  const [first] = kinds.content === Kind.array ? listTexts(table, content) : [];
  return first !== undefined && isErrorString(table, first);
};

const isErrorString = (table: JsonTable, node: number) => {
  const { bytes } = table;
  const [start, end] = [json.startOf(table, node) + 1, json.endOf(table, node) - 1];
  const first = skipWhiteText(bytes, start);
  if (bytes[first] === openBrace)
    return bytes.subarray(start, end).includes("rror") && isErrorText(json.readString(table, node));
  const startsUntil = Math.min(end, start + maxExceptionLength);
  return canNameException(bytes, first) && isErrorText(bytes.toString("utf8", start, startsUntil));
};

/** Returns the position after spaces, and after escapes such as a line end. */
const skipWhiteText = (bytes: Buffer, start: number) => {
  let at = start;
  while (bytes[at] === space || bytes[at] === backslash) at += bytes[at] === backslash ? 2 : 1;
  return at;
};

/** Looks at the first word, because decoding each result takes long. */
const canNameException = (bytes: Buffer, start: number) => {
  let at = start;
  const first = bytes[at];
  while (isWordByte(bytes[at] ?? 0)) at++;
  const next = bytes[at];
  return (
    next === colon ||
    next === openParenthesis ||
    next === quote ||
    first === letterUpperT ||
    first === letterUpperU ||
    first === lessThan
  );
};

const isWordByte = (byte: number) =>
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x41 && byte <= 0x5a) ||
  (byte >= 0x30 && byte <= 0x39) ||
  byte === 0x5f ||
  byte === 0x2e;

const [letterT, letterUpperT, letterUpperU] = [0x74, 0x54, 0x55];
const [space, openParenthesis, lessThan] = [0x20, 0x28, 0x3c];

const withLogprobsReader = cacheReader({ leafKeys: ["top_logprobs", "bytes"] });

/** The scan skips the log probabilities, because no rule needs them. Returns undefined without a list of tokens. */
const countTokens = (bytes: Buffer) =>
  withLogprobsReader((reader) => {
    if (!reader.read(bytes, { skipsLeaves: true })) return undefined;
    const table = reader.viewTable();
    const list = json.findMemberNode(table, 0, "content") ?? 0;
    if (kindOf(table, list) !== Kind.array) return undefined;
    let count = 0;
    const end = json.nodeAfter(table, list);
    for (let node = list + nodeSize; node < end; node = json.nodeAfter(table, node)) count++;
    return count;
  });
